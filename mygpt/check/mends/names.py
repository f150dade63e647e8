"""What the names in a function stand for, as far as its text shows it."""

import ast
from collections.abc import Iterator, Sequence

INT_CALLS = ("len", "int", "size", "numel", "dim", "max", "min", "ord")
INT_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
LISTS = ast.List | ast.ListComp
SHAPED = ("view", "reshape", "unflatten", "expand", "range", "arange", "topk")
MODULES = ("torch", "F", "math", "nn", "np")


class Names:
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
        read = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
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
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, ast.For):
            self.loop(node.target, node.iter)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            shape = isinstance(value, ast.Attribute) and value.attr == "shape"
            pairs = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            for i, one in enumerate(target.elts):
                if pairs:
                    self.assign(one, value.elts[i])
                else:
                    self.note(one, "int" if shape else "tensor")
        else:
            self.note(target, self.kind_of(value))

    def loop(self, target: ast.expr, over: ast.expr) -> None:
        name = called(over)
        if isinstance(target, ast.Tuple):
            for i, one in enumerate(target.elts):
                self.note(one, "int" if name == "enumerate" and not i else "tensor")
        else:
            entry = isinstance(over, ast.Subscript) and has_text(over.slice)
            kind = "dict" if entry else "tensor"
            self.note(target, "int" if name == "range" else kind)

    def note(self, target: ast.expr, kind: str) -> None:
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                self.bound.setdefault(one.id, one.lineno)
                if self.kinds.setdefault(one.id, kind) == "none":
                    self.kinds[one.id] = kind
                if kind == "none":
                    self.optional.add(one.id)

    def kind_of(self, value: ast.expr) -> str:
        if isinstance(value, ast.Constant):
            kinds = {int: "int", float: "number", str: "text", type(None): "none"}
            return kinds.get(type(value.value), "tensor")
        if isinstance(value, ast.Subscript) and "shape" in called(value.value):
            return "int"
        if isinstance(value, ast.Name):
            return self.kinds.get(value.id, "tensor")
        if isinstance(value, ast.IfExp):
            both = {self.kind_of(value.body), self.kind_of(value.orelse)}
            return "int" if "int" in both else self.kind_of(value.body)
        if isinstance(value, ast.BinOp) and isinstance(value.op, INT_OPERATORS):
            both = {self.kind_of(value.left), self.kind_of(value.right)}
            return "int" if both == {"int"} else "tensor"
        if isinstance(value, LISTS) or called(value) == "list":
            return "list"
        if isinstance(value, ast.Dict | ast.DictComp) or called(value) == "dict":
            return "dict"
        plain = isinstance(value, ast.Call) and len(value.args) < 2
        return "int" if plain and called(value) in INT_CALLS else "tensor"

    def use(self, node: ast.AST) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if has_text(node.slice):
                self.kinds[node.value.id] = "dict"
            for one in ast.walk(node.slice):
                if isinstance(one, ast.Slice):
                    self.count(one.lower, one.upper)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            self.count(node.left, node.right)
        elif isinstance(node, ast.Call) and called(node) in SHAPED:
            self.count(*node.args)
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            right = node.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                self.optional.add(node.left.id)

    def count(self, *nodes: ast.expr | None) -> None:
        """Take the arguments of the function that stand alone there for whole ones."""
        for one in nodes:
            if isinstance(one, ast.Name) and one.id in self.arguments:
                self.kinds[one.id] = "int"

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

    def counts(self, line: int) -> list[str]:
        return self.before(line, "int")


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


def has_text(node: ast.AST) -> bool:
    """Whether a key may be a string."""
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, str)
        for one in ast.walk(node)
    )


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a tree, in the order of the text."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from in_order(child)
