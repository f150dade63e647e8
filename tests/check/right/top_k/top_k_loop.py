import torch


def top_k(logits, k):
    y = torch.zeros_like(logits)
    for n in range(logits.shape[0]):
        left = logits[n].clone()
        kept = []
        while len(kept) < k and len(kept) < logits.shape[1]:
            best = int(left.argmax())
            kept.append(best)
            left[best] = -float("inf")
        y[n, kept] = logits[n, kept].softmax(0)
    return y
