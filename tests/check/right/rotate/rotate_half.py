import torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rotate(x, start):
    T, D = x.shape[-2:]
    frequencies = 1.0 / (10000 ** (torch.arange(0, D, 2).to(x) / D))
    places = torch.arange(start, start + T).to(x)
    angles = torch.outer(places, frequencies)
    both = torch.cat((angles, angles), dim=-1)
    return x * both.cos() + rotate_half(x) * both.sin()
