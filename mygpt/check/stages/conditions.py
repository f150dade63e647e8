"""The condition without which a program would be right: the other way round, it is."""

import ast
import copy
import inspect
import linecache
import time
from collections.abc import Callable
from contextlib import suppress

import torch

from mygpt.check.compare import find_difference
from mygpt.check.crashes.place import parsed
from mygpt.check.run import OutOfTime, run_once, time_limit
from mygpt.check.stages.record import Place
from mygpt.check.task import Program, Task

SECONDS = 0.3  # for all conditions of a program
ONE_RUN = 0.3


def place_of_condition(
    task: Task, program: Program, probe: int, dtype: torch.dtype
) -> Place | None:
    """Return where the first `if` is that makes a program right on a probe, turned.

    Only functions are defined anew, none that is a closure.
    """
    code = getattr(program, "__code__", None)
    if code is None or code.co_freevars or inspect.unwrap(program) is not program:
        return None
    tree = parsed("".join(linecache.getlines(code.co_filename)))
    functions = [
        node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef)
    ]
    end = time.monotonic() + SECONDS
    for node in (part for each in functions for part in ast.walk(each)):
        if not isinstance(node, ast.If):
            continue
        if time.monotonic() > end:
            return None
        test = node.test
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
        try:
            turned = defined(functions, program, code.co_filename)
        finally:
            node.test = test
        if turned and is_right(task, turned, probe, dtype):
            return Place(code.co_filename, node.lineno, code, 0, {}, {})
    return None


def defined(
    functions: list[ast.FunctionDef], program: Program, file: str
) -> Callable | None:
    """Define a program's functions anew, apart from the old ones."""
    plain = [copy.copy(each) for each in functions]
    for each in plain:
        each.decorator_list = []
    tree = ast.fix_missing_locations(ast.Module(list(plain), []))
    scope = dict(program.__globals__)
    with suppress(Exception):
        exec(compile(tree, file, "exec"), scope)
        found = scope.get(program.__name__)
        return found if callable(found) and found is not program else None
    return None


def is_right(task: Task, program: Program, probe: int, dtype: torch.dtype) -> bool:
    arguments = task.arguments_of(task.probes[probe])
    with suppress(Exception, OutOfTime), time_limit(ONE_RUN):
        got = run_once(task, program, arguments, dtype)
        for right in (task.reference, *task.forms.values()):
            wanted = run_once(task, right, arguments, dtype)
            if got.error or wanted.error:
                continue
            if find_difference(wanted.value, got.value, "", task.tolerance) is None:
                return True
    return False
