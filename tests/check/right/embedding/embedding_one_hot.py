import torch
import torch.nn.functional as F


def embedding(ids, token_table, position_table):
    one_hot = F.one_hot(ids, num_classes=token_table.shape[0]).to(token_table.dtype)
    tokens = one_hot @ token_table
    places = torch.ones_like(ids).cumsum(1) - 1
    return tokens + position_table[places]
