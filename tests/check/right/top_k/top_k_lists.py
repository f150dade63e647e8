import math

import torch


def top_k(logits, k):
    result = []
    for row in logits.tolist():
        kept = sorted(range(len(row)), key=lambda i: -row[i])[:k]
        largest = row[kept[0]]
        powers = [0.0] * len(row)
        for i in kept:
            powers[i] = math.exp(row[i] - largest)
        total = sum(powers)
        result.append([power / total for power in powers])
    return torch.tensor(result, dtype=logits.dtype)
