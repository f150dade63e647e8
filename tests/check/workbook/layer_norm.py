def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / (variance + eps) ** 0.5 * weight + bias
