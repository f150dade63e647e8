"""Repeat an operation of a program, with other tensors or numbers."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from mygpt.check import work
from mygpt.check.locate.record import Made
from mygpt.check.pure import TENSOR_CALLS
from mygpt.check.tree import mapped, parts_of

# Operations that do not check their arguments: only with tensors of the same shapes.
IN_SHAPE = re.compile(r"native_layer_norm|nll_loss\w*|_scaled_dot_product\w*")


class CannotBeDone(Exception):
    """An operation that may not be repeated, or fails."""


def again(one: Made, instead: Mapping[Made, Tensor], args: Any = None) -> Tensor:
    """Return the result of an operation with some tensors, or arguments, replaced."""
    work.add(work.REPLAY)
    in_shape = bool(IN_SHAPE.fullmatch(one.operation))
    if one.call is None or not (in_shape or one.operation in TENSOR_CALLS):
        raise CannotBeDone
    function, old, kwargs = one.call
    replaced = [each for each in parts_of(one.call, Made) if each in instead]
    if in_shape and any(instead[each].shape != each.value.shape for each in replaced):
        raise CannotBeDone

    def tensor_of(leaf: Any) -> Any:
        return instead.get(leaf, leaf.value).clone() if isinstance(leaf, Made) else leaf

    try:
        result = function(*mapped(tensor_of, args or old), **mapped(tensor_of, kwargs))
        return parts_of(result, Tensor)[one.number]
    except Exception:
        raise CannotBeDone from None
