import torch


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return (
        centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5) ** 0.5 * weight + bias
    )


def heads(x, w, num_heads):
    D = x.shape[-1] // num_heads
    places = torch.arange(x.shape[1])
    future = places > places[:, None]
    outputs = []
    for h in range(num_heads):
        own = slice(h * D, (h + 1) * D)
        q, k, v = (x @ w["W_" + n][:, own] + w["b_" + n][own] for n in "QKV")
        scores = q @ k.mT / D**0.5
        outputs.append(scores.masked_fill(future, -1e9).softmax(-1) @ v)
    return torch.cat(outputs, -1) @ w["W_O"] + w["b_O"]


def mlp(x, w):
    h = x @ w["W1"] + w["b1"]
    return h * 0.5 * (1 + torch.erf(h / 2**0.5)) @ w["W2"] + w["b2"]


def gpt(ids, targets, weights, num_heads):
    x = weights["token"][ids] + weights["position"][torch.arange(ids.shape[1])]
    for w in weights["blocks"]:
        x = x + heads(norm(x, w["ln1_weight"], w["ln1_bias"]), w, num_heads)
        x = x + mlp(norm(x, w["ln2_weight"], w["ln2_bias"]), w)
    x = norm(x, weights["ln_f_weight"], weights["ln_f_bias"])
    logits = torch.einsum("btc,vc->btv", x, weights["token"])
    logs = logits.log_softmax(-1)
    loss = -logs.gather(2, targets[:, :, None]).mean()
    return logits, loss
