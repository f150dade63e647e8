import torch


def top_p(logits, p):
    ordered, places = torch.sort(logits, descending=True, dim=-1)
    probabilities = torch.softmax(ordered, dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    ordered = ordered.masked_fill(before >= p, float("-inf"))
    result = torch.zeros_like(logits)
    return result.scatter(1, places, torch.softmax(ordered, dim=-1))
