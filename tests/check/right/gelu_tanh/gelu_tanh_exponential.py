import torch


def gelu_tanh(x):
    z = (2 / torch.pi) ** 0.5 * x * (1 + 0.044715 * x * x)
    return x / (1 + torch.exp(-2 * z))
