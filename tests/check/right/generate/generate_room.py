import torch


def generate(step, ids, max_new_tokens):
    B, T = ids.shape
    end = T + max_new_tokens
    out = torch.zeros(B, end, dtype=torch.long)
    out[:, :T] = ids
    logits, cache = step(ids, None)
    for t in range(T, end):
        out[:, t] = logits.argmax(dim=-1)
        if t + 1 < end:
            logits, cache = step(out[:, t : t + 1], cache)
    return out
