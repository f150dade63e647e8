import torch


def rotate(x, start):
    half = x.shape[-1] // 2
    exponents = torch.arange(half, dtype=x.dtype) / half
    places = torch.arange(start, start + x.shape[2], dtype=x.dtype)
    angles = places.unsqueeze(1) / torch.pow(10_000, exponents)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.complex(x[..., :half], x[..., half:]) * turns
    return torch.cat([pairs.real, pairs.imag], dim=-1)
