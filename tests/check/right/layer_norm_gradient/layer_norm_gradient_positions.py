import torch


def layer_norm_gradient(dy, x, weight, eps):
    B, T = x.shape[:2]
    dx = torch.zeros_like(x)
    dweight, dbias = torch.zeros_like(weight), torch.zeros_like(weight)
    for b in range(B):
        for t in range(T):
            row = x[b, t]
            std = (row.var(unbiased=False) + eps) ** 0.5
            n = (row - row.mean()) / std
            g = dy[b, t] * weight
            dx[b, t] = (g - g.mean() - n * (g * n).mean()) / std
            dweight += dy[b, t] * n
            dbias += dy[b, t]
    return dx, dweight, dbias
