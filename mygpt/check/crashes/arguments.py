"""A function that does not take what the task gives."""

import inspect

from mygpt.check.task import Program, Task


def arguments_amiss(
    task: Task, program: Program, error: BaseException, entered: bool
) -> str | None:
    """Tell of other arguments than the task's, or of another order.

    entered: whether a line of the program was run.
    """
    try:
        signature = inspect.signature(program)
    except (TypeError, ValueError):
        return None
    given, own = list(task.arguments), list(signature.parameters)
    if not entered and isinstance(error, TypeError):
        try:
            signature.bind(*given)
        except TypeError:
            return (
                f"The check gives your function {count(given)}, by position; it takes "
                f"{count(own)}."
            )
    if own != given and sorted(own) == sorted(given):
        return (
            f"Your function takes ({', '.join(own)}) and is given "
            f"({', '.join(given)}) by position: the order counts, not the names."
        )
    return None


def count(names: list[str]) -> str:
    if not names:
        return "none"
    plural = "" if len(names) == 1 else "s"
    return f"{len(names)} argument{plural} ({', '.join(names)})"
