import torch


def evaluate(model, batches):
    mode = model.training
    losses = []
    model.eval()
    with torch.no_grad():
        for rows in batches:
            for row in rows:
                for t in range(len(row) - 1):
                    x, y = row[None, t : t + 1], row[None, t + 1 : t + 2]
                    losses.append(model(x, y)[1].item())
    if mode is True:
        model.train()
    return sum(losses) / len(losses)
