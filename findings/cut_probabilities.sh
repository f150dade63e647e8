#!/usr/bin/env bash
# torch 2.13.0, numpy 2.4.6, Python 3.11, on the CPU.
# Guess: float32 probabilities that PyTorch samples from can be passed to NumPy's
#   multinomial.
# Seen: ten tokens of 0.1 in float32 work; with an eleventh of probability 0 NumPy
#   raises: in double precision the sum of all but the last is above 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import numpy as np
import torch

generator = np.random.default_rng(0)
ten = torch.zeros(10).softmax(0)
eleven = torch.cat([ten, torch.zeros(1)])
print("ten:", generator.multinomial(1, ten.numpy()).argmax())
print("PyTorch, eleven:", torch.multinomial(eleven, 1).item())
try:
    generator.multinomial(1, eleven.numpy())
except ValueError as error:
    print("NumPy, eleven:", str(error)[:46])
else:
    raise SystemExit("it draws now")
PYTHON
