"""The command `mygpt generate`: continue a text."""

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from mygpt.checkpoint import INDEX, check_sizes, checkpoints, load_checkpoint
from mygpt.gpt import LanguageModel
from mygpt.huggingface import find_folder, load_gpt2
from mygpt.sampling import generate_stream
from mygpt.support.tokenizer_files import are_in
from mygpt.tokenizers import BPETokenizer, Tokenizer


def run(options: argparse.Namespace) -> None:
    model, tokenizer = load_any(options.folder)
    if tokenizer is None:
        raise ValueError(
            f"{options.folder}: expected a tokenizer beside the model: tokenizer.json, "
            "or vocab.json and merges.txt"
        )
    if options.inference is not None:
        model = converted(model, options.inference)
    draw_only(model, tokenizer.vocab_size)
    end = getattr(tokenizer, "end_of_text", None)
    ids = tokenizer.encode(options.prompt)
    if not ids and end is None:
        raise ValueError(
            "--prompt: expected a text, got an empty one, and this tokenizer has no "
            "<|endoftext|> to begin from"
        )
    stream = generate_stream(
        model,
        torch.tensor([ids or [end]], dtype=torch.long),
        options.tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        greedy=options.greedy,
        repetition_penalty=options.repetition_penalty,
        stop=() if end is None else (end,),
        seed=options.seed,
    )
    shown = tokenizer.decode(ids)
    print(shown, end="", flush=True)
    for token in stream:
        ids.append(token.item())
        if ids[-1] == end:
            break
        text = tokenizer.decode(ids)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):  # half of a character
            print(text[len(shown) :], end="", flush=True)
            shown = text
    print(tokenizer.decode(ids)[len(shown) :])


def draw_only(model: Any, tokens: int) -> None:
    """Leave out the scores of rows without a token.

    A score of -inf would do, but the draw takes a random number for each score: for the
    same seed the text would depend on the number of such rows.
    """
    logits = model.logits
    model.logits = lambda states: logits(states)[..., :tokens]


def converted(model: LanguageModel, form: str) -> LanguageModel:
    """The model for inference; a warning becomes one line on stderr."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = model.eval().for_inference(form)
    for one in said:
        print(f"mygpt: {one.message}", file=sys.stderr)
    return model


def is_checkpoint(folder: str | Path) -> bool:
    folder = Path(folder)
    return (folder / INDEX).is_file() or bool(checkpoints(folder))


def load_any(name: str) -> tuple[LanguageModel, Tokenizer | None]:
    """The model and tokenizer of a checkpoint, or of a GPT-2 folder or hub name."""
    if is_checkpoint(name):
        from mygpt import distributed

        shared = distributed.is_shared(name)
        load = distributed.load_checkpoint if shared else load_checkpoint
        model, tokenizer, _ = load(name)
    else:
        model, folder = load_gpt2(name), find_folder(name)
        tokenizer = BPETokenizer.load(folder) if are_in(folder) else None
    if tokenizer is not None:
        check_sizes(model, tokenizer)
    return model, tokenizer
