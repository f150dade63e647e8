import torch
import torch.nn.functional as F


def norm(x, weight, bias):
    std = (x.var(-1, correction=0, keepdim=True) + 1e-5) ** 0.5
    return (x - x.mean(-1, keepdim=True)) / std * weight + bias


def heads(x, w, num_heads):
    q, k, v = (
        (x @ w["W_" + name] + w["b_" + name]).chunk(num_heads, -1) for name in "QKV"
    )
    y = []
    for h in range(num_heads):
        scores = q[h] @ k[h].T / q[h].shape[-1] ** 0.5
        powers = (scores - scores.amax(-1, keepdim=True)).exp().tril()
        y.append(powers / powers.sum(-1, keepdim=True) @ v[h])
    return torch.cat(y, -1) @ w["W_O"] + w["b_O"]


def likeliest(ids, model):
    w = model.weights
    x = w["token"][ids] + w["position"][: len(ids)]
    for b in w["blocks"]:
        x = x + heads(norm(x, b["ln1_weight"], b["ln1_bias"]), b, model.num_heads)
        h = norm(x, b["ln2_weight"], b["ln2_bias"]) @ b["W1"] + b["b1"]
        x = x + F.gelu(h, approximate="tanh") @ b["W2"] + b["b2"]
    last = norm(x[-1], w["ln_f_weight"], w["ln_f_bias"])
    return (w["token"] @ last).argmax().item()


@torch.no_grad()
def answer(prompt, model, max_new_tokens):
    ids = list(model.encode(prompt))
    start = len(ids)
    while len(ids) < start + max_new_tokens:
        ids.append(likeliest(ids, model))
    return model.decode(ids[start:])
