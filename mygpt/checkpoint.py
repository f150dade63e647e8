"""Models with the state of their training, saved whole or not at all.

A checkpoint is a folder `step-00000500` of safetensors and JSON:

    checkpoint.json         kind of model, config, the state's numbers, all checksums
    model.safetensors       the parameters
    training.safetensors    the state's tensors, if there is a state
    chars.json, merges.txt  … the tokenizer's files, if there is one

While a step is saved again, its earlier checkpoint is called `step-00000500.old`, and
is found under that name until the new one is in place.
"""

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from mygpt.gpt import GPT, GPTConfig, LanguageModel
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.support.arguments import as_number
from mygpt.support.empty import build_empty
from mygpt.support.files import existing, open_tensors, read_json, sync, write_json
from mygpt.tokenizers import Tokenizer, load_tokenizer

MODELS: dict[str, tuple[type, type[LanguageModel]]] = {
    "GPT": (GPTConfig, GPT),
    "ModernGPT": (ModernConfig, ModernGPT),
}
INDEX, MODEL, TRAINING = "checkpoint.json", "model.safetensors", "training.safetensors"
FORMAT = 2
FIELDS = {  # of the content of checkpoint.json
    "format": int,
    "model": str,
    "config": dict,
    "tokenizer": bool,
    "state": dict,
    "files": dict,
}
NAME = re.compile(r"step-(\d+)(\.old)?")


def save_checkpoint(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Tokenizer | None = None,
    state: dict | None = None,
) -> Path:
    """Write `folder/step-…` and return its path.

    Of the earlier steps only the last is kept; later steps stay. `state` is what
    `train` needs to continue: nested dicts and lists of numbers, text and tensors, with
    the number of steps under "step". A model or tokenizer that `load_checkpoint` could
    not make again is a ValueError. The new folder gets its name only when everything
    in it is on the disk, so the earlier checkpoints stay loadable whatever happens.
    """
    model = check_savable(model, tokenizer)
    state = state or {"step": 0}
    final = checkpoint_path(folder, state["step"])
    temporary = final.with_name(f".{final.name}.tmp")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        _write(temporary, model, tokenizer, state)
        put_in_place(temporary, final)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError | SafetensorError):
            raise OSError(f"{final}: saving the checkpoint failed: {error}") from error
        raise
    remove_earlier(folder, state["step"])
    return final


def check_savable(
    model: nn.Module, tokenizer: Tokenizer | None = None
) -> LanguageModel:
    """Return the model without torch.compile's wrapper, if it can be loaded again.

    It must be a GPT or a ModernGPT that is made as its config says: another layer, an
    extra parameter or a shared one is a ValueError that names it. So is a tokenizer
    that is not one of the package's, or has more tokens than the model has rows.
    """
    model = without_wrapper(model)
    name = type(model).__name__
    config_class, model_class = MODELS.get(name, (None, None))
    config = getattr(model, "config", None)
    if type(model) is not model_class or type(config) is not config_class:
        raise ValueError(
            f"expected a model that a checkpoint can hold ({', '.join(MODELS)}), "
            f"got {name}"
        )
    here = parts_of(model)
    there = parts_of(build_empty(model_class, config, Path(INDEX)))
    extra = [part for part in here.keys() - there.keys() if here[part][:2] == "of"]
    for part in (*there, *sorted(extra)):
        if here.get(part) != there.get(part):
            raise ValueError(
                f"a checkpoint holds what the config of {name} says: expected {part} "
                f"{there.get(part, 'absent')}, got {here.get(part, 'none of its own')}"
            )
    types = {
        f"{'no' if p.is_meta else p.dtype} numbers" for p in model.state_dict().values()
    }
    if len(types) > 1 or "no numbers" in types:
        raise ValueError(
            "expected parameters that are numbers of one type, got "
            f"{', '.join(sorted(types))}"
        )
    if tokenizer is not None:
        if type(tokenizer) not in get_args(Tokenizer):
            raise ValueError(
                "expected a tokenizer that a checkpoint can hold, "
                f"got {type(tokenizer).__name__}"
            )
        check_sizes(model, tokenizer)
    return model


def check_sizes(model: LanguageModel, tokenizer: Tokenizer) -> None:
    """Raise a ValueError if the tokenizer gives ids that the model has no row for."""
    rows, tokens = model.config.vocab_size, tokenizer.vocab_size
    if rows < tokens:
        raise ValueError(
            f"the tokenizer does not fit the model: {tokens} tokens, but vocab_size = "
            f"{rows}"
        )


def without_wrapper(model: Any) -> Any:
    """The model inside torch.compile's wrapper, or the model itself."""
    return getattr(model, "_orig_mod", model)


