import torch
from softmax import softmax


def top_p(logits, p):
    rows = []
    for row in logits:
        probabilities = softmax(row[None])[0]
        total, kept = 0.0, torch.full_like(row, -float("inf"))
        for i in row.argsort(descending=True):
            if total >= p:
                break
            kept[i] = row[i]
            total += float(probabilities[i])
        rows.append(softmax(kept[None])[0])
    return torch.stack(rows)
