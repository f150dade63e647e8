import torch
from layer_norm import layer_norm
from mlp import mlp
from softmax import softmax


def cached_step(ids, weights, num_heads, cache):
    past = 0 if cache is None else cache[0][0].shape[2] if cache else 0
    T = ids.shape[1]
    x = weights["token"][ids] + weights["position"][past : past + T]
    new_cache = []
    future = torch.ones(T, past + T, dtype=torch.bool).triu(past + 1)
    for i, w in enumerate(weights["blocks"]):
        n = layer_norm(x, w["ln1_weight"], w["ln1_bias"], 1e-5)
        q, k, v = (
            (n @ w[f"W_{name}"] + w[f"b_{name}"])
            .unflatten(-1, (num_heads, -1))
            .transpose(1, 2)
            for name in "QKV"
        )
        if cache is not None:
            k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
        new_cache.append((k, v))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        mixed = softmax(scores.masked_fill(future, -float("inf"))) @ v
        x = x + mixed.transpose(1, 2).flatten(2) @ w["W_O"] + w["b_O"]
        n = layer_norm(x, w["ln2_weight"], w["ln2_bias"], 1e-5)
        x = x + mlp(n, w["W1"], w["b1"], w["W2"], w["b2"])
    x = layer_norm(x[:, -1:], weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    return (x @ weights["token"].T)[:, 0], new_cache
