"""All tasks, in the book's order."""

import difflib
from pathlib import Path

from mygpt.check.task import Task
from mygpt.check.tasks.answer import answer, answer_task
from mygpt.check.tasks.attention import attention, heads
from mygpt.check.tasks.block import block, pre_norm_wiring
from mygpt.check.tasks.embedding import cross_entropy, embedding
from mygpt.check.tasks.feed_forward import gelu, gelu_tanh, mlp
from mygpt.check.tasks.gpt import gpt
from mygpt.check.tasks.norm import layer_norm, layer_norm_gradient
from mygpt.check.tasks.sampling import cached_step, generate, top_k, top_p
from mygpt.check.tasks.tensors import row_times_matrix, softmax
from mygpt.check.tasks.tokens import bpe_encode, bpe_train
from mygpt.check.tasks.training import adamw_step, evaluate, train

IN_ORDER = (
    row_times_matrix,
    bpe_train,
    bpe_encode,
    softmax,
    cross_entropy,
    embedding,
    attention,
    heads,
    mlp,
    gelu,
    gelu_tanh,
    layer_norm,
    layer_norm_gradient,
    pre_norm_wiring,
    block,
    gpt,
    adamw_step,
    train,
    evaluate,
    top_k,
    top_p,
    cached_step,
    generate,
    answer,
)
TASKS: dict[str, Task] = {task.name: task for task in IN_ORDER}


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
    return answer_task(gpt2)
