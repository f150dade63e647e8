import torch
import torch.nn.functional as F


def step(ids, model, cache):
    weights, H = model.weights, model.num_heads
    C = weights["token"].shape[1]
    past = cache[0][0].shape[0] if cache else 0
    x = weights["token"][ids] + weights["position"][past : past + len(ids)]
    future = torch.ones(len(ids), past + len(ids), dtype=torch.bool).triu(past + 1)
    kept = []
    for i, w in enumerate(weights["blocks"]):
        n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"], 1e-5)
        q, k, v = (n @ w[f"W_{name}"] + w[f"b_{name}"] for name in "QKV")
        if cache:
            k, v = torch.cat([cache[i][0], k]), torch.cat([cache[i][1], v])
        kept.append((k, v))
        q, k, v = (each.view(len(each), H, -1).transpose(0, 1) for each in (q, k, v))
        scores = (q @ k.mT / (C // H) ** 0.5).masked_fill(future, -float("inf"))
        x = (
            x
            + (scores.softmax(-1) @ v).transpose(0, 1).flatten(1) @ w["W_O"]
            + w["b_O"]
        )
        n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"], 1e-5)
        x = x + F.gelu(n @ w["W1"] + w["b1"]) @ w["W2"] + w["b2"]
    x = F.layer_norm(x[-1], (C,), weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    return x @ weights["token"].T, kept


def answer(prompt, model, max_new_tokens):
    new, cache, out = model.encode(prompt), None, []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits, cache = step(torch.tensor(new), model, cache)
            new = [int(logits.argmax())]
            out += new
    return model.decode(out)
