import torch


def write_facts(keys, centre, messages, threshold):
    W1, b1 = torch.zeros_like(keys), torch.zeros(len(keys), dtype=keys.dtype)
    W2 = torch.zeros_like(messages.T)
    for n in range(len(keys)):
        away = keys[n] - centre
        W1[n] = away / away.dot(away)
        b1[n] = -(W1[n].dot(centre) + threshold)
        W2[:, n] = messages[n] / (1 - threshold)
    return W1, b1, W2
