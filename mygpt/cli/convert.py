"""The command `mygpt convert`: another form of a trained model."""

import argparse
import sys

from mygpt.checkpoint import save_checkpoint
from mygpt.cli.generate import is_checkpoint, load_any
from mygpt.huggingface import find_folder, left_behind, save_gpt2
from mygpt.tokenizers import BPETokenizer


def run(options: argparse.Namespace) -> None:
    if options.target.exists() and any(options.target.iterdir()):
        raise ValueError(f"expected {options.target} to be empty or not to exist")
    model, tokenizer = load_any(options.source)
    if is_checkpoint(options.source):
        save_gpt2(model, options.target)
        left = []
        if isinstance(tokenizer, BPETokenizer):
            tokenizer.save(options.target)
        elif tokenizer is not None:
            left = [f"the {tokenizer.KIND} tokenizer, which has no Hugging Face form"]
        print(f"a GPT-2 folder for Hugging Face: {options.target}")
    else:
        left = left_behind(find_folder(options.source))
        print(f"a checkpoint: {save_checkpoint(options.target, model, tokenizer)}")
    if left:
        print(f"mygpt: not converted: {', '.join(left)}", file=sys.stderr)
