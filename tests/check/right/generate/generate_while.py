import torch


def generate(step, ids, max_new_tokens):
    wanted = ids.shape[1] + max_new_tokens
    cache, read = None, 0
    while ids.shape[1] < wanted:
        logits, cache = step(ids[:, read:], cache)
        read = ids.shape[1]
        likeliest = logits.max(dim=-1, keepdim=True).indices
        ids = torch.hstack([ids, likeliest])
    return ids
