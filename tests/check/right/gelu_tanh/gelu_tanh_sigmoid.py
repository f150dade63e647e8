import math

import torch


def gelu_tanh(x):
    z = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))
    return x * torch.sigmoid(2 * z)
