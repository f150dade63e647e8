"""A reader's class as a plain function of its inputs and weights."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from mygpt.check.compare import describe
from mygpt.check.process.run import Unusable, kept_state
from mygpt.check.task import Program, Task
from mygpt.check.tree import leaves

# What may follow a path: how the module's parameter becomes the task's weight.
STEP = re.compile(r"\.T|\.squeeze\((-?\d+)\)")
NAME = r"[\w{}]+"
PATH = re.compile(rf"(?P<path>{NAME}(?:\.{NAME})*?)(?P<steps>(?:{STEP.pattern})*)")
GRAMMAR = (
    "Give the path of a parameter, as in 'layers.0.weight'; '.T' after it says that it "
    "is stored transposed, '.squeeze(-1)' that it has one more axis, of size 1"
)


def from_class(
    task: Task, make: Any, parameters: dict[str, str]
) -> tuple[Task, Program]:
    """Turn `make(sizes…)`, a class or a function that makes a module, into a program.

    `parameters` maps each weight of the task to the module's parameter that holds it,
    with the steps that turn it into the weight: ".T", ".squeeze(-1)". Where `make`
    takes fewer sizes, the returned task has the usual values of the others.
    """
    if task.sizes is None:
        raise Unusable(f"{task.name} takes a function, not a class.")
    if not callable(make):
        raise Unusable("Expected a class, or a function that makes a module.")
    check_names(task, parameters)
    task, known = fitting(task, make)
    made: dict[tuple, nn.Module] = {}

    def program(*values: Any) -> Any:
        given = dict(zip(task.arguments, values, strict=True))
        sizes = {n: size for n, size in task.sizes(given).items() if n in known}
        key = tuple(sizes.values())
        if key not in made:
            made[key] = module_of(make, sizes)
        module, weights = made[key], flat_weights(task, given)
        stored = {}
        for name, value in weights.items():
            path, steps = split(path_of(name, parameters))
            stored[path] = undone(value, steps)
        check_parameters(module, stored)
        inputs = [
            v for n, v in given.items() if n not in task.weights and n not in NOT_INPUTS
        ]
        module.to(next(iter(weights.values())).dtype)
        return functional_call(module, stored, tuple(inputs))

    return task, program


def fitting(task: Task, make: Callable[..., Any]) -> tuple[Task, set[str]]:
    """Return the task with the sizes that `make` takes, and their names."""
    sizes = task.sizes(task.arguments_of(task.probes[0]))
    fewer = {name: size for name, size in sizes.items() if name not in task.optional}
    for some in (sizes, fewer):
        try:
            inspect.signature(make).bind(*some.values())
        except ValueError:
            break  # no signature is known
        except TypeError:
            continue
        return (with_usual_sizes(task) if some is fewer else task), set(some)
    return task, set(sizes)


@cache  # so that what its wrong programs give is known at the next check
def with_usual_sizes(task: Task) -> Task:
    """Return the task with the usual values of the sizes that may be left out."""
    probes = [replace(p, sizes={**p.sizes, **task.optional}) for p in task.probes]
    return replace(task, probes=probes)


NOT_INPUTS = ("num_heads", "eps")  # given to the constructor, or its default


def module_of(make: Callable[..., Any], sizes: dict[str, int]) -> nn.Module:
    """Make the module of some sizes; raise Unusable if that fails."""
    call = ", ".join(f"{name}={size}" for name, size in sizes.items())
    with kept_state():  # initial weights may be random
        try:
            module = make(*sizes.values())
        except TypeError as error:
            raise Unusable(
                f"Your class could not be made with ({call}): {error}. A function of "
                f"({', '.join(sizes)}) that makes it will do too."
            ) from None
    if not isinstance(module, nn.Module):
        raise Unusable(
            f"Expected an nn.Module from your class, called with ({call}), "
            f"got {type(module).__name__}."
        )
    return module.eval()


def path_of(name: str, parameters: dict[str, str]) -> str:
    """Return the attribute that holds a weight; "{i}" stands for a block's number."""
    number = re.search(r"\d+", name)
    pattern = re.sub(r"\.\d+\.", ".{i}.", name)
    return parameters[pattern].replace("{i}", number.group() if number else "")


