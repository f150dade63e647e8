import torch


def attention(x, W_Q, W_K, W_V):
    queries, keys, values = x @ W_Q, x @ W_K, x @ W_V
    rows = []
    for t in range(x.shape[1]):
        seen = keys[:, : t + 1]
        scores = (queries[:, t : t + 1] * seen).sum(-1) / keys.shape[-1] ** 0.5
        weights = scores.softmax(-1)
        rows.append((weights.unsqueeze(-1) * values[:, : t + 1]).sum(1))
    return torch.stack(rows, dim=1)
