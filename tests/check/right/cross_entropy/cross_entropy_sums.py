import torch
import torch.nn.functional as F


def cross_entropy(logits, targets):
    one_hot = F.one_hot(targets, logits.shape[1])
    wanted = (logits * one_hot).sum()
    return (torch.logsumexp(logits, dim=1).sum() - wanted) / logits.shape[0]
