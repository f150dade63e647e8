def row_times_matrix(x, W):
    return (x[:, None] * W).sum(0)
