import math

import torch


def gelu_tanh(x):
    y = torch.zeros_like(x)
    flat = y.view(-1)
    for i in range(x.numel()):
        number = x.reshape(-1)[i]
        inner = math.sqrt(2 / math.pi) * (number + 0.044715 * number**3)
        flat[i] = number / 2 * (1 + torch.tanh(inner))
    return y
