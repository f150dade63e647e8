#!/usr/bin/env bash
# papermill 2.7.0, ipykernel 7.4.0, nbformat 5.11.1, Python 3.11.
# Guess: papermill a.ipynb b.ipynb -p flag false -y "lr: 1e-3" gives the notebook False
#   and 0.001, and a tuple given from Python arrives as a tuple or a list.
# Seen: the notebook gets the texts 'false', which counts as true, and '1e-3', and for
#   the tuple (2, 3) the text "(2, 3)". -p flag False and -p lr 1e-3 give a boolean and
#   a float.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet papermill==2.7.0 ipykernel==7.4.0 nbformat==5.11.1
"$folder/environment/bin/python" - <<'PYTHON'
import os
import pathlib
import subprocess
import sys
import tempfile

import nbformat
import papermill
from nbformat.v4 import new_code_cell, new_notebook

notebook = new_notebook(
    cells=[
        new_code_cell("flag = lr = shape = None", metadata={"tags": ["parameters"]}),
        new_code_cell("print([flag, lr, shape])"),
    ],
    metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
)
with tempfile.TemporaryDirectory() as folder:
    given, made = f"{folder}/given.ipynb", f"{folder}/made.ipynb"
    nbformat.write(notebook, given)

    def by_command(*options):
        command = [pathlib.Path(sys.executable).parent / "papermill", given, made, *options]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return nbformat.read(made, 4).cells[-1].outputs[0].text.strip()

    first = by_command("-p", "flag", "false", "-y", "lr: 1e-3")
    second = by_command("-p", "flag", "False", "-p", "lr", "1e-3")
    papermill.execute_notebook(given, made, parameters={"shape": (2, 3)}, progress_bar=False)
    third = nbformat.read(made, 4).cells[-1].outputs[0].text.strip()
print(first, second, third)
assert first == "['false', '1e-3', None]"
assert second == "[False, 0.001, None]"
assert third == "[None, None, '(2, 3)']"
PYTHON
