#!/usr/bin/env bash
# torch 2.13.0, numpy 2.4.6, Python 3.11, on the CPU.
# Guess: float32 probabilities that PyTorch samples from can be handed to NumPy's
#   multinomial; and without replacement both refuse to draw more tokens than have a
#   chance.
# Seen: ten tokens of 0.1 in float32 and one cut to 0 make NumPy's multinomial raise
#   (the sum of all but the last is above 1 in double precision), while without the
#   eleventh it works. And torch.multinomial of [1, 0, 0], two without replacement,
#   returns a token of probability 0; NumPy's choice raises.
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

sure = torch.tensor([1.0, 0.0, 0.0])
drawn = torch.multinomial(sure, 2)
print("two of", sure.tolist(), "are", drawn.tolist())
assert (sure[drawn] == 0).sum() == 1
try:
    generator.choice(3, 2, replace=False, p=sure.numpy())
except ValueError as error:
    print("NumPy:", error)
else:
    raise SystemExit("it draws now")
PYTHON
