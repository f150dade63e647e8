#!/usr/bin/env bash
# torch 2.13.0 (CPU), torchinfo 1.8.0, Python 3.11.
# Guess: torchinfo's multiply-adds of nn.Linear(64, 64) on (B, T, 64) are B T 64 64, and
#   a tied head is counted once in the parameters.
# Seen: T is left out: 1, 10 or 100 positions all give 4,160 (the number of weights and
#   biases) times B. A head tied to its embedding is counted twice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 torchinfo==1.8.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch import nn
from torchinfo import summary


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 8)
        self.head = nn.Linear(8, 100, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


linear = nn.Linear(64, 64)
seen = [
    summary(linear, input_size=(batch, length, 64), verbose=0).total_mult_adds
    for batch, length in ((1, 1), (1, 10), (1, 100), (2, 10))
]
tied = summary(Tied(), input_data=torch.zeros(1, 4, dtype=torch.long), verbose=0)
real = sum(weights.numel() for weights in Tied().parameters())
print("multiply-adds", seen, "- parameters", tied.total_params, "of", real)
assert seen == [4160, 4160, 4160, 8320]
assert (tied.total_params, real) == (1600, 800)
PYTHON
