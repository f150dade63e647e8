"""The workbook: a file to fill in for each task, and a table of progress."""

from pathlib import Path

from mygpt.check.catalogue import IN_ORDER
from mygpt.check.engine import failed
from mygpt.check.files import LOOP, check_file, loops
from mygpt.check.result import Result, wrapped
from mygpt.check.task import CHAPTERS, Task
from mygpt.support.files import write_atomically

NOT_BEGUN, MISSING = "NotImplementedError", "there is no"
README = """\
# The workbook

{count} functions, from a row times a matrix to a GPT that answers. Each file holds one
of them to fill in: its docstring says what it does, which shapes come and go, and gives
an example (`python -m doctest softmax.py` runs it). Write plain functions; the weights
are arguments, and gradients must flow through what you compute. A file may import
others, as in `from softmax import softmax`.

    mygpt check softmax softmax.py            is it right, or which mistake is it?
    mygpt check softmax softmax.py --watch    again at every save
    mygpt check --all .                       how far you are

`--json` is for a grader: "passed" is true only if the values that a program computed
were judged right in another process. What a program starts ends with its check.
`--traceback` shows where an error arose. A message names the section of the book that
explains the task. In a notebook: `from mygpt import check`, then
`check.softmax(my_softmax)`. If you would rather write a class, say which of its
parameters is which weight, in the same file:

    mlp_parameters = {{"W1": "fc1.weight.T", "b1": "fc1.bias",
                      "W2": "fc2.weight.T", "b2": "fc2.bias"}}

The order is the book's:

{table}

The last one is the reward. When `answer` is right, your own parts have read the weights
of a trained model and said what follows *the capital of france is*. With GPT-2's files
on your disk they speak as GPT-2:

    mygpt check answer answer.py --gpt2 FOLDER
"""


def write_workbook(folder: str | Path) -> Path:
    """Write the files into a folder that is empty or does not exist yet."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; expected a folder")
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(
            f"{folder} is not empty, and nothing is overwritten: name another folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for task in IN_ORDER:
        write(folder / f"{task.name}.py", stub(task))
    rows = [
        f"| {number} | `{task.name}` | {CHAPTERS[task.chapter]} |"
        for number, task in enumerate(IN_ORDER, start=1)
    ]
    table = "\n".join(["| | function | chapter |", "| --- | --- | --- |", *rows])
    write(folder / "README.md", README.format(count=len(IN_ORDER), table=table))
    return folder


def write(path: Path, text: str) -> None:
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def stub(task: Task) -> str:
    """Return the file of a task: signature, docstring with shapes, one example."""
    width = max(map(len, [*task.arguments, "returns"])) + 2
    kinds = {**task.arguments, "returns": task.returns}
    lines = ["import torch", "", "", f"def {task.signature}:"]
    lines += [*wrapped(f'"""{task.asks}', "    "), ""]
    for name, kind in kinds.items():
        lines += wrapped(kind, f"    {name + ':':{width}}")
    example = [f"    {line}" for line in task.example.splitlines()]
    lines += ["", *example, '    """', "    raise NotImplementedError", ""]
    return "\n".join(lines)


def check_workbook(
    folder: str | Path, limit: int | float | None = None
) -> list[Result]:
    """Check the tasks of a folder in the book's order."""
    folder = Path(folder)
    if loops(folder):
        raise ValueError(f"{folder} is {LOOP}")
    if folder.is_file():
        raise ValueError(f"{folder} is a file; expected a folder")
    if not folder.is_dir():
        raise ValueError(f"expected a folder, found no {folder}")
    files = {task: folder / f"{task.name}.py" for task in IN_ORDER}
    found = [task for task, path in files.items() if path.is_file() or loops(path)]
    if not found:
        raise ValueError(
            f"{folder} has none of the workbook's files; `mygpt workbook FOLDER` "
            "writes them"
        )
    return [check_found(task, files[task], limit) for task in IN_ORDER]


def check_found(task: Task, path: Path, limit: int | float | None) -> Result:
    """Check a file of a workbook that may be missing."""
    if loops(path):
        return failed(task, "load", f"{path.name} is {LOOP}")
    if not path.is_file():
        return failed(task, "load", f"{MISSING} {path.name}")
    return check_file(task.name, path, limit)


def progress(results: list[Result]) -> str:
    """Write a table: what is right, what is not yet, what has not been begun."""
    width = max(len(result.task) for result in results)
    lines = [f"  {result.task:{width}}  {state(result)}" for result in results]
    right = sum(result.passed for result in results)
    return "\n".join([*lines, "", f"{right} of {len(results)} right"])


def state(result: Result) -> str:
    if result.passed:
        return "right"
    if NOT_BEGUN in result.message:
        return "not begun"
    if result.message.startswith(MISSING):
        return result.message
    text = result.message.removeprefix("This is what comes out when ")
    return f"not yet: {text if len(text) <= 60 else text[:59] + '…'}"
