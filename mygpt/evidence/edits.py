"""What follows when a fact is rewritten, and what stays."""

import random
from collections.abc import Sequence

from mygpt.editing import rewrite, second_moment
from mygpt.evidence.answers import (
    COUNTRIES,
    PHRASINGS,
    ROWS,
    SHAPE,
    answer_words,
    share,
)
from mygpt.probes import Prompts, final_logits, make_prompts
from mygpt.world import RELATIONS
from mygpt.world_model import WorldModel


def edits(
    made: WorldModel, prompts: Prompts, facts: Sequence[int], seed: int = 0
) -> dict[str, float]:
    """Facts rewritten one at a time from the first phrasing; what follows, what stays.

    Each gets another of the answers of its relation. Shares of the other phrasings that
    follow, and of the answers that stay: of the country's other facts, of the same
    relation elsewhere, of the rest.
    """
    model, layer = made.model, len(made.model.blocks) - 1
    moment = second_moment(model, made.rows(ROWS), layer)
    draw, choices = random.Random(seed), answer_words(made)
    scores: dict[str, list[float]] = {}
    for fact in facts:
        country, relation = divmod(fact, len(RELATIONS))
        first = fact * PHRASINGS
        candidates = [
            i
            for i in choices[relation].nonzero()[:, 0].tolist()
            if i != prompts.answers[first]
        ]
        new = candidates[int(draw.random() * len(candidates))]
        text = prompts.ids[first, : prompts.last[first] + 1].tolist()
        edited = rewrite(model, make_prompts([text], [new]), layer, moment)
        said = final_logits(edited, prompts).argmax(-1).view(SHAPE)
        stays = said == prompts.answers.view(SHAPE)
        own = [i for i in range(len(RELATIONS)) if i != relation]
        rest = [i for i in range(COUNTRIES) if i != country]
        groups = {
            "prompt": said[country, relation, :1] == new,
            "phrasings": said[country, relation, 1:] == new,
            "country": stays[country, own],
            "relation": stays[rest, relation],
            "rest": stays[rest][:, own],
        }
        for name, group in groups.items():
            scores.setdefault(name, []).append(share(group))
    return {name: sum(found) / len(found) for name, found in scores.items()}
