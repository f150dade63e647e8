"""Edits of expressions: calls, arguments, operands, indices and what is missing."""

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mygpt.check.mends.edit import Edit, Text

ATOMS = (
    *(ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict),
    *(ast.ListComp, ast.JoinedStr),
)
METHODS = (
    *(".mT", ".T", ".transpose(-1, -2)", ".transpose(1, 2)", ".transpose(0, 1)"),
    *(".exp()", ".log()", ".sqrt()", ".square()", ".abs()", ".rsqrt()"),
    *(".mean()", ".sum()", ".mean(-1, keepdim=True)", ".sum(-1, keepdim=True)"),
    *(".mean(-1)", ".sum(-1)", ".sum(0)", ".mean(0)"),
    *(".unsqueeze(-1)", ".unsqueeze(0)", ".unsqueeze(1)", ".squeeze(-1)"),
    *(".softmax(-1)", ".tanh()", ".relu()", ".cumsum(-1)", ".item()", ".detach()"),
    *(".clone()", ".values", ".indices", ".tolist()", ".encode()", ".copy()"),
    *("[0]", "[-1]", "[1]", "[:, -1]", "[:-1]", "[1:]", "[:, :-1]", "[:, 1:]"),
    *("[:, None]", "[None]", "[..., None]", ".flatten()", ".long()", ".float()"),
)
COMMON = (
    *(".mT", ".exp()", ".sqrt()", ".log()", ".square()", ".item()", "[-1]"),
    ".transpose(1, 2)",
)
KEYWORDS = {
    **dict.fromkeys(
        ("mean", "sum", "amax", "max", "min", "amin", "logsumexp"),
        ("keepdim=True", "dim=-1", "dim=-1, keepdim=True"),
    ),
    **dict.fromkeys(
        ("var", "std"), ("correction=0", "keepdim=True", "keepdim=True, correction=0")
    ),
    **dict.fromkeys(("tril", "triu"), ("diagonal=1", "diagonal=-1", "diagonal=0")),
    "gelu": ('approximate="tanh"',),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum"), ("dim=-1",)),
    **dict.fromkeys(("sort", "sorted", "argsort", "topk"), ("descending=True",)),
    "sorted": ("reverse=True",),
    "sort": ("descending=True", "reverse=True"),
    "enumerate": ("start=1", "start=256"),
    "cross_entropy": ('reduction="sum"',),
    "zeros": ("dtype=torch.long",),
}
REDUCED = (
    *("-1, keepdim=True", "-1", "", "0", "1", "(0, 1)", "1, keepdim=True"),
    *("0, keepdim=True", "dim=-1, keepdim=True", "(0, 1), keepdim=True"),
)
VARIANCES = (
    "-1, correction=0, keepdim=True",
    "-1, correction=0",
    "-1, unbiased=False, keepdim=True",
)
ACTIVATIONS = {
    "gelu": "torch.nn.functional.gelu({})",
    "gelu_tanh": 'torch.nn.functional.gelu({}, approximate="tanh")',
    "relu": "torch.relu({})",
    "tanh": "torch.tanh({})",
    "erf": "torch.erf({})",
    "sigmoid": "torch.sigmoid({})",
    "silu": "torch.nn.functional.silu({})",
    "log_softmax": "torch.log_softmax({}, -1)",
    "softmax": "torch.softmax({}, -1)",
}
AXES = {
    **dict.fromkeys(("mean", "sum", "amax", "amin", "logsumexp"), REDUCED),
    **dict.fromkeys(("max", "min"), (*REDUCED, "dim=-1")),
    **dict.fromkeys(("var", "std", "var_mean"), VARIANCES),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum"), ("-1", "0", "1", "dim=-1")),
    "transpose": ("-1, -2", "1, 2", "0, 1", "2, 3", "1, 3", "0, 2"),
    "permute": ("0, 2, 1, 3", "0, 2, 1", "1, 0, 2", "2, 0, 1", "0, 1, 3, 2"),
    **dict.fromkeys(("cat", "stack"), ("-1", "0", "1", "dim=-1", "dim=1", "dim=0")),
    **dict.fromkeys(("tril", "triu"), ("diagonal=1", "diagonal=0", "diagonal=-1")),
    "argmax": ("-1", "dim=-1", "-1, keepdim=True"),
    "topk": ("k", "k, -1"),
    **dict.fromkeys(("sort", "argsort"), ("-1, descending=True", "descending=True")),
}
FEW = 12  # names of a function for whose rows there is time
WRAPPERS = (
    *("torch.exp", "torch.sqrt", "torch.log", "math.sqrt", "torch.tril", "torch.triu"),
    *("torch.softmax", "float", "int", "len", "list", "range", "sorted", "abs"),
)


