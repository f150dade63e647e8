"""Mutants of the Python code, made by Cosmic Ray's operators."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tools.mutants.mutant import ROOT, SEED, Mutant, Place, difference, digest

CODE = (
    *("mygpt/**/*.py", "tools/comparison.py", "tools/prose.py"),
    *("website/words.py", "website/search/*.py"),
)
# Bit operations on floats, and an order of objects, raise in whatever test comes first;
# `is` for `==` mostly changes nothing. They would make the share of caught ones better.
LEFT_OUT = re.compile(
    r"BinaryOperator_(\w+)_(RShift|LShift|BitOr|BitAnd|BitXor)$|(_|Op_)Invert$"
    r"|_(Is|IsNot)_(Lt|LtE|Gt|GtE|Eq|NotEq)$|_(Eq|NotEq|Lt|LtE|Gt|GtE)_(Is|IsNot)$"
    r"|UAdd|NoOp"
)


def operators() -> dict:
    """Those that need no arguments, without LEFT_OUT, by name."""
    found = {
        name.removeprefix("core/"): plugins.get_operator(name)
        for name in plugins.operator_names()
        if not LEFT_OUT.search(name)
    }
    return {name: one() for name, one in found.items() if not one.arguments()}


def files() -> list[Path]:
    return sorted(path for pattern in CODE for path in ROOT.glob(pattern))


class Statements:
    """Where the statements, annotations and functions of a file are."""

    def __init__(self, text: str):
        self.spans: list[tuple[int, int]] = []
        self.annotations: list[tuple] = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
                self.spans.append(own_lines(node))
            for name in ("annotation", "returns"):
                if (found := getattr(node, name, None)) is not None:
                    first = (found.lineno, found.col_offset)
                    last = (found.end_lineno, found.end_col_offset)
                    self.annotations.append((first, last))

    def lines(self, row: int) -> tuple[int, int]:
        """Of the smallest statement, or head of one, that has this row."""
        holding = [span for span in self.spans if span[0] <= row <= span[1]]
        return min(holding, key=lambda span: span[1] - span[0], default=(row, row))

    def annotates(self, position: tuple[int, int]) -> bool:
        return any(first <= position < last for first, last in self.annotations)


def own_lines(node: ast.AST) -> tuple[int, int]:
    """A statement's lines without those of the statements in it."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, node.pattern.end_lineno
    first, last = node.lineno, node.end_lineno
    if decorators := getattr(node, "decorator_list", []):
        first = decorators[0].lineno
    if isinstance(body := getattr(node, "body", None), list) and body:
        last = max(first, body[0].lineno - 1)
    return first, last


def places(path: Path) -> Iterator[Place]:
    """Every place of a file that operators can change; not those in annotations."""
    text = path.read_text("utf-8")
    rows = text.splitlines(keepends=True)
    offsets = [0]
    for line in rows:
        offsets.append(offsets[-1] + len(line))
    statements, tree = Statements(text), get_ast(text)
    nodes = list(ast_nodes(tree))
    changes = defaultdict(list)
    for name, operator in operators().items():
        positions = (one for node in nodes for one in operator.mutation_positions(node))
        for occurrence, (start, _) in enumerate(positions):
            changes[start].append((name, occurrence))
    for (row, column), names in sorted(changes.items()):
        if not statements.annotates((row, column)):
            yield Place(
                path=path.relative_to(ROOT).as_posix(),
                start=offsets[row - 1] + column,
                column=column,
                line=rows[row - 1].rstrip("\n"),
                lines=statements.lines(row),
                changes=tuple(names),
            )


def mutant(place: Place) -> Mutant:
    """One of the place's changes, the same in every run."""
    name, occurrence = min(place.changes, key=lambda one: digest(SEED, place.line, one))
    text = (ROOT / place.path).read_text("utf-8")
    new = mutate_code(text, operators()[name], occurrence)
    before, after = difference(text, new)
    return Mutant(place.path, place.start, place.lines, name, before, after, new)
