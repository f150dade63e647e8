#!/usr/bin/env bash
# torch 2.13.0 (CPU), transformers 5.23.0, peft 0.21.2, Python 3.11.
# Guess: LoRA added to a model in bfloat16 has bfloat16 matrices, as the layers beside
#   them.
# Seen: they are float32 (autocast_adapter_dtype=True), while the logits stay bfloat16;
#   with False they are bfloat16.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet torch==2.13.0 transformers==5.23.0 peft==0.21.2
"$folder/environment/bin/python" - <<'PYTHON'
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(
    vocab_size=50, n_positions=32, n_embd=32, n_layer=2, n_head=4,
    bos_token_id=None, eos_token_id=None,
)


def adapters(**options):
    model = GPT2LMHeadModel(config).to(torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=4, fan_in_fan_out=True), **options)
    kinds = {weights.dtype for name, weights in model.named_parameters() if "lora" in name}
    return kinds, model(torch.arange(5)[None]).logits.dtype


usual, logits = adapters()
other, _ = adapters(autocast_adapter_dtype=False)
print("adapters", usual, "logits", logits, "- with False", other)
assert usual == {torch.float32} and logits == torch.bfloat16
assert other == {torch.bfloat16}
PYTHON
