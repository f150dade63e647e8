"""The checker accuses no right program."""

import json

import pytest
from helpers.quick import slow_but
from helpers.right_programs import FILES, PROGRAMS

from mygpt import check
from mygpt.check import order
from mygpt.check.process import transport

STYLES = 3


def of_task(task):
    return [program for program in PROGRAMS if program.task == task]


def accusation(right):
    """What the checker says of a program, or nothing if it calls it right."""
    task = check.TASKS[right.task]
    result, submission = order.examine(task, right.program, right.parameters)
    if result:  # and is judged so from what its process would send
        sent = json.dumps(transport.evidence_of(submission))
        result = transport.verdict(task, json.loads(sent))
    return "" if result else f"{' / '.join(right.choices)}\n{result}\n{result.trace}"


def test_every_program_is_of_a_task():
    assert {program.task for program in PROGRAMS} == set(check.TASKS)


@pytest.mark.parametrize("task", check.TASKS)
def test_a_right_program_passes(task):
    programs = of_task(task)
    assert len({right.choices for right in programs}) == len(programs)
    assert len({right.choices[0] for right in programs}) >= STYLES
    accused = [found for right in programs if (found := accusation(right))]
    assert not accused, f"{len(accused)} accused\n\n" + "\n\n".join(accused)


WHOLE = ("answer", "cached_step", "gpt")  # a whole model takes seconds
FIRST = {right.task: right for right in reversed(FILES)}.values()
QUICK = [right for right in FILES if right.task not in WHOLE or right in FIRST]


@pytest.mark.parametrize(
    "right", slow_but(QUICK, FILES), ids=lambda right: right.choices[1]
)
def test_a_right_program_in_a_file_passes(right):
    assert not accusation(right)
