import torch


def generate(step, ids, max_new_tokens):
    parts, cache = [ids], None
    for _ in range(max_new_tokens):
        logits, cache = step(parts[-1], cache)
        probabilities = torch.softmax(logits, dim=-1)
        parts.append(torch.argmax(probabilities, dim=-1).unsqueeze(1))
    return torch.cat(parts, dim=1)
