"""The same training on many processes, on torch.distributed.

Each process runs the same program; `torchrun` or `mygpt train --processes` starts them.

    with connected():
        history = train(model, ids, config, out="runs/a")

A checkpoint of many processes has the folder's form and index of a checkpoint of one
(see `checkpoint`), and PyTorch's distributed checkpoint in place of the two files of
tensors. Any number of processes can go on from it. PyTorch reads its `.metadata` with
pickle: as with any pickle, load only what you trust.
"""

import os
import shutil
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast
from uuid import uuid4
from weakref import WeakSet

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from mygpt.checkpoint import (
    check_savable,
    checkpoint_path,
    checkpoints,
    newest,
    put_in_place,
    read_config,
    read_content,
    remove_earlier,
    without_wrapper,
    write_index,
)
from mygpt.data import DeviceLike, Ids, usable, windows
from mygpt.distributed.shards import Shards, derived_seed
from mygpt.gpt import LanguageModel
from mygpt.support.arguments import check_above_zero
from mygpt.support.available_memory import TIMEOUT
from mygpt.support.files import held
from mygpt.support.interrupts import deferred
from mygpt.support.modes import evaluating
from mygpt.tokenizers import Tokenizer, load_tokenizer
from mygpt.training import (
    History,
    Loss,
    Run,
    Source,
    TrainingConfig,
    check_out,
    next_token_loss,
)

METADATA = ".metadata"  # PyTorch's name for the list of the tensors' parts
# What PyTorch says when another process does not answer, and when it is gone. Gloo
# raises a bare RuntimeError for both: only the words tell them apart. They are read in
# `waiting_for_others` alone, which turns them into types.
SILENT = ("Timed out", "timed out connecting", "wait timeout", "Socket Timeout")
GONE = (
    "Connection closed by peer",
    "Connection reset",
    "Broken pipe",
    "connectFullMesh",
    "failed to connect",
)
copies: WeakSet[DistributedDataParallel] = WeakSet()  # that need the other processes


class LostProcessError(ConnectionError):
    """Another process of the run is gone."""


class SilentProcessError(LostProcessError):
    """Another process of the run did not answer in time."""


@contextmanager
def connected(device: DeviceLike = "cpu", timeout: float = TIMEOUT) -> Iterator[None]:
    """Connect with the other processes; inside, `train` can be called.

    Processes find each other by the environment variables that torchrun sets. None of
    them waits for another for more than `timeout` seconds; a process that is gone, or
    silent for so long, is a ConnectionError. Afterwards no run can take a step.
    """
    check_above_zero(timeout=timeout)
    missing = [n for n in ("RANK", "WORLD_SIZE", "MASTER_PORT") if n not in os.environ]
    if missing:
        raise ValueError(
            f"expected a process that torchrun started, but {missing[0]} is not set: "
            "use torchrun, or mygpt train --processes"
        )
    backend = "nccl" if torch.device(device).type == "cuda" else "gloo"
    try:
        with waiting_for_others():
            dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        yield
    finally:
        if dist.is_initialized():
            disconnect()


def disconnect() -> None:
    """End the group of processes, first of all what DDP's copies hold of it.

    A copy that outlives the group, in a variable or an exception's traceback, would end
    it later with Python's lock held, and wait for a thread that waits for that lock.
    """
    for copy in copies:
        del copy.reducer, copy.logger, copy.process_group
    copies.clear()
    dist.destroy_process_group()


@contextmanager
def waiting_for_others() -> Iterator[None]:
    """Turn PyTorch's errors about a missing process into a LostProcessError."""
    try:
        yield
    except RuntimeError as error:
        text = str(error)
        silent = any(words in text for words in SILENT)
        if not silent and not any(words in text for words in GONE):
            raise
        kind = SilentProcessError if silent else LostProcessError
        reason = text.splitlines()[0][:200]
        raise kind(
            f"process {os.environ.get('RANK', '?')} lost another process ({reason}); "
            "start the same command again with --resume"
        ) from error


def train(
    model: nn.Module,
    data: Ids | Source,
    config: TrainingConfig,
    *,
    shard: bool = False,
    loss: Loss = next_token_loss,
    val_data: Ids | None = None,
    out: str | Path | None = None,
    tokenizer: Tokenizer | None = None,
    resume: bool = False,
) -> History:
    """Train as `training.train` does, with the work shared by all processes.

    Every process calls it with the same arguments. `batch_size` is that of all
    processes together: each takes its part, and the losses are those of one process, to
    rounding. Each has a copy of the model and of the optimizer's averages; with `shard`
    each holds a part of them (FSDP2), and gathers a block's weights when it needs them.
    `out` is a folder that every process sees. With `resume`, training goes on from the
    newest checkpoint there, on any number of processes: with the same bits at the same
    number, and to rounding at another. A folder without one begins a run.
    """
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the checkpoints")
    if shard and config.optimizer == "muon":
        raise ValueError(
            "muon needs whole matrices, and shard=True splits them: "
            "expected optimizer='adamw' or shard=False"
        )
    model = without_wrapper(model)
    if val_data is not None:
        vocab_size = without_wrapper(model).config.vocab_size
        val_data = usable("val_data", val_data, 2, vocab_size)
    with waiting_for_others(), ExitStack() as stack:
        if out is not None:
            on_first(lambda: check_out(out, resume))
            on_first(lambda: stack.enter_context(held(out)))
            check_seen_by_all(Path(out))
            check_savable(model, tokenizer)
        run = SharedRun(model, data, config, loss, shard)
        if resume and out is not None and on_first(lambda: bool(checkpoints(out))):
            run.load(out)
        return run.to_the_end(val_data, out, tokenizer)


