"""Files damaged at random: does anything but a clear refusal come out of them?

    python -m bench.damage [--files 100000] [--seed 0]

Checkpoints, Hugging Face folders (one file and shards), tokenizers and files of token
ids are damaged in one of their files, one damage at a time: cut, bits flipped, bytes
replaced, put in, taken out or repeated, a value of the JSON replaced (in a checkpoint
with and without its checksums put right). Loading must succeed, or raise a ValueError
or OSError that names the file or its folder.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from bench.machine import print_machine
from mygpt.checkpoint import digest, load_checkpoint, save_checkpoint, sha256
from mygpt.data import open_tokens, write_tokens
from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import load_gpt2, save_gpt2
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer, load_tokenizer
from mygpt.training import Run, TrainingConfig

TEXT = "she sells sea shells by the sea shore, Ωμέγα 123. " * 4
STRANGE = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, -(10**30), 0.5, 1e308),
    *("", "x", "\ud800", "€", [], [[]], {}, {"tensor": "no"}, [1, "a"], "../../x"),
)
MEMORY = 12 * 2**30  # a load that wants more fails with an error


@dataclass
class Target:
    """A folder whose files are damaged, and what loads it."""

    name: str
    folder: Path
    load: Callable[[Path], object]


def targets(root: Path) -> list[Target]:
    torch.manual_seed(0)
    made = []

    def folder(name: str) -> Path:
        (root / name).mkdir()
        return root / name

    models = {
        "checkpoint": GPT(GPTConfig(29, 7, 8, 2, 2)),
        "modern checkpoint": ModernGPT(ModernConfig(29, 7, 8, 2, 2)),
    }
    for name, model in models.items():
        run = Run(model, torch.arange(60) % 29, TrainingConfig(4, progress=False))
        run.take_step()
        saved = save_checkpoint(
            folder(name), model, CharTokenizer.train(TEXT), run.state()
        )
        made.append(Target(name, saved, load_checkpoint))
    theirs = folder("hugging face")
    save_gpt2(GPT(GPTConfig(29, 7, 8, 2, 2)), theirs)
    made.append(Target("hugging face", theirs, load_gpt2))
    shards = folder("shards")
    save_gpt2(GPT(GPTConfig(29, 7, 8, 2, 2)), shards)
    cut_into_shards(shards)
    made.append(Target("shards", shards, load_gpt2))
    for tokenizer in (
        CharTokenizer.train(TEXT),
        WordTokenizer.train(TEXT),
        BPETokenizer.train(TEXT, 270),
    ):
        name = type(tokenizer).__name__
        tokenizer.save(folder(name))
        made.append(Target(name, root / name, load_tokenizer))
    ids = folder("token ids")
    write_tokens(list(range(97)), ids / "ids.npy")
    made.append(Target("token ids", ids, lambda path: open_tokens(path / "ids.npy")))
    return made


def cut_into_shards(folder: Path) -> None:
    whole = folder / "model.safetensors"
    tensors = load_file(whole)
    weight_map = {}
    for i in range(2):
        shard = f"model-{i + 1:05d}-of-00002.safetensors"
        part = {name: tensors[name] for name in sorted(tensors)[i::2]}
        save_file(part, folder / shard, {"format": "pt"})
        weight_map |= dict.fromkeys(part, shard)
    whole.unlink()
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def damaged(whole: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Damage the bytes at random; return the kind of damage and the new bytes."""
    length = len(whole)
    at = draw.randrange(length)
    if draw.random() < 0.5:  # near the start, where headers are
        at = min(at, draw.randrange(200))
    size = draw.choice((1, 1, 2, 4, 8, 64, 1000))
    junk = draw.randbytes(size) if draw.random() < 0.7 else b"\0" * size
    kind = draw.choice(
        ("cut", "flip", "replace", "insert", "remove", "repeat", "digits")
    )
    if kind == "cut":
        return kind, whole[:at]
    if kind == "flip":
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 1, 8))):
            content[draw.randrange(length)] ^= 1 << draw.randrange(8)
        return kind, bytes(content)
    if kind == "replace":
        return kind, whole[:at] + junk + whole[at + size :]
    if kind == "insert":
        return kind, whole[:at] + junk + whole[at:]
    if kind == "remove":
        return kind, whole[:at] + whole[at + size :]
    if kind == "repeat":
        return kind, whole[:at] + whole[at : at + size] * 3 + whole[at + size :]
    digits = [i for i, byte in enumerate(whole[:4000]) if 48 <= byte <= 57]
    place = draw.choice(digits) if digits else at
    many = bytes(draw.choice(b"0123456789") for _ in range(draw.choice((1, 3, 20))))
    return kind, whole[:place] + many + whole[place + 1 :]


