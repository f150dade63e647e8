import torch


def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    if len(parameter.shape) > 1:
        parameter = parameter - lr * decay * parameter
    m = m * beta1 + gradient * (1 - beta1)
    v = v * beta2 + gradient * gradient * (1 - beta2)
    first = m / (1 - beta1**step)
    second = v / (1 - beta2**step)
    change = first / (torch.sqrt(second) + eps)
    return parameter - lr * change, m, v
