import math

import torch


def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    shape = parameter.shape
    new_p, new_m, new_v = [], [], []
    for p, g, a, b in zip(
        parameter.flatten().tolist(),
        gradient.flatten().tolist(),
        m.flatten().tolist(),
        v.flatten().tolist(),
        strict=True,
    ):
        if len(shape) >= 2:
            p = p - lr * decay * p
        a = beta1 * a + (1 - beta1) * g
        b = beta2 * b + (1 - beta2) * g**2
        a_hat = a / (1 - beta1**step)
        b_hat = b / (1 - beta2**step)
        new_p.append(p - lr * a_hat / (math.sqrt(b_hat) + eps))
        new_m.append(a)
        new_v.append(b)
    return tuple(
        torch.tensor(numbers, dtype=parameter.dtype).view(shape)
        for numbers in (new_p, new_m, new_v)
    )