def other_value(whole: bytes, draw: random.Random, checkpoint: bool) -> bytes:
    """Change one value in a JSON file."""
    content = json.loads(whole)
    outer, inner = None, content
    while (
        isinstance(inner, dict | list)
        and inner
        and (outer is None or draw.random() < 0.8)
    ):
        outer = inner
        key = (
            draw.choice(list(inner))
            if isinstance(inner, dict)
            else draw.randrange(len(inner))
        )
        inner = inner[key]
    if draw.random() < 0.2 and isinstance(outer, dict):
        del outer[key]
    else:
        outer[key] = draw.choice(STRANGE)
    if checkpoint and draw.random() < 0.8 and isinstance(content, dict):
        with_sum = content.get("content")
        content = {"sha256": digest(with_sum), "content": with_sum}
    return json.dumps(content).encode("utf-8", "surrogatepass")


def damage(target: Target, draw: random.Random) -> tuple[Path, str, bytes]:
    """Damage one file of the target; return the file, the kind, and the old bytes."""
    path = draw.choice(sorted(p for p in target.folder.iterdir()))
    whole = path.read_bytes()
    checkpoint = path.name == "checkpoint.json"
    if path.suffix == ".json" and draw.random() < 0.4:
        path.write_bytes(other_value(whole, draw, checkpoint))
        return path, "value", whole
    kind, content = damaged(whole, draw)
    path.write_bytes(content)
    index = target.folder / "checkpoint.json"
    if index.exists() and not checkpoint and draw.random() < 0.5:
        put_checksum_right(index, path)
        kind += ", checksum right"
    return path, kind, whole


def put_checksum_right(index: Path, path: Path) -> None:
    content = json.loads(index.read_text(encoding="utf-8"))["content"]
    content["files"][path.name] = sha256(path)
    index.write_text(json.dumps({"sha256": digest(content), "content": content}))


def outcome(target: Target) -> str:
    """Load the target: loaded, refused, or what is wrong with the refusal."""
    try:
        target.load(target.folder)
    except (ValueError, OSError) as error:
        named = str(target.folder) in f"{error} {getattr(error, 'filename', '')}"
        return "refused" if named else f"NO PATH: {error!r:.200}"
    except BaseException:
        return "UNEXPECTED: " + " | ".join(traceback.format_exc().splitlines()[-5:])
    return "loaded"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    draw = random.Random(options.seed)
    counts: dict[str, Counter] = {}
    strange = Counter()
    with tempfile.TemporaryDirectory() as root:
        all_targets = targets(Path(root))
        for target in all_targets:
            if (found := outcome(target)) != "loaded":
                sys.exit(f"{target.name} is whole and was not loaded: {found}")
        for number in range(options.files):
            target = all_targets[number % len(all_targets)]
            index = target.folder / "checkpoint.json"
            before = index.read_bytes() if index.exists() else None
            path, kind, whole = damage(target, draw)
            found = outcome(target)
            if found not in ("loaded", "refused"):
                strange[f"{target.name}, {path.name}, {kind}: {found}"] += 1
                found = "strange"
            counts.setdefault(target.name, Counter())[found] += 1
            path.write_bytes(whole)
            if before is not None:
                index.write_bytes(before)
    print(f"{'':20}{'refused':>9}{'loaded':>9}{'strange':>9}")
    for name, count in counts.items():
        print(
            f"{name:20}"
            + "".join(f"{count[k]:9}" for k in ("refused", "loaded", "strange"))
        )
    print(f"{sum(c['strange'] for c in counts.values())} of {options.files} strange")
    for line, times in strange.most_common(40):
        print(f"{times}× {line}")


if __name__ == "__main__":
    main()
