"""Fresh environments beside the project's own, and what they hold."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import make

ROOT = Path(__file__).resolve().parents[1]


FOLDER = ROOT / "_build" / "environments"
NAMES = (
    "import importlib.metadata as m, json;"
    "print(json.dumps({d.name.lower().replace('_', '-'): d.version"
    " for d in m.distributions()}))"
)


class Environment:
    """A virtual environment of the Python that runs this, made anew."""

    def __init__(self, name: str) -> None:
        self.name, self.folder = name, FOLDER / name
        shutil.rmtree(self.folder, ignore_errors=True)
        command = [sys.executable, "-m", "venv", self.folder]
        make.run(f"a fresh environment: {name}", command)
        inside = "Scripts/python.exe" if os.name == "nt" else "bin/python"
        self.python = self.folder / inside

    def install(self, *arguments: object) -> None:
        pip = [self.python, "-m", "pip", "install", "--quiet", "--progress-bar=off"]
        make.run(f"installing {arguments[-1]} in {self.name}", [*pip, *arguments])

    def run(self, what: str, *arguments: object) -> None:
        make.run(what, [self.python, *arguments])

    def versions(self) -> dict[str, str]:
        """What is installed, by name."""
        command = [self.python, "-c", NAMES]
        return json.loads(subprocess.check_output(command, text=True))

    def megabytes(self) -> float:
        """The room it takes on the disk."""
        return sum(taken(path) for path in self.folder.rglob("*")) / 1e6


def status(run: Callable[[], None]) -> int:
    """Run; what stopped it is said in one line, and the exit status is 1."""
    try:
        run()
    except make.Stop as stop:
        make.say(f"\nError: {stop}")
        return 1
    return 0


def taken(path: Path) -> int:
    """Bytes on the disk; a link takes none of what it leads to."""
    found = path.lstat()
    return found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
