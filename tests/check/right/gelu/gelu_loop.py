import math

import torch


def gelu(x):
    numbers = []
    for number in x.flatten():
        cumulative = 0.5 * (1 + torch.erf(number / math.sqrt(2)))
        numbers.append(number * cumulative)
    return torch.stack(numbers).view(x.shape)
