def bpe_train(words, num_merges):
    rows = [list(word.encode()) for word in words]
    merges = []
    new = 256
    for _ in range(num_merges):
        counts = {}
        for row in rows:
            for i in range(len(row) - 1):
                a, b = row[i], row[i + 1]
                counts[a, b] = counts.get((a, b), 0) + 1
        best, most = None, 1
        for pair in sorted(counts):
            if counts[pair] > most:
                best, most = pair, counts[pair]
        if best is None:
            break
        for row in rows:
            i = 0
            while i < len(row) - 1:
                if row[i] == best[0] and row[i + 1] == best[1]:
                    row[i : i + 2] = [new]
                i += 1
        merges.append(best)
        new += 1
    return merges
