def ring(team, turn):
    n = len(team)
    new = team + 0
    adds = turn + 1 < n
    for part in range(n):
        giver = (part + turn) % n
        taker = giver + 1 if giver + 1 < n else 0
        new[taker, part] = adds * team[taker, part] + team[giver, part]
    return new
