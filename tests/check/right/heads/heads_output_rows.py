import torch


def heads(x, weights, num_heads):
    width = x.shape[-1] // num_heads
    T = x.shape[1]
    future = torch.full((T, T), float("-inf")).triu(1)
    total = weights["b_O"]
    for h in range(num_heads):
        start, end = h * width, (h + 1) * width
        q = x @ weights["W_Q"][:, start:end] + weights["b_Q"][start:end]
        k = x @ weights["W_K"][:, start:end] + weights["b_K"][start:end]
        v = x @ weights["W_V"][:, start:end] + weights["b_V"][start:end]
        scores = q @ k.transpose(1, 2) / width**0.5 + future
        total = total + scores.softmax(-1) @ v @ weights["W_O"][start:end]
    return total