def check_seen_by_all(folder: Path, seconds: float = 5) -> None:
    """Raise a ValueError unless every process sees what the first one writes there."""
    name = on_first(lambda: make_mark(folder))
    end = time.monotonic() + seconds  # a network drive may take a moment
    while not (folder / name).exists() and time.monotonic() < end:
        time.sleep(0.05)
    blind = [None] * dist.get_world_size()
    here = None if (folder / name).exists() else socket.gethostname()
    dist.all_gather_object(blind, here)
    on_first((folder / name).unlink)
    for rank, machine in enumerate(blind):
        if machine is not None:
            raise ValueError(
                f"{folder}: process {rank}, on {machine}, does not see what process 0 "
                "wrote there: expected one folder that every machine sees"
            )


def make_mark(folder: Path) -> str:
    """Make an empty file with a name of its own."""
    name = f".seen-by-all-{uuid4().hex}"
    (folder / name).touch()
    return name


class SharedRun(Run):
    """A training run of all processes, between two steps."""

    def __init__(
        self,
        model: nn.Module,
        data: Ids | Source,
        config: TrainingConfig,
        loss: Loss = next_token_loss,
        shard: bool = False,
    ):
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        config = replace(config, progress=config.progress and self.rank == 0)
        for tensor in (*model.parameters(), *model.buffers()):
            dist.broadcast(tensor.detach(), 0)
        self.kind, self.shard = type(model).__name__, shard
        if shard:  # which changes the model's class
            split_parameters(model)
        self.asked: list[int] = []  # to stop, by signals that this process got
        self.stops = False  # whether any process was asked
        super().__init__(model, data, config, loss)
        if not shard:
            copy = DistributedDataParallel(self.forward, gradient_as_bucket_view=True)
            copies.add(copy)
            self.forward = cast(LanguageModel, copy)
            self.settle_order()

    def settle_order(self) -> None:
        """Let DDP choose, before the first step, in which order it sends gradients.

        It changes that order once, after the first backward pass, and with more than
        two processes the order decides how sums are rounded: a resumed run would end
        with other bits.
        """
        ids = torch.zeros(1, 1, dtype=torch.long, device=self.device)
        self.forward(ids, ids)[1].backward()
        self.model.zero_grad()

    def windows_of(self, ids: Ids) -> Shards:
        return Shards(
            ids,
            self.config.batch_size,
            self.length,
            self.config.seed,
            self.rank,
            self.world_size,
            self.device,
            self.model.config.vocab_size,
        )

    def take_step(self) -> None:
        """Take one step; dropout's draws depend on seed, step and process alone."""
        torch.manual_seed(derived_seed(self.config.seed, self.step, self.rank))
        super().take_step()
        if self.stops:
            raise KeyboardInterrupt

    def to_the_end(self, *arguments: Any) -> History:
        """Take the steps that are left; a signal to any process stops all after one."""
        with deferred() as self.asked:
            return super().to_the_end(*arguments)

    def save_interrupted(self, out: str | Path, tokenizer: Tokenizer | None) -> None:
        """Save, unless this process alone stops."""
        if self.stops:
            super().save_interrupted(out, tokenizer)

    def gradients(self) -> float:
        """Add up the gradients; return the mean loss of all processes."""
        told = [super().gradients(), float(bool(self.asked))]
        sums = torch.tensor(told, device=self.device)
        dist.all_reduce(sums)
        loss, asked = sums.tolist()
        self.stops = asked > 0
        return loss / self.world_size

    def sending(self, last: bool) -> AbstractContextManager:
        if self.shard:
            cast(Any, self.model).set_requires_gradient_sync(last)
            return nullcontext()
        return nullcontext() if last else cast(Any, self.forward).no_sync()

    def clip_gradients(self) -> float:
        if not self.shard:
            return super().clip_gradients()
        most = float("inf") if self.config.clip is None else self.config.clip
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), most)
        return cast(Any, norm).full_tensor().item()

    def evaluate(self, val_data: Ids) -> None:
        with self.precision():
            loss = evaluate(self.model, val_data, self.length, device=self.device)
        self.history.val_step.append(self.step)
        self.history.val_loss.append(loss)

    def state(self) -> dict:
        """What JSON holds of the run; the tensors are in `tensors`."""
        return {
            "step": self.step,
            "device": self.device.type,
            "config": asdict(self.config),
            "processes": self.world_size,
            "shard": self.shard,
            "val_data": self.val_mark,
            "batches": self.batches.state_dict(),
            "history": asdict(self.history),
        }

    def tensors(self) -> dict[str, Any]:
        """The model and the optimizers' averages, this process's parts of them."""
        from mygpt.distributed import parts

        model, optimizer = parts.get_state_dict(self.model, self.optimizers)
        return {"model": model, "optimizer": optimizer}

    def save(self, out: str | Path, tokenizer: Tokenizer | None) -> None:
        """Write a checkpoint together; nobody goes on before it is in place."""
        from mygpt.distributed import parts

        final = checkpoint_path(out, self.step)
        temporary = final.with_name(f".{final.name}.tmp")

        def begin() -> None:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)

        def finish() -> None:
            if tokenizer is not None:
                tokenizer.save(temporary)
            shape = self.model.config
            write_index(temporary, self.kind, shape, tokenizer, self.state())
            put_in_place(temporary, final)
            remove_earlier(out, self.step)

        try:
            on_first(begin)
            parts.save(self.tensors(), checkpoint_id=temporary)
            on_first(finish)
        except BaseException as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if not isinstance(error, OSError | parts.CheckpointException):
                raise
            raise OSError(
                f"{final}: saving the checkpoint failed: {reason_of(error)}"
            ) from error

    def load(self, folder: str | Path) -> None:
        """Continue from the newest checkpoint in a folder; it must be of this run."""
        from mygpt.distributed import parts

        folder = newest(folder)
        content = on_first(lambda: read_shared(folder))
        self.check_same(
            folder, read_config(folder, content)[1], content["state"]["config"]
        )
        tensors = self.tensors()
        read_into(tensors, folder)
        parts.set_state_dict(
            self.model,
            self.optimizers,
            model_state_dict=tensors["model"],
            optim_state_dict=tensors["optimizer"],
        )
        self.load_progress(content["state"])


