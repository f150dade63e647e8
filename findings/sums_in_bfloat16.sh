#!/usr/bin/env bash
# ml_dtypes 0.6.0, numpy 2.4.6, Python 3.11.
# Guess: the sum of 1,000 ones in bfloat16 is 1000, as in torch and for NumPy's own
#   float16: sums are kept in float32 or pairwise.
# Seen: NumPy adds an ml_dtypes array one number at a time in bfloat16, which has 8
#   bits: the sum stops at 256, and the mean of 1,000 ones is 0.256. With
#   dtype=np.float32 both are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet ml_dtypes==0.6.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np

ones = np.ones(1000, ml_dtypes.bfloat16)
print("sum", ones.sum(), "mean", ones.mean())
assert float(ones.sum()) == 256
assert float(ones.mean()) < 0.26
assert float(ones.sum(dtype=np.float32)) == 1000
assert float(ones.mean(dtype=np.float32)) == 1
assert float(np.ones(1000, np.float16).sum()) == 1000
PYTHON
