def embedding(ids, token_table, position_table):
    return token_table[ids] + position_table[: ids.shape[1]]
