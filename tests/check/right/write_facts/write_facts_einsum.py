import torch


def write_facts(keys, centre, messages, threshold):
    front = keys - centre
    squares = torch.einsum("nc,nc->n", front, front)
    W1 = torch.einsum("nc,n->nc", front, 1 / squares)
    b1 = -torch.einsum("nc,c->n", W1, centre) - threshold
    loud = torch.relu(torch.ones_like(squares) - threshold)
    return W1, b1, torch.einsum("nc,n->cn", messages, 1 / loud)
