"""A turn of a ring of workers."""

import operator

import torch
from torch import Tensor

from mygpt.check.reference import Reference, constant, last, transposed
from mygpt.check.task import probes


def ring_with(
    team: Tensor,
    turn: int,
    *,
    begin=torch.clone,
    workers=range,
    part=lambda w, turn, n: (w - turn) % n,
    after=lambda w, n: (w + 1) % n,
    source=lambda team, new: team,
    switch=lambda n: n - 1,
    first=operator.add,
    second=last,
    left=False,
) -> Tensor:
    """A turn in pieces; `left`: whether a worker is left with 0 of what it hands on."""
    n, new = len(team), begin(team)
    for w in workers(n):
        at, to = part(w, turn, n), after(w, n)
        handed = source(team, new)[w, at].clone()
        if left:
            new[w, at] = 0
        new[to, at] = (first if turn < switch(n) else second)(team[to, at], handed)
    return new


def all_turns(team: Tensor, turn: int) -> Tensor:
    """Take all turns up to one."""
    for each in range(turn + 1):
        team = ring_with(team, each)
    return team


RING = Reference(
    ring_with,
    """
    [part] the part = ({w} - {turn}) % {n} | ({w} - {turn}) % len({team})
    turn-added: worker w hands on part (w + turn) mod n, not (w - turn) mod n
    turn-ignored: worker w hands on part w in every turn
    ~ same-part: all workers hand on the same part, {} mod n
    turned-round: worker w hands on part (turn - w) mod n, not (w - turn) mod n
    part-of-receiver: worker w hands on part (w + 1 - turn) mod n, which is that of the
        worker after it
    turns-from-one: worker w hands on part (w - turn - 1) mod n, as if the first turn
        were turn 1
    begun-anew: the second round begins with part w again: worker w hands on what it had
        in turn 0, not the part that it just got
    no-modulo: the part is w - turn without mod n, which is below -n in late turns
    all-parts: every worker hands on all its parts, not one
    [after] the next worker = ({w} + 1) % {n} | ({w} + 1) % len({team})
    backwards: worker w hands to worker w - 1, not to worker w + 1
    [workers] the workers = range({n}) | range(len({team}))
    last-hands-nothing: the last worker hands nothing to worker 0
    [switch] the switch = {turn} < {n} - 1 | {turn} < len({team}) - 1
    one-turn-too-late: the second round begins one turn too late: turn n - 1 adds
    one-turn-too-early: the second round begins one turn too early: turn n - 2 does not
        add
    [second] the second round
    adds-in-the-second: the second round adds: what comes is complete and takes the
        place of a worker's own
    [first] the first round
    copies-in-the-first: the first round does not add: what comes takes the place of a
        worker's own
    averages: the first round takes the mean of the two parts, not their sum
    [left] the part that is handed on
    given-away = True: a worker has 0 left of what it hands on; it keeps its own
    [source] the table = {team}
    ~ in-place: the workers hand on one after the other, in the same table: a part
        travels through several workers in one turn
    [begin] the new table = {team}.clone()
    rest-zero: what nobody hands on is 0 in the new table, not what it was
    [whole] the turn
    all-turns: all turns up to this one are made; it is this one alone
    nothing-handed: nothing is handed on: the table is as it was
    [together] the table
    rounds-exchanged = adds-in-the-second + copies-in-the-first: the two rounds change
        places: the first keeps what comes, and the second adds it
    zeros: the new table begins with zeros, not with what the workers hold
    rows-and-columns: the table is read by columns: row w is what worker w holds
    """,
    turn_added=lambda w, turn, n: (w + turn) % n,
    turn_ignored=lambda w, turn, n: w,
    same_part=[
        (["turn"], lambda w, turn, n: turn % n),
        (["-turn"], lambda w, turn, n: -turn % n),
    ],
    turned_round=lambda w, turn, n: (turn - w) % n,
    part_of_receiver=lambda w, turn, n: (w + 1 - turn) % n,
    turns_from_one=lambda w, turn, n: (w - turn - 1) % n,
    begun_anew=lambda w, turn, n: (w - turn % (n - 1)) % n,
    no_modulo=lambda w, turn, n: w - turn,
    all_parts=constant(slice(None)),
    backwards=lambda w, n: w - 1,
    last_hands_nothing=lambda n: range(n - 1),
    one_turn_too_late=lambda n: n,
    one_turn_too_early=lambda n: n - 2,
    adds_in_the_second=operator.add,
    copies_in_the_first=last,
    averages=lambda own, handed: (own + handed) / 2,
    in_place=last,
    rest_zero=torch.zeros_like,
    zeros={"begin": torch.zeros_like, "first": last},
    all_turns=all_turns,
    nothing_handed=lambda team, turn: team,
    rows_and_columns={
        "given": lambda team, turn: (team.T, turn),
        "result": transposed,
    },
)


ring = RING.task(
    "ring",
    reference=ring_with,
    make=lambda draw, n, turn: {"team": draw.normal(n, n), "turn": turn % (2 * n - 2)},
    least={"n": 2, "turn": 0},
    probes=probes(
        "n turn", "4 1 | 4 2 | 4 3 | 4 5 | 3 0 | 3 1 | 3 2 | 2 0 | 2 1 | 5 4 | 5 7"
    ),
)
