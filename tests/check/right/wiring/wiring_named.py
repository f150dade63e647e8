def wiring(x, attention, mlp, ln1, ln2):
    normed = ln1(x)
    attended = attention(normed)
    after = x + attended
    changed = mlp(ln2(after))
    return after + changed
