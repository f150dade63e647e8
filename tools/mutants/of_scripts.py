"""Mutants of the pages' scripts: signs, borders, axes, terms and steps left out."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from tools.mutants.mutant import ROOT, SEED, Mutant, Place, difference, digest

CODE = ("mygpt/explorers/*/*.mjs", "website/search/search.js")
Change = tuple[str, int, int, str]  # operator, first and last byte, what comes instead

SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*"}
BORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
REVERSED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "===": "!==", "!==": "==="}
JOINED = {"&&": "||", "||": "&&", "??": "&&"}
STEPS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
AXES = dict(
    pair
    for one, other in [
        *(("x", "y"), ("width", "height"), ("left", "right"), ("top", "bottom")),
        *(("row", "column"), ("rows", "columns"), ("first", "last")),
        *(("min", "max"), ("floor", "ceil"), ("sin", "cos"), ("log", "exp")),
        *(("some", "every"), ("indexOf", "lastIndexOf"), ("find", "findLast")),
    ]
    for pair in [(one, other), (other, one)]
)
STATEMENTS = ("continue_statement", "break_statement", "expression_statement")


def files() -> list[Path]:
    return sorted(path for pattern in CODE for path in ROOT.glob(pattern))


def node_executable() -> str:
    """The node on the PATH, or else the one that comes with Playwright."""
    if found := shutil.which("node"):
        return found
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def changes(node: Node) -> Iterator[Change]:
    """What the operators make of one node."""
    kind, text = node.type, node.text.decode("utf-8")
    if kind == "binary_expression":
        yield from of_binary(node)
    elif kind == "augmented_assignment_expression":
        sign = node.child_by_field_name("operator")
        if instead := STEPS.get(sign.text.decode()):
            yield ("sign", *span(sign), instead)
    elif kind == "unary_expression" and text[0] in "-!":
        yield ("sign left out", node.start_byte, node.start_byte + 1, " ")
    elif kind == "number" and node.parent.type != "pair":
        yield ("one more", *span(node), f"({text} + 1)")
    elif kind == "number":
        yield ("one more", *span(node), f"{text} + 1")
    elif kind == "property_identifier" and node.parent.type == "member_expression":
        if instead := AXES.get(text):
            yield ("axis", *span(node), instead)
    elif kind == "arguments":
        given = [one for one in node.named_children if one.type != "comment"]
        if len(given) > 1 and given[0].text != given[1].text:
            yield ("exchanged", *around(given[:2]), exchanged(*given[:2]))
    elif kind == "ternary_expression":
        parts = [node.child_by_field_name(n) for n in ("consequence", "alternative")]
        yield ("exchanged", *around(parts), exchanged(*parts))
    elif kind == "if_statement":
        condition = node.child_by_field_name("condition")
        yield ("reversed", *span(condition), f"(!{condition.text.decode('utf-8')})")
    elif kind in ("true", "false"):
        yield ("reversed", *span(node), "false" if kind == "true" else "true")
    elif kind in STATEMENTS and "use strict" not in text:
        yield ("left out", *span(node), ";")
    elif kind == "spread_element" and node.parent.type == "object":
        yield ("left out", *span(node), "...{}")


def of_binary(node: Node) -> Iterator[Change]:
    left, sign, right = (
        node.child_by_field_name(name) for name in ("left", "operator", "right")
    )
    operator = sign.text.decode()
    for name, table in (
        *(("sign", SIGNS), ("border", BORDERS)),
        *(("reversed", REVERSED), ("joined", JOINED)),
    ):
        if instead := table.get(operator):
            yield (name, *span(sign), instead)
    if operator in SIGNS or operator in JOINED:
        yield ("term left out", *span(node), left.text.decode("utf-8"))
        if operator in ("+", "*", "&&", "||"):
            yield ("term left out", *span(node), right.text.decode("utf-8"))


def span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def around(pair: list[Node]) -> tuple[int, int]:
    return pair[0].start_byte, pair[1].end_byte


def exchanged(first: Node, second: Node) -> str:
    whole = first.parent
    between = whole.text[
        first.end_byte - whole.start_byte : second.start_byte - whole.start_byte
    ]
    return (second.text + between + first.text).decode("utf-8")


def nodes(node: Node) -> Iterator[Node]:
    """All nodes that are executed."""
    if node.type not in ("import_statement", "comment"):
        yield node
        for child in node.children:
            yield from nodes(child)


def places(path: Path) -> Iterator[Place]:
    """Every place of a script that the operators can change."""
    code = path.read_bytes()
    lines = code.decode("utf-8").splitlines()
    parser = Parser(Language(tree_sitter_javascript.language()))
    for node in nodes(parser.parse(code).root_node):
        if found := tuple(changes(node)):
            row, column = node.start_point
            before = code[: node.start_byte].decode("utf-8")
            yield Place(
                path=path.relative_to(ROOT).as_posix(),
                start=len(before),
                column=column,
                line=lines[row],
                lines=(row + 1, node.end_point.row + 1),
                changes=found,
            )


def mutant(place: Place) -> Mutant:
    """One of the place's changes, the same in every run."""
    code = (ROOT / place.path).read_bytes()

    def rank(change: Change) -> str:
        operator, _, _, instead = change
        return digest(SEED, place.line, operator, instead)

    operator, start, end, instead = min(place.changes, key=rank)
    text = (code[:start] + instead.encode("utf-8") + code[end:]).decode("utf-8")
    before, after = difference(code.decode("utf-8"), text)
    return Mutant(place.path, place.start, place.lines, operator, before, after, text)
