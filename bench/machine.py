"""Where a figure was measured: every script here prints it first."""

import os
import platform
import sys

import make
from mygpt.support.stored_runs import cpu_name


def print_machine() -> None:
    """Print the CPU's name, its cores, and the versions of Python and torch."""
    torch = sys.modules.get("torch")
    versions = f"Python {platform.python_version()}" + (
        f", torch {torch.__version__}" if torch else ""
    )
    print(f"{cpu_name()}, {os.cpu_count()} cores; {versions}", flush=True)


def browser_path() -> "str | None":
    """The Chromium that the tests take."""
    return make.browser()


if __name__ == "__main__":
    print_machine()
