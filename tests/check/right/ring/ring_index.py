import torch


def ring(team, turn):
    n = len(team)
    workers = torch.arange(n)
    parts, after = (workers - turn) % n, (workers + 1) % n
    handed = team[workers, parts]
    return team.index_put((after, parts), handed, accumulate=turn < n - 1)