@dataclass(frozen=True)
class Scope:
    """What an edit may speak of.

    names: of arguments and locals; strings: texts of strings, as written.
    iterables: over which loops go; parts: entries of dictionaries.
    """

    names: Sequence[str]
    strings: Sequence[str]
    iterables: Sequence[str]
    parts: Sequence[str]

    def cuts(self) -> list[str]:
        """Slices up to a size of something."""
        of_axes = [f": {name}.shape[{i}]" for name in self.names[:6] for i in (1, 0)]
        return [*of_axes, *(f":{name}" for name in self.names)]

    def terms(self) -> list[str]:
        sizes = [name for name in self.names if len(name) == 1 and name.isupper()]
        lengths = [f"{name}.shape[-1]" for name in self.names if name not in sizes]
        roots = [f"{each} ** 0.5" for each in (*sizes, *lengths[:8], "2")]
        few = self.names[:6] if len(self.names) <= FEW else ()  # a search ends before
        rows = [f"{name}[{cut}]" for name in few for cut in self.cuts()]
        found = [*self.names, *self.parts, *roots, *lengths[:8], "2", "0.5", "1", *rows]
        return list(dict.fromkeys(found))


def expression_edits(
    text: Text, tree: ast.AST, lines: set[int], scope: Scope
) -> Iterator[Edit]:
    for parent in ast.walk(tree):
        if isinstance(parent, ast.expr | ast.stmt | ast.keyword) and hasattr(
            parent, "lineno"
        ):
            for node in ast.iter_child_nodes(parent):
                shown = getattr(node, "lineno", None)
                if isinstance(node, ast.expr) and shown in lines:
                    yield from Expression(text, node, parent, scope).edits()
        if isinstance(parent, ast.For | ast.comprehension):
            shown = parent.iter.lineno
            if shown in lines:
                yield from loop_edits(text, parent.iter, scope)


