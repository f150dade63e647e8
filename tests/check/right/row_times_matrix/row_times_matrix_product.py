def row_times_matrix(x, W):
    return (x.unsqueeze(0) @ W).squeeze(0)
