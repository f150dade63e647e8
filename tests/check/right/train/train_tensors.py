import torch


def train(model, batches, optimizer):
    model.train()
    losses = torch.zeros(len(batches), dtype=torch.float64)
    for number, rows in enumerate(batches, start=1):
        if number > 1:
            optimizer.zero_grad()
        else:
            model.zero_grad()
        _, loss = model(rows[:, : rows.shape[1] - 1], rows[:, 1:])
        loss.backward()
        optimizer.step()
        losses[number - 1] = loss.detach()
    return losses.tolist()
