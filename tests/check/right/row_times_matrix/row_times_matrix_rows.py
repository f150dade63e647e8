def row_times_matrix(x, W):
    total = x[0] * W[0]
    for i in range(1, len(x)):
        total = total + x[i] * W[i]
    return total
