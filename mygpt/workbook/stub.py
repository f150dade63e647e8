"""A task's file before anything is written in it."""

import ast
import re
from pathlib import Path

from mygpt.support.output import wrapped
from mygpt.workbook.asked import ASKED, CHAPTERS, Asked


def stub(task: Asked) -> str:
    """Return the file of a task: its place on the path, and the function to write."""
    number = list(ASKED).index(task.name) + 1
    where = f"# {number} of {len(ASKED)}, in {CHAPTERS[task.chapter]}"
    how = f"# mygpt check {task.name}"
    return f"{where}\n{how}\nimport torch\n\n\n{skeleton(task, task.name)}"


def skeleton(task: Asked, name: str) -> str:
    """Return a function of a name: signature, docstring with shapes, one example."""
    width = max(map(len, task.shapes)) + 2
    lines = [f"def {name}({', '.join(task.arguments)}):"]
    lines += [*wrapped(f'"""{task.asks}', "    "), ""]
    for argument, kind in task.shapes.items():
        lines += wrapped(kind, f"    {argument + ':':{width}}")
    example = re.sub(rf"(?<![.\w]){task.name}\(", f"{name}(", task.example)
    lines += ["", *(f"    {line}" for line in example.splitlines())]
    return "\n".join([*lines, '    """', "    raise NotImplementedError", ""])


def is_untouched(task: Asked, path: Path) -> bool:
    """Whether a file still says what the stub says, whatever its line ends."""
    try:
        trees = [ast.parse(text) for text in (path.read_bytes(), stub(task))]
    except (SyntaxError, ValueError):
        return False  # which importing it explains better
    mine, given = map(ast.dump, trees)
    return mine == given
