"""Inputs apart from a task's probes, and whether two programs differ on them."""

import random
from collections.abc import Iterable
from typing import Any

import torch

from mygpt.check.mends.trial import alike
from mygpt.check.other_inputs import RATES, text_of, words_of
from mygpt.check.process.run import Outcome, OutOfTime, Unusable, run_once, time_limit
from mygpt.check.task import Arguments, Draw, Program, Task

FIRST = 10_000  # seeds of the probes are below
SECONDS = 2.0  # for one run; a loop that never ends is a difference, too
NAMES = ("mia", "leo", "zoe", "sue", "ted", "uma", "kim", "pam", "nat", "ben", "fay")
THINGS = ("lamp", "drum", "rope", "fork", "glove", "hat", "bowl", "ladder", "pen")
ALPHABETS = ("ab", "abc", "xyz ", "aé", "low er")
PLACES = ("france", "egypt", "japan", "italy", "spain", "kenya")
WRITTEN = {"bpe_train": words_of, "bpe_encode": text_of}


def sizes_of(task: Task, rng: random.Random) -> dict[str, Any]:
    """Draw sizes between those of the probes, or a little beyond them."""
    drawn: dict[str, Any] = {}
    for name, value in rng.choice(task.probes).sizes.items():
        usual = [each.sizes[name] for each in task.probes if name in each.sizes]
        drawn[name] = rng.choice(usual)
        if type(value) is int:
            least = min(task.least.get(name, 1), *usual)
            drawn[name] = rng.randint(least, max(usual) + 1)
        elif isinstance(value, tuple):
            drawn[name] = tuple(rng.choices((1, 2, 3), k=rng.randint(1, 4)))
    if "p" in drawn:
        drawn["p"] = rng.choice(RATES)
    if "prompt" in drawn:
        drawn |= {"prompt": prompt(rng), "n": rng.randint(1, 8)}
    if "N" in drawn:  # rows of a table of positions
        room = (drawn["N"], drawn.get("T", 1), sum(drawn.get("pieces", ())))
        drawn["N"] = max(room)
    return drawn


def prompt(rng: random.Random) -> str:
    """Draw a question, or a story that repeats a row, from the tiny world's words."""
    if rng.random() < 0.3:
        return f"the {rng.choice(('capital', 'currency'))} of {rng.choice(PLACES)} is"
    names, things = rng.sample(NAMES, 3), rng.sample(THINGS, 3)
    rows = [" ".join(row) for row in zip(names, things, strict=True)]
    return " . ".join([*rows, rng.choice(rows), rng.choice(names)])


def arguments_of(task: Task, number: int) -> Arguments:
    """Make the arguments of one number, the same on every machine."""
    rng = random.Random(f"{task.name} {number}")
    if task.name in WRITTEN:
        return WRITTEN[task.name](rng, ALPHABETS)
    return task.make(Draw(FIRST + number), **sizes_of(task, rng))


def outcome(
    task: Task, program: Program, number: int, dtype: torch.dtype = torch.float64
) -> Outcome:
    """Run a program on the inputs of one number; too long is an error."""
    return outcome_of(task, program, arguments_of(task, number), dtype)


def outcome_of(
    task: Task,
    program: Program,
    arguments: Arguments,
    dtype: torch.dtype = torch.float64,
) -> Outcome:
    """Run a program on some arguments; too long is an error."""
    try:
        with time_limit(SECONDS):
            return run_once(task, program, arguments, dtype)
    except (OutOfTime, Unusable) as error:
        return Outcome(error=error)


def differ(task: Task, expected: Outcome, got: Outcome) -> bool:
    """Whether two outcomes differ, as the checker compares them."""
    return not alike(expected, got, task.tolerance)


def first_difference(
    task: Task,
    program: Program,
    other: Program,
    inputs: Iterable[int],
    dtype: torch.dtype = torch.float64,
) -> int | None:
    """Return the first of some inputs on which two programs differ, or None."""
    for number in inputs:
        both = (outcome(task, each, number, dtype) for each in (other, program))
        if differ(task, *both):
            return number
    return None
