"""What follows when a fact is rewritten, and what stays."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mygpt.inside.editing import ENOUGH, direction, output_for, rewrite, second_moment
from mygpt.inside.experiments.answers import (
    EACH,
    PHRASINGS,
    ROWS,
    answer_words,
    is_right,
    share,
)
from mygpt.inside.hooks import (
    Prompts,
    final_logits,
    hidden,
    make_prompts,
    record_ends,
)
from mygpt.inside.memory import contributions
from mygpt.inside.world_models import WorldModel
from mygpt.support.arguments import check_choice
from mygpt.world.corpus import RELATIONS

Way = Callable[[WorldModel, Prompts, Tensor, Tensor], Tensor]


def rank_one(
    made: WorldModel, once: Prompts, key: Float[Tensor, "F"], moment: Tensor
) -> Float[Tensor, "F"]:
    """ROME's w, which the corpus feels least."""
    return direction(key, moment).to(key)


def gradient(
    made: WorldModel, once: Prompts, key: Float[Tensor, "F"], moment: Tensor
) -> Float[Tensor, "F"]:
    """The w of plain gradient descent on W2, along the key itself."""
    return key / (key @ key)


def one_value(
    made: WorldModel, once: Prompts, key: Float[Tensor, "F"], moment: Tensor
) -> Float[Tensor, "F"]:
    """The w that reads one neuron alone: that which adds most to the old answer."""
    old = Prompts(once.ids, once.last, final_logits(made.model, once).argmax(-1))
    neuron = contributions(made.model, old, len(made.model.blocks) - 1)[0].argmax()
    w = torch.zeros_like(key)
    w[neuron] = 1 / key[neuron]
    return w


WAYS: dict[str, Way] = {
    "rank one": rank_one,
    "gradient": gradient,
    "one value": one_value,
}


@dataclass(frozen=True)
class RewrittenFacts:
    """Facts rewritten one at a time, each in a model of its own.

    fact: the number of each fact, 4 × country + relation. new: its new answer.
    said: the answers to all prompts then. loudness: w · m, m the coefficients of each
    prompt, which gets so many times the change. stories: the share of stories that are
    right then.
    """

    fact: list[int]
    new: list[int]
    said: Int[Tensor, "N P"]
    loudness: Float[Tensor, "N P"]
    stories: list[float]


def rewrite_each(
    made: WorldModel,
    prompts: Prompts,
    facts: Sequence[int],
    way: str = "rank one",
    enough: float = ENOUGH,
    stories: Prompts | None = None,
    seed: int = 0,
    moment: Float[Tensor, "F F"] | None = None,
    new: Sequence[int] | None = None,
) -> RewrittenFacts:
    """Rewrite facts from their first phrasing, each to another answer of its relation.

    Only W2 of the last network changes, by u wᵀ: what comes before stays as it was, and
    each prompt gets w · m times u. Without a second `moment`, it is that of some text
    of the world; without `new` answers, they are drawn (`new_answers`).
    """
    check_choice(WAYS, way=way)
    model, layer = made.model, len(made.model.blocks) - 1
    if moment is None:
        moment = second_moment(model, made.rows(ROWS), layer)
    m, stream = _last_step(made, prompts)
    told = None if stories is None else _last_step(made, stories)
    if new is None:
        new = new_answers(made, prompts, facts, seed)
    said, loudness, kept = [], [], []
    for fact, word in zip(facts, new, strict=True):
        once = _once(prompts, fact, word)
        u = output_for(model, once, layer, enough)
        w = WAYS[way](made, once, m[fact * PHRASINGS], moment)
        loudness.append(m @ w)
        said.append(_said(made, stream, loudness[-1], u))
        if stories is not None:
            words = _said(made, told[1], told[0] @ w, u)
            kept.append(share(words == stories.answers))
    return RewrittenFacts(
        list(facts), list(new), torch.stack(said), torch.stack(loudness), kept
    )


def rewriting_success(
    made: WorldModel, prompts: Prompts, facts: Sequence[int], **settings
) -> dict[str, float]:
    """The success rates of facts rewritten with the settings of `rewrite_each`."""
    return success_rates(rewrite_each(made, prompts, facts, **settings), prompts)


def success_rates(found: RewrittenFacts, prompts: Prompts) -> dict[str, float]:
    """The shares that follow and that stay as they should, means over the facts.

    The "prompt" and the other "phrasings" of the fact follow. What stays are the
    answers to the "country"'s other facts, to the same "relation" elsewhere, to the
    "rest", and, if they were asked, to the "stories".
    """
    of, new = groups(found), torch.tensor(found.new)[:, None]
    good = dict.fromkeys(("prompt", "phrasings"), found.said == new) | dict.fromkeys(
        ("country", "relation", "rest"), found.said == prompts.answers
    )
    rates = {name: _mean_over_facts(good[name], of[name]) for name in good}
    if found.stories:
        rates["stories"] = sum(found.stories) / len(found.stories)
    return rates