def split(text: str) -> tuple[str, list[str]]:
    """Split "up.weight.squeeze(-1).T" into the path and the steps after it."""
    found = PATH.fullmatch(text)
    if not found:
        raise Unusable(f"parameters has {text!r}, which is not understood. {GRAMMAR}.")
    return found["path"], [step[0] for step in STEP.finditer(found["steps"])]


def undone(weight: Tensor, steps: list[str]) -> Tensor:
    """Invert the steps: return the parameter that a module stores for a weight."""
    for step in reversed(steps):
        axis = STEP.fullmatch(step)
        assert axis is not None
        weight = weight.T if step == ".T" else weight.unsqueeze(int(axis[1]))
    return weight


def weight_names(task: Task) -> list[str]:
    """The keys that `parameters` has for a task, in order."""
    weights = flat_weights(task, task.arguments_of(task.probes[0]))
    return list(dict.fromkeys(re.sub(r"\.\d+\.", ".{i}.", name) for name in weights))


def first_entry(task: Task) -> str:
    """The beginning of a mapping, as an example for the reader."""
    return f"{weight_names(task)[0]!r}: 'path.of.it'"


def check_names(task: Task, parameters: dict[str, str]) -> None:
    """Raise Unusable for a wrong mapping of weights to parameters."""
    known = set(weight_names(task))
    if not isinstance(parameters, Mapping):
        raise Unusable(
            f"parameters must be a dictionary such as {{{first_entry(task)}, …}}; got "
            f"{describe(parameters)}."
        )
    for name, path in parameters.items():
        if isinstance(path, Mapping):
            raise Unusable(
                f"parameters[{name!r}] is a dictionary; put its entries into "
                f"parameters itself, as in {{{first_entry(task)}, …}}."
            )
        if not isinstance(path, str):
            raise Unusable(
                f"parameters[{name!r}] must be text, the path of a parameter of your "
                f"class; got {describe(path)}."
            )
    if not known & set(parameters) and known & set(parameters.values()):
        raise Unusable(
            "parameters is the other way round: the task's weights come first, as in "
            f"{{{first_entry(task)}, …}}."
        )
    if unknown := sorted(map(str, set(parameters) - known)):
        raise Unusable(
            f"parameters has {unknown[0]!r}; the weights of {task.name} are "
            f"{', '.join(weight_names(task))}."
        )
    if missing := sorted(known - set(parameters)):
        raise Unusable(f"parameters has no entry for {', '.join(missing)}.")
    for path in parameters.values():
        split(path)


def check_parameters(module: nn.Module, stored: dict[str, Tensor]) -> None:
    """Raise Unusable unless the module has the parameters, in these shapes."""
    own = dict(module.named_parameters(remove_duplicate=False))
    for path, value in stored.items():
        if path not in own:
            raise Unusable(
                f"Your class has no parameter {path!r}; it has {', '.join(own)}."
            )
        if own[path].shape != value.shape:
            fits = value.ndim == 2 and own[path].shape == value.T.shape
            hint = (
                f"Stored transposed it is {path + '.T'!r}."
                if fits
                else f"{GRAMMAR}. If it holds several weights, write a function that "
                "fills it."
            )
            raise Unusable(
                f"Your {path} has shape {tuple(own[path].shape)}, the weight given "
                f"for it {tuple(value.shape)}. {hint}"
            )
    given = {id(own[path]) for path in stored}
    if others := sorted(name for name, p in own.items() if id(p) not in given):
        rest = ", ".join(others)
        raise Unusable(
            f"Your class has parameters that the task does not have: {rest} "
            "(a matrix used twice must be one parameter)."
        )


def flat_weights(task: Task, arguments: dict[str, Any]) -> dict[str, Tensor]:
    """Return the weights by name; those in a dict by their dotted path in it."""
    return {
        ".".join(map(str, path)) or name: weight
        for name in task.weights
        for path, weight in leaves(arguments[name])
    }
