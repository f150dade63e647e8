import torch


def top_p(logits, p):
    ordered, places = logits.sort(-1, descending=True)
    out = ordered.softmax(-1).cumsum(-1) >= p
    out[:, 1:] = out[:, :-1].clone()
    out[:, 0] = False
    removed = torch.zeros_like(out).scatter(1, places, out)
    kept = logits.masked_fill(removed, -float("inf"))
    powers = (kept - kept.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)
