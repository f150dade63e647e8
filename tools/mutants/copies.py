"""Copies of the project to be changed, each with an environment of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import coverage

from tools.borrowed import borrow
from tools.mutants.mutant import ROOT

BUILD = ROOT / "_build" / "mutants"
# As `make test` has it: threads that wait for each other are far slower.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def project_files() -> list[Path]:
    """What git tracks or would track, relative to the root, as it stands now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    names = done.stdout.decode("utf-8").split("\0")
    return [Path(name) for name in names if name and (ROOT / name).is_file()]


class Copy:
    """The project's files in a folder, and a process there that runs tests.

    The environment reads the packages of this one, and has the copy's own `mygpt` in
    the place of ours, for every process that is started there.
    """

    def __init__(self, name: str):
        self.folder = BUILD / name
        self.environment = BUILD / f"{name}-environment"
        self.python = self.environment / "bin" / "python"
        self.server: subprocess.Popen | None = None
        self.renew()

    def renew(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in project_files():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
        (self.folder / "_build").mkdir(exist_ok=True)
        if self.environment.exists():
            return
        _, packages = borrow(self.environment)
        # Of what is installed, coverage needs its .pth file too.
        for hook in Path(coverage.__file__).parents[1].glob("*cover*.pth"):
            shutil.copy(hook, packages)
        install = [sys.executable, "-m", "pip", "--python", self.python, "install"]
        options = ["--quiet", "--no-deps", "--editable", self.folder]
        subprocess.run([*install, *options], check=True)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, encoding="utf-8")

    def restore(self, path: str) -> None:
        shutil.copyfile(ROOT / path, self.folder / path)

    def ask(self, tests: list[str], usual: dict[str, float], seconds: float) -> dict:
        """Run tests in the copy; what `server.run` answers."""
        if self.server is None:
            self.server = subprocess.Popen(
                [self.python, "-m", "tools.mutants.server"],
                cwd=self.folder,
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        asked = {"tests": tests, "usual": usual, "seconds": seconds}
        self.server.stdin.write(json.dumps(asked) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def close(self) -> None:
        if self.server is not None:
            self.server.stdin.close()
            self.server.stdout.close()
            self.server.wait(10)
