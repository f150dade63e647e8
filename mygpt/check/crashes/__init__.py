"""Beginners' crashes in plain words, from the error and the place where it arose.

What can be seen there (shapes, types, the expression) is tested. A sentence that cannot
be tested asks instead of telling.
"""

from dataclasses import replace

from mygpt.check.crashes import kinds, names, shapes
from mygpt.check.crashes.arguments import arguments_amiss
from mygpt.check.crashes.place import place_of
from mygpt.check.crashes.rules import Crash, by_text
from mygpt.check.task import Program, Task

RULES = [*names.RULES, *shapes.RULES, *kinds.RULES]


def cause_of(error: BaseException, task: Task, program: Program) -> str:
    """Say why a program stopped, in one or two sentences; nothing if not known."""
    try:
        place = place_of(error)
        if said := arguments_amiss(task, program, error, place.entered):
            return said
        crash = Crash(f"{type(error).__name__}: {error}", place, task)
        rules = shapes.PASSED if place.given else RULES
        for rule in rules if place.entered else filter(by_text, RULES):
            match = rule.pattern.search(crash.text)
            if match and (said := rule.sentence(replace(crash, match=match))):
                return said
    except Exception:
        pass  # the error itself is told in any case
    return ""
