"""Mutants of the pages' scripts: signs, borders, axes, terms and steps left out."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from tools.mutants.mutant import ROOT, SEED, Mutant, MutantSite, difference, digest

CODE = ("mygpt/explorers/*/*.mjs", "website/search/search.js")
Change = tuple[str, int, int, str]  # operator, first and last byte, what comes instead

SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*"}
BORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
REVERSED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "===": "!==", "!==": "==="}
JOINED = {"&&": "||", "||": "&&", "??": "&&"}
STEPS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
BOOLEANS = {"true": "false", "false": "true"}
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
    around = node.parent.type if node.parent else ""
    field = node.child_by_field_name
    if kind == "binary_expression":
        yield from of_binary(field("left"), field("operator"), field("right"))
    elif kind == "augmented_assignment_expression":
        yield from replaced(field("operator"), "sign", STEPS)
    elif kind == "property_identifier" and around == "member_expression":
        yield from replaced(node, "axis", AXES)
    elif kind in BOOLEANS:
        yield from replaced(node, "reversed", BOOLEANS)
    elif kind == "unary_expression" and text[0] in "-!":
        yield "sign left out", node.start_byte, node.start_byte + 1, " "
    elif kind == "number":
        yield (
            "one more",
            *span(node),
            f"{text} + 1" if around == "pair" else f"({text} + 1)",
        )
    elif kind == "arguments":
        given = [one for one in node.named_children if one.type != "comment"]
        if len(given) > 1 and given[0].text != given[1].text:
            yield exchanged(*given[:2])
    elif kind == "ternary_expression":
        yield exchanged(field("consequence"), field("alternative"))
    elif kind == "if_statement":
        condition = field("condition")
        yield "reversed", *span(condition), f"(!{condition.text.decode('utf-8')})"
    elif kind in STATEMENTS and "use strict" not in text:
        yield "left out", *span(node), ";"
    elif kind == "spread_element" and around == "object":
        yield "left out", *span(node), "...{}"


def of_binary(left: Node, sign: Node, right: Node) -> Iterator[Change]:
    """What the operators make of an expression with two sides."""
    for name, table in (
        *(("sign", SIGNS), ("border", BORDERS)),
        *(("reversed", REVERSED), ("joined", JOINED)),
    ):
        yield from replaced(sign, name, table)
    operator, both = sign.text.decode(), (left.start_byte, right.end_byte)
    if operator in SIGNS or operator in JOINED:
        yield "term left out", *both, left.text.decode("utf-8")
        if operator in ("+", "*", "&&", "||"):
            yield "term left out", *both, right.text.decode("utf-8")


def replaced(node: Node, name: str, table: Mapping[str, str]) -> Iterator[Change]:
    """What comes in a node's place by a table, if the node stands there."""
    if instead := table.get(node.text.decode()):
        yield name, *span(node), instead


def span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def exchanged(first: Node, second: Node) -> Change:
    """Two parts of a node, each in the other's place."""
    whole = first.parent
    between = whole.text[
        first.end_byte - whole.start_byte : second.start_byte - whole.start_byte
    ]
    new = (second.text + between + first.text).decode("utf-8")
    return "exchanged", first.start_byte, second.end_byte, new


def nodes(node: Node) -> Iterator[Node]:
    """All nodes that are executed."""
    if node.type not in ("import_statement", "comment"):
        yield node
        for child in node.children:
            yield from nodes(child)


def places(path: Path) -> Iterator[MutantSite]:
    """Every place of a script that the operators can change."""
    code = path.read_bytes()
    lines = code.decode("utf-8").splitlines()
    parser = Parser(Language(tree_sitter_javascript.language()))
    for node in nodes(parser.parse(code).root_node):
        if found := tuple(changes(node)):
            row, column = node.start_point
            before = code[: node.start_byte].decode("utf-8")
            yield MutantSite(
                path=path.relative_to(ROOT).as_posix(),
                start=len(before),
                column=column,
                line=lines[row],
                lines=(row + 1, node.end_point.row + 1),
                changes=found,
            )


def mutant(place: MutantSite) -> Mutant:
    """One of the place's changes, the same in every run."""
    code = (ROOT / place.path).read_bytes()

    def rank(change: Change) -> str:
        operator, _, _, instead = change
        return digest(SEED, place.line, operator, instead)

    operator, start, end, instead = min(place.changes, key=rank)
    text = (code[:start] + instead.encode("utf-8") + code[end:]).decode("utf-8")
    before, after = difference(code.decode("utf-8"), text)
    return Mutant(place.path, place.start, place.lines, operator, before, after, text)
