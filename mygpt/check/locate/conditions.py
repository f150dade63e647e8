"""The condition that makes a wrong program right when it is negated."""

import ast
import copy
import inspect
from contextlib import suppress

import torch

from mygpt.check import work
from mygpt.check.locate.record import CodeSite
from mygpt.check.process.run import OutOfTime, run_once, time_limit
from mygpt.check.syntax import tree_of
from mygpt.check.task import Program, Task
from mygpt.check.values import differ, outcome_of

MOST = 40  # conditions that are tried
ROUNDS = 2000  # of all loops in a run
ONE_RUN = 5.0  # seconds of a run without such loops


def place_of_condition(
    task: Task, program: Program, probe: int, dtype: torch.dtype
) -> CodeSite | None:
    """Return the first `if` that makes a program right on a probe when it is negated.

    Only the functions of its file are defined anew, so it must be no closure.
    """
    code = getattr(program, "__code__", None)
    if code is None or code.co_freevars or inspect.unwrap(program) is not program:
        return None
    body = getattr(tree_of(code.co_filename), "body", ())
    functions = copy.deepcopy([n for n in body if isinstance(n, ast.FunctionDef)])
    for each in functions:
        each.decorator_list = []
    work.count_rounds(functions)
    rounds = work.Rounds()
    nodes = (part for each in functions for part in ast.walk(each))
    found = [node for node in nodes if isinstance(node, ast.If)]
    for node in found[:MOST]:
        test = node.test
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
        scope = {**program.__globals__, work.COUNTER: rounds}
        rounds.begin(ROUNDS)
        with suppress(Exception):
            exec(compile(ast.Module(functions, []), code.co_filename, "exec"), scope)
            negated = scope[program.__name__]
            if negated is not program and is_right(task, negated, probe, dtype):
                return CodeSite(code, node.lineno)
        node.test = test
    return None


def is_right(task: Task, program: Program, probe: int, dtype: torch.dtype) -> bool:
    """Whether a program gives on a probe what a form of the right answer gives."""
    with suppress(Exception, OutOfTime), time_limit(ONE_RUN):
        got = run_once(task, program, task.arguments_of(task.probes[probe]), dtype)
        forms = task.answers.values()
        rights = (outcome_of(task, form, probe, dtype) for form in forms)
        return not got.error and any(
            not differ(right, got, task.tolerance) for right in rights
        )
    return False
