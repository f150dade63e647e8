def wiring(x, attention, mlp, ln1, ln2):
    out = x.clone()
    out += attention(ln1(out))
    out += mlp(ln2(out))
    return out
