import torch


def ring(team, turn):
    n = team.shape[0]
    rows = []
    for worker in range(n):
        before = worker - 1
        row = team[worker].clone()
        part = (before - turn) % n
        handed = team[before, part]
        row[part] = row[part] + handed if turn <= n - 2 else handed
        rows.append(row)
    return torch.stack(rows)
