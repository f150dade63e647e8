import torch


def gelu(x):
    z = x / torch.tensor(2.0).sqrt()
    cumulative = (torch.erf(z) + 1).div(2)
    return x.mul(cumulative)
