import torch


def embedding(ids, token_table, position_table):
    T = ids.shape[1]
    places = torch.arange(T)
    return token_table[ids] + position_table[places].unsqueeze(0)
