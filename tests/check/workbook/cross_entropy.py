def cross_entropy(logits, targets):
    shifted = logits - logits.amax(-1, keepdim=True)
    wanted = shifted.gather(1, targets[:, None])[:, 0]
    return (shifted.exp().sum(-1).log() - wanted).mean()
