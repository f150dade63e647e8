"""Mutants of the Python code, made by Cosmic Ray's operators."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

from mygpt.check.mends.source import own_lines
from tools.mutants.mutant import ROOT, SEED, Mutant, MutantSite, difference, digest

CODE = (
    *("mygpt/**/*.py", "tools/comparison.py", "tools/prose.py"),
    *("website/words.py", "website/search/*.py"),
)
Position = tuple[int, int]  # a line from 1 and a column from 0
# Bit operations on floats, and an order of objects, raise in whatever test comes first;
# `is` for `==` mostly changes nothing. They would make the share of caught ones better.
LEFT_OUT = re.compile(
    r"BinaryOperator_(\w+)_(RShift|LShift|BitOr|BitAnd|BitXor)$|(_|Op_)Invert$"
    r"|_(Is|IsNot)_(Lt|LtE|Gt|GtE|Eq|NotEq)$|_(Eq|NotEq|Lt|LtE|Gt|GtE)_(Is|IsNot)$"
    r"|UAdd|NoOp"
)


def operators(left_out: re.Pattern | None = None) -> dict[str, Operator]:
    """The operators that need no arguments, by name, without some names."""
    found = {
        name.removeprefix("core/"): plugins.get_operator(name)
        for name in plugins.operator_names()
        if not (left_out and left_out.search(name))
    }
    return {name: one() for name, one in found.items() if not one.arguments()}


def positions(
    text: str, known: Mapping[str, Operator]
) -> Iterator[tuple[str, int, Position, Position]]:
    """Yield what operators can change: a name, which of its places, and the ends."""
    nodes = list(ast_nodes(get_ast(text)))
    for name, operator in known.items():
        found = (one for node in nodes for one in operator.mutation_positions(node))
        for occurrence, (first, last) in enumerate(found):
            yield name, occurrence, first, last


def files() -> list[Path]:
    return sorted(path for pattern in CODE for path in ROOT.glob(pattern))


class Statements:
    """Where the statements, annotations and functions of a file are."""

    def __init__(self, text: str):
        self.spans: list[tuple[int, int]] = []
        self.annotations: list[tuple] = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt | ast.excepthandler):
                own = own_lines(node)
                self.spans.append((min(own), max(own)))
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


def places(path: Path) -> Iterator[MutantSite]:
    """Every place of a file that operators can change; not those in annotations."""
    text = path.read_text("utf-8")
    rows = text.splitlines(keepends=True)
    offsets = [0]
    for line in rows:
        offsets.append(offsets[-1] + len(line))
    statements = Statements(text)
    changes = defaultdict(list)
    for name, occurrence, start, _ in positions(text, operators(LEFT_OUT)):
        changes[start].append((name, occurrence))
    for (row, column), names in sorted(changes.items()):
        if not statements.annotates((row, column)):
            yield MutantSite(
                path=path.relative_to(ROOT).as_posix(),
                start=offsets[row - 1] + column,
                column=column,
                line=rows[row - 1].rstrip("\n"),
                lines=statements.lines(row),
                changes=tuple(names),
            )


def mutant(place: MutantSite) -> Mutant:
    """One of the place's changes, the same in every run."""
    name, occurrence = min(place.changes, key=lambda one: digest(SEED, place.line, one))
    text = (ROOT / place.path).read_text("utf-8")
    new = mutate_code(text, operators(LEFT_OUT)[name], occurrence)
    before, after = difference(text, new)
    return Mutant(place.path, place.start, place.lines, name, before, after, new)
