import torch


def evaluate(model, batches):
    before = model.training
    model.eval()
    total = count = 0
    with torch.no_grad():
        for rows in batches:
            targets = rows[:, 1:]
            _, loss = model(rows[:, :-1], targets)
            total += loss.item() * targets.numel()
            count += targets.numel()
    model.train(before)
    return total / count
