#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6, Python 3.11.
# Guess: safetensors.numpy.save stores the numbers of a transposed array, as numpy.save
#   does, or refuses it, as it does for a torch tensor that is not contiguous.
# Seen: it stores the new shape with the old order of the numbers, in silence: [[0, 3],
#   [1, 4], [2, 5]] comes back as [[0, 1], [2, 3], [4, 5]]. An array in Fortran order
#   comes back wrong too. Release 0.7.0 stored both correctly. A GPT-2 file keeps the
#   weights of its Conv1D transposed, so w.T before saving is common:
#   numpy.ascontiguousarray(w.T) is needed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
from safetensors.numpy import load, save

weights = np.arange(6, dtype=np.float32).reshape(2, 3)
stored = load(save({"w": weights.T}))["w"]
print("given ", weights.T.tolist())
print("stored", stored.tolist())
assert stored.shape == (3, 2)
assert np.array_equal(stored, weights.reshape(3, 2))
assert not np.array_equal(stored, weights.T)
fortran = load(save({"w": np.asfortranarray(weights)}))["w"]
assert not np.array_equal(fortran, weights)
whole = load(save({"w": np.ascontiguousarray(weights.T)}))["w"]
assert np.array_equal(whole, weights.T)
PYTHON
