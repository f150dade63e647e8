def wiring(x, attention, mlp, ln1, ln2):
    first = attention(ln1(x))
    second = mlp(ln2(x + first))
    return x + first + second
