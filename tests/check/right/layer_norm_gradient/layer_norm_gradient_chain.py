def layer_norm_gradient(dy, x, weight, eps):
    C = x.shape[2]
    centred = x - x.mean(2, keepdim=True)
    variance = centred.square().mean(2, keepdim=True)
    inverse = (variance + eps) ** -0.5
    g = dy * weight
    d_inverse = (g * centred).sum(2, keepdim=True)
    d_variance = -0.5 * d_inverse * inverse**3
    d_centred = g * inverse + 2 / C * centred * d_variance
    dx = d_centred - d_centred.mean(2, keepdim=True)
    return dx, (dy * centred * inverse).sum((0, 1)), dy.sum((0, 1))
