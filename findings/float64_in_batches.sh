#!/usr/bin/env bash
# datasets 5.2.0, pyarrow 26.0.1, pandas 3.1.1, numpy 2.4.6, Python 3.11.
# Guess: a float64 column read with with_format("numpy") is float64, and uint16 token
#   ids stay uint16.
# Seen: one row keeps its types; two rows are float32 and int64, in silence. The same
#   third, read alone and in a batch, is not equal, and ids take four times the memory.
#   with_format("numpy", dtype=...) sets one type for all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet datasets==5.2.0 pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6
HF_HOME="$folder/home" HF_HUB_OFFLINE=1 "$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
from datasets import Dataset, Features, Value

rows = Dataset.from_dict(
    {"loss": [1 / 3, 0.1], "token": [1, 50256]},
    features=Features({"loss": Value("float64"), "token": Value("uint16")}),
).with_format("numpy")
one, two = rows[0], rows[:2]
print("one row:", one["loss"].dtype, one["token"].dtype)
print("two rows:", two["loss"].dtype, two["token"].dtype)
assert (one["loss"].dtype, one["token"].dtype) == (np.float64, np.uint16)
assert (two["loss"].dtype, two["token"].dtype) == (np.float32, np.int64)
assert float(one["loss"]) == 1 / 3 != float(two["loss"][0])
PYTHON
