"""Whole and decimal numbers, plain numbers and tensors, tensors and pairs."""

import ast
import builtins
import math
import re

from torch import Tensor, nn

from mygpt.check.crashes.error_site import ErrorSite
from mygpt.check.crashes.rules import Rules

RULES = Rules()
WHOLE = re.compile(r"\b(?:long|int|short|char|byte)", re.IGNORECASE)


@RULES.tested(r"return_types\.(\w+)", r"concatenate tuple", r"tuple indices must be")
def a_pair(site: ErrorSite, match: re.Match[str]) -> str | None:
    """`max`, `min`, `sort` or `topk` with a dim, used as a tensor."""
    kinds = [type(site.found(part)) for part in ast.iter_child_nodes(site.node)]
    pairs = [kind.__name__ for kind in kinds if kind.__module__ == "torch.return_types"]
    name = match[1] or next(iter(pairs), "")
    if not name:
        return None
    other = f", or use `a{name}`" if name in ("max", "min") else ""
    return (
        f"`{name}` gives a pair here, the values and their places. Take "
        f"`.values`{other}."
    )


@RULES.tested(
    r"'tuple' object has no attribute",
    r"not 'tuple'$",
    r"operand type.*'tuple'",
    r"must be Tensor, not tuple",
)
def a_pair_not_taken_apart(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A name of the result of a call that gave several things."""
    trained = site.task.name in ("train", "evaluate")  # tasks that are given a model
    for node in site.sources(site.statement, ast.Name):
        made, found = site.last_value(node.id), site.known.get(node.id)
        several = isinstance(found, tuple) and any(isinstance(v, Tensor) for v in found)
        if several and isinstance(node.ctx, ast.Load) and isinstance(made, ast.Call):
            function = ast.unparse(made.func)
            if trained and function == "model":
                return MODELS_PAIR.format(f"`{node.id}`")
            return (
                f"`{node.id}` holds several things, all that `{function}` gives: take "
                f"them apart, `a, b = {function}(…)`."
            )
    if trained and "model" in map(name_of, ast.walk(site.statement)):
        return MODELS_PAIR.format("The model's result")
    return None


MODELS_PAIR = "{} is a pair, (logits, loss): take it apart, `logits, loss = model(…)`."


def name_of(node: ast.AST) -> str:
    """Return the name of what is called, with its module; empty for no call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


@RULES.tested(
    r"operand type",
    r"must be Tensor, not \w+",
    r"'\w+' object has no attribute",
    r"'\w+' object is not subscriptable",
)
def a_layer_made_and_not_called(site: ErrorSite, match: re.Match[str]) -> str | None:
    """`nn.GELU(h)`: the tensor is taken for a setting of the layer."""
    for call in site.sources(site.statement, ast.Call):
        kind = site.found(call.func, type)
        if not call.args or kind is None or not issubclass(kind, nn.Module):
            continue
        if f"{kind.__name__}'" not in f"{site.message}'":
            continue
        first = call.args[0]
        made, what = ast.unparse(call.func), ast.unparse(first)
        # `h = nn.GELU(h)`: by now the name holds the layer itself
        overwritten = isinstance(first, ast.Name) and type(site.known.get(what)) is kind
        if overwritten or site.tensor(first) is not None:
            return (
                f"`{made}({what})` makes a layer with {what} as a setting and does not "
                f"apply it: `{made}()({what})`."
            )
    return None


@RULES.tested(
    r"only one element tensors can be", r"cannot be converted to Scalar", at=ast.Call
)
def several_as_one(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A function for one number is given a tensor of several."""
    function = site.found(site.node.func)
    name = getattr(function, "__name__", "")
    if getattr(function, "__module__", "") == "math":
        return f"`math.{name}` takes one number; `torch.{name}` takes a tensor."
    if name == "tensor":
        return "`torch.tensor` takes numbers; `torch.stack` joins a list of tensors."
    if name_of(site.node).endswith(".item"):
        name = ".item"
    if name in (".item", "float", "int"):
        return f"`{name}()` takes one number out of a tensor; here it holds several."
    return None


@RULES.tested(r"Boolean value of Tensor with more than one value is ambiguous")
def ambiguous(site: ErrorSite, match: re.Match[str]) -> str:
    """`if`, `and`, `or`, `not`, or Python's own `max` and `min`, of a tensor."""
    function = site.found(getattr(site.node, "func", None))
    if function in (builtins.max, builtins.min):
        name = function.__name__
        side = "min" if name == "max" else "max"
        return (
            f"Python's own `{name}` chooses one of its arguments as a whole. Entry by "
            f"entry: `torch.{name}imum` of two tensors, `.clamp({side}=0)` with a "
            "number."
        )
    return (
        "One True or False is needed here (by `if`, `while`, `and`, `or`, `not`, `in` "
        "or `==` of lists), and a tensor has one for each entry. `torch.where` chooses "
        "entry by entry; `.any()` and `.all()` make one of many."
    )


@RULES.tested(
    r"argument 'size'.* must be tuple of ints(?:,but got|, not) float",
    r"argument '(?:size|shape)'.*got float",
    r"'float' object cannot be interpreted as an integer",
    r"slice indices must be integers",
    r"must be .*ints?, not float",
)
def a_decimal_size(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A size that a division made."""
    if not any(site.sources(site.node, ast.Div)):
        return None
    return "A size must be a whole number: `/` gives a decimal one, `//` a whole one."


@RULES.tested(
    r"dtype, but got: ([\w ]+) != ([\w ]+)", r"dtype, but got (\w+) and (\w+)"
)
def two_types(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A product of whole and decimal numbers."""
    whole = {bool(WHOLE.match(kind)) for kind in match.groups() if kind}
    if len(whole) == 1:
        return None
    calls = map(name_of, site.sources(site.node, ast.Call))
    made = any(call.split(".")[-1] == "one_hot" for call in calls)
    start = "`one_hot` gives whole numbers" if made else "One side holds whole numbers"
    return f"{start}; for a matrix product make them decimal, as by `.to(W.dtype)`."


@RULES.tested(
    r"(\w+)\(\): argument '\w+' \(position 1\) must be Tensor, not (?:int|float)"
)
def a_number_for_a_tensor(site: ErrorSite, match: re.Match[str]) -> str | None:
    """A plain number is passed to a function of torch that `math` has too."""
    name = match[1]
    if not hasattr(math, name):
        return None
    return f"`torch.{name}` takes a tensor; for one number there is `math.{name}`."


RULES.by_text(
    {
        r"'list' and 'Tensor'|'Tensor' and 'list'|must be Tensor, not list": (
            "A Python list is no tensor: `torch.tensor` makes one of numbers, "
            "`torch.stack` of tensors."
        ),
        r"does not require grad and does not have a grad_fn": (
            "There is no graph to go back through: was it cut, by `.item()`, "
            "`.detach()`, `float(…)` or `no_grad`?"
        ),
        r"'Tensor' and 'dict'|'dict' and 'Tensor'|must be Tensor, not dict": (
            "A whole dictionary stands where one of its tensors is meant: "
            "`weights['W1']`."
        ),
        r"'torch.Size' and '(?:float|int)'|'(?:float|int)' and 'torch.Size'": (
            "`shape` holds the sizes of all axes; one of them is `shape[-1]`."
        ),
        r"bitwise_xor|operand type\(s\) for \^": (
            "`^` is no power in Python but works on bits; x² is `x ** 2`."
        ),
        r"tensors used as indices must be long"
        r"|argument #1 'indices' to have one of .*(?:Float|Double|Half)Tensor"
        r"|Expected dtype (?:int32/)?int64 for index"
        r"|one_hot is only applicable to index tensor of type LongTensor": (
            "An index must hold whole numbers (`.long()`); yours holds decimal numbers."
        ),
        r"expected target dtype to be Long|expected scalar type Long but found": (
            "The targets must be ids, whole numbers (`.long()`); yours are decimal."
        ),
        r"\"(?:log_)?softmax\w*\" not implemented for '(?:Long|Int)'": (
            "A softmax needs decimal numbers (`.float()`); these are whole. Are they "
            "ids, where scores are meant?"
        ),
        r"mean\(\): could not infer output dtype|std and var only support floating": (
            "A mean or a variance needs decimal numbers (`.float()`); these are whole."
        ),
        r"boolean masks|expected condition to be a boolean tensor"
        r"|~ \(operator.invert\) is only implemented on integer and Bool": (
            "A mask must hold True and False: compare (`== 0`, `> 0`) or take "
            "`.bool()`."
        ),
        r"with a bool tensor is not supported": (
            "True and False are not subtracted: `~mask` is the opposite of a mask."
        ),
        r"Can't call numpy\(\) on Tensor that requires grad": (
            "NumPy knows nothing of gradients: use torch's function of the same name."
        ),
        r"leaf Variable that requires grad is being used in an in-place operation": (
            "A tensor whose gradient is wanted is changed in place (`+=`, `x[…] =`, "
            "`add_`): make a new one instead."
        ),
        r"has been modified by an inplace operation": (
            "Something that the gradient needs is overwritten (`+=`, `x[…] =`, "
            "`add_`): make a new tensor instead."
        ),
        r"grad can be implicitly created only for scalar outputs": (
            "`backward()` starts from one number: take the mean of the losses first."
        ),
        r"backward through the graph a second time": (
            "`backward()` is called twice on one graph; the forward pass must come "
            "anew."
        ),
        r"argument 'tensors' .* must be tuple of Tensors, not Tensor": (
            "The tensors to be joined stand in a list, in [ ]."
        ),
        r"expected Tensor as element \d+ in argument 0, but got (?:int|float)": (
            "`stack` and `cat` join tensors; `torch.tensor` makes one of numbers."
        ),
        r"result type \w+ can't be cast to the desired output type (?:Long|Int)": (
            "Decimal numbers are put in place into a tensor of whole ones (`+=`): "
            "begin with a tensor of decimal numbers."
        ),
    }
)
