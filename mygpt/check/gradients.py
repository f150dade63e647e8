"""The gradients of a program's results, by argument."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from mygpt.check.compare import convert
from mygpt.check.result import flatten
from mygpt.check.task import Arguments, Program, Task

NUDGE = 1e-6  # of an argument, in float64
NEAR, NEARLY_NONE = 1e-3, 1e-5  # how much a gradient may differ from what nudges show


def gradients(
    task: Task, program: Program, arguments: Arguments, dtype: torch.dtype
) -> dict[str, Any] | str:
    """Return the gradients of a fixed random sum of the results, by argument.

    Where no graph leads back, return a sentence.
    """
    tensors, rebuild = leaves(task, convert(arguments, dtype))
    result = task.run(program, rebuild(tensors))
    outputs = tensors_in(in_order(result))
    cut = [output for output in outputs if not output.requires_grad]
    if cut or not outputs:
        return (
            "No gradient flows back from your result: something cuts the graph "
            "(`detach`, `item`, `numpy`, `torch.tensor(…)` or `no_grad`)."
        )
    found = torch.autograd.grad(weighted(outputs), tensors, allow_unused=True)
    names = leaf_names(task, arguments)
    return {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for name, tensor, gradient in zip(names, tensors, found, strict=True)
    }


def weighted(outputs: Iterable[Tensor]) -> Any:
    """A fixed random sum of all numbers in some tensors."""
    generator = torch.Generator().manual_seed(0)
    return sum(
        (o * torch.randn(o.shape, generator=generator, dtype=torch.float64)).sum()
        for o in outputs
    )


def show_in_nudges(task: Task, program: Program, arguments: Arguments) -> bool:
    """Whether small changes of the arguments change the results as the gradients say.

    One random direction for each tensor does, and no `torch.autograd.gradcheck`, which
    imports a library of symbols at its first call.
    """
    tensors, rebuild = leaves(task, arguments)

    def total(values: Sequence[Tensor]) -> Any:
        return weighted(tensors_in(in_order(task.run(program, rebuild(values)))))

    found = torch.autograd.grad(total(tensors), tensors, allow_unused=True)
    generator = torch.Generator().manual_seed(1)
    for i, (tensor, gradient) in enumerate(zip(tensors, found, strict=True)):
        step = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
        ends = []
        for size in (NUDGE, -NUDGE):
            values = [one.detach().clone().requires_grad_() for one in tensors]
            values[i] = (tensor + size * step).detach().requires_grad_()
            ends.append(total(values).item())
        slope = (ends[0] - ends[1]) / (2 * NUDGE)
        told = 0.0 if gradient is None else (gradient * step).sum().item()
        if not abs(slope - told) <= NEAR * abs(told) + NEARLY_NONE:
            return False
    return True


def leaves(
    task: Task, arguments: Arguments
) -> tuple[tuple[Tensor, ...], Callable[..., Arguments]]:
    """Take the tensors that need a gradient out of the arguments.

    Return also a function that puts others in their places.
    """
    found = [
        tensor.detach().clone().requires_grad_()
        for name in task.differentiable
        for _, tensor in flatten(arguments[name], name)
        if tensor.is_floating_point()
    ]

    def rebuild(values: Sequence[Tensor]) -> Arguments:
        rest = iter(values)

        def put(value: Any) -> Any:
            if isinstance(value, Tensor) and value.is_floating_point():
                return next(rest)
            if isinstance(value, dict):
                return {name: put(part) for name, part in value.items()}
            if isinstance(value, list):
                return [put(part) for part in value]
            return value

        return {
            name: put(value) if name in task.differentiable else value
            for name, value in arguments.items()
        }

    return tuple(found), rebuild


def leaf_names(task: Task, arguments: Arguments) -> list[str]:
    return [
        key
        for name in task.differentiable
        for key, tensor in flatten(arguments[name], name)
        if tensor.is_floating_point()
    ]


def in_order(result: Any) -> Any:
    return tuple(result.values()) if isinstance(result, dict) else result


def tensors_in(result: Any) -> tuple[Tensor, ...]:
    results = result if isinstance(result, tuple | list) else (result,)
    return tuple(r for r in results if isinstance(r, Tensor) and r.is_floating_point())
