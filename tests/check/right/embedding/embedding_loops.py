import torch


def embedding(ids, token_table, position_table):
    B, T = ids.shape
    out = torch.zeros(B, T, token_table.shape[1], dtype=token_table.dtype)
    for b in range(B):
        for t in range(T):
            out[b, t] = token_table[ids[b, t]] + position_table[t]
    return out
