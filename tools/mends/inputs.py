"""Inputs apart from a task's probes, and whether two programs differ on them."""

import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from mygpt.check.compare import find_difference
from mygpt.check.fresh import text_of, words_of
from mygpt.check.run import Outcome, OutOfTime, Unusable, run_once, time_limit
from mygpt.check.task import Arguments, Draw, Program, Task

FIRST = 10_000  # seeds of the probes are below
SECONDS = 2.0  # for one run; a loop that never ends is a difference, too
EPS = (1e-5, 0.1, 0.5, 1.0, 2.0)
NAMES = ("mia", "leo", "zoe", "sue", "ted", "uma", "kim", "pam", "nat", "ben", "fay")
THINGS = ("lamp", "drum", "rope", "fork", "glove", "hat", "bowl", "ladder", "pen")
ALPHABETS = ("ab", "abc", "xyz ", "aé", "low er")
PLACES = ("france", "egypt", "japan", "italy", "spain", "kenya")


def mostly(rng: random.Random, usual: Any, *others: Any) -> Any:
    """Draw the usual value in two of three cases."""
    return rng.choice(others) if rng.random() < 1 / 3 else usual


def norm_sizes(rng: random.Random) -> dict[str, Any]:
    return {
        **sizes(B=(1, 3), T=(1, 4), C=(2, 6))(rng),
        "eps": rng.choice(EPS),
        "mean": mostly(rng, 1.0, 20.0),
    }


def prompt_sizes(rng: random.Random) -> dict[str, Any]:
    """Draw a question, or a story that repeats a row, from the tiny world's words."""
    if rng.random() < 0.3:
        prompt = f"the {rng.choice(('capital', 'currency'))} of {rng.choice(PLACES)} is"
    else:
        names, things = rng.sample(NAMES, 3), rng.sample(THINGS, 3)
        rows = [" ".join(row) for row in zip(names, things, strict=True)]
        prompt = " . ".join([*rows, rng.choice(rows), rng.choice(names)])
    return {"prompt": prompt, "n": rng.randint(1, 8)}


def number_sizes(rng: random.Random) -> dict[str, Any]:
    return {"kind": rng.choice(["near", "matrix"]), "N": rng.randint(1, 12)}


def cached_sizes(rng: random.Random) -> dict[str, Any]:
    pieces = tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 4)))
    room = sum(pieces) + rng.randint(0, 3)
    drawn = sizes(V=(3, 7), B=(1, 2), H=(1, 3), D=(2, 3), L=(1, 3))(rng)
    return {**drawn, "N": room, "pieces": pieces}


def sizes(**ranges: tuple[int, int]) -> Callable[[random.Random], dict[str, Any]]:
    return lambda rng: {name: rng.randint(*ends) for name, ends in ranges.items()}


def position_sizes(
    draw: Callable[[random.Random], dict[str, Any]],
) -> Callable[[random.Random], dict[str, Any]]:
    """Add a position table that is long enough."""

    def drawn(rng: random.Random) -> dict[str, Any]:
        found = draw(rng)
        return {**found, "N": found["T"] + rng.randint(0, 3)}

    return drawn


