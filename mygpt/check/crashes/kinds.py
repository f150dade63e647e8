"""Whole and decimal numbers, plain numbers and tensors, tensors and pairs."""

import ast
import builtins
import math
import re

from torch import Tensor, nn

from mygpt.check.crashes.place import NotKnown, Place
from mygpt.check.crashes.rules import Crash, always, rule

WHOLE = re.compile(r"\b(?:long|int|short|char|byte)", re.IGNORECASE)
INDEX = "An index must hold whole numbers (`.long()`); yours holds decimal numbers."
MASK = "A mask must hold True and False: compare (`== 0`, `> 0`) or take `.bool()`."


@rule(r"return_types\.(\w+)", r"concatenate tuple", r"tuple indices must be")
def a_pair(crash: Crash) -> str | None:
    """`max`, `min`, `sort` or `topk` with a dim, used as a tensor."""
    parts = ast.iter_child_nodes(crash.place.node)
    name = crash.group() or next(
        filter(None, (pair(crash.place, part) for part in parts)), None
    )
    if not name:
        return None
    other = f", or use `a{name}`" if name in ("max", "min") else ""
    return (
        f"`{name}` gives a pair here, the values and their places. Take "
        f"`.values`{other}."
    )


def pair(place: Place, node: ast.AST) -> str:
    """Return what made a pair of tensors, if an expression is one."""
    try:
        kind = type(place.value(node))
    except NotKnown:
        return ""
    return kind.__name__ if kind.__module__ == "torch.return_types" else ""


@rule(
    r"'tuple' object has no attribute",
    r"not 'tuple'$",
    r"operand type.*'tuple'",
    r"must be Tensor, not tuple",
)
def a_pair_not_taken_apart(crash: Crash) -> str | None:
    """A name that holds what a call gave, where the call gave several things."""
    place = crash.place
    for node in place.sources(place.statement):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        made = place.last_values(node.id)
        found = place.known.get(node.id)
        if made and isinstance(made[0], ast.Call) and several_tensors(found):
            return apart(crash, f"`{node.id}`", ast.unparse(made[0].func))
    if crash.task.name in TRAINED:
        for node in ast.walk(place.statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "model":
                return apart(crash, "The model's result", "model")
    return None


TRAINED = ("train", "evaluate")  # tasks that are given a model


def several_tensors(value: object) -> bool:
    return isinstance(value, tuple) and any(isinstance(v, Tensor) for v in value)


def apart(crash: Crash, what: str, function: str) -> str:
    if crash.task.name in TRAINED and function == "model":
        return (
            f"{what} is a pair, (logits, loss): take it apart, `logits, loss = "
            "model(…)`."
        )
    return (
        f"{what} holds several things, all that `{function}` gives: take them apart, "
        f"`a, b = {function}(…)`."
    )


@rule(
    r"operand type",
    r"must be Tensor, not \w+",
    r"'\w+' object has no attribute",
    r"'\w+' object is not subscriptable",
)
def a_layer_made_and_not_called(crash: Crash) -> str | None:
    """`nn.GELU(h)`: the tensor is taken for a setting of the layer."""
    place = crash.place
    for call in place.sources(place.statement):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        kind, given = place.function_of(call), place.tensor(call.args[0])
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            continue
        if given is None and not overwritten(place, call.args[0], kind):
            continue
        if f"{kind.__name__}'" not in f"{crash.text}'":
            continue
        made, what = ast.unparse(call.func), ast.unparse(call.args[0])
        return (
            f"`{made}({what})` makes a layer with {what} as a setting and does not "
            f"apply it: `{made}()({what})`."
        )
    return None


def overwritten(place: Place, node: ast.AST, kind: type) -> bool:
    """Whether a name holds the layer itself by now: `h = nn.GELU(h)`."""
    return isinstance(node, ast.Name) and type(place.known.get(node.id)) is kind


@rule(r"only one element tensors can be", r"cannot be converted to Scalar")
def several_as_one(crash: Crash) -> str | None:
    """A function for one number is given a tensor of several."""
    call = crash.place.node
    if not isinstance(call, ast.Call):
        return None
    function = crash.place.function_of(call)
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") == "math":
        return f"`math.{name}` takes one number; `torch.{name}` takes a tensor."
    if name == "tensor":
        return "`torch.tensor` takes numbers; `torch.stack` joins a list of tensors."
    if isinstance(call.func, ast.Attribute) and call.func.attr == "item":
        name = ".item"
    if name in (".item", "float", "int"):
        return f"`{name}()` takes one number out of a tensor; here it holds several."
    return None


@rule(r"Boolean value of Tensor with more than one value is ambiguous")
def ambiguous(crash: Crash) -> str:
    """`if`, `and`, `or`, `not`, or Python's own `max` and `min`, of a tensor."""
    node = crash.place.node
    if isinstance(node, ast.Call):
        function = crash.place.function_of(node)
        if function in (builtins.max, builtins.min):
            name = function.__name__
            side = "min" if name == "max" else "max"
            return (
                f"Python's own `{name}` chooses one of its arguments as a whole. Entry "
                f"by entry: `torch.{name}imum` of two tensors, `.clamp({side}=0)` with "
                "a number."
            )
    return (
        "One True or False is needed here (by `if`, `while`, `and`, `or`, `not`, `in` "
        "or `==` of lists), and a tensor has one for each entry. `torch.where` chooses "
        "entry by entry; `.any()` and `.all()` make one of many."
    )


@rule(
    r"argument 'size'.* must be tuple of ints(?:,but got|, not) float",
    r"argument '(?:size|shape)'.*got float",
    r"'float' object cannot be interpreted as an integer",
    r"slice indices must be integers",
    r"must be .*ints?, not float",
)
def a_decimal_size(crash: Crash) -> str | None:
    place = crash.place
    divided = any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        for node in place.sources(place.node)
    )
    if not divided:
        return None
    return "A size must be a whole number: `/` gives a decimal one, `//` a whole one."


