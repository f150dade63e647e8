import torch
import torch.nn.functional as F


def block(x, w, num_heads):
    n = F.layer_norm(x, x.shape[-1:], w["ln1_weight"], w["ln1_bias"], 1e-5)
    q, k, v = (
        (n @ w[f"W_{name}"] + w[f"b_{name}"]).chunk(num_heads, 1) for name in "QKV"
    )
    y = []
    for h in range(num_heads):
        scores = q[h] @ k[h].T / q[h].shape[1] ** 0.5
        powers = (scores - scores.amax(1, keepdim=True)).exp().tril()
        y.append(powers / powers.sum(1, keepdim=True) @ v[h])
    x = x + torch.cat(y, 1) @ w["W_O"] + w["b_O"]
    n = F.layer_norm(x, x.shape[-1:], w["ln2_weight"], w["ln2_bias"], 1e-5)
    h = F.gelu(n @ w["W1"] + w["b1"], approximate="tanh")
    return x + h @ w["W2"] + w["b2"]


def gpt(ids, targets, weights, num_heads):
    rows, total = [], 0.0
    for b in range(len(ids)):
        x = weights["token"][ids[b]] + weights["position"][: len(ids[b])]
        for w in weights["blocks"]:
            x = block(x, w, num_heads)
        x = F.layer_norm(
            x, x.shape[-1:], weights["ln_f_weight"], weights["ln_f_bias"], 1e-5
        )
        logits = x @ weights["token"].T
        for t in range(len(targets[b])):
            total = total + logits[t].logsumexp(0) - logits[t, targets[b, t]]
        rows.append(logits)
    return torch.stack(rows), total / targets.numel()
