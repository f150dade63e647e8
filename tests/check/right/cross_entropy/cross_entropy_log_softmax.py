import torch


def cross_entropy(logits, targets):
    logs = torch.log_softmax(logits, dim=-1)
    losses = []
    for i in range(logits.shape[0]):
        losses.append(-logs[i, targets[i]])
    return sum(losses) / len(losses)
