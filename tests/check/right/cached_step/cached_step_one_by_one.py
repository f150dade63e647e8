import torch
import torch.nn.functional as F


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + 1e-5) ** 0.5 * weight + bias


def cached_step(ids, weights, num_heads, cache):
    L = len(weights["blocks"])
    kept = [list(pairs) for pairs in cache] if cache else [[] for _ in range(L)]
    for t in range(ids.shape[1]):
        x = weights["token"][ids[:, t]] + weights["position"][len(kept[0])]
        for i in range(L):
            w = weights["blocks"][i]
            n = norm(x, w["ln1_weight"], w["ln1_bias"])
            q, k, v = (
                (n @ w["W_" + name] + w["b_" + name]).unflatten(1, (num_heads, -1))
                for name in "QKV"
            )
            kept[i].append((k, v))
            keys = torch.stack([pair[0] for pair in kept[i]], dim=1)
            values = torch.stack([pair[1] for pair in kept[i]], dim=1)
            scores = (q[:, None] * keys).sum(-1) / q.shape[-1] ** 0.5
            y = (scores.softmax(1)[..., None] * values).sum(1).flatten(1)
            x = x + y @ w["W_O"] + w["b_O"]
            n = norm(x, w["ln2_weight"], w["ln2_bias"])
            x = (
                x
                + F.gelu(n @ w["W1"] + w["b1"], approximate="tanh") @ w["W2"]
                + w["b2"]
            )
    x = norm(x, weights["ln_f_weight"], weights["ln_f_bias"])
    return x @ weights["token"].T, kept
