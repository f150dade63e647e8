"""The chapters' own parts in one file: every cell tagged `bare`, in the book's order.

    python -m tools.bare_parts    write mygpt/bare.py, which the site offers

The cells use PyTorch and the standard library and nothing else, and no name is defined
twice.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

import nbformat
import yaml

from tools.reading import bound_and_used

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "mygpt" / "bare.py"
IMPORTS = ast.Import | ast.ImportFrom
HEAD = '''\
"""The parts of a GPT, as the chapters of the mygpt book write them.

Generated from the chapters. Needs PyTorch and nothing else; the rest of the package
does the same with checks and options.
"""

import torch
from torch import nn
'''


def chapters_in_order(root: Path = ROOT) -> list[Path]:
    """The notebooks that the table of contents names."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    entries = [one for part in contents["parts"] for one in part["chapters"]]
    paths = [root / f"{one['file']}.ipynb" for one in entries]
    return [path for path in paths if path.is_file()]


def bare_cells(path: Path) -> list[str]:
    return [
        cell.source
        for cell in nbformat.read(path, as_version=4).cells
        if "bare" in cell.metadata.get("tags", [])
    ]


def title(path: Path) -> str:
    source = nbformat.read(path, as_version=4).cells[0].source
    return source.splitlines()[0].removeprefix("# ")


def bare_text(paths: list[Path] | None = None) -> str:
    pieces = [HEAD]
    for path in chapters_in_order() if paths is None else paths:
        if cells := bare_cells(path):
            number = path.stem.split("_")[0].removeprefix("0")
            name = f"Chapter {number}: " if number[0].isdigit() else ""
            pieces += [f"# {name}{title(path)}", *cells]
    return "\n\n\n".join(piece.strip("\n") for piece in pieces) + "\n"


def problems(text: str) -> list[str]:
    """Imports from elsewhere, and names that are defined twice."""
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, IMPORTS) else ():
            module = getattr(node, "module", None) or alias.name
            if module.split(".")[0] not in {"torch", *sys.stdlib_module_names}:
                found.append(f"line {node.lineno} imports {module}")
    bodies = [ast.unparse(n) for n in tree.body if not isinstance(n, IMPORTS)]
    defined = Counter(name for one in bodies for name in bound_and_used(one)[0])
    return found + [
        f"{name} is defined {n} times" for name, n in defined.items() if n > 1
    ]


def main() -> int:
    text = bare_text()
    for problem in problems(text):
        print(f"bare.py: {problem}", file=sys.stderr)
    TARGET.write_text(text, encoding="utf-8")
    return bool(problems(text))


if __name__ == "__main__":
    sys.exit(main())
