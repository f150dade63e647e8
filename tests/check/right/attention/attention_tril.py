import math

import torch


def attention(x, W_Q, W_K, W_V):
    T = x.shape[1]
    q = x @ W_Q
    k = x @ W_K
    v = x @ W_V
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    mask = torch.tril(torch.ones(T, T))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
