import torch


def layer_norm(x, weight, bias, eps):
    out = torch.empty_like(x)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            row = x[b, t]
            centred = row - row.mean()
            out[b, t] = centred / (centred.pow(2).mean() + eps).sqrt()
    return out * weight + bias
