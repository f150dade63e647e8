#!/usr/bin/env bash
# nbclient 0.11.0, ipykernel 7.4.0, nbformat 5.11.1, Python 3.11.
# Guess: two prints in one cell are stored as one output, however long the pause between
#   them.
# Seen: with a second between them they are two outputs, without it one: the number of
#   outputs of a stored notebook depends on the machine's speed. coalesce_streams=True
#   of nbclient joins them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet nbclient==0.11.0 ipykernel==7.4.0 nbformat==5.11.1
"$folder/environment/bin/python" - <<'PYTHON'
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook


def outputs(pause, **options):
    source = f"import time\nprint('a')\ntime.sleep({pause})\nprint('b')"
    notebook = new_notebook(cells=[new_code_cell(source)])
    NotebookClient(notebook, kernel_name="python3", **options).execute()
    return [output.text for output in notebook.cells[0].outputs]


quick, slow, joined = outputs(0), outputs(1.5), outputs(1.5, coalesce_streams=True)
print(quick, slow, joined)
assert quick == joined == ["a\nb\n"]
assert slow == ["a\n", "b\n"]
PYTHON
