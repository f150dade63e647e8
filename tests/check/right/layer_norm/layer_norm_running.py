import torch


def layer_norm(x, weight, bias, eps):
    mean = torch.zeros_like(x[..., 0])
    squares = torch.zeros_like(mean)
    for c in range(x.shape[-1]):
        change = x[..., c] - mean
        mean = mean + change / (c + 1)
        squares = squares + change * (x[..., c] - mean)
    variance = squares / x.shape[-1]
    normal = (x - mean[..., None]) / (variance[..., None] + eps) ** 0.5
    return normal * weight + bias
