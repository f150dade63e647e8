def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    new_m = m + (1 - beta1) * (gradient - m)
    new_v = v + (1 - beta2) * (gradient.square() - v)
    rate = lr / (1 - beta1**step)
    root = new_v.sqrt() / (1 - beta2**step) ** 0.5
    kept = 1 - lr * decay if parameter.dim() >= 2 else 1
    return kept * parameter - rate * new_m / (root + eps), new_m, new_v
