#!/usr/bin/env bash
# jupytext 1.19.6, nbformat 5.11.1, Python 3.11.
# Guess: a notebook written by jupytext as a Python script computes what the notebook
#   computes.
# Seen: a line that begins with % and a name, as the second of the lines `r = (7`, `%m`
#   and `)`, is taken for a magic command and made a comment: the notebook's r is 1, the
#   script's 7. So is a line that holds only a variable named ls. With a space after the
#   % (as formatters write it) the line stays.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet jupytext==1.19.6 nbformat==5.11.1
"$folder/environment/bin/python" - <<'PYTHON'
import jupytext
from nbformat.v4 import new_code_cell, new_notebook


def value(source):
    known = {}
    exec(source, known)
    return known["r"]


def script(source):
    return jupytext.writes(new_notebook(cells=[new_code_cell(source)]), fmt="py:percent")


source = "m = 3\nr = (7\n%m\n)"
print("notebook", value(source), "script", value(script(source)))
assert value(source) == 1 and value(script(source)) == 7
spaced = source.replace("%m", "% m")
assert value(script(spaced)) == 1
assert "# ls" in script("ls = [3]\nls")
PYTHON
