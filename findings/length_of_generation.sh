#!/usr/bin/env bash
# torch 2.13.0 (CPU), transformers 5.23.0, Python 3.11.
# Guess: generate without any limit ends at 20 tokens in all, the prompt counted
#   (max_length=20).
# Seen: 5 tokens become 25: 20 are new ones. A prompt of 25 in a context of 32 is filled
#   to 32. max_new_tokens beyond the context raises IndexError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 transformers==5.23.0
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(
    vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4,
    bos_token_id=None, eos_token_id=None,
)
model = GPT2LMHeadModel(config).eval()


def length(prompt, **options):
    ids = torch.ones(1, prompt, dtype=torch.long)
    return model.generate(ids, do_sample=False, **options).shape[1]


lengths = [length(5), length(25), length(5, max_length=20)]
print("5 become", lengths[0], "- 25 become", lengths[1], "- with max_length", lengths[2])
assert lengths == [25, 32, 20]
try:
    length(5, max_new_tokens=40)
except IndexError as error:
    print("IndexError:", error)
else:
    raise SystemExit("it can go beyond the context now")
PYTHON
