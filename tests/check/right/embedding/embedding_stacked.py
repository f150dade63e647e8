import torch


def embedding(ids, token_table, position_table):
    columns = []
    for t in range(ids.shape[1]):
        columns.append(token_table[ids[:, t]] + position_table[t])
    return torch.stack(columns, dim=1)
