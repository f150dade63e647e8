def top_k(logits, k):
    larger = logits[:, None, :] > logits[:, :, None]
    ranks = larger.sum(-1)
    probabilities = logits.softmax(-1)
    cut = probabilities * (ranks < k)
    return cut / cut.sum(-1, keepdim=True)
