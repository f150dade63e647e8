#!/usr/bin/env bash
# nbformat 5.11.1, Python 3.11.
# Guess: nbformat.validate raises for a notebook in which two cells have the same id, as
#   the format forbids it, and leaves the notebook as it is.
# Seen: it warns, writes a new random id into the second cell of the object that it was
#   given, and returns; a second call is silent. reads does the same, so that one file
#   read twice gives two different notebooks. nbformat.validator.isvalid answers False
#   and changes nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet nbformat==5.11.1
"$folder/environment/bin/python" - <<'PYTHON'
import json
import warnings

import nbformat
from nbformat.v4 import new_code_cell
from nbformat.validator import isvalid

cells = [new_code_cell("1", id="same"), new_code_cell("2", id="same")]
text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
notebook = nbformat.from_dict(json.loads(text))


def names(notebook):
    return [cell.id for cell in notebook.cells]


assert not isvalid(notebook) and names(notebook) == ["same", "same"]
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    nbformat.validate(notebook)
    first, second = names(nbformat.reads(text, 4)), names(nbformat.reads(text, 4))
print({warning.category.__name__ for warning in seen}, names(notebook), first, second)
assert {warning.category.__name__ for warning in seen} == {"DuplicateCellId"}
assert isvalid(notebook) and names(notebook)[0] == "same" != names(notebook)[1]
assert first != second
PYTHON
