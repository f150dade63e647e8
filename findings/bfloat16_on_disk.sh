#!/usr/bin/env bash
# ml_dtypes 0.6.0, numpy 2.4.6, Python 3.11.
# Guess: numpy.save and numpy.load keep a bfloat16 array when ml_dtypes is imported.
# Seen: it comes back as two raw bytes per number (dtype V2), in
#   silence;.view(ml_dtypes.bfloat16) brings the numbers back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet ml_dtypes==0.6.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import io

import ml_dtypes
import numpy as np

weights = np.array([1.5, -2.0], ml_dtypes.bfloat16)
file = io.BytesIO()
np.save(file, weights)
file.seek(0)
loaded = np.load(file)
print(weights.dtype, "comes back as", loaded.dtype)
assert loaded.dtype == np.dtype("V2")
assert np.array_equal(loaded.view(ml_dtypes.bfloat16), weights)
PYTHON
