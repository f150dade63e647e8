"""The checker accuses no right program."""

from collections import Counter

import pytest
from right_programs import PROGRAMS

from mygpt import check

LEAST = 500
STYLES = 3


def of_task(task):
    return [program for program in PROGRAMS if program.task == task]


def accusation(right):
    """What the checker says of a program, or nothing if it calls it right."""
    checker = getattr(check, right.task)
    result = checker(right.program, parameters=right.parameters)
    return "" if result else f"{' / '.join(right.choices)}\n{result}\n{result.trace}"


@pytest.mark.parametrize("task", check.TASKS)
def test_a_right_program_passes(task):
    accused = [found for right in of_task(task) if (found := accusation(right))]
    assert not accused, f"{len(accused)} accused\n\n" + "\n\n".join(accused)


def test_there_are_five_hundred_right_programs():
    assert len(PROGRAMS) >= LEAST


def test_programs_are_of_known_tasks():
    assert {right.task for right in PROGRAMS} == set(check.TASKS)


@pytest.mark.parametrize("task", check.TASKS)
def test_the_programs_of_a_task_have_three_styles(task):
    assert len({right.choices[0] for right in of_task(task)}) >= STYLES


@pytest.mark.parametrize("task", check.TASKS)
def test_no_two_programs_of_a_task_make_the_same_choices(task):
    times = Counter(right.choices for right in of_task(task))
    assert max(times.values(), default=1) == 1
