import torch


def softmax(scores):
    largest = scores.max(dim=1, keepdim=True).values
    powers = torch.exp(scores - largest)
    return powers * powers.sum(dim=1, keepdim=True).reciprocal()
