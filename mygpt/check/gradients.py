"""Whether gradients flow through a program, and which of them are wrong."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mygpt.check.compare import Difference, find_difference
from mygpt.check.locate.cut import line_of_cut
from mygpt.check.locate.find import code_of
from mygpt.check.process.errors import trace_of
from mygpt.check.result import NotRight, shapes, show_arguments
from mygpt.check.task import Arguments, Program, Task
from mygpt.check.tree import decimal_tensors, is_decimal, mapped, named_tensors
from mygpt.check.values import Submission

NUDGE = 1e-6  # of an argument, in float64
NEAR, NEARLY_NONE = 1e-3, 1e-5  # how much a gradient may differ from what nudges show
PRECISE = 1e-10  # a program in float64 is as close as this
WANTED = "when gradients are wanted"
CUT = (
    "No gradient flows back from your result: something cuts the graph "
    "(`detach`, `item`, `numpy`, `torch.tensor(…)` or `no_grad`)."
)
NUDGED = (
    "The gradients of your program are not those that small changes of its inputs show."
)


def check_gradients(submission: Submission) -> None:
    """Compare the gradients on each probe; raise NotRight at the first wrong one."""
    task = submission.task
    for arguments in submission.given if task.differentiable else ():
        expected = gradients(task, submission.reference, arguments)
        try:
            got = gradients(task, submission.program, arguments)
        except Exception as error:
            got = submission.stopped(error, WANTED)
        if isinstance(got, str):
            place = place_of_cut(submission, arguments) if got == CUT else {}
            raise NotRight(task, "gradient", got, input=shapes(arguments), **place)
        submission.gradients.append(got)
        if wrong := find_difference(expected, got, "", task.tolerance):
            raise explained(submission, wrong, expected, got, arguments)
    if task.differentiable and is_precise(submission):
        compare_with_nudges(submission)


def gradients(
    task: Task, program: Program, arguments: Arguments
) -> dict[str, Any] | str:
    """Return the gradients of a fixed random sum of the results, by argument.

    Where no graph leads back, return a sentence.
    """
    tensors, rebuild = leaves(task, arguments)
    outputs = decimal_tensors(task.run(program, rebuild(tensors)))
    if not outputs or not all(output.requires_grad for output in outputs):
        return CUT
    found = torch.autograd.grad(weighted(outputs), tensors, materialize_grads=True)
    wanted = [named_tensors(arguments[name], name) for name in task.differentiable]
    names = [name for each in wanted for name in each if is_decimal(each[name])]
    return dict(zip(names, found, strict=True))


def leaves(
    task: Task, arguments: Arguments
) -> tuple[list[Tensor], Callable[[Sequence[Tensor]], Arguments]]:
    """Return the tensors that need a gradient, and what puts others in their places."""
    wanted = {name: arguments[name] for name in task.differentiable}
    found = [each.detach().clone().requires_grad_() for each in decimal_tensors(wanted)]

    def rebuild(values: Sequence[Tensor]) -> Arguments:
        rest = iter(values)
        placed = mapped(lambda leaf: next(rest) if is_decimal(leaf) else leaf, wanted)
        return {**arguments, **placed}

    return found, rebuild


def weighted(outputs: Iterable[Tensor]) -> Any:
    """Return a fixed random sum of all numbers in some tensors."""
    generator = torch.Generator().manual_seed(0)
    return sum(
        (o * torch.randn(o.shape, generator=generator, dtype=torch.float64)).sum()
        for o in outputs
    )


def explained(
    submission: Submission,
    wrong: Difference,
    expected: dict[str, Tensor],
    got: dict[str, Tensor],
    arguments: Arguments,
) -> NotRight:
    """Name the mistake if it is known; otherwise tell which gradient is wrong."""
    task = submission.task
    tell = partial(NotRight, task, "gradient", input=show_arguments(arguments))
    name = re.split(r"\[\d", wrong.index)[0]
    if name in got and not got[name].any() and expected[name].any():
        return tell(
            f"The values are right, but no gradient reaches {name}: something cuts "
            "the graph on the way (`detach`, `item`, `round`, `no_grad`, or a new "
            "`nn.Parameter` made of it).",
            **place_of_cut(submission, arguments),
        )
    for mistake in task.mistakes:
        program = mistake.program
        if submission.agrees(program) and gradients_agree(submission, program):
            return tell(
                f"These are the gradients that come out when {mistake.text}.",
                mistake=mistake.name,
                hints=[f"the gradient: {wrong.sentence}"],
                **place_of_cut(submission, arguments),
            )
    return tell(
        f"The values are right, but a gradient with respect to {name} is not: "
        f"{wrong.sentence}."
    )


def place_of_cut(submission: Submission, arguments: Arguments) -> dict[str, Any]:
    """Return the fields of a result that name the line of a cut, if it is one."""
    code = code_of(submission.program)
    tensors, rebuild = leaves(submission.task, arguments)

    def run() -> None:
        submission.task.run(submission.program, rebuild(tensors))

    line = line_of_cut(run, code.co_filename) if code else None
    return {"line": line, "where": f"line {line}"} if line else {}


def gradients_agree(submission: Submission, program: Program) -> bool:
    """Whether the gradients of a mistake are those of the program on every probe."""
    programs = program, submission.program
    return not any(
        find_difference(*(gradients(submission.task, each, given) for each in programs))
        for given in submission.given
    )


def is_precise(submission: Submission) -> bool:
    """Whether the program computes in float64 throughout."""
    known = submission.outcomes_of(submission.reference)
    return submission.dtype == torch.float64 and not any(
        find_difference(expected.value, got.value, "", PRECISE)
        for expected, got in zip(known, submission.outcomes, strict=True)
    )


def compare_with_nudges(submission: Submission) -> None:
    """Compare the gradients with what small changes of the arguments show."""
    task = submission.task
    nudge = partial(show_in_nudges, task, arguments=submission.given[0])
    text, trace = NUDGED, ""
    try:
        if nudge(submission.program):
            return
    except Exception as error:
        text = submission.stopped(error, WANTED, nudge)
        trace = trace_of(error)
    raise NotRight(task, "gradient", text, trace=trace)


def show_in_nudges(task: Task, program: Program, arguments: Arguments) -> bool:
    """Whether small changes of the arguments change the results as the gradients say.

    Each tensor is changed in a single random direction: `torch.autograd.gradcheck`
    imports a library of symbols at its first call.
    """
    tensors, rebuild = leaves(task, arguments)

    def total(values: Sequence[Tensor]) -> Any:
        return weighted(decimal_tensors(task.run(program, rebuild(values))))

    found = torch.autograd.grad(total(tensors), tensors, materialize_grads=True)
    generator = torch.Generator().manual_seed(1)
    for i, (tensor, gradient) in enumerate(zip(tensors, found, strict=True)):
        step = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
        ends = []
        for size in (NUDGE, -NUDGE):
            values = [each.detach().clone().requires_grad_() for each in tensors]
            values[i] = (tensor + size * step).detach().requires_grad_()
            ends.append(total(values).item())
        slope = (ends[0] - ends[1]) / (2 * NUDGE)
        told = (gradient * step).sum().item()
        if not abs(slope - told) <= NEAR * abs(told) + NEARLY_NONE:
            return False
    return True
