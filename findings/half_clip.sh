#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: clip_grad_norm_ takes the norm of float16 gradients in float32, as sums do: a
#   norm of 316,228 is scaled to 1.
# Seen: the norm is kept in float16, where it is inf; the factor is then 0 and every
#   gradient becomes 0, also those of float32 parameters beside them. The step is lost
#   without an error (error_if_nonfinite=True would give one).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch import nn

half = nn.Parameter(torch.zeros(100_000, dtype=torch.float16))
full = nn.Parameter(torch.zeros(3))
half.grad, full.grad = torch.full_like(half, 1000), torch.ones_like(full)
norm = nn.utils.clip_grad_norm_([half, full], 1.0)
print("norm", norm.item(), "true norm", 1000 * 100_000**0.5)
print("gradients left", half.grad.max().item(), full.grad.max().item())
assert norm.isinf() and (half.grad == 0).all() and (full.grad == 0).all()
PYTHON
