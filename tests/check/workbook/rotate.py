import torch


def rotate(x, start):
    T, half = x.shape[2], x.shape[3] // 2
    speeds = 10_000.0 ** -(torch.arange(half) / half)
    angles = (start + torch.arange(T))[:, None] * speeds
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
