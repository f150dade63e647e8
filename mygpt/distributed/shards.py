"""One order of all windows of a text, shared by any number of processes."""

import hashlib

import torch
from jaxtyping import Int
from torch import Tensor

from mygpt.data import (
    Counts,
    DeviceLike,
    Ids,
    as_array,
    check_counts,
    fingerprint,
    gather,
)
from mygpt.support.arguments import (
    check_positive,
    check_seed,
    check_whole,
    takes_numbers,
)


def derived_seed(*numbers: int) -> int:
    """A seed that depends on all the numbers: neighbours give unrelated draws."""
    text = " ".join(map(str, numbers))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


class Shards:
    """Endless batches of which each process takes its part; the whole is the same.

    The ids are cut into windows of `length` tokens, what is left over at the end is not
    used, and each pass takes every window once, in an order of its own. A batch is the
    next `batch_size` windows of that order, for all processes together; the process
    `rank` of `world_size` takes the rows from rank · batch_size / world_size. The
    position is a single number, so a run can go on with another number of processes.
    """

    @takes_numbers
    def __init__(
        self,
        ids: Ids,
        batch_size: int,
        length: int,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        device: DeviceLike = "cpu",
        vocab_size: int | None = None,
    ):
        check_positive(batch_size=batch_size, length=length, world_size=world_size)
        check_whole(0, rank=rank)
        check_seed(seed)
        if rank >= world_size:
            raise ValueError(f"rank must be below {world_size}, got {rank}")
        check_split(batch_size, world_size)
        self.ids = as_array(ids, at_least=length + 1)
        self.num_windows = (len(self.ids) - 1) // length
        if self.num_windows < batch_size:
            raise ValueError(
                f"too few data: {len(self.ids)} ids are {self.num_windows} windows of "
                f"{length}, and a batch takes {batch_size}: expected a longer text or "
                "a smaller batch"
            )
        self.batch_size, self.length, self.seed = batch_size, length, seed
        self.rank, self.world_size = rank, world_size
        self.device, self.vocab_size = device, vocab_size
        self.counts: Counts = {
            "num_ids": len(self.ids),
            "batch_size": batch_size,
            "length": length,
            "seed": seed,
            "sha256": fingerprint(self.ids),
        }
        self.position = 0  # windows that all processes have taken
        self._pass, self._order = -1, torch.empty(0, dtype=torch.long)

    def __iter__(self) -> "Shards":
        return self

    def __next__(self) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        numbers = torch.tensor(self.next_windows())
        starts = (numbers * self.length).numpy()
        return gather(self.ids, starts, self.length, self.device, self.vocab_size)

    def next_windows(self) -> list[int]:
        """Take this process's windows of the next batch, by number."""
        share = self.batch_size // self.world_size
        first = self.position + self.rank * share
        self.position += self.batch_size
        return [self._window(i) for i in range(first, first + share)]

    def _window(self, i: int) -> int:
        """The window that comes i-th, counted from 0 through all passes."""
        number, place = divmod(i, self.num_windows)
        if number != self._pass:
            generator = torch.Generator().manual_seed(derived_seed(self.seed, number))
            self._order = torch.randperm(self.num_windows, generator=generator)
            self._pass = number
        return int(self._order[place])

    def state_dict(self) -> dict[str, int | str]:
        """The position, and what it counts."""
        return {"position": self.position, **self.counts}

    def load_state_dict(self, state: dict) -> None:
        """Continue where `state` was taken, by any number of processes."""
        check_counts(state, self.counts)
        check_whole(0, position=state.get("position"))
        self.position = state["position"]


def check_split(batch_size: int, world_size: int) -> None:
    """Raise a ValueError unless the processes can share the rows of a batch evenly."""
    if batch_size % world_size:
        more = -(-batch_size // world_size) * world_size
        raise ValueError(
            f"{world_size} processes cannot share a batch of {batch_size} rows evenly: "
            f"expected a batch of {more} rows or fewer processes"
        )
