import torch


def gelu(x):
    rest = 0.5 - 0.5 * torch.erf(x / 2**0.5)
    return x - x * rest
