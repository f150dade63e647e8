import torch
import torch.nn.functional as F


def norm(x, weight, bias):
    std = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return (x - x.mean(-1, keepdim=True)) / std * weight + bias


def gpt(ids, targets, weights, num_heads):
    T = ids.shape[1]
    places = torch.arange(T).expand_as(ids)
    x = F.embedding(ids, weights["token"]) + F.embedding(places, weights["position"])
    mask = torch.full((T, T), -float("inf")).triu(1)
    for w in weights["blocks"]:
        n = norm(x, w["ln1_weight"], w["ln1_bias"])
        W = torch.cat([w["W_Q"], w["W_K"], w["W_V"]], 1)
        b = torch.cat([w["b_Q"], w["b_K"], w["b_V"]])
        q, k, v = (n @ W + b).unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * q.shape[-1] ** -0.5 + mask
        y = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2)
        x = x + y @ w["W_O"] + w["b_O"]
        h = norm(x, w["ln2_weight"], w["ln2_bias"]) @ w["W1"] + w["b1"]
        x = x + F.gelu(h, approximate="tanh") @ w["W2"] + w["b2"]
    x = norm(x, weights["ln_f_weight"], weights["ln_f_bias"])
    logits = x @ weights["token"].T
    return logits, F.cross_entropy(logits.transpose(1, 2), targets)
