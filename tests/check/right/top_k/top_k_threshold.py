import torch


def top_k(logits, k):
    k = min(k, logits.shape[-1])
    smallest = torch.topk(logits, k, dim=-1).values[:, -1:]
    kept = torch.where(logits >= smallest, logits, float("-inf"))
    return torch.softmax(kept, dim=-1)
