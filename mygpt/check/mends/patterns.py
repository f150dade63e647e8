"""Patterns of Python in which some parts are left open, and what replaces them.

`$x` stands for any expression, the same one wherever it is written twice; `$tensor`,
`$int` and other names of KINDS for expressions of a kind. `...` is the rest of the
arguments of a call. `$x.mean(...)` is `torch.mean(x, ...)` too, and `$call(...)` in a
replacement is the same call with other arguments. A word before a colon says where the
expression stands (PLACES). `{op}` is each of some words, the same one in a pattern and
its replacements, and `max|min` either one. What a replacement has and its pattern has
not is chosen from what is in scope (`EditSite.choices`). Brackets are added where they
are needed.
"""

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from mygpt.check.mends.edit_site import ANY, PLACES, EditSite, fits, holds
from mygpt.check.mends.names import MODULES, called, subject
from mygpt.check.mends.source import Edit

META = "META_"
OPEN = re.compile(r"\$(call\(|\w+)|(?<=\()\.\.\.(, )?|(, )?\.\.\.(?=\)|, \w+=)")
SHORT = 2.1  # what an edit costs at most in a line of which few are wanted
NAMED = re.compile(r"\$(\w+)")  # an open part that a kind of edit names
PLACE = re.compile(r"([a-z_]+): ?(.*)", re.DOTALL)
EITHER = re.compile(r"\w+(?:\|[\w.]+)+")  # words of which each is meant
CHOICE = re.compile(r"\{(\w+)\}")  # of words
Words = Mapping[str, Sequence[str]]
Row = Sequence[float | str]  # costs, each with the replacements after it
Rules = Mapping[str, Mapping[str, Row]]  # by kind and pattern
KINDS: dict[str, Callable[[EditSite, ast.AST], bool]] = {
    "tensor": lambda site, node: site.names.is_tensor(node),
    "list": lambda site, node: site.names.kinds.get(name_of(node)) == "list",
    "int": lambda site, node: site.names.kinds.get(name_of(node)) == "int",
    "name": lambda site, node: isinstance(node, ast.Name),
    "argument": lambda site, node: name_of(node) in site.names.arguments,
    "factor": lambda site, node: not isinstance(node, ast.Constant),
    "single": lambda site, node: isinstance(node, SINGLE),
    "constant": lambda site, node: isinstance(node, ast.Constant),
    "whole": lambda site, node: site.of(node).lstrip("-").isdecimal(),
    "slice": lambda site, node: isinstance(node, ast.Slice),
}
SINGLE = ast.Name | ast.Attribute | ast.Subscript | ast.Call
NAMES = ("tensor", "list", "int", "name", "argument")  # kinds of names


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def parsed(text: str) -> ast.AST:
    """The tree of an expression, a statement or an index with open parts."""
    text = text.replace("$", META)
    try:
        (statement,) = ast.parse(text).body
    except SyntaxError:
        statement = None
    if statement is None or isinstance(statement, ast.AnnAssign):
        return ast.parse(f"_[{text}]", mode="eval").body.slice  # type: ignore
    return statement.value if isinstance(statement, ast.Expr) else statement


def open_name(node: ast.AST | str) -> str:
    """The name of an open part; "" for what is no open part."""
    name = node if isinstance(node, str) else name_of(node)
    return name.removeprefix(META) if name.startswith(META) else ""


def key_of(node: ast.AST) -> tuple[type, Hashable]:
    """The class of a node, and what is called or done in it."""
    if isinstance(node, ast.Call):
        return ast.Call, called(node)
    operator = node.ops[0] if isinstance(node, ast.Compare) else None
    operator = getattr(node, "op", operator)
    return type(node), type(operator) if operator else None


