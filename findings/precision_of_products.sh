#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: torch.get_float32_matmul_precision() can be read at any time; after TF32 was
#   allowed by the newer setting it answers "high".
# Seen: after torch.backends.cuda.matmul.fp32_precision = "tf32" it raises a
#   RuntimeError, also on a machine without CUDA. A library that saves the precision,
#   sets its own and puts it back, fails in a program that uses the newer names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0
"$folder/environment/bin/python" - <<'PYTHON'
import torch

assert torch.get_float32_matmul_precision() == "highest"
torch.backends.cuda.matmul.fp32_precision = "tf32"
try:
    print(torch.get_float32_matmul_precision())
except RuntimeError as error:
    print("RuntimeError:", str(error).splitlines()[0])
else:
    raise SystemExit("it can be read now")
PYTHON
