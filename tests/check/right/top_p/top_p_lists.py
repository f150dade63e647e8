import torch


def top_p(logits, p):
    rows = []
    for row in logits:
        shares = row.softmax(0)
        order = sorted(range(len(row)), key=lambda i: float(row[i]), reverse=True)
        total, count = 0.0, 0
        while total < p and count < len(order):
            total += float(shares[order[count]])
            count += 1
        new = torch.zeros_like(row)
        for i in order[:count]:
            new[i] = shares[i]
        rows.append(new / new.sum())
    return torch.stack(rows)
