def wiring(x, attention, mlp, ln1, ln2):
    norms, parts = [ln1, ln2], [attention, mlp]
    for i in range(2):
        change = parts[i](norms[i](x))
        x = x + change
    return x
