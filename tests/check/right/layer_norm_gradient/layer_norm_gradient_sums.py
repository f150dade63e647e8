def layer_norm_gradient(dy, x, weight, eps):
    C = x.shape[-1]
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).sum(dim=-1, keepdim=True) / C
    std = (variance + eps).sqrt()
    n = (x - mean) / std
    g = dy * weight
    first = g.sum(dim=-1, keepdim=True) / C
    second = n * (g * n).sum(dim=-1, keepdim=True) / C
    dx = (g - first - second) / std
    dweight = (dy * n).sum(dim=0).sum(dim=0)
    dbias = dy.flatten(0, 1).sum(dim=0)
    return dx, dweight, dbias
