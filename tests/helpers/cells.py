"""Programs that are defined as in a notebook's cell."""

import linecache
from collections.abc import Callable
from typing import Any

from tools.mends.programs import beside_the_workbook, task_of, text_of


def run_cell(source: str, names: dict, known: bool = True) -> dict:
    """Run a text with some names, and return all; with its text kept, or without."""
    file = f"<cell {known} {hash(source)}>"
    if known:
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = len(source), None, lines, file
    exec(compile(source, file, "exec"), names)
    return names


def edited(source: str, *texts: str) -> Callable[..., Any]:
    """The program of a right source in which texts are replaced, each by the next."""
    text = text_of(source)
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    with beside_the_workbook():
        return run_cell(text, {"__name__": source})[task_of(source)]


def written(expression: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The program that an expression with some names gives, as in a notebook's cell."""
    return run_cell(f"program = {expression}", {**names})["program"]
