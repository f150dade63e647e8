"""GPT-2 checkpoints of Hugging Face, read and written."""

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn

from mygpt.checkpoint import check_savable
from mygpt.feed_forward import ACTIVATIONS
from mygpt.gpt import GPT, GPTConfig
from mygpt.support import tokenizer_files
from mygpt.support.arguments import (
    check_below_one,
    check_last_axis,
    check_positive,
    takes_numbers,
)
from mygpt.support.empty import build_empty
from mygpt.support.files import open_tensors, read_json, write_atomically, write_json

CONFIG, WEIGHTS, INDEX, SHARDS = (
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*.safetensors",
)
NOT_READ = ("bos_token_id", "eos_token_id", "pad_token_id", "task_specific_params")
ACTIVATION_NAMES = {  # theirs: ours
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
FIXED = {  # their settings that this GPT does not vary
    "model_type": "gpt2",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
}
TIED = "tie_word_embeddings"  # may be False where the two arrays are equal
DROPOUTS = ("embd_pdrop", "attn_pdrop", "resid_pdrop")  # 0.1 where not given
PREFIX, EMBEDDING, HEAD = "transformer.", "wte.weight", "lm_head.weight"
BLOCK = re.compile(r"\bh\.(\d+)\.")
MASKS = re.compile(r"h\.\d+\.attn\.(masked_)?bias")  # constants in old checkpoints


class Conv1D(nn.Module):
    """A linear layer with its weight stored (in, out), as GPT-2's checkpoints do."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... F"]:
        return x @ self.weight + self.bias


class GPT2MLP(nn.Module):
    """The feed-forward network under the checkpoint's own names, with the tanh GELU.

    It takes the state of a Hugging Face `h.N.mlp` as it is; in `GPT` the same numbers
    are `fc1` and `fc2`, transposed.
    """

    @takes_numbers
    def __init__(self, intermediate_size: int, config: GPTConfig):
        super().__init__()
        check_positive(intermediate_size=intermediate_size)
        self.c_fc = Conv1D(config.embed_dim, intermediate_size)
        self.act = ACTIVATIONS["gelu_tanh"]()
        self.c_proj = Conv1D(intermediate_size, config.embed_dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "... C"]) -> Float[Tensor, "... C"]:
        check_last_axis(x, embed_dim=len(self.c_fc.weight))
        return self.dropout(self.c_proj(self.act(self.c_fc(x))))


def load_gpt2(folder_or_name: str | Path) -> GPT:
    """A GPT from a checkpoint folder, or from the hub ("openai-community/gpt2").

    Weights become float32, however they were stored. The files are memory-mapped: their
    pages may be dropped while the model's own memory is filled. A damaged, missing or
    contradictory part is a ValueError that names the file and the field.
    """
    folder = find_folder(folder_or_name)
    config = read_config(folder / CONFIG)
    with ExitStack() as stack:
        tensors = StoredTensors(folder, stack)
        if not read_json(folder / CONFIG).get(TIED, True) and HEAD not in tensors.files:
            raise ValueError(f"{folder / CONFIG}: {TIED} = False, and no {HEAD}")
        tensors.check_layers(config.num_layers)
        model = build_empty(GPT, config, folder / CONFIG)
        state = {
            name: tensors.read(theirs, part, parameter.shape)
            for (name, parameter), (theirs, part) in zip(
                model.named_parameters(), their_names(model), strict=True
            )
        }
        tensors.check_rest({theirs for theirs, _ in their_names(model)})
    model.load_state_dict(state, assign=True)
    return model.eval()


def save_gpt2(model: nn.Module, folder: str | Path) -> None:
    """Write a checkpoint folder that Hugging Face's GPT2LMHeadModel loads."""
    model = check_savable(model)
    fits = isinstance(model, GPT) and model.config.bias
    if not fits or model.config.attention_only:
        raise ValueError(
            "expected a GPT with biases and whole blocks, as GPT-2 has them, "
            f"got {model.config}"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[Tensor]] = {}
    for parameter, (theirs, _) in zip(
        model.parameters(), their_names(model), strict=True
    ):
        parts.setdefault(PREFIX + theirs, []).append(parameter.detach())
    tensors = {
        name: transpose_conv1d(name, torch.cat(pieces)).contiguous()
        for name, pieces in parts.items()
    }
    write_atomically(
        folder / WEIGHTS, lambda file: save_file(tensors, file, {"format": "pt"})
    )
    write_json(folder / CONFIG, their_config(model.config))
    (folder / INDEX).unlink(missing_ok=True)  # of a sharded checkpoint before this one


def find_folder(folder_or_name: str | Path) -> Path:
    """The folder itself, or where the hub's cache holds the checkpoint of that name."""
    if Path(folder_or_name).is_dir():
        return Path(folder_or_name)
    name = str(folder_or_name)
    if isinstance(folder_or_name, Path) or not re.fullmatch(
        r"[\w.-]+(/[\w.-]+)?", name
    ):
        raise ValueError(f"expected a checkpoint folder at {name}, found none")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ImportError(
            f"no folder {name!r} here; to look for that name on the hub: "
            "pip install 'mygpt[hub]'"
        ) from error
    try:
        patterns = [CONFIG, WEIGHTS, INDEX, SHARDS, *tokenizer_files.ALL]
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"no folder {name!r} here, and the hub gave no checkpoint of that name: "
            f"{reason}"
        ) from error


