import torch


def row_times_matrix(x, W):
    y = torch.zeros(W.shape[1], dtype=x.dtype)
    for j in range(W.shape[1]):
        for i in range(W.shape[0]):
            y[j] += x[i] * W[i, j]
    return y
