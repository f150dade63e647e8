#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6, Python 3.11.
# Guess: get_slice(name) of an open file takes the slices that NumPy takes: [-1:] is the
#   last row, and [0:99] of two rows is both.
# Seen: steps work, as was guessed (row 34 of guesses.md); found by the same probe:
#   steps, single numbers and an ellipsis work; a negative start raises OverflowError,
#   and an end beyond the last row raises SafetensorError, where NumPy cuts it off. A
#   loop that reads a table in blocks fails at its last block.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

table = np.arange(6, dtype=np.float32).reshape(2, 3)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "table.safetensors"
    save_file({"table": table}, path)
    with safe_open(path, "np") as stored:
        rows = stored.get_slice("table")
        assert np.array_equal(rows[::2], table[::2])
        assert np.array_equal(rows[..., -1], table[..., -1])
        for cut, kind in ((slice(-1, None), OverflowError), (slice(0, 99), SafetensorError)):
            assert table[cut].size
            try:
                rows[cut]
            except kind as error:
                print(cut, type(error).__name__, error)
            else:
                raise SystemExit(f"{cut} works now")
PYTHON
