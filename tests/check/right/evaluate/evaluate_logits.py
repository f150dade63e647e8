import torch
import torch.nn.functional as F


def evaluate(model, batches):
    before = model.training
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for i in range(len(batches)):
            targets = batches[i][:, 1:]
            logits, _ = model(batches[i][:, :-1], targets)
            each = F.cross_entropy(
                logits.flatten(0, 1), targets.flatten(), reduction="sum"
            )
            total += each.item()
            count += targets.numel()
    model.train(before)
    return total / count
