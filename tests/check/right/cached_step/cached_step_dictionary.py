import math

import torch
import torch.nn.functional as F


def cached_step(ids, weights, num_heads, cache):
    B, T = ids.shape
    past = 0 if cache is None else cache["length"]
    x = weights["token"][ids] + weights["position"][past : past + T]
    C = x.shape[-1]
    keys, values = [], []
    for i, w in enumerate(weights["blocks"]):
        n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"], 1e-5)
        q = n @ w["W_Q"] + w["b_Q"]
        k = n @ w["W_K"] + w["b_K"]
        v = n @ w["W_V"] + w["b_V"]
        if cache is not None:
            k = torch.cat([cache["keys"][i], k], dim=1)
            v = torch.cat([cache["values"][i], v], dim=1)
        keys.append(k)
        values.append(v)
        q, k, v = (
            each.view(B, -1, num_heads, C // num_heads).transpose(1, 2)
            for each in (q, k, v)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // num_heads)
        mask = torch.ones(T, past + T).tril(past)
        scores = scores.masked_fill(mask == 0, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + y @ w["W_O"] + w["b_O"]
        n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"], 1e-5)
        x = x + F.gelu(n @ w["W1"] + w["b1"]) @ w["W2"] + w["b2"]
    x = x[:, -1]
    x = F.layer_norm(x, (C,), weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    cache = {"keys": keys, "values": values, "length": past + T}
    return x @ weights["token"].T, cache
