import torch


def top_p(logits, p):
    result = torch.zeros_like(logits)
    for n in range(len(logits)):
        left = logits[n].softmax(dim=0).clone()
        chosen, total = [], 0.0
        for _ in range(logits.shape[1]):
            i = left.argmax().item()
            chosen.append(i)
            total += left[i].item()
            left[i] = -1.0
            if total >= p:
                break
        result[n, chosen] = torch.softmax(logits[n, chosen], dim=0)
    return result
