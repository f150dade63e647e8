"""Inputs that no task lists, so that no name fits and no mend is right by luck."""

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from mygpt.check.task import Arguments, Draw, Task
from mygpt.check.tree import is_decimal

SEED = 500_000  # those of the probes are below
ALPHABETS = ("ab", "abc", "no way", "aé", "mno")
PROMPTS = (
    *("the capital of japan is", "the currency of italy is", "the capital of kenya is"),
    *("ann cup . bob pen . bob pen . ann", "the capital of spain is"),
)
SCALES = (20.0, 0.05)
RATES = tuple(i / 20 for i in range(1, 20))


def fresh_arguments(task: Task, seed: int) -> Iterator[Arguments]:
    """Yield arguments without end; some of them may not be what the task asks for."""
    rng = random.Random(f"fresh {task.name} {seed}")
    while True:
        if task.name == "bpe_train":
            yield words_of(rng)
        elif task.name == "bpe_encode":
            yield text_of(rng)
        else:
            try:
                sizes = sizes_of(task, rng)
                yield task.make(Draw(SEED + rng.randrange(SEED)), **sizes)
            except Exception:
                continue  # sizes that do not go together


def sizes_of(task: Task, rng: random.Random) -> dict[str, Any]:
    """Take the sizes of a probe, and change some whole numbers a little."""
    drawn = dict(rng.choice(task.probes).sizes)
    for name, value in drawn.items():
        if name == "p":
            drawn[name] = rng.choice(RATES)
        elif name == "prompt":
            drawn[name] = rng.choice(PROMPTS)
        elif name == "n" and "prompt" in drawn:
            drawn[name] = rng.randint(1, 3)
        elif type(value) is int and rng.random() < 0.6:
            usual = [each.sizes[name] for each in task.probes if name in each.sizes]
            near = min(rng.choice(usual), value + 4) + rng.randint(-1, 1)
            drawn[name] = max(near, task.least.get(name, 1))
    return drawn


def scaled(arguments: Arguments) -> Iterator[Arguments]:
    """Yield arguments of which one tensor of decimal numbers is larger, or smaller."""
    for name, value in arguments.items():
        if is_decimal(value):
            yield from ({**arguments, name: value * scale} for scale in SCALES)


def wider(task: Task) -> Iterator[Arguments]:
    """Yield arguments of twice the largest sizes of the probes, and a little more."""
    for seed, probe in enumerate(task.probes):
        sizes = {
            name: 2 * size + seed if type(size) is int and name != "n" else size
            for name, size in probe.sizes.items()
        }
        with suppress(Exception):  # sizes that do not go together
            yield task.make(Draw(2 * SEED + seed), **sizes)


def words_of(rng: random.Random, alphabets: Sequence[str] = ALPHABETS) -> Arguments:
    """Draw words, some of them repeated, and a number of merges."""
    words = [letters(rng, alphabets, 9) for _ in range(rng.randint(1, 7))]
    words += rng.choices(words, k=rng.randint(0, 5))
    return {"words": words, "num_merges": rng.randint(0, 9)}


def text_of(rng: random.Random, alphabets: Sequence[str] = ALPHABETS) -> Arguments:
    """Draw a text, and merges each of which joins bytes or ids of earlier merges."""
    text = letters(rng, alphabets, 20)
    ids = sorted(set((text or "a").encode()))
    merges: list[tuple[int, int]] = []
    for new in range(256, 256 + rng.randint(0, 7)):
        pair = (rng.choice(ids), rng.choice(ids))
        if pair in merges:
            break
        merges.append(pair)
        ids.append(new)
    return {"text": text, "merges": merges}


def letters(rng: random.Random, alphabets: Sequence[str], most: int) -> str:
    """Draw a text in the letters of an alphabet."""
    return "".join(rng.choices(rng.choice(alphabets), k=rng.randint(0, most)))
