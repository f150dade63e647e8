"""A plugin of pytest: which lines each test executes, and how long it takes.

    coverage run -m pytest -p tools.mutants.recorder

Coverage gets the test's id as context. What a shared fixture executes belongs to every
test that uses it, and goes under the fixture's name. Processes that a test starts read
their context from the environment; what Node executes goes to a folder of the test's
own.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage
import pytest

CONTEXT, SCRIPTS = "MUTANTS_CONTEXT", "NODE_V8_COVERAGE"
FOLDER = Path(os.environ["MUTANTS_RECORD"])


@contextmanager
def context(name: str) -> Iterator[None]:
    """Put what is executed, here and in new processes, under a name."""
    measuring = coverage.Coverage.current()
    before = {key: os.environ.get(key) for key in (CONTEXT, SCRIPTS)}
    # Coverage reads its settings with `$` and `|` of their own meaning.
    os.environ[CONTEXT] = plain(name)
    os.environ[SCRIPTS] = str(FOLDER / "node" / plain(name))
    measuring.switch_context(plain(name))
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        measuring.switch_context(before[CONTEXT] or "")


KNOWN: dict[str, str] = {}


def plain(name: str) -> str:
    """A number for a name: a test's id may hold anything."""
    KNOWN.setdefault(name, f"{os.getpid()}-{len(KNOWN)}")
    return KNOWN[name]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    if fixturedef.scope == "function":
        return (yield)
    with context(f"fixture {fixturedef.baseid} {fixturedef.argname}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    start = time.perf_counter()
    with context(item.nodeid):
        answer = yield
    definitions = item._fixtureinfo.name2fixturedefs.values()
    used = [one for found in definitions for one in found if one.scope != "function"]
    row = {
        "test": item.nodeid,
        "seconds": time.perf_counter() - start,
        "failed": item.nodeid in FAILED,
        "fixtures": [plain(f"fixture {one.baseid} {one.argname}") for one in used],
        "number": plain(item.nodeid),
    }
    with (FOLDER / f"tests-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return answer


FAILED: set[str] = set()


def pytest_runtest_logreport(report):
    if report.outcome != "passed":
        FAILED.add(report.nodeid)
