"""What the rest of the model knows without its last network."""

from collections.abc import Sequence
from dataclasses import asdict

import torch
from torch import Tensor

from mygpt.inside.experiments.answers import EACH, PHRASINGS
from mygpt.inside.fresh_network import (
    STEPS,
    Recovered,
    entering,
    planted,
    recovered,
    relearned_logits,
)
from mygpt.inside.hooks import Prompts
from mygpt.inside.null_models import dealt_answers
from mygpt.inside.world_models import WorldModel
from mygpt.world.corpus import ANSWERS, RELATIONS

QUIET = (0.3, 0.1, 0.05)  # loudness of further codes, against what the network reads
FOLDS = 4  # of the countries; a new network learns three and is asked for the fourth


def relearning(
    made: WorldModel, prompts: Prompts, seed: int = 0
) -> dict[str, dict[str, dict[str, int | float]]]:
    """What new networks know of countries that they did not learn, by relation.

    "facts": the facts. "dealt": the null, each country with the answers of another, so
    that nothing outside the new network can help. The positive controls: a code of the
    answer "beside" what the network reads, the same more quietly, and "alone".
    """
    dealt = dealt_answers(prompts, EACH, seed)
    x = entering(made.model, prompts)[0]
    code = planted(made.model, prompts, seed)
    quiet = {
        f"beside, {loudness:g}": planted(made.model, prompts, seed, loudness)
        for loudness in QUIET
    }
    return {
        "facts": _recovered(made, prompts, None, seed),
        "dealt": _recovered(made, dealt, None, seed),
        "beside": _recovered(made, prompts, torch.cat([x, code], -1), seed),
        "alone": _recovered(made, prompts, code, seed),
    } | {
        name: _recovered(made, prompts, torch.cat([x, one], -1), seed)
        for name, one in quiet.items()
    }


def relearned_longer(
    made: WorldModel, prompts: Prompts, steps: int, seed: int = 0
) -> dict[str, dict[str, dict[str, int | float]]]:
    """The counts of `relearning` for facts and dealt answers, after more steps."""
    dealt = dealt_answers(prompts, EACH, seed)
    return {
        "facts": _recovered(made, prompts, None, seed, steps),
        "dealt": _recovered(made, dealt, None, seed, steps),
    }


def _recovered(
    made: WorldModel,
    prompts: Prompts,
    inputs: Tensor | None,
    seed: int,
    steps: int = STEPS,
) -> dict[str, dict[str, int | float]]:
    """The counts of `recovered`, by relation, summed over all folds of countries."""
    country = torch.arange(len(prompts)) // EACH
    relation = torch.arange(len(prompts)) // PHRASINGS % len(RELATIONS)
    total = {name: dict.fromkeys(Recovered.__annotations__, 0) for name in RELATIONS}
    for fold in range(FOLDS):
        learned = country % FOLDS != fold
        logits = relearned_logits(made.model, prompts, learned, inputs, steps, seed)
        for i, name in enumerate(RELATIONS):
            where = relation == i
            one = recovered(logits[where], prompts.answers[where], learned[where])
            for field, count in asdict(one).items():
                total[name][field] += count
    return total


def linear_map(made: WorldModel, answers: Sequence[str]) -> int:
    """How many held-out answers one linear map predicts from country vectors.

    The matrix is fitted to the word vectors of all countries but one, and asked for the
    one left out; the answer must come first of all words.
    """
    countries = [country for country, relation in ANSWERS if relation == RELATIONS[0]]
    vectors = made.model.token.embedding.weight.detach()
    X, ids = vectors[made.encode(countries)], torch.tensor(made.encode(list(answers)))
    ridge = 0.1 * X.square().mean() * torch.eye(X.shape[1])
    right = 0
    for i in range(len(countries)):
        rest = torch.arange(len(countries)) != i
        matrix = torch.linalg.solve(
            X[rest].T @ X[rest] + ridge, X[rest].T @ vectors[ids[rest]]
        )
        right += int((X[i] @ matrix @ vectors.T).argmax() == ids[i])
    return right