@torch.no_grad()
def load_weights(model: nn.Module, saved: nn.Module) -> None:
    """Fill a model from one of its kind; torch.compile may have wrapped its layers."""
    weights = saved.state_dict()
    for name, tensor in model.state_dict().items():
        stored = weights[unwrapped(name)]
        if stored.dtype != tensor.dtype:
            raise ValueError(f"expected a model of {stored.dtype}, got {tensor.dtype}")
        tensor.copy_(stored)


def unwrapped(name: str) -> str:
    """A parameter's name without torch.compile's wrappers of layers."""
    return name.replace("_orig_mod.", "")


def parts_of(model: nn.Module) -> dict[str, str]:
    """What a model is made of: its layers, their plain settings, and its tensors.

    A parameter that is used twice has its first name alone.
    """
    parts = {}
    for name, layer in model.named_modules():
        name = f"{name}.".replace("._orig_mod.", ".")
        parts[name] = f"of {type(layer).__qualname__}"
        for key, value in vars(layer).items():
            if key[0] != "_" and isinstance(value, bool | int | float | str | None):
                parts[f"{name}{key}"] = f"= {value!r}"
    once = dict(model.named_parameters())
    shared = dict(model.named_parameters(remove_duplicate=False)).keys() - once
    for name, tensor in model.state_dict().items():
        if name not in shared:
            parts[unwrapped(name)] = f"of shape {tuple(getattr(tensor, 'shape', ()))}"
    return {name: part for name, part in parts.items() if not name.endswith("training")}


def remove_earlier(folder: str | Path, step: int) -> None:
    """Of the checkpoints before `step`, keep only the last."""
    earlier = [c for c in checkpoints(folder) if step_of(c) < step]
    for unneeded in earlier[:-1]:  # all but the last
        remove(unneeded)


def put_in_place(new: Path, final: Path) -> None:
    """Give a new checkpoint its name; it replaces an earlier one of the same step."""
    old = final.with_name(f"{final.name}.old")
    if final.exists():
        remove(old)
        final.rename(old)
    try:
        new.rename(final)
    except OSError:
        if old.exists():
            old.rename(final)
        raise
    sync(final.parent)
    remove(old)


def remove(folder: Path) -> None:
    """Rename the folder before deleting it, so that half of one is never found."""
    if folder.exists():
        nameless = folder.with_name(f".{folder.name}.removed")
        shutil.rmtree(nameless, ignore_errors=True)
        folder.rename(nameless)
        shutil.rmtree(nameless, ignore_errors=True)


def load_checkpoint(folder: str | Path) -> tuple[LanguageModel, Tokenizer | None, dict]:
    """Load (model, tokenizer, state) from one step, or the newest step in a folder.

    A missing, truncated or changed file is a ValueError that names it.
    """
    folder = newest(folder)
    content = read_content(folder)
    if MODEL not in content["files"]:
        raise ValueError(
            f"{folder} is of a run of many processes: continue it with --processes, "
            "or read it with mygpt.distributed.load_checkpoint"
        )
    model = _build(folder, content)
    tensors = read_tensors(folder / TRAINING) if TRAINING in content["files"] else {}
    tokenizer = load_tokenizer(folder) if content["tokenizer"] else None
    try:
        state = put_tensors_back(content["state"], tensors)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / TRAINING}: no tensor {error}") from None
    return model, tokenizer, state


def read_content(folder: Path) -> dict:
    """Read a checkpoint's index, and check every file that it names."""
    content = read_index(folder / INDEX)
    for name, expected in content["files"].items():
        check_sum(folder / name, expected)
    return content


def _build(folder: Path, content: dict) -> LanguageModel:
    model_class, config = read_config(folder, content)
    weights = read_tensors(folder / MODEL)
    _check_shapes(model_class, config, weights, folder)
    with torch.random.fork_rng():
        model = model_class(config)
    types = {tensor.dtype for tensor in weights.values()}
    if len(types) == 1:  # as of a model in half precision
        model.to(types.pop())
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        first = str(error).splitlines()[1].strip()
        raise ValueError(f"{folder / MODEL}: {first}") from None
    return model


