def wiring(x, attention, mlp, ln1, ln2):
    x = x + attention(ln1(x))
    return x + mlp(ln2(x))
