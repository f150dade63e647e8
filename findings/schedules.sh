#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: after its last step CosineAnnealingLR stays at the lowest rate; OneCycleLR
#   changes the learning rate only; LinearLR(start_factor=0.0) is a warm-up from 0.
# Seen: the cosine goes up again, back to the full rate after as many steps;
#   OneCycleLR also sets AdamW's first beta, from 0.95 to 0.85 and back, whatever was
#   asked for; a start factor of 0 raises a ValueError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch.optim import lr_scheduler


def run(make, steps):
    optimizer = torch.optim.AdamW([torch.zeros(1, requires_grad=True)], lr=1.0, betas=(0.9, 0.99))
    scheduler = make(optimizer)
    group, rates, betas = optimizer.param_groups[0], [], []
    for _ in range(steps):
        rates.append(round(group["lr"], 4))
        betas.append(round(group["betas"][0], 4))
        optimizer.step()
        scheduler.step()
    return rates, betas


rates, _ = run(lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 10), 21)
print("cosine:", rates[::5])
assert rates[10] == 0 and rates[15] == 0.5 and rates[20] == 1
_, betas = run(lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=11), 11)
print("first beta:", betas)
assert betas[0] == betas[-1] == 0.95 and min(betas) < 0.87
try:
    run(lambda optimizer: lr_scheduler.LinearLR(optimizer, start_factor=0.0), 1)
except ValueError as error:
    print("ValueError:", error)
else:
    raise SystemExit("it starts at 0 now")
PYTHON
