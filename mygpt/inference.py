"""Weights stored for generating text: for one query at a time, all of them are read.

"packed" keeps them in float32, in the order that oneDNN reads fastest. "int8" keeps a
byte for each, and a scale for each row of a matrix. The operators are PyTorch's own,
but have no public names, so each is tried once before it is used.
"""

import copy
import warnings
from functools import cache
from typing import Any, TypeGuard, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from mygpt.embedding import TokenEmbedding
from mygpt.support.arguments import check_choice

Model = TypeVar("Model", bound=nn.Module)

INT8_WIDTH = 32  # the operator reads past the end of a row of another width
INT8_ROWS = 32  # more rows, such as those of a prompt, are multiplied in float32
PACKED_ROWS = 16  # packing for 16 rows costs a single row nothing
LARGEST = 127  # of 8 bits with a sign
TOLERANCE = {"packed": 1e-5, "int8": 0.02}  # of a form's trial


class InferenceLinear(nn.Module):
    """A linear layer with its weight in another form; it cannot be trained or saved."""

    def __init__(self, weight: Float[Tensor, "F C"], bias: Tensor | None = None):
        super().__init__()
        self.bias = None if bias is None else bias.detach().clone()

    def train(self, mode: bool = True) -> "InferenceLinear":
        if mode:
            raise ValueError(
                "a model for inference cannot be trained: "
                "train the model that it was made from"
            )
        return super().train(mode)

    def _save_to_state_dict(self, *args: Any) -> None:
        raise ValueError(
            "a model for inference cannot be saved: "
            "save the model that it was made from"
        )

    def __deepcopy__(self, memo: dict) -> "InferenceLinear":
        raise ValueError(
            "a model for inference cannot be copied: "
            "convert the model that it was made from once more"
        )

    def _apply(self, fn: Any, recurse: bool = True) -> "InferenceLinear":
        raise ValueError(
            "a model for inference stays on its device in its type: "
            "move the model that it was made from, and convert that"
        )


class PackedLinear(InferenceLinear):
    """The product of `F.linear` in float32, from a weight in oneDNN's own order."""

    def __init__(self, weight: Float[Tensor, "F C"], bias: Tensor | None = None):
        super().__init__(weight, bias)
        weight = weight.detach()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, PACKED_ROWS)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... F"]:
        linear = torch.ops.mkldnn._linear_pointwise
        return linear(x, self.packed, self.bias, "none", [], "")


class Int8Linear(InferenceLinear):
    """The product of `F.linear`, from weights rounded to 255 values in each row.

    A few rows of input are rounded to bfloat16, and a byte is read for each weight. For
    more rows, the weights are brought back to float32 first. (PyTorch's quantised
    products are faster, but round the input to 8 bits as well, on one scale: beside a
    channel 100 times the others, as large models have, little is left of those.)
    """

    def __init__(self, weight: Float[Tensor, "F C"], bias: Tensor | None = None):
        super().__init__(weight, bias)
        weight = weight.detach()
        scale = weight.abs().amax(dim=1).clamp(min=1e-30) / LARGEST
        self.scale = scale.bfloat16()  # (F,), below by at most 2⁻⁹
        levels = weight / self.scale.float()[:, None]  # at most 127.25
        self.levels = levels.round().to(torch.int8)  # (F, C)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... F"]:
        rows = x.reshape(-1, x.shape[-1])  # (N, C)
        if len(rows) <= INT8_ROWS:
            y = torch._weight_int8pack_mm(rows.bfloat16(), self.levels, self.scale)
            y = y.float()
        else:
            y = F.linear(rows, self.levels.float()) * self.scale.float()
        if self.bias is not None:
            y = y + self.bias
        return y.view(*x.shape[:-1], -1)


class Int8Head(Int8Linear):
    """The same for the logits, whose common part is kept apart in float32.

    The mean of the weight's rows adds the same number to every logit. In a trained
    model it is large, and the operator's output, in bfloat16, would lose digits to it.
    """

    def __init__(self, weight: Float[Tensor, "V C"], bias: Tensor | None = None):
        common = weight.detach().mean(dim=0)  # (C,)
        super().__init__(weight - common, bias)
        self.common = common

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        return super().forward(x) + (x @ self.common)[..., None]


LAYERS = {"packed": PackedLinear, "int8": Int8Linear}
HEADS = {"packed": PackedLinear, "int8": Int8Head}


class InferenceEmbedding(TokenEmbedding):
    """A token embedding whose scores come from a weight in another form."""

    def __init__(self, token: TokenEmbedding, form: str):
        nn.Module.__init__(self)
        self.embedding = token.embedding
        self.head = HEADS[form](token.embedding.weight)

    def scores(self, states: Float[Tensor, "... C"]) -> Float[Tensor, "... V"]:
        return self.head(states)


def convert(model: Model, form: str, tied: bool) -> Model:
    """Copy a model in evaluation mode, its linear layers' weights in another form.

    With `tied`, the head is the token embedding, whose scores are converted too. Where
    PyTorch lacks what a form needs, the copy keeps the plain weights, and one warning
    says why. A model that cannot be converted is a ValueError.
    """
    check_choice(LAYERS, form=form)
    check_convertible(model, form)
    if reason := fault(form):
        warnings.warn(
            f"no {form} weights here, plain ones instead: {reason}", stacklevel=3
        )
        return copy.deepcopy(model)
    linear = [module.weight for module in model.modules() if is_linear(module)]
    model = copy.deepcopy(model, {id(weight): weight for weight in linear})
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if is_linear(child):
                head = parent is model
                layer = (HEADS if head else LAYERS)[form]
                setattr(parent, name, layer(child.weight, child.bias))
            elif tied and isinstance(child, TokenEmbedding):
                setattr(parent, name, InferenceEmbedding(child, form))
    return model.requires_grad_(False)


def is_linear(module: nn.Module) -> TypeGuard[nn.Linear]:
    return isinstance(module, nn.Linear)


def check_convertible(model: nn.Module, form: str) -> None:
    """Raise a ValueError that says what a model lacks to be converted."""
    if any(isinstance(module, InferenceLinear) for module in model.modules()):
        raise ValueError("expected a model for training; this one is for inference")
    if model.training:
        raise ValueError(
            f"{form} weights cannot be trained: expected a model in evaluation mode, "
            "so call eval() first"
        )
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32:
            raise ValueError(
                f"{form} weights need a model in float32 on the CPU; "
                f"{name} is {parameter.dtype} on {parameter.device}"
            )
    for name, module in model.named_modules():
        if form == "int8" and is_linear(module) and module.in_features % INT8_WIDTH:
            raise ValueError(
                f"int8 weights need widths divisible by {INT8_WIDTH}; "
                f"{name} reads {module.in_features} numbers"
            )


@cache
def fault(form: str) -> str | None:
    """Try a form once against `F.linear`; None, or what is wrong with it here."""
    random = torch.Generator().manual_seed(0)
    weight = torch.randn(50, 2 * INT8_WIDTH, generator=random)
    bias = torch.randn(50, generator=random)
    try:
        layer = LAYERS[form](weight, bias)
        for rows in (1, INT8_ROWS, INT8_ROWS + 1):
            x = torch.randn(rows, 2 * INT8_WIDTH, generator=random)
            expected = F.linear(x, weight, bias)
            off = (layer(x) - expected).norm() / expected.norm()
            if not off < TOLERANCE[form]:
                return f"PyTorch {torch.__version__} is off by {off:.1g} in the trial"
    except (AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None
