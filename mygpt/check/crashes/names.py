"""Names, keys and calls that are not there."""

import ast
import re

from mygpt.check.crashes.error_site import ErrorSite
from mygpt.check.crashes.rules import Rules

COMMON = {
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "math": "import math",
    "np": "import numpy as np",
}
RULES = Rules()


@RULES.tested(r"NameError: name '(\w+)' is not defined")
def an_unknown_name(site: ErrorSite, match: re.Match[str]) -> str | None:
    """An import that is missing, or a letter of the task's shapes used as a name."""
    name = match[1]
    if name in COMMON:
        return f"`{COMMON[name]}` is missing."
    for argument, kind in site.task.arguments.items():
        shape = re.match(r"\((\w+(?:, *\w+)*),?\)", kind)
        letters = re.split(", *", shape[1]) if shape else []
        if name in letters:
            axis = letters.index(name)
            own = argument if argument in site.known else f"its {argument}"
            return (
                f"{name} is no argument of this task; your program finds it as a size: "
                f"axis {axis} of {own}, `shape[{axis}]`."
            )
    return None


@RULES.tested(r"KeyError: '(\w+)'", at=ast.Subscript)
def an_unknown_key(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A dictionary of the task is asked for a key that it does not have."""
    keys = site.found(site.node.value, dict)
    if keys is None:
        return None
    known = ", ".join(map(repr, keys))
    return f"`{ast.unparse(site.node.value)}` has no key {match[1]!r}; it has {known}."


@RULES.tested(r"'dict' object has no attribute '(\w+)'", at=ast.Attribute)
def a_key_as_an_attribute(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A key of a dictionary is written as an attribute."""
    key, owner = match[1], site.node.value
    if key not in (site.found(owner, dict) or ()):
        return None
    return f"A dictionary is asked by key: `{ast.unparse(owner)}[{key!r}]`."


@RULES.tested(
    r"'builtin_function_or_method' object is not subscriptable", at=ast.Subscript
)
def a_method_as_a_list(site: ErrorSite, match: re.Match[str]) -> str:
    """A method is followed by square brackets: `x.size[0]`."""
    name = ast.unparse(site.node.value)
    return f"`{name}` is a method: it is called, `{name}(…)`, with round brackets."


RULES.by_text(
    {
        r"'torch.Size' object is not callable": (
            "`shape` is not called: `shape[0]`, or `size(0)`."
        ),
        r"'Tensor' object is not callable": (
            "Round brackets after a tensor call it; an entry is asked for by [ ]."
        ),
        r"'NoneType' object (?:has no attribute|is not)|'NoneType' and|and 'NoneType'"
        r"|must be Tensor, not NoneType": (
            "Something here is None: is it the result of a function that has no "
            "`return`, or that prints instead?"
        ),
        r"^RecursionError": "A function of yours calls itself without end.",
    }
)
