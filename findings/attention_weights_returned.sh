#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: the weights that nn.MultiheadAttention returns are the softmax: rows sum to 1,
#   in training too.
# Seen: in training they are the weights after dropout: some are zero, the rest are
#   scaled up, and rows no longer sum to 1. Pictures and entropies of attention need
#   eval().
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch import nn

torch.manual_seed(0)
attention = nn.MultiheadAttention(16, 1, dropout=0.5, batch_first=True)
x = torch.randn(1, 20, 16)
for training in (True, False):
    weights = attention.train(training)(x, x, x)[1]
    sums, zeros = weights.sum(-1), (weights == 0).float().mean().item()
    print("training", training, "sums", sums.min().item(), "to", sums.max().item(), "zeros", zeros)
    assert torch.allclose(sums, torch.ones(20), atol=1e-5) != training
    assert (zeros > 0.2) == training
PYTHON
