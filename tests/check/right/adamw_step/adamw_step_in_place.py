import torch


def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    new = parameter.clone()
    if new.ndim != 1:
        new *= 1 - lr * decay
    m = m.clone().mul_(beta1).add_(gradient, alpha=1 - beta1)
    v = v.clone().mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    bottom = (v / (1 - beta2**step)).sqrt() + eps
    new -= lr * torch.div(m, 1 - beta1**step) / bottom
    return new, m, v
