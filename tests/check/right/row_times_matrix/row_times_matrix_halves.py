def row_times_matrix(x, W):
    if len(x) == 1:
        return x[0] * W[0]
    middle = len(x) // 2
    first = row_times_matrix(x[:middle], W[:middle])
    return first + row_times_matrix(x[middle:], W[middle:])