def read_config(folder: Path, content: dict) -> tuple[type[LanguageModel], Any]:
    """The kind of model in a checkpoint.json, and its config."""
    config_class, model_class = MODELS[content["model"]]
    try:
        return model_class, config_class(**content["config"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder / INDEX}: config: {error}") from None


def _check_shapes(
    model_class: type[LanguageModel], config: Any, weights: dict, folder: Path
) -> None:
    """Raise a ValueError for a model larger than its weights, before allocating it."""
    blocks = {name.split(".")[1] for name in weights if name.startswith("blocks.")}
    if len(blocks) != config.num_layers:
        raise ValueError(
            f"{folder / MODEL}: expected num_layers = {config.num_layers} blocks, "
            f"got {len(blocks)}"
        )
    empty = build_empty(model_class, config, folder / INDEX)
    for name, expected in empty.named_parameters():
        if name in weights and weights[name].shape != expected.shape:
            raise ValueError(
                f"{folder / MODEL}: expected {name} of shape {tuple(expected.shape)}, "
                f"got {tuple(weights[name].shape)}"
            )


def checkpoint_path(folder: str | Path, step: int) -> Path:
    """The path of the checkpoint of a step."""
    return Path(folder) / f"step-{step:08d}"


def step_of(checkpoint: Path) -> int:
    match = NAME.fullmatch(checkpoint.name)
    assert match
    return int(match[1])


def checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; one for each step."""
    named = sorted(
        (int(match[1]), match[2] is None, path)
        for path in Path(folder).glob("step-*")
        if (match := NAME.fullmatch(path.name)) and path.is_dir()
    )
    return list({step: path for step, _, path in named}.values())


def newest(folder: str | Path) -> Path:
    """The folder itself if it is a checkpoint, or the newest one inside it."""
    folder = Path(folder)
    if (folder / INDEX).is_file():
        return folder
    found = checkpoints(folder)
    if not found:
        raise ValueError(f"expected a checkpoint in {folder}, found none")
    return found[-1]


def _write(
    folder: Path, model: nn.Module, tokenizer: Tokenizer | None, state: dict
) -> None:
    tensors: dict[str, Tensor] = {}
    numbers = take_tensors_out(state, tensors, "")
    if tokenizer is not None:
        tokenizer.save(folder)
    weights = {unwrapped(name): p for name, p in model.state_dict().items()}
    save_file(_contiguous(weights), folder / MODEL)
    if tensors:
        save_file(_contiguous(tensors), folder / TRAINING)
    write_index(folder, type(model).__name__, model.config, tokenizer, numbers)


def write_index(
    folder: Path, kind: str, config: Any, tokenizer: Tokenizer | None, state: dict
) -> None:
    """Write checkpoint.json, with the checksums of all that is in the folder."""
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        sync(folder / name)
    content = {
        "format": FORMAT,
        "model": kind,
        "config": asdict(config),
        "tokenizer": tokenizer is not None,
        "state": state,
        "files": {name: sha256(folder / name) for name in names},
    }
    write_json(folder / INDEX, {"sha256": digest(content), "content": content})


def _contiguous(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous tensors on the CPU, as the file format requires."""
    return {
        name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
    }


def take_tensors_out(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Make `value` fit for JSON; its tensors move to `tensors`, under their paths."""
    if isinstance(value, Tensor):
        tensors[name] = value.clone()
        return {"tensor": name}
    value = as_number(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or "/" in key or key == "tensor":
                raise ValueError(
                    f"state{name}: expected keys of text without / that are not "
                    f"'tensor', got {key!r}"
                )
        return {
            key: take_tensors_out(inner, tensors, f"{name}/{key}")
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            take_tensors_out(inner, tensors, f"{name}/{i}")
            for i, inner in enumerate(value)
        ]
    if not isinstance(value, bool | int | float | str | None):
        raise ValueError(
            f"state{name}: expected a number, text or a tensor, got "
            f"{type(value).__name__}"
        )
    return value


def put_tensors_back(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `take_tensors_out`; tuples come back as lists."""
    if isinstance(value, dict):
        if value.keys() == {"tensor"}:
            return tensors[value["tensor"]]
        return {key: put_tensors_back(inner, tensors) for key, inner in value.items()}
    if isinstance(value, list):
        return [put_tensors_back(inner, tensors) for inner in value]
    return value


def read_index(path: Path) -> dict:
    """Read the content of a checkpoint.json, whose own checksum must be right."""
    stored = read_json(path)
    content = stored.get("content")
    if not isinstance(content, dict) or digest(content) != stored.get("sha256"):
        raise ValueError(
            f"{path}: the checksum is wrong; the file was changed or cut short"
        )
    for field, kind in FIELDS.items():
        if not isinstance(content.get(field), kind):
            raise ValueError(
                f"{path}: expected {field}, got {content.get(field)!r:.60}"
            )
    if content["format"] != FORMAT:
        raise ValueError(
            f"{path.parent}: expected a checkpoint of format {FORMAT}, got one of "
            f"format {content['format']}; train again, or load it with the version of "
            "mygpt that saved it"
        )
    if content["model"] not in MODELS:
        raise ValueError(
            f"{path}: expected a model among {', '.join(MODELS)}; "
            f"got {content['model']}"
        )
    for name in content["files"]:
        if Path(name).name != name:
            raise ValueError(f"{path}: expected plain file names, got {name!r}")
    return content


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read every tensor in a file, each into its own memory."""
    with open_tensors(path) as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118


def check_sum(path: Path, expected: str) -> None:
    """Raise a ValueError if the file is missing or not as it was saved."""
    if sha256(existing(path)) != expected:
        raise ValueError(
            f"{path}: the checksum is wrong; the file was changed or cut short"
        )


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(content: dict) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
