import math

import torch


def gelu(x):
    return x * torch.erfc(-x * math.sqrt(0.5)) / 2
