#!/usr/bin/env bash
# gguf 0.19.0, numpy 2.4.6, Python 3.11.
# Guess: the 4-bit format Q4_0, one scale for 32 numbers, keeps a block of +1 and -1
#   exactly.
# Seen: its whole numbers go from -8 to 7 and the number that is largest in absolute
#   value, the first among equals, is made the -8: the other sign is cut at 7/8. A block
#   that begins with +1 has -0.875 for each -1, one that begins with -1 has 0.875 for
#   each +1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet gguf==0.19.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize

kind = GGMLQuantizationType.Q4_0
block = np.tile(np.array([1, -1], np.float32), 16)[None]
for numbers in (block, -block):
    back = dequantize(quantize(numbers, kind), kind)
    print(numbers[0, :2], "comes back as", back[0, :2])
    assert np.array_equal(back[0, ::2], numbers[0, ::2])
    assert np.array_equal(back[0, 1::2], numbers[0, 1::2] * 7 / 8)
PYTHON
