import math

import torch


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / (variance + 1e-5).sqrt() * weight + bias


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def mixed(x, w, num_heads):
    D = x.shape[-1] // num_heads
    mask = torch.tril(torch.ones(x.shape[1], x.shape[1]))
    results = []
    for h in range(num_heads):
        own = slice(h * D, (h + 1) * D)
        q = x @ w["W_Q"][:, own] + w["b_Q"][own]
        k = x @ w["W_K"][:, own] + w["b_K"][own]
        v = x @ w["W_V"][:, own] + w["b_V"][own]
        scores = (q @ k.mT / D**0.5).masked_fill(mask == 0, -1e9)
        results.append(torch.softmax(scores, dim=-1) @ v)
    return torch.cat(results, dim=-1) @ w["W_O"] + w["b_O"]


def block(x, weights, num_heads):
    w = weights
    x = x + mixed(norm(x, w["ln1_weight"], w["ln1_bias"]), w, num_heads)
    n = norm(x, w["ln2_weight"], w["ln2_bias"])
    return x + gelu(n @ w["W1"] + w["b1"]) @ w["W2"] + w["b2"]
