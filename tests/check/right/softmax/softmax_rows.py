import torch


def softmax(scores):
    rows = []
    for row in scores:
        powers = (row - row.max()).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)
