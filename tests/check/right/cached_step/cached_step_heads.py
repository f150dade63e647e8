import torch
import torch.nn.functional as F


def attend(q, k, v, num_heads):
    T, whole = q.shape[1], k.shape[1]
    places = torch.arange(whole - T, whole)
    future = torch.arange(whole)[None, :] > places[:, None]
    outputs = []
    for one in zip(*(each.chunk(num_heads, -1) for each in (q, k, v)), strict=True):
        scores = one[0] @ one[1].mT / one[0].shape[-1] ** 0.5
        outputs.append(scores.masked_fill(future, -1e9).softmax(-1) @ one[2])
    return torch.cat(outputs, -1)


def cached_step(ids, weights, num_heads, cache):
    if cache is None:
        cache = [None] * len(weights["blocks"])
        past = 0
    else:
        past = cache[0][0].shape[1]
    x = weights["token"][ids]
    x = x + weights["position"][torch.arange(ids.shape[1]) + past]
    new = []
    for w, old in zip(weights["blocks"], cache, strict=True):
        n = F.layer_norm(x, x.shape[-1:], w["ln1_weight"], w["ln1_bias"], 1e-5)
        q, k, v = (n @ w[f"W_{name}"] + w[f"b_{name}"] for name in "QKV")
        if old is not None:
            k, v = torch.cat([old[0], k], 1), torch.cat([old[1], v], 1)
        new.append((k, v))
        x = x + attend(q, k, v, num_heads) @ w["W_O"] + w["b_O"]
        n = F.layer_norm(x, x.shape[-1:], w["ln2_weight"], w["ln2_bias"], 1e-5)
        h = n @ w["W1"] + w["b1"]
        x = x + 0.5 * h * (1 + torch.erf(h / 2**0.5)) @ w["W2"] + w["b2"]
    x = F.layer_norm(
        x, x.shape[-1:], weights["ln_f_weight"], weights["ln_f_bias"], 1e-5
    )
    return x[:, -1, :] @ weights["token"].T, new