def loop_edits(text: Text, node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """What a loop may go over."""
    start, end = text.span(node)
    empty = isinstance(node, ast.List | ast.Tuple) and not node.elts
    for i, new in enumerate(scope.iterables):
        cost = (1.0 if empty else 2.4) + 0.001 * i
        kind = "what the loop goes over"
        yield Edit(start, end, new, node.lineno, kind, cost)


class Expression:
    """One expression in its place, and how it may be changed."""

    def __init__(
        self, text: Text, node: ast.expr, parent: ast.AST, scope: Scope
    ) -> None:
        self.text, self.node, self.parent, self.scope = text, node, parent, scope
        self.start, self.end = text.span(node)
        self.old = text.text[self.start : self.end]

    def edit(self, new: str, kind: str, cost: float) -> Edit:
        return Edit(self.start, self.end, new, self.node.lineno, kind, cost)

    def between(self, first: int, last: int, new: str, kind: str, cost: float) -> Edit:
        return Edit(first, last, new, self.node.lineno, kind, cost)

    def edits(self) -> Iterator[Edit]:
        node = self.node
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            return
        if isinstance(node, ast.BinOp):
            yield from self.operands(node.left, node.right)
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            yield from self.operands(node.left, node.comparators[0])
        if isinstance(node, ast.BoolOp):
            for kept in node.values:
                yield self.edit(self.inner(kept), "a condition in it", 1.6)
        if isinstance(node, ast.Call):
            yield from self.call(node)
        if isinstance(node, ast.Subscript):
            yield self.edit(self.inner(node.value), "an index in it", 1.6)
            yield from self.index(node.slice)
        if isinstance(node, ast.Attribute):
            yield self.edit(self.inner(node.value), "an attribute in it", 1.3)
        if isinstance(node, ast.UnaryOp):
            yield self.edit(self.inner(node.operand), "a sign in it", 1.0)
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:
            yield from self.exchanged(node.elts, "the order of what it lists")
        if isinstance(node, ast.IfExp):
            yield from self.operands(node.body, node.orelse)
        yield from self.conditions()
        yield from self.moved()
        if isinstance(self.parent, ast.stmt):
            yield from self.names_exchanged()
        yield from self.additions()

    def inner(self, node: ast.expr) -> str:
        """The text of a part, in brackets unless it holds together."""
        part = self.text.of(node)
        whole = isinstance(node, (*ATOMS, ast.Constant))
        return part if whole else f"({part})"

    @property
    def held(self) -> str:
        whole = isinstance(self.node, ATOMS) or self.old.startswith("(")
        return self.old if whole else f"({self.old})"

    def operands(self, left: ast.expr, right: ast.expr) -> Iterator[Edit]:
        a, b = self.text.span(left), self.text.span(right)
        gap = self.text.text[a[1] : b[0]]
        if "(" not in gap and ")" not in gap:
            middle = f"{self.inner(right)}{gap}{self.inner(left)}"
            yield self.edit(f"{middle}", "the order of its operands", 1.3)
        for kept in (left, right):
            yield self.edit(self.inner(kept), "a term or factor too many", 1.5)

    def exchanged(self, nodes: Sequence[ast.expr], kind: str) -> Iterator[Edit]:
        for i, one in enumerate(nodes):
            for j, other in enumerate(nodes[i + 1 :], start=i + 1):
                a, b = self.text.span(one), self.text.span(other)
                texts = self.text.of(one), self.text.of(other)
                if texts[0] == texts[1]:
                    continue
                between = self.text.text[a[1] : b[0]]
                new = f"{texts[1]}{between}{texts[0]}"
                yield self.between(a[0], b[1], new, kind, 1.3 + 0.2 * (j > i + 1))

    def call(self, node: ast.Call) -> Iterator[Edit]:
        kind = "a call too many in it"
        function = node.func
        if isinstance(function, ast.Attribute):
            yield self.edit(self.inner(function.value), kind, 1.4)
        if node.args:
            yield self.edit(self.inner(node.args[0]), kind, 1.4)
            yield from self.exchanged(node.args, "the order of arguments in it")
        yield from self.arguments(node)
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in ACTIVATIONS and (node.args or isinstance(function, ast.Attribute)):
            of = self.text.of(node.args[0] if node.args else function.value)
            for new in ACTIVATIONS.values():
                yield self.edit(f"{new.format(of)}", "a function in it", 1.5)
        if name in ("view", "reshape") and len(node.args) in (3, 4):
            *parts, a, b, last = [self.text.of(each) for each in node.args]
            new = ", ".join([*parts, b, a, last])
            axes = f"{len(parts)}, {len(parts) + 1}"
            turned = f"{self.text.of(function)}({new}).transpose({axes})"
            yield self.edit(turned, "the order of axes in it", 1.7)
        given = [*node.args, *(one.value for one in node.keywords)]
        for i, one in enumerate(node.keywords):
            start, end = self.text.span(one)
            if i or node.args:
                start = self.text.text.rindex(",", self.start, start)
            elif len(node.keywords) > 1:
                end = self.text.span(node.keywords[1])[0]
            kind = f"the argument `{one.arg}` in it"
            yield self.between(start, end, "", kind, 1.5)
        if node.args and not node.keywords:
            last = node.args[-1]
            first, end = self.text.span(last)
            if len(node.args) > 1:
                first = self.text.text.rindex(",", self.start, first)
            yield self.between(first, end, "", "an argument too many in it", 1.6)
        name = getattr(function, "attr", getattr(function, "id", ""))
        has = {one.arg for one in node.keywords}
        for added in KEYWORDS.get(name, ()):
            named = [each.partition("=")[0] for each in added.split(", ")]
            if has & set(named):
                continue
            comma = ", " if given else ""
            kind = f"without the argument `{named[-1]}` in it"
            at = self.end - 1
            before = self.text.text[self.start : at].rstrip()
            comma = "" if before.endswith(",") else comma
            cost = 1.3 + 0.3 * len(named)
            yield self.between(at, at, comma + added, kind, cost)
        for one in node.keywords:
            if one.arg == "approximate":
                yield self.between(*self.text.span(one.value), '"tanh"', kind, 1.4)

    def arguments(self, node: ast.Call) -> Iterator[Edit]:
        """Yield calls that reduce or turn axes, with other axes."""
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        of_torch = getattr(getattr(node.func, "value", None), "id", "") == "torch"
        first = [self.text.of(each) for each in node.args[: int(of_torch)]]
        for given in AXES.get(name, ()):
            new = ", ".join([*first, *filter(None, [given])])
            called = f"{self.text.of(node.func)}({new})"
            if called != self.old:
                yield self.edit(called, "the arguments of a call in it", 1.7)

    def index(self, part: ast.expr) -> Iterator[Edit]:
        kind = "an index in it"
        if isinstance(part, ast.Tuple):
            for one in part.elts:
                yield from self.index(one)
            for i, one in enumerate(part.elts):
                if i:
                    start = self.text.span(part.elts[i - 1])[1]
                    end = self.text.span(one)[1]
                    yield self.between(start, end, "", kind, 1.8)
            yield from self.exchanged(part.elts, kind)
            return
        if not isinstance(part, ast.Slice):
            start, end = self.text.span(part)
            old = self.inner(part)
            for new in (f"{old} - 1", f"{old} + 1", "-1", "0", ":", f":{old}"):
                yield self.between(start, end, new, kind, 1.6)
            yield self.between(start, end, f"{old}:", kind, 1.7)
            for cut in self.scope.cuts():
                yield self.between(start, end, cut, kind, 1.9)
            return
        start, end = self.text.span(part)
        if part.lower is part.upper is None:
            for name in self.scope.names:
                new = f"torch.arange(len({name}))"
                yield self.between(start, end, new, kind, 1.7)
        low = self.text.of(part.lower) if part.lower else ""
        high = self.text.of(part.upper) if part.upper else ""
        step = f":{self.text.of(part.step)}" if part.step else ""
        bounds = [
            *((f"{high}", f"{low}", 1.3), ("", high, 1.4), (low, "", 1.4)),
            *((low, f"{high or ''} - 1".lstrip(" -") if high else "-1", 1.5),),
            *((low, f"{high} + 1" if high else "", 1.6),),
            *((f"{low} - 1" if low else "1", high, 1.6),),
            *((f"{low} + 1" if low else "1", high, 1.5),),
            *((f"-{high}" if high else "", "", 1.6), ("", f"-{low or 1}", 1.6)),
        ]
        bounds += [(low, name, 1.9) for name in self.scope.names]
        bounds += [(name, high, 2.1) for name in self.scope.names]
        for first, last, cost in bounds:
            if (first, last) != (low, high):
                new = f"{first}:{last}{step}"
                yield self.between(start, end, new, kind, cost)

    def moved(self) -> Iterator[Edit]:
        """Yield `f(a + b)` for `f(a) + b`, and the other way round."""
        node, kind = self.node, "the place of a bracket in it"
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call):
            left = node.left
            gap = self.text.text[
                self.text.span(left)[1] : self.text.span(node.right)[0]
            ]
            right = f"{gap}{self.inner(node.right)}"
            inside = called_with(self.text, left)
            if inside and "(" not in gap and ")" not in gap:
                before, value, after = inside
                yield self.edit(f"{before}{value}{right}{after}", kind, 1.6)
        if isinstance(node, ast.Call):
            inside = called_with(self.text, node)
            value = (*node.args, getattr(node.func, "value", None))[0]
            if inside and isinstance(value, ast.BinOp):
                before, _, after = inside
                left, right = self.text.span(value.left), self.text.span(value.right)
                rest = self.text.text[left[1] : right[1]]
                new = f"({before}{self.text.of(value.left)}{after}{rest})"
                yield self.edit(new, kind, 1.7)
                if isinstance(value.right, ast.Call):
                    last = called_with(self.text, value.right)
                    if last:
                        within = f"{last[0]}{before}{last[1]}{after}{last[2]}"
                        middle = self.text.text[left[1] : right[0]]
                        new = f"{self.text.of(value.left)}{middle}{within}"
                        yield self.edit(new, kind, 1.7)

    def names_exchanged(self) -> Iterator[Edit]:
        """Yield the statement's value with two of its names in each other's places."""
        found = [
            (self.text.span(one)[0], one.id)
            for one in ast.walk(self.node)
            if isinstance(one, ast.Name) and one.id in self.scope.names
        ]
        names = list(dict.fromkeys(name for _, name in found))
        for one, other in itertools.combinations(names[:8], 2):
            new, last = "", self.start
            for at, name in sorted(found):
                if name in (one, other):
                    new += self.text.text[last:at] + (other if name == one else one)
                    last = at + len(name)
            new += self.text.text[last : self.end]
            yield self.edit(new, "the order of two names in it", 1.9)

    def conditions(self) -> Iterator[Edit]:
        node, parent = self.node, self.parent
        if isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node:
            yield self.edit(f"not {self.held}", "its condition", 1.0)

    def additions(self) -> Iterator[Edit]:
        """Yield what may be missing: a sign, a call, a factor, a term."""
        node, parent = self.node, self.parent
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float):
            return
        if isinstance(parent, ast.Attribute) or (
            isinstance(parent, ast.Call) and parent.func is node
        ):
            return
        if isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Lambda):
            return
        sign = f"-{self.held}"
        if isinstance(parent, ast.BinOp) and parent.right is node:
            sign = f"({sign})"
        if isinstance(node, ast.Constant):
            yield self.edit(sign, "a sign in it", 1.0)
            return
        yield self.edit(sign, "a sign in it", 1.3)
        for power in (" ** 0.5", " ** 2"):
            new = f"{self.held}{power}"
            divides = isinstance(parent, ast.BinOp) and parent.right is node
            powered = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow)
            if not powered:
                kind = "a power missing in it"
                cost = 1.4 if divides and not isinstance(node, ast.BinOp) else 2.3
                yield self.edit(new if divides else f"({new})", kind, cost)
        if isinstance(parent, ast.stmt | ast.Call):
            masked = (
                f"{self.held}.masked_fill(torch.ones_like({self.old}).triu(1) == 1, "
                'float("-inf"))'
            )
            yield self.edit(masked, "a mask missing in it", 2.1)
        cuts = [f"[{cut}]" for cut in self.scope.cuts()]
        for cut in cuts if isinstance(node, ast.Name) else ():
            yield self.edit(f"{self.old}{cut}", "a slice missing in it", 2.2)
        if isinstance(node, ast.Name) and isinstance(parent, ast.Call):
            for name in self.scope.names:
                new = f"min({self.old}, {name}.shape[-1])"
                yield self.edit(new, "a limit missing in it", 2.2)
        for method in METHODS:
            cost = 1.9 + 0.6 * (method not in COMMON)
            yield self.edit(f"{self.held}{method}", "a call missing in it", cost)
        for wrapper in WRAPPERS:
            yield self.edit(f"{wrapper}({self.old})", "a call missing in it", 2.4)
        yield from self.terms()

    def terms(self) -> Iterator[Edit]:
        whole = isinstance(self.parent, ast.stmt | ast.keyword | ast.Call)
        kind = "a term or factor missing in it"
        for term in self.scope.terms():
            for operator in operators_of(term):
                if term == self.old:
                    continue
                new = f"{self.held} {operator} {term}"
                held = new if whole else f"({new})"
                cost = 2.2 + 0.4 * (not whole) + 0.2 * (operator == "@")
                yield self.edit(held, kind, cost)
        for new in (f"1 - {self.held}", f"1 / {self.held}", f"1 + {self.held}"):
            yield self.edit(new if whole else f"({new})", kind, 2.2)
        peak = f"{self.held} - {self.held}.max(-1, keepdim=True).values"
        yield self.edit(peak if whole else f"({peak})", kind, 2.2)


def called_with(text: Text, node: ast.Call) -> tuple[str, str, str] | None:
    """A call of one thing, before it, as a text, and after it."""
    start, end = text.span(node)
    if node.args:
        inner = node.args[0]
    elif isinstance(node.func, ast.Attribute):
        inner = node.func.value
    else:
        return None
    first, last = text.span(inner)
    value = text.text[first:last]
    if not node.args:
        before, after = text.text[start:first], text.text[last:end]
        balanced = before.endswith("(") and after.startswith(")")
        return before + "(" * (not balanced), value, ")" * (not balanced) + after
    return text.text[start:first], value, text.text[last:end]


def operators_of(term: str) -> str:
    """By which signs a term may be missing."""
    if "[:" in term:
        return "+*"
    if term.endswith("0.5") or ".shape" in term:
        return "/*"
    return "+*-/" if term[0].isdigit() else "+*/-@"