def mean_loudness(found: RewrittenFacts) -> dict[str, float]:
    """The mean of w · m over each group of prompts: how much of the change they get."""
    return {
        name: _mean_over_facts(found.loudness, where)
        for name, where in groups(found).items()
        if name != "prompt"
    }


def followed(found: RewrittenFacts) -> dict[str, list[list[float]]]:
    """By relation and phrasing: the shares that follow, and the mean of w · m."""
    fact, new = torch.tensor(found.fact), torch.tensor(found.new)
    at = fact[:, None] * PHRASINGS + torch.arange(PHRASINGS)  # (N, 4)
    follows = (found.said.gather(1, at) == new[:, None]).float()
    loudness = found.loudness.gather(1, at)
    cells = {"follows": [], "felt": []}
    for relation in range(len(RELATIONS)):
        of = fact % len(RELATIONS) == relation
        cells["follows"].append(follows[of].mean(0).tolist())
        cells["felt"].append(loudness[of].mean(0).tolist())
    return cells


def in_a_row(
    made: WorldModel,
    prompts: Prompts,
    stories: Prompts,
    facts: Sequence[int],
    counts: Iterable[int],
    seed: int = 0,
) -> list[dict[str, int | float]]:
    """Rewrite facts one after the other, each in the model that the last one left.

    After each of `counts` edits: the shares of rewritten prompts and of their other
    phrasings that have their new answers, of all other facts and of the stories that
    are still right.
    """
    layer = len(made.model.blocks) - 1
    new = new_answers(made, prompts, facts, seed)
    model, found = made.model, []
    moment = second_moment(model, made.rows(ROWS), layer)
    for done, (fact, word) in enumerate(zip(facts, new, strict=True), start=1):
        model = rewrite(model, _once(prompts, fact, word), layer, moment)
        if done not in counts:
            continue
        now = WorldModel(model, made.world)
        said = final_logits(model, prompts).argmax(-1).view(-1, PHRASINGS)
        holds = said[list(facts[:done])] == torch.tensor(new[:done])[:, None]
        others = torch.ones(len(said), dtype=torch.bool)
        others[list(facts[:done])] = False
        right = said == prompts.answers.view(-1, PHRASINGS)
        found.append(
            {
                "edits": done,
                "prompts": share(holds[:, 0]),
                "phrasings": share(holds[:, 1:]),
                "other facts": share(right[others]),
                "stories": share(is_right(now, stories)),
            }
        )
    return found


def groups(found: RewrittenFacts) -> dict[str, Bool[Tensor, "N P"]]:
    """For each edited fact, which prompts are the prompt, its phrasings, and so on."""
    fact = torch.tensor(found.fact)[:, None]
    place = torch.arange(found.said.shape[1])
    country = place // EACH == fact // len(RELATIONS)
    relation = place // PHRASINGS % len(RELATIONS) == fact % len(RELATIONS)
    first = place % PHRASINGS == 0
    return {
        "prompt": country & relation & first,
        "phrasings": country & relation & ~first,
        "country": country & ~relation,
        "relation": ~country & relation,
        "rest": ~country & ~relation,
    }


def _mean_over_facts(of: Tensor, where: Tensor) -> float:
    """The mean over each row's chosen prompts; every row chooses as many."""
    return of[where].float().mean().item()


def new_answers(
    made: WorldModel, prompts: Prompts, facts: Sequence[int], seed: int = 0
) -> list[int]:
    """For each fact another of the answers of its relation, drawn at random."""
    draw, choices, new = random.Random(seed), answer_words(made), []
    for fact in facts:
        words = choices[fact % len(RELATIONS)].nonzero()[:, 0].tolist()
        words = [i for i in words if i != prompts.answers[fact * PHRASINGS]]
        new.append(words[int(draw.random() * len(words))])
    return new


def _once(prompts: Prompts, fact: int, new: int) -> Prompts:
    """The first phrasing of a fact, with its new answer."""
    first = fact * PHRASINGS
    text = prompts.ids[first, : prompts.last[first] + 1].tolist()
    return make_prompts([text], [new])


def _last_step(made: WorldModel, prompts: Prompts) -> tuple[Tensor, Tensor]:
    """The last network's coefficients and the last stream, at the prompts' ends."""
    place = hidden(len(made.model.blocks) - 1)
    fired, stream = record_ends(made.model, prompts, place, "ln_f.input")
    return fired, stream


@torch.no_grad()
def _said(made: WorldModel, stream: Tensor, loudness: Tensor, u: Tensor) -> Tensor:
    return made.model.logits(made.model.ln_f(stream + loudness[:, None] * u)).argmax(-1)
