def bpe_encode(text, merges):
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    ids = list(text.encode())
    while len(ids) >= 2:
        pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
        best = min(pairs, key=lambda pair: ranks.get(pair, len(merges)))
        if best not in ranks:
            break
        i = 0
        while i < len(ids) - 1:
            if (ids[i], ids[i + 1]) == best:
                ids[i : i + 2] = [256 + ranks[best]]
            i += 1
    return ids
