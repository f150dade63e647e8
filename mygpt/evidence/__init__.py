"""Every measurement of the memory chapters, for trained models and nulls alike.

Each takes a model of the world and the prompts of all its facts, in the order of
`World.facts`: 40 countries × 4 relations × 4 phrasings. For a null the prompts have
the null's own likeliest answers (`nulls.own_answers`), so that it is asked for
something that it says. Shares are from 0 to 1; falls are in nats of log-odds. "The
network" is the last feed-forward network.
"""

from mygpt.evidence.answers import (
    EACH,
    PHRASINGS,
    answer_words,
    by_cell,
    guess,
    is_right,
    of_its_kind,
    share,
)
from mygpt.evidence.edits import edits
from mygpt.evidence.halves import exchanged, halves, heads_off, network_off
from mygpt.evidence.neurons import (
    chosen_elsewhere,
    explained,
    first_words,
    reach,
    shared_words,
)
from mygpt.evidence.outside import linear_map, relearning
from mygpt.evidence.routes import carried, induction, lens

__all__ = [
    "EACH",
    "PHRASINGS",
    "answer_words",
    "by_cell",
    "carried",
    "chosen_elsewhere",
    "edits",
    "exchanged",
    "explained",
    "first_words",
    "guess",
    "halves",
    "heads_off",
    "induction",
    "is_right",
    "lens",
    "linear_map",
    "network_off",
    "of_its_kind",
    "reach",
    "relearning",
    "share",
    "shared_words",
]
