import torch


def generate(step, ids, max_new_tokens):
    columns = [ids[:, t] for t in range(ids.shape[1])]
    cache, new = None, ids
    while max_new_tokens > 0:
        logits, cache = step(new, cache)
        best = logits.topk(1).indices[:, 0]
        columns.append(best)
        new = best[:, None]
        max_new_tokens -= 1
    return torch.stack(columns, dim=1)
