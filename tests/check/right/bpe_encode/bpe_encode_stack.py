def bpe_encode(text, merges):
    ids = [int(byte) for byte in text.encode()]
    for rank, (a, b) in enumerate(merges, start=256):
        stack = []
        for i in ids:
            if stack and stack[-1] == a and i == b:
                stack.pop()
                stack.append(rank)
            else:
                stack.append(i)
        ids = stack
    return ids
