"""The command `mygpt train`: in one process, or in many that torchrun starts."""

import argparse
import os
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mygpt.checkpoint import checkpoint_path, checkpoints, load_checkpoint, step_of
from mygpt.data import as_array, check_counts, fingerprint, load_corpus, split
from mygpt.gpt import GPT, GPTConfig, LanguageModel
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.support.available_memory import check_fits
from mygpt.support.empty import build_empty
from mygpt.support.interrupts import handled_by
from mygpt.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer
from mygpt.training import RECIPES, History, TrainingConfig, check_out, train

Begun = tuple[LanguageModel, Tokenizer | None, dict]
LEAST_CHARACTERS = 2000  # as the page that trains asks for
TOKENIZERS = {"char": CharTokenizer, "word": WordTokenizer, "bpe": BPETokenizer}


def run(options: argparse.Namespace) -> None:
    """Train in this process, or start as many as were asked for."""
    from mygpt.distributed.launch import is_worker, launch

    if is_worker():
        return be_worker(options)
    many = options.processes is not None or options.machines != 1 or options.meet
    if options.shard and not many:
        raise ValueError("--shard splits a model over processes: expected --processes")
    check_out(options.out, options.resume, "--resume")
    if many:
        return launch(
            options.arguments,
            1 if options.processes is None else options.processes,
            options.machines,
            options.meet,
            options.timeout,
            options.out,
        )
    begun = load_checkpoint(options.out) if options.resume else None
    job = prepare(options, options.device, begun)
    with handled_by(signal.default_int_handler, signal.SIGTERM):
        history = train(**job)
    return print_end(history, options.out)


def stopped(options: argparse.Namespace) -> str:
    """What to say after Ctrl-C: the step, and the command that goes on."""
    found = checkpoints(options.out)
    if not found:
        return "stopped before the first step: nothing is saved"
    given = [one for one in options.arguments if one != "--resume"]
    command = shlex.join(["mygpt", *given, "--resume"])
    return (
        f"stopped after step {step_of(found[-1])}, which is saved; to go on: {command}"
    )


def say(text: str) -> None:
    """Print a line on stderr, of many processes in the first alone."""
    if os.environ.get("RANK", "0") == "0":
        print(f"mygpt: {text}", file=sys.stderr)


def be_worker(options: argparse.Namespace) -> None:
    """Be one of the processes that torchrun started."""
    from mygpt import distributed
    from mygpt.distributed.launch import end_with_parent, leave, say_started

    say_started()
    end_with_parent()
    begun, device = None, options.device
    try:
        if options.resume and checkpoints(options.out):
            begun = distributed.load_checkpoint(options.out)
            device = device or begun[2]["device"]
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
        with distributed.connected(device or "cpu", options.timeout):
            try:
                job = prepare(options, device, begun)
                history = distributed.train(**job, shard=options.shard)
            except BaseException as error:
                leave(error)
    except BaseException as error:
        leave(error)
    if os.environ["RANK"] == "0":
        print_end(history, options.out)


def prepare(
    options: argparse.Namespace, device: str | None, begun: Begun | None
) -> dict[str, Any]:
    """The arguments of `train`, for a run that begins or one that goes on."""
    text = load_corpus(options.corpus)
    if begun is None:
        if len(text) < LEAST_CHARACTERS:
            say(
                f"{options.corpus} has {len(text):,} characters, which a GPT learns by "
                f"heart: {LEAST_CHARACTERS:,} or more make a model of the language"
            )
        tokenizer = make_tokenizer(options, text)
        torch.manual_seed(options.seed)
        model, config = make_model(options, device, tokenizer.vocab_size)
    else:
        model, tokenizer, state = begun
        if tokenizer is None or "config" not in state:
            raise ValueError(f"{options.out}: not a checkpoint of `mygpt train`")
        config = TrainingConfig.stored(state["config"], progress=not options.quiet)
        check_unchanged(options, model, config, tokenizer, text)
        check_text(options, tokenizer, text, state)
        config = replace(config, compile=options.compile or config.compile)
        if "save_every" in options.given:
            config = replace(config, save_every=options.save_every)
        device = device or state.get("device")
    ids, val_ids = split(torch.tensor(tokenizer.encode(text)))
    if len(ids) <= model.config.max_seq_len:
        raise ValueError(
            f"{options.corpus} is too short: expected at least "
            f"{model.config.max_seq_len + 1} tokens to train on, got {len(ids)}"
        )
    if len(val_ids) < 2:
        count = f"{len(val_ids)} token" + "s" * (len(val_ids) != 1)
        say(
            f"validation part: {count}, expected at least 2: trained without validation"
        )
    return {
        "model": model.to(usable_device(device or "cpu")),
        "data": ids,
        "config": config,
        "val_data": val_ids if len(val_ids) > 1 else None,
        "out": options.out,
        "tokenizer": tokenizer,
        "resume": options.resume,
    }


