"""The workbook: a file to fill in for each task, in the order of the chapters."""

from collections.abc import Iterator
from pathlib import Path

from mygpt.support.files import write_atomically
from mygpt.workbook.asked import CHAPTERS, IN_ORDER
from mygpt.workbook.stub import stub

README = """\
# The workbook

{count} functions, from a row times a matrix to a GPT that answers. Each file holds one
of them to fill in: its docstring says what it does, which shapes come and go, and gives
an example (`python -m doctest softmax.py` runs it). Write plain functions; the weights
are arguments, and gradients must flow where the docstring says so. A file may import
others, as in `from softmax import softmax`.

    mygpt check softmax              is softmax.py right, or which mistake is it?
    mygpt check softmax --watch      again at every save
    mygpt check softmax --mend       after two failed tries: an edit that makes it right
    mygpt check --all                how far you are, chapter by chapter, what is next
    mygpt check --chapter 8          the tasks of chapter 8 alone

The commands are for this folder. From elsewhere, name the file or the folder:
`mygpt check softmax mine/softmax.py`, `mygpt check --all mine`.

`--json` is for a grader: "passed" is true only if the values that a program computed
were judged right in another process. What a program starts ends with its check.
`--traceback` shows where an error arose. A message names the section of the book that
explains the task. In a notebook, `from mygpt import check` and `check.write("softmax")`
give you a cell to fill in. If you would rather write a class, `mlp` or `MLP`, say which
of its parameters is which weight, in the same file:

    mlp_parameters = {{"W1": "fc1.weight.T", "b1": "fc1.bias",
                      "W2": "fc2.weight.T", "b2": "fc2.bias"}}

The order is the book's:

{table}

The last one is the reward. When `answer` is right, your own parts have read the weights
of a trained model and said what follows *the capital of france is*. With GPT-2's files
on your disk they speak as GPT-2:

    mygpt check answer --gpt2 FOLDER
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
    table = "\n".join(contents())
    write(folder / "README.md", README.format(count=len(IN_ORDER), table=table))
    return folder


def contents() -> Iterator[str]:
    """The lines of a table of all tasks; each chapter is named once."""
    yield "| | function | chapter | section |"
    yield "| --- | --- | --- | --- |"
    before = None
    for number, task in enumerate(IN_ORDER, start=1):
        chapter = CHAPTERS[task.chapter] if task.chapter != before else ""
        before = task.chapter
        yield f"| {number} | `{task.name}` | {chapter} | {task.heading} |"


def write(path: Path, text: str) -> None:
    """Write a file whole, in UTF-8."""
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
