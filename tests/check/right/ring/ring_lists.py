import torch


def ring(team, turn):
    n = len(team)
    rows = team.tolist()
    messages = [rows[w][(w - turn) % n] for w in range(n)]
    for w, message in enumerate(messages):
        own = rows[(w + 1) % n]
        own[(w - turn) % n] = message + (own[(w - turn) % n] if turn < n - 1 else 0)
    return torch.tensor(rows, dtype=team.dtype)
