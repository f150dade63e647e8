import math

import torch


def rotate(x, start):
    half = x.shape[-1] // 2
    y = torch.zeros_like(x)
    for t in range(x.shape[2]):
        for i in range(half):
            angle = (start + t) * 10_000 ** (-i / half)
            cos, sin = math.cos(angle), math.sin(angle)
            a, b = x[:, :, t, i], x[:, :, t, i + half]
            y[:, :, t, i] = a * cos - b * sin
            y[:, :, t, i + half] = a * sin + b * cos
    return y
