def write_facts(keys, centre, messages, threshold):
    away = keys - centre
    W1 = away / (away**2).sum(-1, keepdim=True)
    b1 = -threshold - W1 @ centre
    return W1, b1, (messages / (1 - threshold)).T
