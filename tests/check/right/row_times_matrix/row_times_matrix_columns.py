import torch


def row_times_matrix(x, W):
    entries = []
    for j in range(W.shape[1]):
        entries.append((x * W[:, j]).sum())
    return torch.stack(entries)
