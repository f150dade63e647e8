import torch


def gelu(x):
    return x / 2 * (1 + torch.erf(x / 2**0.5))
