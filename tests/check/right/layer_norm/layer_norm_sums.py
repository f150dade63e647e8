def layer_norm(x, weight, bias, eps):
    C = x.shape[-1]
    mean = x.sum(-1, keepdim=True) / C
    centred = x - mean
    variance = (centred * centred).sum(-1, keepdim=True) / C
    return weight * (centred * (variance + eps) ** -0.5) + bias
