"""Runs tests in forks of a process that has imported what the tests import.

It reads one JSON object a line, {"tests": […], "usual": seconds}, and answers with one:
{"failed": why or null, "output": …}. Started in a copy of the project, with the copy's
Python.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MEMORY = 6 * 2**30  # bytes for a mutant's processes together
NOW, OUTPUT = Path("_build/mutant-now"), Path("_build/mutant-output")
SLOWER = 20  # a test may take that many times as long as without the mutant
LEAST = 20.0  # seconds that every test may take


class Inform:
    """Writes down the test that runs, and ends at the first failure."""

    def pytest_runtest_logstart(self, nodeid, location):
        NOW.write_text(nodeid, encoding="utf-8")


def warm() -> None:
    """Import what most tests do; neither the package nor what pytest itself loads."""
    import matplotlib.pyplot  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import torch
    import torch._dynamo  # noqa: F401


def in_fork(tests: list[str]) -> None:
    """Run the tests and leave with pytest's status."""
    import pytest

    os.setsid()
    with OUTPUT.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    options = ["-x", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-m"]
    status = pytest.main([*options, "", *tests], plugins=[Inform()])
    sys.stdout.flush()
    os._exit(int(status))


def limit_passed(seconds: float, usual: dict[str, float]) -> str:
    """Which limit the running test has passed; empty if none."""
    if not NOW.exists():
        return "importing the tests took too long" if seconds > 60 else ""
    test = NOW.read_text("utf-8")
    took = time.time() - NOW.stat().st_mtime
    most = max(LEAST, SLOWER * usual.get(test, 0))
    return f"{test} took more than {most:.0f} s" if took > most else ""


def family(pid: int) -> Iterator[psutil.Process]:
    """Yield a process and all that it started."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        yield first
        yield from first.children(recursive=True)


def end(pid: int) -> None:
    """End a process and all that it started."""
    for process in list(family(pid)):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def memory(pid: int) -> int:
    """The memory that a process and all that it started hold."""
    total = 0
    for process in family(pid):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def run(tests: list[str], usual: dict[str, float], seconds: float) -> dict:
    """Run some tests in a fork, within the limits."""
    NOW.unlink(missing_ok=True)
    start = time.monotonic()
    if not (pid := os.fork()):
        in_fork(tests)
    why = over = ""
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        took = time.monotonic() - start
        why = limit_passed(took, usual)
        if memory(pid) > MEMORY:
            why = f"took more than {MEMORY // 2**30} GiB of memory"
        over = "" if took < seconds else "no time was left"
        if why or over:
            end(pid)
            ended = os.waitpid(pid, 0)
            break
        time.sleep(0.02 if took < 2 else 0.2)
    status = os.waitstatus_to_exitcode(ended[1])
    output = OUTPUT.read_text("utf-8", errors="replace") if OUTPUT.exists() else ""
    return {"status": status, "why": why, "over": bool(over), "output": output[-4000:]}


def main() -> None:
    warm()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = run(asked["tests"], asked["usual"], asked["seconds"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
