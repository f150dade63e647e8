"""Programs that run in a process of their own, outside the tests' type checks."""

import subprocess
import sys


def run_python(*arguments, status=0, **options):
    """Run Python until it ends with a status, and return what subprocess.run does."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == status, (done.stdout + done.stderr)[-4000:]
    return done
