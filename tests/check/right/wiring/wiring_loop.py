def wiring(x, attention, mlp, ln1, ln2):
    for norm, part in ((ln1, attention), (ln2, mlp)):
        x = x + part(norm(x))
    return x
