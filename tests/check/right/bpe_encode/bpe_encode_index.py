def bpe_encode(text, merges):
    ids = list(text.encode("utf-8"))
    new = 256
    for first, second in merges:
        out = []
        i = 0
        while i < len(ids):
            if i < len(ids) - 1 and ids[i] == first and ids[i + 1] == second:
                out.append(new)
                i = i + 2
            else:
                out.append(ids[i])
                i = i + 1
        ids = out
        new += 1
    return ids
