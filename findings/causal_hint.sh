#!/usr/bin/env bash
# torch 2.13.0, Python 3.11, on the CPU.
# Guess: nn.TransformerEncoder(x, is_causal=True) hides the future, or it always raises
#   where it needs a mask too.
# Seen: without a mask it raises in training, and after eval() it raises while gradients
#   are on; after eval() under no_grad it runs, and every token sees the future, with no
#   warning. So a model can train with a mask and, by mistake, generate without one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(16, 2, 64, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
x = torch.randn(1, 5, 16)
other = x.clone()
other[:, -1] += 1  # only the last token differs


def change_of_first(**mask):
    return (model(x, **mask) - model(other, **mask))[:, 0].abs().max().item()


for training in (True, False):
    model.train(training)
    try:
        change_of_first(is_causal=True)
    except RuntimeError as error:
        print("training" if training else "eval", "-", str(error)[:49])
    else:
        raise SystemExit("it runs now")
with torch.no_grad():
    hint = change_of_first(is_causal=True)
    mask = change_of_first(mask=nn.Transformer.generate_square_subsequent_mask(5))
print("eval, no_grad: the first token moves by", hint, "with a mask by", mask)
assert hint > 0.01 and mask == 0
PYTHON
