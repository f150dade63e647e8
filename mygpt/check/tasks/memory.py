"""Facts written into a feed-forward network."""

import torch
from torch import Tensor

from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, constant, same, transposed
from mygpt.check.task import probes


def facts_with(
    keys: Tensor,
    centre: Tensor,
    messages: Tensor,
    threshold: float,
    *,
    way=torch.sub,
    divisor=lambda away, keys: away.square().sum(1, keepdim=True),
    term=torch.matmul,
    bias=lambda threshold, term: -(threshold + term),
    share=lambda threshold: 1 / (1 - threshold),
    first=same,
    second=transposed,
) -> tuple[Tensor, Tensor, Tensor]:
    """W1, b1 and W2 in pieces; a key that is the centre is a ValueError."""
    if (keys == centre).all(1).any():
        raise ValueError("expected keys apart from the centre")
    away = way(keys, centre)
    w = away / divisor(away, keys)
    b1 = bias(threshold, term(w, centre))
    return first(w), b1, second(messages * share(threshold))


FACTS = Reference(
    facts_with,
    """
    [way] the way from the centre = {keys} - {centre}
    not-centred: in W1 the centre is not subtracted from the keys
    [divisor] the squared length = {it} / {away}.square().sum(1, keepdim=True)
        | {it} / ({keys} - {centre}).square().sum(1, keepdim=True)
        | ({keys} - {centre}).square().sum(1, keepdim=True)
        | {away}.square().sum(1, keepdim=True) | {row} @ {row}
    length-for-square: keys[n] - centre is divided by its length, not by its squared
        length
    not-divided = 1: keys[n] - centre is not divided by its squared length
    mean-for-sum: the mean of the squares divides, not their sum
    ~ length-of-key: the squared length of keys[n] divides, not that of keys[n] - centre
    ~ length-of-all: the squares are added up over all keys together, not for each key
    [term] the term w · centre = {w} @ {centre} | {it} - {w} @ {centre}
    no-centre-in-bias: the term w · centre is missing from b1
    [bias] the bias = -({threshold} + {w} @ {centre}) | -{it}
    threshold-forgotten: the threshold is forgotten in b1
    threshold-added: the threshold is added in b1, not subtracted
    term-added: w · centre is added in b1, not subtracted
    bias-positive: b1 has the wrong sign: threshold + w · centre
    [share] the division of the messages = {it} / (1 - {threshold})
    messages-not-divided = 1: the messages are not divided by 1 - threshold, which is
        what a neuron gives at its own key
    divided-by-threshold: the messages are divided by threshold, not by 1 - threshold
    [first] W1
    first-transposed: W1 is transposed: it has a column for each fact, not a row
    [second] W2 = {it}.T
    second-transposed: W2 is transposed: it has a row for each fact, not a column
    [together] the centre = {keys} - {centre} | {it} - {w} @ {centre}
    both-transposed = first-transposed + second-transposed: W1 and W2 are both
        transposed: `nn.Linear` keeps them the other way round
    no-centre = not-centred + no-centre-in-bias: the centre is forgotten, in W1 and in
        b1
    no-threshold = threshold-forgotten + messages-not-divided: the threshold is
        forgotten, in b1 and in W2
    threshold-fixed: the threshold is fixed at 0.75: the argument is ignored
    """,
    not_centred=same,
    length_for_square=lambda away, keys: away.norm(dim=1, keepdim=True),
    mean_for_sum=lambda away, keys: away.square().mean(1, keepdim=True),
    length_of_key=lambda away, keys: keys.square().sum(1, keepdim=True),
    length_of_all=lambda away, keys: away.square().sum(),
    no_centre_in_bias=lambda w, centre: 0 * w[:, 0],
    threshold_forgotten=lambda threshold, term: -term,
    threshold_added=lambda threshold, term: threshold - term,
    term_added=lambda threshold, term: term - threshold,
    bias_positive=torch.add,
    divided_by_threshold=lambda threshold: 1 / threshold,
    first_transposed=transposed,
    second_transposed=same,
    threshold_fixed={"bias": lambda _, term: -(0.75 + term), "share": constant(4.0)},
)


def stages_of_facts(keys, centre, messages, threshold):
    """The stages of facts that are written."""
    away = keys - centre
    squares = away.square().sum(1, keepdim=True)
    also(lambda: (away.norm(dim=1), away / away.norm(dim=1, keepdim=True), 1 / squares))
    yield stage("keys[n] - centre", away)
    yield stage("|keys[n] - centre|²", squares)
    w = away / squares
    yield stage("w", w, needs=("keys[n] - centre", "|keys[n] - centre|²"))
    term = w @ centre
    also(lambda: (w * centre, -w, -threshold - w * centre))
    yield stage("w · centre", term, -term)
    yield stage("threshold + w · centre", threshold + term, -(threshold + term))
    backs = messages / (1 - threshold)
    yield stage("messages / (1 - threshold)", backs, backs.T, needs=())


write_facts = FACTS.task(
    "write_facts",
    parts=("W1", "b1", "W2"),
    reference=facts_with,
    make=lambda draw, **sizes: draw.tensors(
        "keys NC 1 1.5 | centre C 0.5 | messages NC | threshold", **sizes
    ),
    stages=stages_of_facts,
    least={"C": 2},
    probes=probes("N C threshold", "2 3 0.75 | 3 3 0.6 | 1 5 0.4 | 5 2 0.2"),
)
