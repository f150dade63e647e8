import torch


def generate(step, ids, max_new_tokens):
    rows = []
    for b in range(len(ids)):
        row, cache = ids[b : b + 1], None
        new = row
        for _ in range(max_new_tokens):
            logits, cache = step(new, cache)
            new = torch.tensor([[int(logits[0].argmax())]])
            row = torch.cat([row, new], dim=1)
        rows.append(row)
    return torch.cat(rows, dim=0)
