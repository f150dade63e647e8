"""What the names in a function stand for, as far as its text shows it."""

import ast
from collections.abc import Iterator, Sequence

from mygpt.check.mends.source import statements_of
from mygpt.check.syntax import paired

INT_CALLS = ("len", "int", "size", "numel", "dim", "max", "min", "ord")
INT_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
KINDS = {  # of constants, by their classes, and of expressions
    int: "int",
    float: "number",
    str: "text",
    type(None): "none",
    **dict.fromkeys((ast.List, ast.ListComp), "list"),
    **dict.fromkeys((ast.Dict, ast.DictComp), "dict"),
}
SHAPED = ("view", "reshape", "unflatten", "expand", "range", "arange", "topk")
ASSIGNED = ast.Assign | ast.AugAssign | ast.AnnAssign
MODULES = ("torch", "F", "math", "nn", "np")


class FunctionNames:
    """The names of a function, by kind: int, dict, list, none, number, text or tensor.

    A kind is a guess, good enough to try likely names first.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        given = function.args
        found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        self.arguments = [one.arg for one in found]
        self.kinds = dict.fromkeys(self.arguments, "tensor")
        self.bound = dict.fromkeys(self.arguments, 0)
        self.optional: set[str] = set()
        for node in ast.walk(function):
            self.use(node)
        for node in in_order(function):
            self.bind(node)
        read = set(names_loaded(function))
        self.sums = {
            one.targets[0].id: one.value
            for one in in_order(function)
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name)
            and isinstance(one.value, ast.Call)
            and called(one.value) == "cumsum"
        }
        self.unused = [name for name in self.arguments if name not in read]

    def bind(self, node: ast.AST) -> None:
        """Note the names that a statement gives a value."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part, value in paired(target, node.value, unpacked=True):
                    self.note(part, self.kind_of(value))
        elif isinstance(node, ast.For):
            parts = getattr(node.target, "elts", [node.target])
            entry = isinstance(node.iter, ast.Subscript) and has_text(node.iter.slice)
            kinds = ["dict" if entry and len(parts) == 1 else "tensor"] * len(parts)
            if called(node.iter) in ("range", "enumerate"):
                kinds[0] = "int"
            for part, kind in zip(parts, kinds, strict=True):
                self.note(part, kind)

    def note(self, target: ast.expr, kind: str) -> None:
        """Note the kind of the names in a target, unless they have another one."""
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                self.bound.setdefault(one.id, one.lineno)
                if self.kinds.setdefault(one.id, kind) == "none":
                    self.kinds[one.id] = kind
                if kind == "none":
                    self.optional.add(one.id)

    def kind_of(self, value: ast.expr) -> str:
        """Guess the kind of an expression; of one that is unpacked, of its parts."""
        name = called(value)
        if isinstance(value, ast.Constant):
            return KINDS.get(type(value.value), "tensor")
        if isinstance(value, ast.Name):
            return self.kinds.get(value.id, "tensor")
        if isinstance(value, ast.IfExp):
            both = self.kind_of(value.body), self.kind_of(value.orelse)
            return "int" if "int" in both else both[0]
        if isinstance(value, ast.BinOp) and isinstance(value.op, INT_OPERATORS):
            both = self.kind_of(value.left), self.kind_of(value.right)
            return "int" if both == ("int", "int") else "tensor"
        if isinstance(value, ast.Subscript):
            return "int" if "shape" in called(value.value) else "tensor"
        if name in ("list", "dict"):
            return name
        plain = isinstance(value, ast.Call) and len(value.args) < 2
        whole = (plain and name in INT_CALLS) or name == "shape"
        return "int" if whole else KINDS.get(type(value), "tensor")

    def use(self, node: ast.AST) -> None:
        """Note what a use of names shows: arguments that must be whole numbers."""
        whole: list[ast.expr | None] = []
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if has_text(node.slice):
                self.kinds[node.value.id] = "dict"
            parts = [one for one in ast.walk(node.slice) if isinstance(one, ast.Slice)]
            whole = [end for one in parts for end in (one.lower, one.upper)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            whole = [node.left, node.right]
        elif isinstance(node, ast.Call) and called(node) in SHAPED:
            whole = [*node.args]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            right = node.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                self.optional.add(node.left.id)
        found = {one.id for one in whole if isinstance(one, ast.Name)}
        self.kinds |= dict.fromkeys(found.intersection(self.arguments), "int")

    def before(self, line: int, *kinds: str) -> list[str]:
        """The names of some kinds that are bound above a line, the latest first."""
        found = [
            name
            for name, first in self.bound.items()
            if first < line and self.kinds[name] in kinds and name != "_"
        ]
        return sorted(found, key=lambda name: -self.bound[name])

    def is_tensor(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and self.kinds.get(node.id) == "tensor"


def called(node: ast.AST) -> str:
    """The last word of a name, an attribute or what is called."""
    if isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def subject(node: ast.Call) -> tuple[ast.expr | None, Sequence[ast.expr]]:
    """What a call is about, `x` of `x.f(1)` and of `torch.f(x, 1)`, and the rest."""
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        module = isinstance(owner, ast.Name) and owner.id in MODULES
        if not module and called(owner) != "functional":
            return owner, node.args
    return (node.args[0], node.args[1:]) if node.args else (None, ())


def strings_in(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def has_text(node: ast.AST) -> bool:
    """Whether a key may be a string."""
    return any(strings_in(node))


def bound_names(tree: ast.AST) -> dict[str, None]:
    """The arguments of functions in a tree, and the names that are given values."""
    return dict.fromkeys(
        node.arg if isinstance(node, ast.arg) else node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )


def names_loaded(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are read in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def names_used(tree: ast.AST) -> set[str]:
    """The names that are read in a tree, but for lists that are only appended to."""
    appended = {
        id(one.value.func.value)
        for one in ast.walk(tree)
        if isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Attribute)
        and one.value.func.attr == "append"
    }
    return {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Load)
        and id(one) not in appended
    }


def names_read(node: ast.AST) -> Iterator[ast.Name]:
    """The names that an expression reads, without what it calls."""
    functions = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    for one in (node, *in_order(node)):
        read = isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
        if read and id(one) not in functions:
            yield one


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a tree, in the order of the text."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from in_order(child)


def lines_that_make(tree: ast.AST, line: int, plain: bool = False) -> set[int]:
    """The other lines that give values to what the statement of a line reads.

    plain: only values that read nothing, such as numbers.
    """
    rows = statements_of(tree)
    read = {
        name
        for one, own in rows
        if line in own
        for name in (*names_loaded(one), *attributes(one, ast.Load))
    }
    made: set[int] = set()
    for one, own in rows:
        if isinstance(one, ast.FunctionDef):
            head = one.body[0].lineno - 1
            if read & {*bound_names(one.args)}:
                made |= set(range(one.lineno, max(head, one.lineno) + 1))
        elif read & {*bound_names(one), *attributes(one, ast.Store)}:
            fits = isinstance(one, ASSIGNED) and not (plain and [*names_read(one)])
            made |= own if fits else set()
    return made - {line}


def attributes(tree: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    """Yield the attributes in a tree that are read, or that are given values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, context):
            yield node.attr
