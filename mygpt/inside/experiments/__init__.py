"""Every measurement of the memory chapters, for trained models and nulls alike.

Each takes a model of the world and the prompts of all its facts, in the order of
`World.facts`: 40 countries × 4 relations × 4 phrasings. For a null the prompts have
the null's own likeliest answers (`null_models.own_answers`), so that it is asked for
something that it says. Shares are from 0 to 1; falls are in nats of log-odds. "The
network" is the last feed-forward network.
"""

from mygpt.inside.experiments.answers import (
    EACH,
    PHRASINGS,
    answer_words,
    by_cell,
    guess,
    is_right,
    of_its_kind,
    share,
)
from mygpt.inside.experiments.edits import (
    followed,
    groups,
    in_a_row,
    mean_loudness,
    new_answers,
    rewrite_each,
    rewriting_success,
    success_rates,
)
from mygpt.inside.experiments.halves import (
    exchanged,
    exchanges,
    halves,
    heads_off,
    network_off,
)
from mygpt.inside.experiments.neurons import (
    cards,
    chosen_elsewhere,
    first_words,
    reach,
    shared_words,
)
from mygpt.inside.experiments.outside import linear_map, relearned_longer, relearning
from mygpt.inside.experiments.routes import carried, induction, lens

__all__ = [
    "EACH",
    "PHRASINGS",
    "answer_words",
    "by_cell",
    "cards",
    "carried",
    "chosen_elsewhere",
    "exchanged",
    "exchanges",
    "first_words",
    "followed",
    "groups",
    "guess",
    "halves",
    "heads_off",
    "in_a_row",
    "induction",
    "is_right",
    "lens",
    "linear_map",
    "mean_loudness",
    "network_off",
    "new_answers",
    "of_its_kind",
    "reach",
    "relearned_longer",
    "relearning",
    "rewrite_each",
    "rewriting_success",
    "share",
    "shared_words",
    "success_rates",
]
