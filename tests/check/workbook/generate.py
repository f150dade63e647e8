import torch


def generate(step, ids, max_new_tokens):
    new, cache = ids, None
    for _ in range(max_new_tokens):
        logits, cache = step(new, cache)
        new = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
    return ids
