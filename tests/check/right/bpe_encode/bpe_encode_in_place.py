def bpe_encode(text, merges):
    ids = list(bytes(text, "utf-8"))
    for rank in range(len(merges)):
        pair = list(merges[rank])
        place = 0
        while place <= len(ids) - 2:
            if ids[place : place + 2] == pair:
                ids[place] = 256 + rank
                del ids[place + 1]
            place += 1
    return ids
