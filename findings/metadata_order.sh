#!/usr/bin/env bash
# safetensors 0.8.0, numpy 2.4.6, Python 3.11.
# Guess: the same tensors with the same metadata give the same file, so its checksum can
#   be compared.
# Seen: with three entries in the metadata twenty saves in one process give several
#   files that differ in the order of the entries alone; with one entry all are equal.
#   The tensors have a fixed order: by the size of their type, then by name as text
#   (h.10 before h.2).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import json

import numpy as np
from safetensors.numpy import save

tensors = {
    "small": np.zeros(2, np.float16),
    "h.2": np.zeros(1, np.float32),
    "h.10": np.ones(1, np.float32),
}


def files(metadata):
    return {save(tensors, metadata=metadata) for _ in range(20)}


one = files({"step": "1"})
three = files({"step": "1", "seed": "2", "data": "3"})
print(len(one), "file with one entry,", len(three), "with three")
assert len(one) == 1
assert len(three) > 1
(stored,) = one
header = json.loads(stored[8 : 8 + int.from_bytes(stored[:8], "little")])
names = [name for name in header if name != "__metadata__"]
print(names)
assert names == ["h.10", "h.2", "small"]
PYTHON
