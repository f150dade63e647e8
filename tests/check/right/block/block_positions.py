import torch


def normed(row, weight, bias):
    centred = row - row.mean()
    return centred / ((centred**2).mean() + 1e-5) ** 0.5 * weight + bias


def block(x, weights, num_heads):
    w, D = weights, x.shape[-1] // num_heads
    texts = []
    for text in x:
        rows, keys, values = [], [], []
        for row in text:
            n = normed(row, w["ln1_weight"], w["ln1_bias"])
            q = (n @ w["W_Q"] + w["b_Q"]).view(num_heads, D)
            keys.append((n @ w["W_K"] + w["b_K"]).view(num_heads, D))
            values.append((n @ w["W_V"] + w["b_V"]).view(num_heads, D))
            scores = (torch.stack(keys) * q).sum(-1) / D**0.5
            mixed = (scores.softmax(0)[..., None] * torch.stack(values)).sum(0)
            row = row + mixed.flatten() @ w["W_O"] + w["b_O"]
            n = normed(row, w["ln2_weight"], w["ln2_bias"])
            h = n @ w["W1"] + w["b1"]
            h = 0.5 * h * (1 + torch.erf(h / 2**0.5))
            rows.append(row + h @ w["W2"] + w["b2"])
        texts.append(torch.stack(rows))
    return torch.stack(texts)
