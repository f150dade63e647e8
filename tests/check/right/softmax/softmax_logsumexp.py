import torch


def softmax(scores):
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
