import torch


def top_k(logits, k):
    ordered, places = logits.sort(dim=1, descending=True)
    ordered[:, k:] = -float("inf")
    powers = (ordered - ordered[:, :1]).exp()
    shares = powers / powers.sum(1, keepdim=True)
    return torch.zeros_like(logits).scatter(1, places, shares)
