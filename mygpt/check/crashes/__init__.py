"""Beginners' crashes in plain words, from the error and the place where it arose.

A rule tests the shapes, the types and the expression at the place. A sentence that
cannot be tested asks instead of telling.
"""

from contextlib import suppress

from mygpt.check.crashes import kinds, names, shapes
from mygpt.check.crashes.arguments import arguments_amiss
from mygpt.check.crashes.error_site import ErrorSite, IsRight, likely
from mygpt.check.task import Program, Task

RULES = [*names.RULES, *shapes.RULES, *kinds.RULES]


def cause_of(
    error: BaseException, task: Task, program: Program, is_right: IsRight = likely
) -> str:
    """Say why a program stopped, in one or two sentences; nothing if not known.

    is_right: whether right programs make a tensor there; what would make another is not
    advised.
    """
    return crash_of(error, task, program, is_right)[0]


def crash_of(
    error: BaseException, task: Task, program: Program, is_right: IsRight = likely
) -> tuple[str, int | None]:
    """Say why a program stopped; return also the line of what caused it, if known."""
    with suppress(Exception):  # the error itself is told in any case
        site = ErrorSite(error, task, is_right)
        line = site.line if site.entered else None
        if said := arguments_amiss(task, program, error, site.entered):
            return said, line
        rules = shapes.PASSED if site.entered and site.given else RULES
        said = next(filter(None, (rule.told(site) for rule in rules)), "")
        return said, (site.made or line) if site.is_in(program) else None
    return "", None
