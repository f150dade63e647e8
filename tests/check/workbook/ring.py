def ring(team, turn):
    n, new = len(team), team.clone()
    for worker in range(n):
        part, after = (worker - turn) % n, (worker + 1) % n
        if turn < n - 1:
            new[after, part] += team[worker, part]
        else:
            new[after, part] = team[worker, part]
    return new
