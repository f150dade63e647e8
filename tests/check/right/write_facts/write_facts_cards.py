import torch


def write_facts(keys, centre, messages, threshold):
    fronts, biases, backs = [], [], []
    for key, message in zip(keys, messages, strict=True):
        fronts.append((key - centre) / (key - centre).pow(2).sum())
        biases.append(-(fronts[-1] * centre).sum() - threshold)
        backs.append(message[:, None] / torch.relu(fronts[-1] @ key + biases[-1]))
    return torch.stack(fronts), torch.stack(biases), torch.cat(backs, dim=1)
