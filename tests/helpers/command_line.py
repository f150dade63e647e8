"""The command `mygpt check` in a process that has imported the package once."""

import json
import subprocess
import sys
from pathlib import Path

SERVER = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from mygpt.cli import commands
from mygpt.check.process import supervisor
supervisor.START = sys.argv[1]
if __name__ == "__main__":
    for line in sys.stdin:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = commands.main(json.loads(line))
            except SystemExit as stop:
                status = stop.code
        print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)
"""


class CommandLine:
    """One process that has imported the package and runs one command after another.

    Not the tests' own: after a backward pass PyTorch does not survive a fork.
    """

    def __init__(self, folder: Path, start: str):
        script = folder / "server.py"
        script.write_text(SERVER)
        self.process = subprocess.Popen(
            [sys.executable, script, start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, *arguments) -> tuple[int, str, str]:
        self.process.stdin.write(json.dumps(list(map(str, arguments))) + "\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)
