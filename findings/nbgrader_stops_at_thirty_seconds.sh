#!/usr/bin/env bash
# nbgrader 0.9.6, nbclient 0.11.0, ipykernel 7.4.0, Python 3.11.
# Guess: nbgrader autograde lets a cell run as long as it takes, or the command fails
#   when it has to stop one: a right answer gets its point however slow it is.
# Seen: each cell may take 30 seconds. A correct answer that takes 35 is interrupted,
#   gets 0 points, and is not marked for manual grading; the command ends with status 0,
#   and only its log tells of the timeout. With --ExecutePreprocessor.timeout=60 the
#   same submission gets its point.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet \
  nbgrader==0.9.6 nbclient==0.11.0 ipykernel==7.4.0
# nbgrader looks for its helper alembic in the PATH.
export PATH="$folder/environment/bin:$PATH" HOME="$folder"
mkdir "$folder/course"
cd "$folder/course"
python - <<'PYTHON'
import subprocess
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook


def cell(name, source, **kind):
    kind = dict.fromkeys(("grade", "solution", "locked", "task"), False) | kind
    return new_code_cell(
        source, metadata={"nbgrader": {"schema_version": 3, "grade_id": name, **kind}}
    )


def write(path, answer):
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    test = cell("test", "assert answer() == 42", grade=True, locked=True, points=1)
    cells = [cell("answer", answer, solution=True), test]
    Path(path).parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def nbgrader(*words):
    done = subprocess.run(
        ["nbgrader", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def grade(*options):
    log = nbgrader("autograde", "slow", "--student=ann", *options)
    with Gradebook("sqlite:///gradebook.db") as gradebook:
        submission = gradebook.find_submission("slow", "ann")
        print("status 0,", submission.score, "of", submission.max_score, "points", *options)
        assert submission.max_score == 1 and not submission.needs_manual_grade
        return submission.score, "Timeout waiting for execute reply" in log


write(
    "source/slow/slow.ipynb",
    "def answer():\n    ### BEGIN SOLUTION\n    return 42\n    ### END SOLUTION",
)
write(
    "submitted/ann/slow/slow.ipynb",
    "import time\n\n\ndef answer():\n    time.sleep(35)\n    return 42",
)
nbgrader("generate_assignment", "slow")
assert grade() == (0, True)
assert grade("--force", "--ExecutePreprocessor.timeout=60") == (1, False)
PYTHON
