"""Corpora by name or path, files of token ids, and batches of windows."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence, Sized
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from mygpt.support.arguments import (
    check_below_one,
    check_ids,
    check_positive,
    check_seed,
    takes_numbers,
)
from mygpt.support.files import write_atomically
from mygpt.world.corpus import World

Ids = Sequence[int] | np.ndarray | Tensor  # one sequence
DeviceLike = str | torch.device
Counts = dict[str, int | str]  # of what a position in ids is saved with

WORLD_ROWS = 20_000
STORIES = Path(__file__).with_name("corpora") / "stories.txt"
DAMAGED = (  # what NumPy raises for damaged .npy headers
    ValueError,
    TypeError,
    EOFError,
    SyntaxError,
    OverflowError,
    MemoryError,
    RecursionError,
    TokenError,
)
DOWNLOADS = {  # name: address, SHA-256
    "tinyshakespeare": (
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/"
        "tinyshakespeare/input.txt",
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    )
}


def load_corpus(name_or_path: str | os.PathLike) -> str:
    """The text of a known corpus, or of a UTF-8 file.

    "stories" comes with the package: 280 short stories about a harbour town, written
    for this book by a machine. "world" is made on the spot. "tinyshakespeare" is read
    from the folder in the environment variable MYGPT_DATA if it is there, and otherwise
    downloaded once. To read a file with one of these names, give its folder too:
    "./world".
    """
    if name_or_path == "world":
        return World().text(WORLD_ROWS)
    if name_or_path == "stories":
        return _read_text(STORIES)
    if name_or_path in DOWNLOADS:
        return _read_text(_fetch(name_or_path))
    path = Path(name_or_path)
    if not path.exists():
        known = ", ".join(("stories", "world", *DOWNLOADS))
        raise FileNotFoundError(f"no file {path}, and no corpus of that name ({known})")
    return _read_text(path)


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a text file")
    try:
        text = path.read_text(encoding="utf-8-sig")  # without its mark, if any
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start}"
        ) from error
    if not text.strip():
        raise ValueError(f"{path} holds no text")
    return text


def _fetch(name: str) -> Path:
    """Find a known corpus or download it, and check its hash either way."""
    address, expected = DOWNLOADS[name]
    folder = os.environ.get("MYGPT_DATA")
    if folder and (path := Path(folder) / f"{name}.txt").exists():
        _check_hash(path, expected)
        return path
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"downloading {name} needs pooch: pip install 'mygpt[hub]'"
        ) from error
    cache = pooch.os_cache("mygpt")
    try:
        path = pooch.retrieve(address, f"sha256:{expected}", f"{name}.txt", cache)
    except OSError as error:
        raise OSError(
            f"could not download {name} from {address}: {error}; "
            "give the path of a text file instead"
        ) from error
    return Path(path)


def _check_hash(path: Path, expected: str) -> None:
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    if got != expected:
        raise ValueError(f"{path}: expected SHA-256 {expected}, got {got}")


@takes_numbers
def split(ids: Ids, val_fraction: float = 0.1) -> tuple[Ids, Ids]:
    """Split ids: the last `val_fraction` is for validation, the rest for training."""
    check_below_one(val_fraction=val_fraction)
    cut = int(len(ids) * (1 - val_fraction))
    return ids[:cut], ids[cut:]


def write_tokens(ids: Ids | Iterable[int], path: str | os.PathLike) -> None:
    """Write ids, from any iterable, as a .npy file with 16 or 32 bits for each.

    The write is atomic: a failure leaves what was there before.
    """
    ids = ids if isinstance(ids, Sized) else np.fromiter(ids, np.int64)
    array = as_array(ids, at_least=1)
    low, high = array.min(), array.max()
    if low < 0 or high >= 2**32:
        raise ValueError(f"expected ids from 0 to 2^32 - 1, got {low} to {high}")
    array = array.astype(np.uint16 if high < 2**16 else np.uint32)
    write_atomically(Path(path), lambda temporary: _write_array(temporary, array))


def _write_array(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def open_tokens(path: str | os.PathLike) -> np.memmap:
    """Memory-map the ids in a file that `write_tokens` wrote."""
    path = Path(path)
    try:
        ids = np.lib.format.open_memmap(path, mode="r")
        whole = ids.offset + ids.nbytes == path.stat().st_size
        if not whole or ids.ndim != 1 or ids.dtype not in (np.uint16, np.uint32):
            raise ValueError(f"{ids.dtype} of shape {ids.shape}")
    except FileNotFoundError:
        raise
    except (OSError, *DAMAGED) as error:
        raise ValueError(
            f"{path} is not a complete file of token ids: {error}"
        ) from error
    return ids


class Batches:
    """Endless (inputs, targets), random windows of the ids; targets are one step ahead.

    The windows have a random generator of their own, which no other draw disturbs.
    `ids` is a list, an array, a tensor or a memory-mapped file; with `vocab_size`, the
    ids of each batch are checked before they go to the device.
    """

    @takes_numbers
    def __init__(
        self,
        ids: Ids,
        batch_size: int,
        length: int,
        seed: int = 0,
        device: DeviceLike = "cpu",
        vocab_size: int | None = None,
    ):
        check_positive(batch_size=batch_size, length=length)
        check_seed(seed)
        self.ids = as_array(ids, at_least=length + 1)
        self.batch_size, self.length, self.device = batch_size, length, device
        self.vocab_size = vocab_size
        self.counts: Counts = {
            "num_ids": len(self.ids),
            "batch_size": batch_size,
            "length": length,
            "sha256": fingerprint(self.ids),
        }
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        starts = torch.randint(
            len(self.ids) - self.length, (self.batch_size,), generator=self.generator
        )
        return gather(
            self.ids, starts.numpy(), self.length, self.device, self.vocab_size
        )

    def state_dict(self) -> dict[str, Any]:
        """The position: the generator's state, as a byte tensor, and what it counts."""
        return {"generator": self.generator.get_state(), **self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken; ids and counts must be the same."""
        check_counts(state, self.counts)
        try:
            self.generator.set_state(state["generator"])
        except (KeyError, TypeError, RuntimeError) as error:
            raise ValueError(
                f"generator: expected a random state, got {error}"
            ) from error


def fingerprint(ids: np.ndarray) -> str:
    """The SHA-256 of ids, the same for every type of number."""
    found = hashlib.sha256()
    for i in range(0, len(ids), 2**20):
        found.update(ids[i : i + 2**20].astype("<u4").tobytes())
    return found.hexdigest()


def check_counts(state: dict[str, Any], here: Counts) -> None:
    """Raise a ValueError unless a position was saved with the same counts as here."""
    for name, count in here.items():
        if name == "sha256" and state.get(name, count) != count:  # may be saved without
            raise ValueError(
                "cannot continue: expected the ids that the run was begun with, "
                "got as many others"
            )
        if name != "sha256" and state.get(name) != count:
            raise ValueError(
                f"cannot continue: the position was saved with {name} = "
                f"{state.get(name)}, but here it is {count}"
            )


@takes_numbers
def windows(
    ids: Ids,
    length: int,
    batch_size: int,
    device: DeviceLike = "cpu",
    vocab_size: int | None = None,
) -> Iterator[tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]]:
    """Batches of all the ids in order; each id but the first is a target exactly once.

    The last batch of whole windows may be smaller, and the ids that remain form one
    shorter window: weight the losses by their number of targets.
    """
    check_positive(batch_size=batch_size, length=length)
    ids = as_array(ids, at_least=2)
    starts = np.arange(0, len(ids) - length, length)
    groups = [
        (starts[i : i + batch_size], length) for i in range(0, len(starts), batch_size)
    ]
    done = len(starts) * length
    if done < len(ids) - 1:
        groups.append((np.array([done]), len(ids) - 1 - done))
    return (gather(ids, group, size, device, vocab_size) for group, size in groups)


def gather(
    ids: np.ndarray,
    starts: np.ndarray,
    length: int,
    device: DeviceLike,
    vocab_size: int | None,
) -> tuple[Tensor, Tensor]:
    """The windows that begin at `starts`, and the same windows one step ahead."""
    found = ids[starts[:, None] + np.arange(length + 1)]  # (B, T + 1)
    rows = torch.from_numpy(found.astype(np.int64))
    if vocab_size is not None:
        check_ids(found, vocab_size)
    pinned = torch.device(device).type == "cuda"
    if pinned:
        rows = rows.pin_memory()
    rows = rows.to(device, non_blocking=pinned)  # others may be freed first
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def usable(name: str, ids: Ids, at_least: int, vocab_size: int) -> np.ndarray:
    """The ids of an argument as an array, all of them of the vocabulary."""
    try:
        array = as_array(ids, at_least)
        check_ids(array, vocab_size)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return array


def as_array(ids: Ids, at_least: int) -> np.ndarray:
    """Ids of any kind as an array, not copied if they already are one."""
    array = ids.numpy(force=True) if isinstance(ids, Tensor) else np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"expected a sequence of ids, got shape {array.shape}")
    if len(array) < at_least:
        raise ValueError(f"expected at least {at_least} ids, got {len(array)}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"expected whole numbers as ids, got {array.dtype}")
    return array
