"""All tasks, in the book's order."""

import difflib
from pathlib import Path

from mygpt.check.task import Task
from mygpt.check.tasks import answer as last
from mygpt.check.tasks import (
    attention,
    block,
    embedding,
    feed_forward,
    gpt,
    gpt2,
    machines,
    memory,
    norm,
    rotary,
    sampling,
    tensors,
    tokens,
    training,
)
from mygpt.workbook.asked import ASKED

MODULES = (tensors, tokens, embedding, attention, feed_forward, norm, block, memory)
MODULES += (gpt, training, sampling, last, gpt2, rotary, machines)
MADE = {t.name: t for m in MODULES for t in vars(m).values() if isinstance(t, Task)}
TASKS = {name: MADE[name] for name in ASKED}
IN_ORDER = tuple(TASKS.values())


def find_task(name: str, gpt2: str | None = None) -> Task:
    """Return a task by its name; an unknown name is a ValueError."""
    if name not in TASKS:
        if name.endswith(".py"):
            raise ValueError(
                "expected TASK and FILE; did you mean "
                f"`mygpt check {Path(name).stem} {name}`?"
            )
        near = difflib.get_close_matches(name, TASKS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"no task {name!r}{hint} (see `mygpt check --list`)")
    if gpt2 is None:
        return TASKS[name]
    if name != "answer":
        raise ValueError(f"--gpt2 is for the task answer, not for {name}")
    if not Path(gpt2).is_dir():
        raise ValueError(f"expected a Hugging Face GPT-2 folder, found no {gpt2}")
    return last.answer_task(gpt2)
