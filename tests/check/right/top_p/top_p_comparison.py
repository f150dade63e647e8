def top_p(logits, p):
    probabilities = logits.softmax(-1)
    larger = probabilities[:, None, :] > probabilities[:, :, None]
    before = (larger * probabilities[:, None, :]).sum(-1)
    cut = probabilities * (before < p)
    return cut / cut.sum(-1, keepdim=True)
