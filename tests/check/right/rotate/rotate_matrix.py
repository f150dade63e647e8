import torch


def rotate(x, start):
    B, H, T, D = x.shape
    pairs = x.view(B, H, T, 2, D // 2)
    speeds = torch.logspace(0, -4, D // 2 + 1, dtype=x.dtype)[:-1]
    angles = torch.einsum("t,i->ti", start + torch.arange(T, dtype=x.dtype), speeds)
    cos, sin = torch.cos(angles), torch.sin(angles)
    rows = [torch.stack([cos, -sin]), torch.stack([sin, cos])]
    turns = torch.stack(rows)
    return torch.einsum("rcti,bhtci->bhtri", turns, pairs).reshape(x.shape)
