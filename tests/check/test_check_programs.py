"""What every program of the checker's catalogue gives on every probe.

The others ask whether a mistake is told by its name; this one, whether the program that
stands under the name still makes it.
"""

from pathlib import Path

import pytest
import torch

from mygpt.check import TASKS
from mygpt.check.cell_models import TrainedModel
from mygpt.check.values import outcome_of

STORED = Path(__file__).with_name("check_programs.json")


def given_by(task) -> list[str]:
    """A line for the arguments and for every program, the probes' parts apart."""
    lines = [line("arguments", map(task.arguments_of, task.probes))]
    programs = [("right", task.reference), *task.forms.items()]
    programs += [(mistake.name, mistake.program) for mistake in task.mistakes]
    for name, program in programs:
        probes = range(len(task.probes))
        outcomes = [outcome_of(task, program, i, torch.float64) for i in probes]
        lines.append(
            line(
                name, [type(o.error).__name__ if o.error else o.value for o in outcomes]
            )
        )
    return lines


def line(name, values) -> str:
    return f"{name}: {' | '.join(map(in_brief, values))}"


def in_brief(value) -> str:
    """Type, shape and two sums of a tensor; of what holds several, each."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]} {list(value.shape)} {sums(value)}"
    if isinstance(value, dict):
        return "{" + "; ".join(f"{key} {in_brief(value[key])}" for key in value) + "}"
    if isinstance(value, list | tuple):
        return f"({'; '.join(map(in_brief, value))})"
    if isinstance(value, TrainedModel):
        return f"model {in_brief(value.weights)}"
    return f"{value:.3e}" if isinstance(value, float) else str(value)


def sums(tensor) -> str:
    """The sum of the magnitudes, and one that changes when two numbers are swapped."""
    flat = tensor.detach().reshape(-1).double()
    places = torch.arange(1, len(flat) + 1).double().sqrt()
    whole = flat.abs().sum()
    turned = flat @ places
    if abs(turned) < 1e-9 * whole:
        turned = torch.tensor(0.0)
    return f"{whole:.3e} {turned:.3e}"


@pytest.mark.parametrize("name", TASKS)
def test_the_programs_give_what_is_stored(name, as_stored):
    as_stored(STORED, name, given_by(TASKS[name]))
