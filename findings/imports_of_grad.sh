#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: torch.autograd.grad(y, x, v) in eager mode imports nothing; it is as cheap to
#   call first as torch.autograd.grad((y * v).sum(), x), which has the same gradient.
# Seen: the first call that is given v imports sympy and the compiler's symbolic shapes,
#   more than 400 modules; the sum imports none. A short command that takes one gradient
#   is better off with the sum.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0
"$folder/environment/bin/python" - <<'PYTHON'
import sys

import torch

x = torch.ones(3, requires_grad=True)
v = torch.arange(3.0)
y = x * x
before = set(sys.modules)
(by_sum,) = torch.autograd.grad((y * v).sum(), x, retain_graph=True)
by_sum_alone = set(sys.modules) - before
(by_vector,) = torch.autograd.grad(y, x, v)
by_vector_alone = set(sys.modules) - before
print(len(by_sum_alone), "modules by the sum,", len(by_vector_alone), "by the vector")
assert torch.equal(by_sum, by_vector)
assert not by_sum_alone
assert "sympy" in by_vector_alone and len(by_vector_alone) > 400
PYTHON
