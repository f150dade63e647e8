def count_pairs(texts):
    counts = {}
    for ids in texts:
        for i in range(len(ids) - 1):
            pair = (ids[i], ids[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def bpe_train(words, num_merges):
    texts = [list(word.encode("utf-8")) for word in words]
    merges = []
    for n in range(num_merges):
        counts = count_pairs(texts)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        if counts[best] < 2:
            break
        merges.append(best)
        texts = [merge(ids, best, 256 + n) for ids in texts]
    return merges
