def cross_entropy(logits, targets):
    total = 0.0
    for row, target in zip(logits, targets, strict=True):
        shifted = row - row.max()
        total = total - (shifted[target] - shifted.exp().sum().log())
    return total / len(targets)