# Around the sizes of the probes.
SIZES: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "row_times_matrix": sizes(C=(2, 7), F=(2, 7)),
    "softmax": lambda rng: {
        **sizes(N=(1, 5), V=(2, 6))(rng),
        "shift": mostly(rng, 0.0, 1000.0, -1000.0, 400.0),
        "apart": mostly(rng, 0.0, 1000.0),
    },
    "cross_entropy": lambda rng: {
        **sizes(N=(1, 5), V=(2, 7))(rng),
        "shift": mostly(rng, 0.0, 1000.0, -1000.0),
        "scale": mostly(rng, 1.5, 20.0, 600.0),
    },
    "embedding": position_sizes(sizes(V=(3, 7), C=(1, 5), B=(1, 4), T=(1, 5))),
    "attention": sizes(B=(1, 3), T=(1, 5), C=(2, 7), D=(2, 7)),
    "heads": sizes(B=(1, 3), T=(1, 6), H=(1, 3), D=(1, 5)),
    "mlp": lambda rng: {
        **sizes(B=(1, 3), T=(1, 4), C=(1, 5), F=(1, 12))(rng),
        "scale": mostly(rng, 1.0, 10.0),
    },
    "gelu": number_sizes,
    "gelu_tanh": number_sizes,
    "layer_norm": norm_sizes,
    "layer_norm_gradient": norm_sizes,
    "wiring": sizes(B=(1, 3), T=(1, 4), C=(1, 5)),
    "block": lambda rng: {
        **sizes(B=(1, 3), T=(1, 5), H=(1, 3), D=(1, 3))(rng),
        "scale": mostly(rng, 1.0, 0.001),
    },
    "gpt": position_sizes(
        sizes(V=(2, 7), B=(1, 3), T=(1, 5), H=(1, 3), D=(2, 3), L=(1, 3))
    ),
    "adamw_step": lambda rng: {
        **sizes(C=(1, 4), F=(0, 3), step=(1, 5), axes=(2, 3))(rng),
        "eps": mostly(rng, 0.1, 1.0),
    },
    "train": lambda rng: {
        **sizes(V=(2, 5), B=(1, 3), T=(1, 4), N=(1, 4))(rng),
        "training": rng.random() < 0.5,
        "scale": mostly(rng, 1.0, 40.0),
    },
    "evaluate": lambda rng: {
        **sizes(V=(2, 5), B=(1, 3), T=(1, 4), N=(1, 4))(rng),
        "training": rng.random() < 0.5,
        "uneven": rng.random() < 0.5,
    },
    "top_k": sizes(N=(1, 4), V=(2, 8), k=(1, 10)),
    "top_p": lambda rng: {
        **sizes(N=(1, 4), V=(2, 8))(rng),
        "p": rng.choice([0.05, 0.3, 0.5, 0.7, 0.85, 0.95]),
    },
    "cached_step": cached_sizes,
    "generate": sizes(V=(5, 13), B=(1, 3), T=(1, 4), n=(0, 7)),
    "answer": prompt_sizes,
}


def arguments_of(task: Task, number: int) -> Arguments:
    """Make the arguments of one number, the same on every machine."""
    rng = random.Random(f"{task.name} {number}")
    if task.name in WRITTEN:
        return WRITTEN[task.name](rng)
    return task.make(Draw(FIRST + number), **SIZES[task.name](rng))


WRITTEN: dict[str, Callable[[random.Random], Arguments]] = {
    "bpe_train": partial(words_of, alphabets=ALPHABETS),
    "bpe_encode": partial(text_of, alphabets=ALPHABETS),
}


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
    try:
        with time_limit(SECONDS):
            return run_once(task, program, arguments, dtype)
    except (OutOfTime, Unusable) as error:
        return Outcome(error=error)


def differ(task: Task, expected: Outcome, got: Outcome) -> bool:
    """Whether two outcomes differ, as the checker compares them."""
    if expected.error or got.error:
        return type(expected.error) is not type(got.error)
    tolerance = task.tolerance
    return find_difference(expected.value, got.value, "", tolerance) is not None


def first_difference(
    task: Task,
    program: Program,
    other: Program,
    inputs: Iterable[int],
    dtype: torch.dtype = torch.float64,
) -> int | None:
    """Return the first of some inputs on which two programs differ, or None."""
    for number in inputs:
        outcomes = (outcome(task, each, number, dtype) for each in (other, program))
        if differ(task, *outcomes):
            return number
    return None


def equivalent(
    task: Task,
    program: Program,
    other: Program,
    inputs: Iterable[int],
    dtype: torch.dtype = torch.float64,
) -> bool:
    """Whether a program gives on all inputs what another gives, which is right."""
    return first_difference(task, program, other, inputs, dtype) is None