def left_behind(folder: Path) -> list[str]:
    """What a folder holds beside what `load_gpt2` and `BPETokenizer.load` read."""
    config = read_json(folder / CONFIG)
    fields = [f"{field} of {CONFIG}" for field in NOT_READ if config.get(field)]
    read = {CONFIG, WEIGHTS, INDEX, *tokenizer_files.CONTENTS}
    names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    return fields + [n for n in names if n not in read and not fnmatch(n, SHARDS)]


def read_config(path: Path) -> GPTConfig:
    """Read the shape from a config.json."""
    stored = read_json(path)
    for field, expected in FIXED.items():
        got = stored.get(field, expected)
        if got != expected:
            raise ValueError(f"{path}: expected {field} = {expected!r}, got {got!r}")
    activation = stored.get("activation_function", "gelu_new")
    if not isinstance(activation, str) or activation not in ACTIVATION_NAMES:
        raise ValueError(
            f"{path}: expected activation_function to be one of "
            f"{', '.join(ACTIVATION_NAMES)}; got {activation!r}"
        )
    sizes = {
        field: whole_number(path, stored, field)
        for field in ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer")
    }
    width = sizes["n_embd"]
    inner = stored.get("n_inner")
    inner = 4 * width if inner is None else whole_number(path, stored, "n_inner")
    if inner % width:
        raise ValueError(
            f"{path}: expected n_inner to be a multiple of n_embd = {width}, "
            f"got {inner}"
        )
    try:
        return GPTConfig(
            *sizes.values(),
            dropout=read_dropout(path, stored),
            activation=ACTIVATION_NAMES[activation],
            expansion=inner // width,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_dropout(path: Path, stored: dict) -> float:
    """The dropout rate; where they differ, which a GPT cannot have, the residuals'."""
    rates = [stored.get(field, 0.1) for field in DROPOUTS]
    for field, rate in zip(DROPOUTS, rates, strict=True):
        try:
            check_below_one(**{field: rate})
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    if len(set(rates)) > 1:
        warnings.warn(
            f"{path}: a GPT has one dropout rate; of "
            + ", ".join(f"{f} = {r}" for f, r in zip(DROPOUTS, rates, strict=True))
            + " it takes the last",
            stacklevel=4,
        )
    return rates[-1]


def whole_number(path: Path, stored: dict, field: str) -> int:
    value = stored.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"{path}: expected {field} to be a whole number of at least 1, "
            f"got {value!r}"
        )
    return value


def their_config(config: GPTConfig) -> dict:
    """The config.json of a GPT, for Hugging Face."""
    activation = next(
        theirs for theirs, ours in ACTIVATION_NAMES.items() if ours == config.activation
    )
    return FIXED | {
        TIED: True,
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.vocab_size,
        "n_positions": config.max_seq_len,
        "n_embd": config.embed_dim,
        "n_head": config.num_heads,
        "n_layer": config.num_layers,
        "n_inner": config.expansion * config.embed_dim,
        "activation_function": activation,
        **dict.fromkeys(DROPOUTS, config.dropout),
        "bos_token_id": None,
        "eos_token_id": None,
    }


def their_names(model: GPT) -> Iterator[tuple[str, int | None]]:
    """The checkpoint's name and part for each parameter of a GPT, in order.

    Queries, keys and values are parts 0, 1 and 2 of one tensor there.
    """
    layers = {
        "ln1": ("ln_1", None),
        "mha.W_Q": ("attn.c_attn", 0),
        "mha.W_K": ("attn.c_attn", 1),
        "mha.W_V": ("attn.c_attn", 2),
        "mha.W_O": ("attn.c_proj", None),
        "ln2": ("ln_2", None),
        "mlp.fc1": ("mlp.c_fc", None),
        "mlp.fc2": ("mlp.c_proj", None),
    }
    outside = {
        "token.embedding.weight": "wte.weight",
        "position.weight": "wpe.weight",
        "ln_f.weight": "ln_f.weight",
        "ln_f.bias": "ln_f.bias",
    }
    for name, _ in model.named_parameters():
        if name in outside:
            yield outside[name], None
            continue
        _, block, layer, kind = re.fullmatch(
            r"(blocks)\.(\d+)\.(.+)\.(weight|bias)", name
        ).groups()
        theirs, part = layers[layer]
        yield f"h.{block}.{theirs}.{kind}", part


