"""How much of the book is checked, counted from its sources.

    python -m tools.counts    print them all

The page on how the book is checked takes them from here. Nothing is run but the claims
of the stored runs.
"""

import ast
import importlib
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import nbformat

from mygpt.check.catalogue import TASKS
from tools.comparison import NUMBER
from tools.terms import glossary

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
RTOL = re.compile(r"rtol-")
SCRIPT_TEST = re.compile(r"^test\(", re.M)
EXERCISE = re.compile(r"^`{3,}\{exercise-start\}", re.M)
SLOW = "pytest.mark" + ".slow"


@cache
def all_cells() -> list[nbformat.NotebookNode]:
    """The cells of all notebooks."""
    paths = sorted(CHAPTERS.glob("*.ipynb"))
    return [cell for path in paths for cell in nbformat.read(path, as_version=4).cells]


def cells() -> list[nbformat.NotebookNode]:
    """The code cells, without those that install the package."""
    codes = (cell for cell in all_cells() if cell.cell_type == "code")
    return [cell for cell in codes if "setup" not in tags(cell)]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def varies(cell: nbformat.NotebookNode) -> bool:
    return "varies" in tags(cell)


def widened(cell: nbformat.NotebookNode) -> bool:
    return any(RTOL.match(tag) for tag in tags(cell))


def printed(cell: nbformat.NotebookNode) -> str:
    """The text that a cell prints or shows."""
    texts = (
        one.get("text") or one.get("data", {}).get("text/plain", "")
        for one in cell.outputs
    )
    return "\n".join(texts)


def compared_numbers() -> int:
    return sum(len(NUMBER.findall(printed(c))) for c in cells() if not varies(c))


def exercises() -> int:
    return sum(len(EXERCISE.findall(cell.source)) for cell in all_cells())


@cache
def functions(folder: Path) -> list[ast.FunctionDef]:
    """The test functions of a folder."""
    return [
        node
        for path in sorted(folder.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def slow_tests() -> int:
    """The test functions that are slow, or are slow with some of their inputs."""
    decorated = (
        "\n".join(map(ast.unparse, one.decorator_list))
        for one in functions(ROOT / "tests")
    )
    return sum(SLOW in text or "slow_but(" in text for text in decorated)


def script_tests() -> int:
    paths = (ROOT / "tests" / "js").rglob("*.test.mjs")
    return sum(len(SCRIPT_TEST.findall(p.read_text(encoding="utf-8"))) for p in paths)


def claims() -> int:
    """What the chapters say of their stored runs, in as many tested sentences."""
    scripts = [path for path in (ROOT / "runs").glob("*.py") if has_claims(path)]
    return sum(len(claims_of(path.stem)) for path in scripts)


def claims_tested() -> int:
    """The headings of the page of claims, where the book has one."""
    page = CHAPTERS / "claims.ipynb"
    cells = nbformat.read(page, as_version=4).cells if page.exists() else []
    return sum(cell.source.startswith("### ") for cell in cells)


def has_claims(path: Path) -> bool:
    return "\ndef claims(" in path.read_text(encoding="utf-8")


def claims_of(name: str) -> dict[str, bool]:
    from mygpt.support.stored_runs import load_runs

    runs = load_runs(name)["runs"]
    return importlib.import_module(f"runs.{name}").claims(runs)


def mistakes() -> int:
    return sum(len({one.text for one in task.mistakes}) for task in TASKS.values())


def tasks() -> int:
    return len(TASKS)


def explorers() -> int:
    path = ROOT / "mygpt" / "explorers" / "__init__.py"
    (names,) = re.findall(r"__all__ = (\[.*?\])", path.read_text("utf-8"), re.S)
    return len(ast.literal_eval(names))


def mutants(what: str) -> int:
    """Of the last whole run of `make mutants`."""
    path = ROOT / "tools" / "mutants" / "last_run.json"
    found = json.loads(path.read_text("utf-8"))
    return sum(found[kind][what] for kind in ("Python", "scripts"))


COUNTS: dict[str, Callable[[], int]] = {
    "cells": lambda: len(cells()),
    "cells that vary": lambda: sum(map(varies, cells())),
    "cells with a wider tolerance": lambda: sum(map(widened, cells())),
    "numbers": compared_numbers,
    "exercises": exercises,
    "stored runs": lambda: len([*ROOT.glob("mygpt/data/stored/*.json")]),
    "claims": claims,
    "claims tested": claims_tested,
    "terms": lambda: len(glossary()),
    "explorers": explorers,
    "tasks": tasks,
    "mistakes": mistakes,
    "tests": lambda: len(functions(ROOT / "tests")),
    "slow tests": slow_tests,
    "browser tests": lambda: len(functions(ROOT / "tests" / "browser")),
    "script tests": script_tests,
    "planted mistakes": lambda: mutants("tried"),
    "noticed mistakes": lambda: mutants("caught"),
    "harmless mistakes": lambda: mutants("change nothing"),
}


def main() -> int:
    for name, count in COUNTS.items():
        print(f"{count():8,} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
