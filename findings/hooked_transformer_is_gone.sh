#!/usr/bin/env bash
# transformer-lens 4.3.0, transformers 5.24.0, torch 2.13.0, Python 3.11, on the CPU.
# Guess: hasattr(transformer_lens, "HookedTransformer") answers False where the class is
#   gone.
# Seen: the class was removed in 4.0, and hasattr raises the ImportError of the import,
#   so a program that asks before it imports fails too. TransformerBridge is there
#   instead. It wraps a model of transformers, also one from a folder, and keeps the
#   names of the hooks; its logits are those of transformers until
#   enable_compatibility_mode(), which centres them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet \
  transformer-lens==4.3.0 transformers==5.24.0 torch==2.13.0
cd "$folder"
HF_HOME="$folder/hub" HF_HUB_OFFLINE=1 HF_HUB_DISABLE_PROGRESS_BARS=1 \
  "$folder/environment/bin/python" - <<'PYTHON'
import torch
import transformer_lens
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

try:
    from transformer_lens import HookedTransformer
except ImportError as error:
    print("import: ImportError:", str(error).split(". ")[0])
    assert "was removed in TransformerLens 4.0" in str(error)
else:
    raise SystemExit(f"{HookedTransformer} is back")
try:
    answer = hasattr(transformer_lens, "HookedTransformer")
except ImportError as error:
    print("hasattr: ImportError:", str(error).split(". ")[0])
else:
    raise SystemExit(f"hasattr answers {answer}")

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=4, n_positions=8, n_embd=8, n_layer=1, n_head=2,
    bos_token_id=0, eos_token_id=0,
)
model = GPT2LMHeadModel(config).eval()
for weight in model.parameters():
    torch.nn.init.normal_(weight)
model.save_pretrained("model")
words = Tokenizer(WordLevel({"<end>": 0, "a": 1, "b": 2, "c": 3}, unk_token="<end>"))
special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<end>")
PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained("model")

bridge = transformer_lens.TransformerBridge.boot_transformers("model", device="cpu")
tokens = torch.tensor([[1, 2, 3]])
with torch.no_grad():
    expected = model(tokens).logits
    logits, cache = bridge.run_with_cache(tokens)
    bridge.enable_compatibility_mode()
    centered = bridge(tokens)
print("TransformerBridge differs by", float((logits - expected).abs().max()))
print("in compatibility mode by", float((centered - expected).abs().max()))
assert torch.allclose(logits, expected, atol=1e-4)
assert {"hook_embed", "blocks.0.hook_resid_pre", "blocks.0.attn.hook_pattern"} <= set(cache)
assert (centered - expected).abs().max() > 0.1
assert torch.allclose(centered, expected - expected.mean(-1, keepdim=True), atol=1e-4)
PYTHON
