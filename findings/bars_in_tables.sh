#!/usr/bin/env bash
# nbconvert 7.17.2, mistune 3.4.0, nbformat 5.11.1, Python 3.11.
# Guess: a cell $|x|$ in a Markdown table is cut at its bars, and the rest of the table
#   stays a table.
# Seen: in the HTML the whole table is a paragraph of bars and dashes, the rows before
#   it too, without a warning: a row with too many cells makes mistune give up on the
#   table. $\lvert x\rvert$ is safe.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet nbconvert==7.17.2 mistune==3.4.0 nbformat==5.11.1
"$folder/environment/bin/python" - <<'PYTHON'
from nbconvert import HTMLExporter
from nbformat.v4 import new_markdown_cell, new_notebook


def page(formula):
    table = f"| a | b |\n|---|---|\n| one | 1 |\n| ${formula}$ | 2 |\n"
    notebook = new_notebook(cells=[new_markdown_cell(table)])
    html = HTMLExporter().from_notebook_node(notebook)[0]
    return html[html.rindex("<main") :]


safe, bars = page(r"\lvert x\rvert"), page("|x|")
print("table with \\lvert:", "<td>" in safe, "- with bars:", "<td>" in bars)
assert "<td>one</td>" in safe
assert "<td>" not in bars and "|---|---|" in bars
PYTHON
