"""Check what you wrote yourself: is it right, or which mistake does it make?

    from mygpt import check
    check.layer_norm(my_layer_norm)

Each task is a function of this module; `check.layer_norm?` shows what to write. A
class is checked too, if you say which of its parameters is which weight:

    check.mlp(MyMLP, parameters={"W1": "fc1.weight.T", "b1": "fc1.bias",
                                 "W2": "fc2.weight.T", "b2": "fc2.bias"})

Nothing is compared by seed, by the order of parameters or by name.

In a notebook, `check.write("softmax")` gives you a cell to fill in, which checks itself
and counts what is right.
"""

from collections.abc import Callable
from typing import Any

from mygpt.check.catalogue import TASKS
from mygpt.check.cell_models import gpt2_model, world_model
from mygpt.check.order import check
from mygpt.check.result import Result
from mygpt.check.task import Task
from mygpt.check.workbook.notebook import cell, counted, mended, write
from mygpt.check.workbook.progress import with_stub_named

__all__ = ["TASKS", "Result", "cell", "gpt2_model", "world_model", "write", *TASKS]


def door(task: Task) -> Callable[..., Result]:
    """Make the function that checks one task."""

    def checker(
        program: Any,
        *,
        parameters: dict[str, str] | None = None,
        limit: int | float | None = None,
        mend: bool = False,
    ) -> Result:
        result = with_stub_named(check(task, program, parameters, limit))
        return counted(mended(result, task, program, parameters, mend))

    checker.__name__ = checker.__qualname__ = task.name
    checker.__doc__ = document(task)
    return checker


def document(task: Task) -> str:
    """Return the help of a task: what to write, with the shapes and an example."""
    names = "\n".join(f"{name}: {kind}" for name, kind in task.shapes.items())
    return (
        f"Check your own `{task.signature}`.\n\n{task.asks}\n\n{names}\n\n"
        f"{task.example}\n\n"
        f"Explained in {task.chapter}. `limit` is in seconds; `mend=True` shows the "
        "edit that makes it right, if a small one does, after a second failed try."
    )


for _name, _task in TASKS.items():
    globals()[_name] = door(_task)