class Match:
    """What the open parts of a pattern stand for at a site.

    rest: the texts of the arguments that `...` stands for; named: their names. call:
    what comes before the arguments of the call that the pattern is about.
    """

    def __init__(self, site: EditSite) -> None:
        self.site = site
        self.nodes: dict[str, ast.AST] = {"it": site.node}
        self.texts = {"it": site.old}
        self.rest: list[str] = []
        self.named: set[str | None] = set()
        self.call = ""

    def fits(self, want: ast.AST, node: ast.AST) -> bool:
        """Whether a node is what a pattern wants, with its open parts bound."""
        if name := open_name(want):
            return self.bind(name, node)
        if isinstance(want, ast.Call) and isinstance(node, ast.Call):
            return self.fits_call(want, node)
        if type(want) is not type(node):
            return False
        return all(
            self.fits_field(getattr(want, field), getattr(node, field))
            for field in want._fields
            if field not in ("ctx", "kind", "type_comment")
        )

    def fits_field(self, want: object, got: object) -> bool:
        if isinstance(want, list) and isinstance(got, list):
            pairs = zip(want, got, strict=False)
            return len(want) == len(got) and all(itertools.starmap(self.fits, pairs))
        if isinstance(want, ast.AST):
            return isinstance(got, ast.AST) and self.fits(want, got)
        if isinstance(want, str) and isinstance(got, str) and open_name(want):
            return self.texts.setdefault(open_name(want), got) == got
        return type(want) is type(got) and want == got

    def bind(self, name: str, node: ast.AST) -> bool:
        kind = name.rstrip("12")
        if kind in KINDS and not KINDS[kind](self.site, node):
            return False
        closed = isinstance(node, ast.Starred) or name_of(node) in MODULES
        if closed or not isinstance(node, ast.expr):
            return False
        self.nodes.setdefault(name, node)
        return self.texts.setdefault(name, self.site.of(node)) == self.site.of(node)

    def fits_call(self, want: ast.Call, node: ast.Call) -> bool:
        """Whether a call fits; `$x.f()` fits a function of a module, `torch.f(x)`."""
        function, given = want.func, node.args
        head = f"{self.site.of(node.func)}("
        owner = getattr(function, "value", function)
        if open_name(owner) and owner is not function and not open_name(called(want)):
            of, given = subject(node)
            known = isinstance(node.func, ast.Attribute) and of is not None
            if not known or called(node) != called(want) or not self.fits(owner, of):
                return False
            if len(given) < len(node.args):
                head += f"{self.site.of(of)}, "
        elif not self.fits(function, node.func):
            return False
        self.call = self.call or head
        return self.fits_arguments(want, given, node.keywords)

    def fits_arguments(
        self, want: ast.Call, given: Sequence[ast.expr], named: Iterable[ast.keyword]
    ) -> bool:
        fixed = [one for one in want.args if not is_rest(one)]
        left = {one.arg: one for one in named}
        for one in want.keywords:
            other = left.pop(one.arg, None)
            if other is None or not self.fits(one.value, other.value):
                return False
        rest = [*given[len(fixed) :], *left.values()]
        if len(given) < len(fixed) or (rest and len(fixed) == len(want.args)):
            return False
        self.rest += [self.site.of(one) for one in rest]
        self.named |= left.keys()
        return all(itertools.starmap(self.fits, zip(fixed, given, strict=False)))


