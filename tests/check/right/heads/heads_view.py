import math

import torch


def heads(x, weights, num_heads):
    B, T, C = x.shape
    D = C // num_heads
    q = (x @ weights["W_Q"] + weights["b_Q"]).view(B, T, num_heads, D).transpose(1, 2)
    k = (x @ weights["W_K"] + weights["b_K"]).view(B, T, num_heads, D).transpose(1, 2)
    v = (x @ weights["W_V"] + weights["b_V"]).view(B, T, num_heads, D).transpose(1, 2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)
    mask = torch.tril(torch.ones(T, T))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    y = torch.softmax(scores, dim=-1) @ v
    y = y.transpose(1, 2).reshape(B, T, C)
    return y @ weights["W_O"] + weights["b_O"]
