def embedding(ids, token_table, position_table):
    B, T = ids.shape
    vectors = token_table.index_select(0, ids.reshape(-1)).view(B, T, -1)
    for t in range(T):
        vectors[:, t] += position_table[t]
    return vectors
