"""Models without numbers, to be filled from a file."""

from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

Model = TypeVar("Model", bound=nn.Module)


def build_empty(model_class: type[Model], config: Any, source: Path) -> Model:
    """Build a model without numbers, on the meta device, from the config in `source`.

    A shape that no tensor can have is a ValueError that names the file.
    """
    try:
        with torch.device("meta"), WithoutInitialisation():
            return model_class(config)
    except (RuntimeError, OverflowError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{source}: no model can have this shape: {reason}") from None


class WithoutInitialisation(TorchFunctionMode):
    """Make layers without drawing their initial weights.

    On the meta device there are none to draw, but the attempt would import much.
    """

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(function, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return function(*args, **kwargs)
