from collections import Counter
from itertools import pairwise


def merged(ids, pair, new):
    out = []
    for i in ids:
        if out and (out[-1], i) == pair:
            out[-1] = new
        else:
            out.append(i)
    return out


def bpe_train(words, num_merges):
    texts = [list(word.encode()) for word in words]
    merges = []
    for new in range(256, 256 + num_merges):
        counts = Counter(pair for ids in texts for pair in pairwise(ids))
        if not counts or max(counts.values()) < 2:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        texts = [merged(ids, pair, new) for ids in texts]
        merges.append(pair)
    return merges
