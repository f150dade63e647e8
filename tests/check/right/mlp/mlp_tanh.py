import math

import torch


def mlp(x, W1, b1, W2, b2):
    hidden = torch.einsum("btc,cf->btf", x, W1) + b1
    inner = math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)
    active = hidden / 2 + hidden * inner.tanh() / 2
    return torch.einsum("btf,fc->btc", active, W2) + b2
