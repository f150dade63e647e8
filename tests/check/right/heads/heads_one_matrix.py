import torch


def heads(x, weights, num_heads):
    B, T, C = x.shape
    W = torch.cat([weights["W_Q"], weights["W_K"], weights["W_V"]], dim=1)
    b = torch.cat([weights["b_Q"], weights["b_K"], weights["b_V"]])
    qkv = (x @ W + b).view(B, T, 3, num_heads, C // num_heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-1, -2) / (C // num_heads) ** 0.5
    places = torch.arange(T)
    scores[:, :, places[:, None] < places] = -float("inf")
    y = scores.softmax(3) @ v
    return y.permute(0, 2, 1, 3).flatten(2) @ weights["W_O"] + weights["b_O"]