def transpose_conv1d(name: str, tensor: Tensor) -> Tensor:
    """Swap (in, out) and (out, in) where the checkpoint stores a Conv1D's weight."""
    return tensor.T if re.search(r"\.c_\w+\.weight$", name) else tensor


class StoredTensors:
    """The tensors of a checkpoint folder, in one file or in shards, memory-mapped."""

    def __init__(self, folder: Path, stack: ExitStack):
        self.files = {}
        if (folder / INDEX).is_file() and not (folder / WEIGHTS).is_file():
            self.source = folder / INDEX
            weight_map = read_json(self.source).get("weight_map")
            if not isinstance(weight_map, dict):
                raise ValueError(f"{self.source}: expected an object weight_map")
            for name, shard in weight_map.items():
                if not isinstance(shard, str):
                    raise ValueError(
                        f"{self.source}: expected the file of {name}, got {shard!r}"
                    )
            opened = {
                shard: stack.enter_context(open_tensors(folder / Path(shard).name))
                for shard in sorted(set(weight_map.values()))
            }
            for name, shard in weight_map.items():
                if name not in opened[shard].keys():  # noqa: SIM118
                    raise ValueError(f"{folder / shard}: no tensor {name}")
                self.files[name] = opened[shard]
        else:
            self.source = folder / WEIGHTS
            pickles = sorted(folder.glob("pytorch_model*.bin"))
            if pickles and not self.source.is_file():
                raise ValueError(
                    f"{pickles[0]} is a pickle, which is not read: expected "
                    f"{WEIGHTS}, which transformers' save_pretrained writes"
                )
            file = stack.enter_context(open_tensors(self.source))
            self.files = dict.fromkeys(file.keys(), file)
        self.prefix = PREFIX if any(n.startswith(PREFIX) for n in self.files) else ""

    def read(self, name: str, part: int | None, shape: torch.Size) -> Tensor:
        """A float32 copy of a tensor, or of a part of it, of the shape expected."""
        theirs = self.prefix + name
        if name == EMBEDDING and theirs not in self.files and HEAD in self.files:
            theirs = HEAD  # a writer may store shared numbers once, as the head
        stored = self.files.get(theirs)
        if stored is None:
            raise ValueError(f"{self.source}: no tensor {theirs}")
        whole = stored.get_slice(theirs)
        expected = list(transpose_conv1d(name, torch.empty(shape, device="meta")).shape)
        if part is not None:
            expected[-1] *= 3
        if whole.get_shape() != expected:
            raise ValueError(
                f"{self.source}: expected {theirs} of shape {expected}, "
                f"got {whole.get_shape()}"
            )
        width = shape[0]
        start = None if part is None else part * width
        tensor = whole[...] if part is None else whole[..., start : start + width]
        copy = torch.empty(shape).copy_(transpose_conv1d(name, tensor))
        extremes = torch.stack(copy.aminmax())  # NaN if there is one anywhere
        if not tensor.is_floating_point() or not extremes.isfinite().all():
            raise ValueError(f"{self.source}: expected finite numbers in {theirs}")
        return copy

    def check_layers(self, num_layers: int) -> None:
        """Raise a ValueError unless the blocks stored are those of the config."""
        stored = {match[1] for name in self.files if (match := BLOCK.search(name))}
        if len(stored) != num_layers:
            raise ValueError(
                f"{self.source}: expected n_layer = {num_layers} blocks, "
                f"got {len(stored)}"
            )

    def check_rest(self, used: set[str]) -> None:
        """Raise a ValueError for tensors that a GPT-2 does not have."""
        names = {name.removeprefix(self.prefix) for name in self.files} - used
        rest = sorted(name for name in names if not MASKS.fullmatch(name))
        if HEAD in rest:
            rest.remove(HEAD)
            self.check_tied()
        if rest:
            raise ValueError(f"{self.source}: unexpected tensors {', '.join(rest[:5])}")

    def check_tied(self) -> None:
        head, name = self.files[HEAD].get_tensor(HEAD), self.prefix + EMBEDDING
        tokens = self.files.get(name)
        if tokens and not torch.equal(head, tokens.get_tensor(name)):
            raise ValueError(f"{self.source}: expected {HEAD} equal to {name} (tied)")
