from bpe_train import merged


def bpe_encode(text, merges):
    ids = list(text.encode())
    for rank, pair in enumerate(merges):
        ids = merged(ids, pair, 256 + rank)
    return ids
