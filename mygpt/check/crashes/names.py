"""Names, keys and calls that are not there."""

import ast
import re

from mygpt.check.crashes.place import NotKnown
from mygpt.check.crashes.rules import Crash, always, rule

COMMON = {
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "math": "import math",
    "np": "import numpy as np",
}


@rule(r"NameError: name '(\w+)' is not defined")
def an_unknown_name(crash: Crash) -> str | None:
    name = crash.group()
    if name in COMMON:
        return f"`{COMMON[name]}` is missing."
    for argument, kind in crash.task.arguments.items():
        axes = re.match(r"\((\w+(?:, *\w+)*),?\)", kind)
        letters = re.split(", *", axes[1]) if axes else []
        if name in letters:
            own = argument if argument in crash.place.known else f"its {argument}"
            return (
                f"{name} is no argument of this task; your program finds it as a size: "
                f"axis {letters.index(name)} of {own}, `shape[{letters.index(name)}]`."
            )
    return None


@rule(r"KeyError: '(\w+)'", r"'dict' object has no attribute '(\w+)'")
def an_unknown_key(crash: Crash) -> str | None:
    node = crash.place.node
    if not isinstance(node, ast.Subscript | ast.Attribute):
        return None
    try:
        keys = list(crash.place.value(node.value))
    except (NotKnown, TypeError):
        return None
    if isinstance(node, ast.Attribute):
        name = crash.group(2)
        if name not in keys:
            return None
        return f"A dictionary is asked by key: `{ast.unparse(node.value)}[{name!r}]`."
    return (
        f"`{ast.unparse(node.value)}` has no key {crash.group()!r}; it has "
        f"{', '.join(map(repr, keys))}."
    )


@rule(r"'builtin_function_or_method' object is not subscriptable")
def a_method_as_a_list(crash: Crash) -> str | None:
    node = crash.place.node
    if not isinstance(node, ast.Subscript):
        return None
    name = ast.unparse(node.value)
    return f"`{name}` is a method: it is called, `{name}(…)`, with round brackets."


RULES = [
    an_unknown_name,
    an_unknown_key,
    a_method_as_a_list,
    always(
        r"'torch.Size' object is not callable",
        "`shape` is not called: `shape[0]`, or `size(0)`.",
    ),
    always(
        r"'Tensor' object is not callable",
        "Round brackets after a tensor call it; an entry is asked for by [ ].",
    ),
    always(
        r"'NoneType' object (?:has no attribute|is not)|'NoneType' and|and 'NoneType'",
        "Something here is None: is it the result of a function that has no `return`, "
        "or that prints instead?",
    ),
    always(
        r"must be Tensor, not NoneType",
        "Something here is None: is it the result of a function that has no `return`, "
        "or that prints instead?",
    ),
    always(r"^RecursionError", "A function of yours calls itself without end."),
]
