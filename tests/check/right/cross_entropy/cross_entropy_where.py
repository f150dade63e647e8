import torch


def cross_entropy(logits, targets):
    places = torch.arange(logits.shape[1])
    logs = logits - logits.logsumexp(-1, keepdim=True)
    chosen = torch.where(places[None, :] == targets[:, None], logs, 0.0)
    return -chosen.sum(1).mean(0)
