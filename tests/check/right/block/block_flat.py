import math

import torch
import torch.nn.functional as F


def block(x, weights, num_heads):
    B, T, C = x.shape
    D = C // num_heads
    n = F.layer_norm(x, (C,), weights["ln1_weight"], weights["ln1_bias"], 1e-5)
    q = (n @ weights["W_Q"] + weights["b_Q"]).view(B, T, num_heads, D).transpose(1, 2)
    k = (n @ weights["W_K"] + weights["b_K"]).view(B, T, num_heads, D).transpose(1, 2)
    v = (n @ weights["W_V"] + weights["b_V"]).view(B, T, num_heads, D).transpose(1, 2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    y = y.transpose(1, 2).reshape(B, T, C)
    x = x + y @ weights["W_O"] + weights["b_O"]
    n = F.layer_norm(x, (C,), weights["ln2_weight"], weights["ln2_bias"], 1e-5)
    h = F.gelu(n @ weights["W1"] + weights["b1"])
    return x + h @ weights["W2"] + weights["b2"]