def is_rest(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


class Replacement:
    """What comes in the place of what fits a pattern."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, parsed(text)
        self.name = open_name(self.tree)
        nodes = ast.walk(self.tree) if "..." in text else ()
        self.named = {one.arg for one in nodes if isinstance(one, ast.keyword)}
        self.places: dict[str, int] = {}  # what an open part may be without brackets
        for parent in (None, *ast.walk(self.tree)):
            nodes = [self.tree] if parent is None else ast.iter_child_nodes(parent)
            for name, node in ((open_name(node), node) for node in nodes):
                if name and name != "call":
                    place = holds(parent, node) if parent else ANY
                    self.places[name] = max(self.places.get(name, ANY), place)

    def made(self, match: Match) -> Iterator[str]:
        """Yield the texts for a match: one for each choice of what is still open."""
        site, texts = match.site, dict(match.texts)
        left = [name for name in self.places if name not in texts]
        choices = [site.choices(name) for name in left]
        if not all(choices) or self.named & match.named:
            return
        for name, place in self.places.items():
            if name in match.nodes and not fits(match.nodes[name], place):
                texts[name] = f"({texts[name]})"
        root = match.nodes.get(self.name, self.tree)
        plain = fits(root, site.place)
        known = set(match.texts.values())
        for chosen in itertools.product(*choices):
            if len({*chosen} - known) == len(chosen):
                texts.update(zip(left, chosen, strict=True))
                new = self.filled(match, texts)
                yield new if plain or isinstance(root, ast.stmt) else f"({new})"

    def filled(self, match: Match, texts: Mapping[str, str]) -> str:
        rest = ", ".join(match.rest)

        def text_of(found: re.Match[str]) -> str:
            if found[1]:
                return match.call if found[1] == "call(" else texts[found[1]]
            return f"{found[3] or ''}{rest}{found[2] or ''}" if rest else ""

        new = OPEN.sub(text_of, self.text)
        return new.replace(", )", ")") if "$call(" in self.text else new


class Rule:
    """A pattern without alternatives, and what may come in the place of what fits it.

    news: the replacements, each with its cost.
    """

    def __init__(self, pattern: str, kind: str) -> None:
        found = PLACE.fullmatch(pattern)
        self.is_in = PLACES[found[1]] if found else None
        self.tree, self.kind = parsed(found[2] if found else pattern), kind
        self.news: list[tuple[float, Replacement]] = []

    @property
    def key(self) -> Hashable:
        """What a node that fits must have as its own key; None for every node."""
        if name := open_name(self.tree):
            return (ast.Name, None) if name in NAMES else None
        kind, word = key_of(self.tree)
        return kind, None if isinstance(word, str) and open_name(word) else word

    def edits(self, site: EditSite) -> Iterator[Edit]:
        """Yield the edits of a site that fits the pattern."""
        match = Match(site)
        if (self.is_in and not self.is_in(site)) or not match.fits(
            self.tree, site.node
        ):
            return
        kind = NAMED.sub(lambda found: match.texts[found[1]], self.kind)
        for cost, replacement in self.news:
            if cost > SHORT and site.line in site.scope.short:
                break
            for new in replacement.made(match):
                if new != site.old:
                    yield site.edit(new, kind, cost)


class RuleBook:
    """Rules by the keys of the nodes that they fit."""

    def __init__(self, rules: Rules, words: Words) -> None:
        self.rules: dict[Hashable, list[Rule]] = defaultdict(list)
        for kind, rows in rules.items():
            for pattern, row in rows.items():
                for text, chosen in spelled(pattern, words, {}):
                    rule, cost = Rule(text, kind), 0.0
                    self.rules[rule.key].append(rule)
                    for part in row:
                        if isinstance(part, float):
                            cost = part
                            continue
                        for new, _ in spelled(part, words, chosen):
                            rule.news.append((cost, Replacement(new)))

    def edits(self, site: EditSite) -> Iterator[Edit]:
        kind, word = key_of(site.node)
        for key in dict.fromkeys(((kind, word), (kind, None), None)):
            for rule in self.rules.get(key, ()):
                yield from rule.edits(site)


def spelled(
    text: str, words: Words, chosen: dict[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a text with each choice of words, and what is chosen: no word twice."""
    if found := EITHER.search(text):
        for word in found[0].split("|"):
            yield from spelled(replaced(text, found, word), words, chosen)
    elif found := CHOICE.search(text):
        name = found[1]
        others = [word for word in words.get(name, ()) if word not in chosen.values()]
        for word in [chosen[name]] if name in chosen else others:
            now = {**chosen, name: word}
            yield from spelled(replaced(text, found, word), words, now)
    else:
        yield text, chosen


def replaced(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]
