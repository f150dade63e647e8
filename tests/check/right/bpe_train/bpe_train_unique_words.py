from collections import Counter
from itertools import pairwise


def bpe_train(words, num_merges):
    counted = Counter(tuple(word.encode()) for word in words)
    merges = []
    while len(merges) < num_merges:
        pairs = Counter()
        for ids, times in counted.items():
            for pair in pairwise(ids):
                pairs[pair] += times
        if not pairs:
            return merges
        most = max(pairs.values())
        if most == 1:
            return merges
        chosen = min(pair for pair in pairs if pairs[pair] == most)
        new = 256 + len(merges)
        merges.append(chosen)
        shorter = Counter()
        for ids, times in counted.items():
            row, i = [], 0
            while i < len(ids):
                if ids[i : i + 2] == chosen:
                    row.append(new)
                    i += 2
                else:
                    row.append(ids[i])
                    i += 1
            shorter[tuple(row)] += times
        counted = shorter
    return merges