@rule(r"dtype, but got: ([\w ]+) != ([\w ]+)", r"dtype, but got (\w+) and (\w+)")
def two_types(crash: Crash) -> str | None:
    """A product of whole and decimal numbers."""
    match = crash.match
    assert match is not None
    kinds = [kind for kind in match.groups() if kind]
    whole = [bool(WHOLE.match(kind)) for kind in kinds]
    if not any(whole) or all(whole):
        return None
    made = names_called(crash.place, "one_hot")
    start = "`one_hot` gives whole numbers" if made else "One side holds whole numbers"
    return f"{start}; for a matrix product make them decimal, as by `.to(W.dtype)`."


def names_called(place: Place, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name
        for node in place.sources(place.node)
    )


@rule(r"\w+\(\): argument '\w+' \(position 1\) must be Tensor, not (int|float)")
def a_number_for_a_tensor(crash: Crash) -> str | None:
    call = crash.place.node
    name = ast.unparse(call.func).split(".")[-1] if isinstance(call, ast.Call) else ""
    if not hasattr(math, name):
        return None
    return f"`torch.{name}` takes a tensor; for one number there is `math.{name}`."


@rule(r"'list' and 'Tensor'|'Tensor' and 'list'|must be Tensor, not list")
def a_list_for_a_tensor(crash: Crash) -> str:
    return (
        "A Python list is no tensor: `torch.tensor` makes one of numbers, "
        "`torch.stack` of tensors."
    )


@rule(r"does not require grad and does not have a grad_fn")
def nothing_to_go_back(crash: Crash) -> str:
    return (
        "There is no graph to go back through: was it cut, by `.item()`, `.detach()`, "
        "`float(…)` or `no_grad`?"
    )


RULES = [
    a_pair,
    a_pair_not_taken_apart,
    a_layer_made_and_not_called,
    several_as_one,
    ambiguous,
    a_decimal_size,
    two_types,
    a_number_for_a_tensor,
    a_list_for_a_tensor,
    nothing_to_go_back,
    always(
        r"'Tensor' and 'dict'|'dict' and 'Tensor'|must be Tensor, not dict",
        "A whole dictionary stands where one of its tensors is meant: `weights['W1']`.",
    ),
    always(
        r"'torch.Size' and '(?:float|int)'|'(?:float|int)' and 'torch.Size'",
        "`shape` holds the sizes of all axes; one of them is `shape[-1]`.",
    ),
    always(
        r"bitwise_xor|operand type\(s\) for \^",
        "`^` is no power in Python but works on bits; x² is `x ** 2`.",
    ),
    always(r"tensors used as indices must be long", INDEX),
    always(
        r"argument #1 'indices' to have one of .*(?:Float|Double|Half)Tensor", INDEX
    ),
    always(r"Expected dtype (?:int32/)?int64 for index", INDEX),
    always(r"one_hot is only applicable to index tensor of type LongTensor", INDEX),
    always(
        r"expected target dtype to be Long|expected scalar type Long but found",
        "The targets must be ids, whole numbers (`.long()`); yours are decimal.",
    ),
    always(
        r"\"(?:log_)?softmax\w*\" not implemented for '(?:Long|Int)'",
        "A softmax needs decimal numbers (`.float()`); these are whole. Are they ids, "
        "where scores are meant?",
    ),
    always(
        r"(mean)\(\): could not infer output dtype|(std and var) only support floating",
        "A mean or a variance needs decimal numbers (`.float()`); these are whole.",
    ),
    always(r"boolean masks|expected condition to be a boolean tensor", MASK),
    always(r"~ \(operator.invert\) is only implemented on integer and Bool", MASK),
    always(
        r"with a bool tensor is not supported",
        "True and False are not subtracted: `~mask` is the opposite of a mask.",
    ),
    always(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "NumPy knows nothing of gradients: use torch's function of the same name.",
    ),
    always(
        r"leaf Variable that requires grad is being used in an in-place operation",
        "A tensor whose gradient is wanted is changed in place (`+=`, `x[…] =`, "
        "`add_`): make a new one instead.",
    ),
    always(
        r"has been modified by an inplace operation",
        "Something that the gradient needs is overwritten (`+=`, `x[…] =`, `add_`): "
        "make a new tensor instead.",
    ),
    always(
        r"grad can be implicitly created only for scalar outputs",
        "`backward()` starts from one number: take the mean of the losses first.",
    ),
    always(
        r"backward through the graph a second time",
        "`backward()` is called twice on one graph; the forward pass must come anew.",
    ),
    always(
        r"argument 'tensors' .* must be tuple of Tensors, not Tensor",
        "The tensors to be joined stand in a list, in [ ].",
    ),
    always(
        r"expected Tensor as element \d+ in argument 0, but got (?:int|float)",
        "`stack` and `cat` join tensors; `torch.tensor` makes one of numbers.",
    ),
    always(
        r"result type \w+ can't be cast to the desired output type (?:Long|Int)",
        "Decimal numbers are put in place into a tensor of whole ones (`+=`): begin "
        "with a tensor of decimal numbers.",
    ),
]
