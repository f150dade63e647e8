import torch


@torch.no_grad()
def evaluate(model, batches):
    was_training = model.training
    model.eval()
    mean, count = 0.0, 0
    for rows in batches:
        _, loss = model(rows[:, :-1], rows[:, 1:])
        new = rows.shape[0] * (rows.shape[1] - 1)
        count += new
        mean = mean + (loss.item() - mean) * new / count
    if was_training:
        model.train()
    return mean
