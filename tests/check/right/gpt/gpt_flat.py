import math

import torch
import torch.nn.functional as F


def gpt(ids, targets, weights, num_heads):
    B, T = ids.shape
    x = weights["token"][ids] + weights["position"][:T]
    C = x.shape[-1]
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    for w in weights["blocks"]:
        n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"], 1e-5)
        q, k, v = (
            (n @ w[f"W_{name}"] + w[f"b_{name}"])
            .view(B, T, num_heads, C // num_heads)
            .transpose(1, 2)
            for name in "QKV"
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // num_heads)
        y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        x = x + y.transpose(1, 2).reshape(B, T, C) @ w["W_O"] + w["b_O"]
        n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"], 1e-5)
        x = x + F.gelu(n @ w["W1"] + w["b1"]) @ w["W2"] + w["b2"]
    x = F.layer_norm(x, (C,), weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    logits = x @ weights["token"].T
    return logits, F.cross_entropy(logits.view(B * T, -1), targets.view(B * T))