def split_parameters(model: nn.Module) -> None:
    """Split every block's parameters over the processes, then the rest (FSDP2)."""
    from torch.distributed.fsdp import fully_shard  # from torch 2.6

    for block in cast(Any, model).blocks:
        fully_shard(block)
    fully_shard(model)


@torch.no_grad()
def evaluate(
    model: LanguageModel,
    ids: Ids,
    length: int,
    batch_size: int = 128,
    device: DeviceLike = "cpu",
) -> float:
    """`training.evaluate`, the batches shared by all processes."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(2, dtype=torch.float64, device=device)
    with evaluating(model):
        batches = windows(ids, length, batch_size, device, model.config.vocab_size)
        while turn := list(islice(batches, world_size)):
            inputs, targets = turn[min(rank, len(turn) - 1)]
            loss = model(inputs, targets)[1].item()
            if rank < len(turn):  # the others only helped to gather the weights
                total += total.new_tensor([loss * targets.numel(), targets.numel()])
    # FSDP keeps the root's weights gathered after a forward pass, and the next backward
    # pass would then miss their gradients.
    if reshard := getattr(model, "reshard", None):
        reshard()
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def on_first(work: Callable[[], Any]) -> Any:
    """Do something in the first process; all get what it returns or raises."""
    told: list[Any] = [None, None]
    if dist.get_rank() == 0:
        try:
            told[0] = work()
        except (OSError, ValueError) as error:
            told[1] = error
    dist.broadcast_object_list(told)
    if told[1] is not None:
        raise told[1]
    return told[0]


def read_shared(folder: Path) -> dict:
    """Read and check the index of a checkpoint that many processes saved."""
    content = read_content(folder)
    if METADATA not in content["files"]:
        raise ValueError(
            f"{folder} was saved by one process without torchrun: "
            "continue it in the same way, or name another folder"
        )
    return content


def read_into(tensors: dict[str, Any], folder: Path, **options: Any) -> None:
    from mygpt.distributed import parts

    try:
        parts.load(tensors, checkpoint_id=folder, **options)
    except (OSError, KeyError, parts.CheckpointException) as error:
        raise ValueError(f"{folder}: loading failed: {reason_of(error)}") from error


def reason_of(error: BaseException) -> str:
    """The first line of an error, or of the first process's that failed with it."""
    from mygpt.distributed import parts

    if isinstance(error, parts.CheckpointException):
        rank, (inner, _) = min(error.failures.items())
        return f"process {rank}: {inner}"
    return str(error).splitlines()[0]


def is_shared(folder: str | Path) -> bool:
    """Whether the newest checkpoint in a folder is of many processes' run."""
    return (newest(folder) / METADATA).is_file()


def load_checkpoint(folder: str | Path) -> tuple[LanguageModel, Tokenizer | None, dict]:
    """Load (model, tokenizer, state) of many processes' run into this one process."""
    folder = newest(folder)
    content = read_shared(folder)
    model_class, config = read_config(folder, content)
    with torch.random.fork_rng():
        model = model_class(config)
    weights: dict[str, Tensor] = model.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that says what no_dist says
        read_into({"model": weights}, folder, no_dist=True)
    model.load_state_dict(weights)
    tokenizer = load_tokenizer(folder) if content["tokenizer"] else None
    return model, tokenizer, content["state"]
