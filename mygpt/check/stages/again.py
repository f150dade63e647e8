"""Do an operation of a program again, with other tensors or numbers."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from mygpt.check.stages.record import Made, parts_of

# Operations that are done again with other tensors: each checks what it is given.
SAFE = re.compile(
    r"_?(unsafe_)?view|reshape|expand|transpose|t|permute|(un)?squeeze|slice|select|alias|"
    r"clone|detach|unbind|cat|stack|add|sub|rsub|mul|div|pow|neg|abs|exp|log|sqrt|rsqrt|"
    r"reciprocal|tanh|erf|sigmoid|relu|gelu|sin|cos|sum|mean|amax|amin|cumsum|mm|bmm|"
    r"addmm|mv|dot|masked_fill|where|_softmax|_log_softmax|logsumexp|tril|triu|gather|"
    r"argmax|index|scatter|_to_copy|ge|gt|le|lt|eq|logical_not|bitwise_not|max|min|sort|"
    r"topk|split|split_with_sizes"
)
# Of these only with tensors of the same shapes as before.
IN_SHAPE = re.compile(r"native_layer_norm|nll_loss\w*|_scaled_dot_product\w*")
VIEW = re.compile(
    r"_?view|expand|transpose|t|permute|(un)?squeeze|slice|select|alias|unbind|"
    r"split(_with_sizes)?|diagonal|detach|unfold|as_strided"
)


class CannotBeDone(Exception):
    """An operation is none of those that may be done again, or fails."""


def again(one: Made, instead: Mapping[int, Tensor], args: Any = None) -> Tensor:
    """Return what an operation makes, some of its tensors, or its arguments, others."""
    in_shape = bool(IN_SHAPE.fullmatch(one.operation))
    if one.call is None or not (in_shape or SAFE.fullmatch(one.operation)):
        raise CannotBeDone
    function, old, kwargs = one.call
    if in_shape and not all(
        instead[id(each)].shape == each.value.shape
        for each in parts_of((old, kwargs), Made)
        if id(each) in instead
    ):
        raise CannotBeDone
    try:
        result = function(*put(args or old, instead), **put(kwargs, instead))
    except Exception:
        raise CannotBeDone from None
    tensors = [*parts_of(result, Tensor)]
    if one.number >= len(tensors):
        raise CannotBeDone
    return tensors[one.number]


def put(value: Any, instead: Mapping[int, Tensor]) -> Any:
    """Put tensors back in the places of what stands for them, some of them others."""
    if isinstance(value, Made):
        return instead.get(id(value), value.value).clone()
    if isinstance(value, list):
        return [put(part, instead) for part in value]
    if isinstance(value, dict):
        return {name: put(part, instead) for name, part in value.items()}
    return value
