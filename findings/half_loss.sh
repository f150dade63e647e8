#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: cross_entropy of float16 logits sums in float32 and rounds at the end: a mean
#   of 2.5 comes out as 2.5, however many tokens there are.
# Seen: on the CPU the sum and the count are float16: with 40,000 tokens the loss is
#   inf, with 70,000 NaN (inf / inf). Call.float() on the logits first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch.nn import functional as F

torch.manual_seed(0)
for count, test in ((10_000, torch.isfinite), (40_000, torch.isinf), (70_000, torch.isnan)):
    logits = torch.randn(count, 8)
    targets = torch.randint(8, (count,))
    half = F.cross_entropy(logits.half(), targets)
    full = F.cross_entropy(logits.half().float(), targets)
    print(count, "tokens: float16", half.item(), "float32", full.item())
    assert test(half) and 2.4 < full < 2.6
PYTHON
