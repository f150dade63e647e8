from collections import defaultdict


def joined(ids, pair, new):
    out = []
    for i in ids:
        out.append(i)
        if tuple(out[-2:]) == pair:
            out[-2:] = [new]
    return out


def bpe_train(words, num_merges):
    texts = [list(word.encode()) for word in words]
    merges = []
    for rank in range(num_merges):
        counts = defaultdict(int)
        for ids in texts:
            for place in range(1, len(ids)):
                counts[ids[place - 1], ids[place]] += 1
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if len(ordered) == 0 or ordered[0][1] <= 1:
            break
        pair = ordered[0][0]
        merges += [pair]
        texts = [joined(ids, pair, 256 + rank) for ids in texts]
    return merges
