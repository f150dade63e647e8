"""The checker accuses no right program."""

import json
from collections import Counter

import pytest
from right_programs import PROGRAMS

from mygpt import check
from mygpt.check import engine, evidence

LEAST = 500
STYLES = 3


def of_task(task):
    return [program for program in PROGRAMS if program.task == task]


def accusation(right):
    """What the checker says of a program, or nothing if it calls it right."""
    task = check.TASKS[right.task]
    result, checking = engine.examine(task, right.program, right.parameters)
    if result:  # and is judged so from what its process would send
        sent = json.dumps(evidence.as_json(evidence.evidence_of(checking)))
        result = evidence.verdict(task, evidence.from_json(json.loads(sent)))
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
