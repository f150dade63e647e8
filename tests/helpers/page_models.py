"""Small models as the page of TrainGPT saves and reads them; bytes are in base64."""

import base64
import io
import zipfile
from pathlib import Path

import torch
from helpers import node

from mygpt.gpt import GPT, GPTConfig
from mygpt.tokenizers import CharTokenizer, WordTokenizer

FILES = Path(__file__).parents[1] / "js" / "train_gpt" / "files.mjs"
IMPORTS = {
    "{ base64Of, bytesOf, inBase64, named, read, saved, tried }": FILES,
    "{ zipped }": "train_gpt/zip",
}
TEXT = "Mara asked Óla: “Où est l’été, 😀?” Никто не знал. שלום. " * 60
SHAPE = {"max_seq_len": 12, "embed_dim": 16, "num_heads": 2, "num_layers": 2}
VARIANTS = {
    "plain": {},
    "no-bias": {"bias": False},
    "relu-narrow": {"activation": "relu", "expansion": 2},
    "attention-only": {"attention_only": (0,)},
}
KINDS = {"characters": CharTokenizer, "words": WordTokenizer}


def in_js(script, given, tmp_path):
    """What an expression of tests/js/train_gpt/files.mjs makes of `given`."""
    return node.in_node(script, given, tmp_path, IMPORTS)


def in_base64(content):
    return base64.b64encode(content).decode()


def made(kind="characters", **changes):
    """A model with weights large enough to have favourites, and its tokenizer."""
    tokenizer = KINDS[kind].train(TEXT)
    torch.manual_seed(0)
    model = GPT(GPTConfig(tokenizer.vocab_size, **SHAPE | changes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval(), tokenizer


def in_page(model, kind, tokenizer, step=7):
    """The model as the page has it when it saves."""
    weights = weights_of(model).items()
    return {
        "config": engine_config(model.config),
        "kind": kind,
        "tokens": tokenizer.tokens,
        "weights": {name: in_base64(one.numpy().tobytes()) for name, one in weights},
        "step": step,
    }


def weights_of(model):
    return {name: one.detach() for name, one in model.state_dict().items()}


def engine_config(config):
    """The shape of a GPT in the terms of the page's engine."""
    return {
        "vocab": config.vocab_size,
        "positions": config.max_seq_len,
        "width": config.embed_dim,
        "heads": config.num_heads,
        "layers": config.num_layers,
        "hidden": config.expansion * config.embed_dim,
        "activation": config.activation,
        "bias": config.bias,
        "attentionOnly": list(config.attention_only),
    }


def files_of(folder, below=""):
    """The files of a folder as the page gets them, by their paths."""
    return {
        below + path.relative_to(folder).as_posix(): in_base64(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def write(files, folder):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))


def zip_of(files, compression=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as file:
        file.writestr("run/", "")
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"run/{name}")
            entry.compress_type = compression
            entry.extra, entry.comment = b"UT\x05\x00\x03abcd", b"one of several"
            file.writestr(entry, base64.b64decode(content))
        file.comment = b"by hand"
    return memory.getvalue()


def without(files, *names):
    return {name: one for name, one in files.items() if name not in names}
