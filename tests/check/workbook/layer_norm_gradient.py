def layer_norm_gradient(dy, x, weight, eps):
    centred = x - x.mean(-1, keepdim=True)
    std = ((centred**2).mean(-1, keepdim=True) + eps) ** 0.5
    n, g = centred / std, dy * weight
    along = n * (g * n).mean(-1, keepdim=True)
    dx = (g - g.mean(-1, keepdim=True) - along) / std
    return dx, (dy * n).sum((0, 1)), dy.sum((0, 1))
