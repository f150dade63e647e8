#!/usr/bin/env bash
# torchao 0.18.0, transformers 5.23.0, torch 2.13.0, Python 3.11, on the CPU.
# Guess: quantize_(model, Int8WeightOnlyConfig()) stores the weights of all linear
#   layers of a GPT-2 as int8, so the model gets smaller.
# Seen: it replaces the weights of torch.nn.Linear alone, and the layers of GPT-2 in
#   transformers are Conv1D: only the head is replaced, in silence. The head was tied to
#   the embedding, which stays float32; the int8 head is one tensor more, so the model
#   gets larger. tie_weights() ties the two again and drops the int8 weight.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet \
  torchao==0.18.0 transformers==5.23.0 torch==2.13.0
HF_HUB_OFFLINE=1 "$folder/environment/bin/python" - <<'PYTHON'
import torch
from torchao.quantization import Int8Tensor, Int8WeightOnlyConfig, quantize_
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.pytorch_utils import Conv1D


def stored_bytes(model):
    total = 0
    for weight in model.parameters():
        int8 = isinstance(weight, Int8Tensor)
        parts = (weight.qdata, weight.scale, weight.zero_point) if int8 else (weight,)
        total += sum(part.nbytes for part in parts)
    return total


config = GPT2Config(
    vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2,
    bos_token_id=0, eos_token_id=0,
)
model = GPT2LMHeadModel(config).eval()
embedding = model.transformer.wte.weight
assert model.lm_head.weight is embedding
before = stored_bytes(model)
quantize_(model, Int8WeightOnlyConfig())
after = stored_bytes(model)

products = {
    name: module.weight
    for name, module in model.named_modules()
    if isinstance(module, (Conv1D, torch.nn.Linear))
}
replaced = [name for name, weight in products.items() if isinstance(weight, Int8Tensor)]
print("int8:", replaced, "of", len(products), "layers")
print(before, "bytes before,", after, "after")
assert len(products) == 9 and replaced == ["lm_head"]
assert model.lm_head.weight.qdata.dtype == torch.int8
assert model.transformer.wte.weight is embedding and embedding.dtype == torch.float32
print("the head is still the embedding:", model.lm_head.weight is embedding)
assert model.lm_head.weight is not embedding and config.tie_word_embeddings
assert after > before + embedding.numel()

model.tie_weights()
print("after tie_weights():", model.lm_head.weight is embedding)
assert model.lm_head.weight is embedding
PYTHON
