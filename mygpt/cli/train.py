"""The command `mygpt train`: in one process, or in many that torchrun starts."""

import argparse
import os
from pathlib import Path
from typing import Any

import torch

from mygpt.checkpoint import checkpoint_path, checkpoints, load_checkpoint
from mygpt.data import load_corpus, split
from mygpt.gpt import GPT, GPTConfig, LanguageModel
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.support.available_memory import check_fits
from mygpt.support.empty import build_empty
from mygpt.tokenizers import BPETokenizer, CharTokenizer, Tokenizer, WordTokenizer
from mygpt.training import RECIPES, History, TrainingConfig, check_out, train

Begun = tuple[LanguageModel, Tokenizer | None, dict]


def run_train(options: argparse.Namespace) -> None:
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
    return print_end(train(**job), options.out)


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
        tokenizer = make_tokenizer(options, text)
        torch.manual_seed(options.seed)
        model, config = make_model(options, device, tokenizer.vocab_size)
    else:
        model, tokenizer, state = begun
        if tokenizer is None or "config" not in state:
            raise ValueError(f"{options.out}: not a checkpoint of `mygpt train`")
        config = TrainingConfig.stored(state["config"], progress=not options.quiet)
        check_unchanged(options, model, config)
        device = device or state.get("device")
    ids, val_ids = split(torch.tensor(tokenizer.encode(text)))
    if len(ids) <= model.config.max_seq_len:
        raise ValueError(
            f"{options.corpus} is too short: expected at least "
            f"{model.config.max_seq_len + 1} tokens to train on, got {len(ids)}"
        )
    return {
        "model": model.to(usable_device(device or "cpu")),
        "data": ids,
        "config": config,
        "val_data": val_ids,
        "out": options.out,
        "tokenizer": tokenizer,
        "resume": options.resume,
    }


def check_unchanged(
    options: argparse.Namespace, model: LanguageModel, config: TrainingConfig
) -> None:
    """Raise a ValueError for an option that a run that goes on cannot follow."""
    begun = {
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
        if here not in (there, options.default_of(name)):
            option = name.replace("_", "-")
            raise ValueError(
                f"--{option} {here}: the run was started with {there} and goes on with "
                "its own settings; leave the option out, or begin another run"
            )


def print_end(history: History, out: str | Path) -> None:
    steps = len(history.loss)
    print(
        f"step {steps}: training loss {history.loss[-1]:.3f}, "
        f"validation loss {history.val_loss[-1]:.3f}; "
        f"saved in {checkpoint_path(out, steps)}"
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
    return {"char": CharTokenizer, "word": WordTokenizer}[kind].train(text)


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
