"""Where a figure was measured: every script here prints it first."""

import os
import platform
import re
import sys
from pathlib import Path


def print_machine() -> None:
    """Print the CPU's name, its cores, and the versions of Python and torch."""
    torch = sys.modules.get("torch")
    versions = f"Python {platform.python_version()}" + (
        f", torch {torch.__version__}" if torch else ""
    )
    print(f"{cpu_name()}, {os.cpu_count()} cores; {versions}", flush=True)


def cpu_name() -> str:
    """The processor's name, with family and model if the system gives them."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", told, re.M))
    name = found.get("model name", platform.machine())
    numbers = [
        f"{key.split()[-1]} {found[key]}"
        for key in ("cpu family", "model")
        if key in found
    ]
    return f"{name} ({', '.join(numbers)})" if numbers else name


if __name__ == "__main__":
    print_machine()
