import torch


def cross_entropy(logits, targets):
    shifted = logits - logits.max(dim=1, keepdim=True).values
    logs = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    rows = torch.arange(len(targets))
    return -logs[rows, targets].mean()
