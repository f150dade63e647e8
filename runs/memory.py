"""Train models of the tiny world anew, and measure all that chapter 10 says of them.

    python -m runs.memory [--seeds 1 2 3 4 5] [--out FILE] [--jobs 2]

Four kinds of model, a training for each seed, two relearnings of each, the nulls of the
two kinds that are shipped, and the first kind once more without the nudge. Half an hour
on two cores.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from mygpt.inside import experiments
from mygpt.inside.hooks import Prompts, memory_layers
from mygpt.inside.null_models import NULLS, own_answers, random_answers
from mygpt.inside.world_models import KINDS, SHIPPED, WorldModel, train_world_model
from mygpt.support.stored_runs import FOLDER, store_runs
from mygpt.world.corpus import ANSWERS

OUT = FOLDER / "memory.json"
SEEDS = (1, 2, 3, 4, 5)
RELEARNINGS = (0, 1)
LONGER = 3000  # steps of one more relearning, of the first kind
GAINS = (1.0, 2.0, 4.0, 16.0)  # of the nulls: as loud as the network, and louder
READ = 800  # rows of text for triggers
FORTY = [4 * country + country % 4 for country in range(40)]  # a fact of each country
TEN = FORTY[::4]  # to rewrite in a null
CAPITALS = [
    answer for (_, relation), answer in ANSWERS.items() if relation == "capital"
]


def measured(
    made: WorldModel, facts: Prompts, stories: Prompts, rewritten: list[int] = FORTY
) -> dict:
    """Every measurement that a trained model and a null both go through."""
    rows = made.rows(READ, seed=1)
    true = made.prompts(made.world.facts())
    return {
        "right": experiments.share(experiments.is_right(made, true)),
        "guess": experiments.guess(facts),
        "triggers share a word": experiments.shared_words(made, rows),
        "value names the next word": experiments.first_words(made, rows),
        "lens": experiments.lens(made, facts),
        "lens, stories": experiments.lens(made, stories),
        "neurons": experiments.chosen_elsewhere(made, facts),
        "reach": experiments.reach(made, facts),
        "halves": experiments.halves(made, facts, stories),
        "exchanges": experiments.exchanges(made, facts, stories),
        "carried": experiments.carried(made, facts),
        "edits": experiments.rewriting_success(made, facts, rewritten),
    }


def of_nulls(made: WorldModel, facts: Prompts, stories: Prompts, seed: int) -> dict:
    """The same of the nulls made from a model, with the answers that they give."""
    found = {}
    for name, make in NULLS.items():
        for gain in GAINS:
            null = WorldModel(make(made.model, facts, seed, gain), made.world)
            own = [own_answers(null.model, prompts) for prompts in (facts, stories)]
            found[f"{name}, gain {gain:g}"] = measured(null, *own, TEN)
    words = experiments.answer_words(made).any(0).nonzero()[:, 0]
    drawn = random_answers(facts, words, experiments.PHRASINGS, seed)
    found["random word"] = {
        "lens": experiments.lens(made, drawn),
        "neurons": experiments.chosen_elsewhere(made, drawn),
        "reach": experiments.reach(made, drawn),
    }
    return found


def run(kind: str, seed: int) -> dict:
    """One training, and all that is measured on it."""
    torch.set_num_threads(1)
    made = train_world_model(kind, seed, progress=False)
    facts, stories = made.prompts(made.world.facts()), made.stories(500, seed=7)
    held_out = torch.tensor([fact.held_out for fact in made.world.facts()])
    right = experiments.is_right(made, facts)
    found = {
        "kind": kind,
        "seed": seed,
        "trained phrasings": experiments.share(right[~held_out]),
        "held-out phrasings": experiments.share(right[held_out]),
        "stories": experiments.share(experiments.is_right(made, stories)),
        "relearning": [experiments.relearning(made, facts, s) for s in RELEARNINGS],
        "linear map": experiments.linear_map(made, CAPITALS),
        "linear map, dealt": experiments.linear_map(made, CAPITALS[1:] + CAPITALS[:1]),
        "induction": experiments.induction(made, stories),
        "cells": {
            f"network {layer}, {how}": experiments.by_cell(
                experiments.is_right(
                    made, facts, experiments.network_off(made, layer, how)(facts)
                )
            )
            for layer in memory_layers(made.model)
            for how in ("mean", "class mean")
        },
    }
    if kind in SHIPPED:
        found["trained"] = measured(made, facts, stories)
        found["nulls"] = of_nulls(made, facts, stories, seed)
    if kind == "attention-first":
        found["relearning, longer"] = experiments.relearned_longer(made, facts, LONGER)
        plain = train_world_model(kind, seed, progress=False, nudge=False)
        found["without the nudge"] = {
            "right": experiments.share(experiments.is_right(plain, facts)),
            "halves": experiments.halves(plain, facts, stories),
            "exchanges": experiments.exchanges(plain, facts, stories),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = [(kind, seed) for seed in options.seeds for kind in options.kinds]
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(run, *case) for case in cases]
        runs, log = [], []
        for one in waiting:
            runs.append(one.result())
            log.append(line(runs[-1]))
            print(log[-1], file=sys.stderr, flush=True)
    store_runs(options.out, "python -m runs.memory", log, runs)


def line(one: dict) -> str:
    shares = ("trained phrasings", "held-out phrasings", "stories")
    told = ", ".join(f"{name} {one[name]:.1%}" for name in shares)
    return f"{one['kind']}, seed {one['seed']}: {told}"


if __name__ == "__main__":
    main()