def check_unchanged(
    options: argparse.Namespace,
    model: LanguageModel,
    config: TrainingConfig,
    tokenizer: Tokenizer,
    text: str,
) -> None:
    """Raise a ValueError for an option that a run that goes on cannot follow."""
    begun = {
        "recipe": "modern" if isinstance(model, ModernGPT) else "gpt2",
        "tokenizer": kind_of(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        "steps": config.steps,
        "batch_size": config.batch_size,
        "seed": config.seed,
        "bf16": config.autocast,
        "layers": model.config.num_layers,
        "heads": model.config.num_heads,
        "width": model.config.embed_dim,
        "length": model.config.max_seq_len,
    }
    for name, there in begun.items():
        here = getattr(options, name)
        if here != there and (name in options.given or here is True):
            if name == "vocab_size" and is_exhausted(text, tokenizer, here):
                continue
            option = name.replace("_", "-")
            raise ValueError(
                f"--{option} {here}: the run was started with {there} and goes on with "
                "its own settings; leave the option out, or begin another run"
            )


def is_exhausted(text: str, tokenizer: Tokenizer, vocab_size: int) -> bool:
    """Whether a text has no more pairs for so large a vocabulary."""
    return (
        isinstance(tokenizer, BPETokenizer)
        and vocab_size > tokenizer.vocab_size
        and BPETokenizer.train(text, vocab_size).vocab_size == tokenizer.vocab_size
    )


def check_text(
    options: argparse.Namespace, tokenizer: Tokenizer, text: str, state: dict
) -> None:
    """Raise a ValueError unless the text is the one that the run was begun with."""
    try:
        ids, val_ids = split(as_array(tokenizer.encode(text), at_least=1))
        counts = {"num_ids": len(ids), "sha256": fingerprint(ids)}
        check_counts(state["batches"], counts)
        if state.get("val_data") not in (None, fingerprint(val_ids)):
            raise ValueError("its last tenth is another")
    except ValueError as error:
        raise ValueError(
            f"{options.corpus}: expected the text that {options.out} was begun with: "
            f"{error}"
        ) from None


def kind_of(tokenizer: Tokenizer) -> str:
    return next(name for name, k in TOKENIZERS.items() if isinstance(tokenizer, k))


def print_end(history: History, out: str | Path) -> None:
    steps, val = len(history.loss), history.val_loss
    print(
        f"step {steps}: training loss {history.loss[-1]:.3f}"
        + (f", validation loss {val[-1]:.3f}" if val else "")
        + f"; saved in {checkpoint_path(out, steps)}"
    )


def usable_device(name: str) -> torch.device:
    """The device of that name; a ValueError if this machine lacks it."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise ValueError(
            f"no device {name!r} on this machine; choose one with --device: {reason}"
        ) from None
    return device


def make_tokenizer(options: argparse.Namespace, text: str) -> Tokenizer:
    kind = options.tokenizer or ("word" if options.corpus == "world" else "char")
    if kind == "bpe":
        return BPETokenizer.train(text, options.vocab_size)
    if "vocab_size" in options.given:
        raise ValueError(f"--vocab-size is for --tokenizer bpe, and this one is {kind}")
    return TOKENIZERS[kind].train(text)


def make_model(
    options: argparse.Namespace, device: str | None, vocab_size: int
) -> tuple[LanguageModel, TrainingConfig]:
    """Make a fresh model and the config to train it with."""
    shape = {
        "vocab_size": vocab_size,
        "max_seq_len": options.length,
        "embed_dim": options.width,
        "num_heads": options.heads,
        "num_layers": options.layers,
    }
    modern = options.recipe == "modern"
    model_class, model_config = (
        (ModernGPT, ModernConfig(**shape)) if modern else (GPT, GPTConfig(**shape))
    )
    empty = build_empty(model_class, model_config, Path(options.out))
    check_room(empty, usable_device(device or "cpu"), options.shard)
    config = TrainingConfig(
        steps=options.steps,
        batch_size=options.batch_size,
        seed=options.seed,
        save_every=options.save_every,
        autocast=options.bf16,
        compile=options.compile,
        progress=not options.quiet,
        **RECIPES[options.recipe],
    )
    return model_class(model_config), config


def check_room(model: LanguageModel, device: torch.device, shard: bool) -> None:
    """Raise a ValueError if this machine has too little memory to train the model."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    parts = int(os.environ.get("WORLD_SIZE", 1)) if shard else 1
    check_fits(sum(p.numel() for p in model.parameters()), device, here, parts)
