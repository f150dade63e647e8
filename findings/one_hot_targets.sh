#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: cross_entropy gives the same loss for class numbers and for the same targets as
#   one-hot rows: with class weights, and with a logit of -inf for a token that is not
#   allowed.
# Seen: with weights, class numbers divide by the sum of the targets' weights and rows
#   by the number of targets: here 7 times apart. With a logit of -inf elsewhere the
#   rows give NaN (0 times -inf), while the gradients are equal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch.nn import functional as F

torch.manual_seed(0)
logits = torch.randn(6, 3)
classes = torch.tensor([0, 1, 2, 2, 2, 2])
weight = torch.tensor([1.0, 1.0, 10.0])
rows = F.one_hot(classes, 3).float()
by_class = F.cross_entropy(logits, classes, weight=weight)
by_row = F.cross_entropy(logits, rows, weight=weight)
print("class weights:", by_class.item(), by_row.item(), "ratio", (by_row / by_class).item())
assert torch.allclose(by_row / by_class, weight[classes].sum() / 6)
assert torch.allclose(F.cross_entropy(logits, classes), F.cross_entropy(logits, rows))

slopes = []
for target, finite in ((torch.tensor([0]), True), (torch.tensor([[1.0, 0.0, 0.0]]), False)):
    masked = torch.tensor([[1.0, 2.0, float("-inf")]], requires_grad=True)
    loss = F.cross_entropy(masked, target)
    loss.backward()
    slopes.append(masked.grad)
    print("masked:", loss.item())
    assert loss.isfinite() if finite else loss.isnan()
assert torch.allclose(*slopes)
PYTHON
