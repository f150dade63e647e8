import torch.nn.functional as F


def train(model, batches, optimizer):
    model.train()
    history = []
    for n in range(len(batches)):
        rows = batches[n]
        x, y = rows[:, 0:-1], rows[:, 1:]
        logits, _ = model(x, y)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history += [loss.item()]
    return history
