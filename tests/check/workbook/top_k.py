import torch
from softmax import softmax


def top_k(logits, k):
    places = logits.topk(min(k, logits.shape[-1])).indices
    kept = torch.full_like(logits, -float("inf"))
    return softmax(kept.scatter(1, places, logits.gather(1, places)))
