import torch


def heads(x, weights, num_heads):
    B, T, C = x.shape
    D = C // num_heads
    q, k, v = (
        (x @ weights["W_" + name] + weights["b_" + name]).reshape(B, T, num_heads, D)
        for name in ("Q", "K", "V")
    )
    rows = []
    for t in range(T):
        scores = (q[:, t].unsqueeze(1) * k[:, : t + 1]).sum(-1) / D**0.5
        shares = scores.softmax(dim=1)
        mixed = (shares.unsqueeze(-1) * v[:, : t + 1]).sum(dim=1)
        rows.append(mixed.reshape(B, C))
    return torch.stack(rows, 1) @ weights["W_O"] + weights["b_O"]
