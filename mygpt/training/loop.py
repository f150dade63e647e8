"""The loop: batches in, a history out, and checkpoints that resume to the same bits."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn
from tqdm import tqdm

from mygpt.checkpoint import (
    INDEX,
    check_savable,
    checkpoint_path,
    checkpoints,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    without_wrapper,
)
from mygpt.data import Batches, DeviceLike, Ids, as_array, fingerprint, usable, windows
from mygpt.gpt import LanguageModel
from mygpt.support.files import check_folder, held
from mygpt.support.interrupts import deferred
from mygpt.support.modes import evaluating
from mygpt.tokenizers import Tokenizer
from mygpt.training.config import TrainingConfig
from mygpt.training.optimizers import make_optimizers

NOT_OF_THE_RUN = ("eval_every", "save_every", "progress", "compile")


@dataclass
class History:
    """The record of a run: one entry for each step, and for each evaluation."""

    loss: list[float] = field(default_factory=list)  # nats
    learning_rate: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)  # before clipping
    val_step: list[int] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)  # nats, over all of val_data
    seconds: list[float] = field(default_factory=list)  # of each step


@runtime_checkable
class Source(Protocol):
    """Endless batches, tuples of tensors, whose position can be saved and restored."""

    def __next__(self) -> tuple[Tensor, ...]: ...
    def state_dict(self) -> dict: ...
    def load_state_dict(self, state: dict) -> None: ...


Loss = Callable[[Any, tuple[Tensor, ...]], Tensor]


def next_token_loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """The model's own loss on (inputs, targets)."""
    return model(*batch)[1]


def train(
    model: nn.Module,
    data: Ids | Source,
    config: TrainingConfig,
    *,
    loss: Loss = next_token_loss,
    val_data: Ids | None = None,
    out: str | Path | None = None,
    tokenizer: Tokenizer | None = None,
    resume: bool = False,
) -> History:
    """Train a model in place on token ids, or on batches of your own.

    `loss(model, batch)` gives the scalar to minimise. With `out`, checkpoints are saved
    there with the tokenizer; a folder that holds another run is a ValueError. With
    `resume` as well, training continues from the newest checkpoint, and ends with the
    same bits as if it had not been interrupted. A KeyboardInterrupt saves the whole
    steps, and is raised again. A loss that is not a finite number stops training before
    anything is saved.
    """
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the checkpoints")
    if out is not None:
        check_out(out, resume)
        check_savable(model, tokenizer)
    if val_data is not None:
        vocab_size = without_wrapper(model).config.vocab_size
        val_data = usable("val_data", val_data, 2, vocab_size)
    run = Run(model, data, config, loss)
    with nullcontext() if out is None else held(out):
        if resume and out is not None:
            run.load(out)
        return run.to_the_end(val_data, out, tokenizer)


def check_out(
    folder: str | Path, resume: bool = False, how: str = "resume=True"
) -> None:
    """Raise an error if training would mix with another run, or cannot be saved."""
    check_folder(folder)
    if (Path(folder) / INDEX).is_file():
        raise ValueError(
            f"{folder} is a checkpoint: expected the folder of a run, "
            "which holds its checkpoints"
        )
    if checkpoints(folder) and not resume:
        raise ValueError(
            f"{folder} holds another run: continue it ({how}) or name another folder"
        )


class Run:
    """A training run, between two steps."""

    def __init__(
        self,
        model: nn.Module,
        data: Ids | Source,
        config: TrainingConfig,
        loss: Loss = next_token_loss,
    ):
        self.model: LanguageModel = without_wrapper(model)
        self.config, self.loss = config, loss
        self.device = next(model.parameters()).device
        self.length = config.length or self.model.config.max_seq_len
        vocab_size = self.model.config.vocab_size
        self.batches = (
            data
            if isinstance(data, Source)
            else self.windows_of(usable("data", data, self.length + 1, vocab_size))
        )
        self.optimizers = make_optimizers(self.model, config)
        self.forward = cast(
            LanguageModel, torch.compile(model) if config.compile else model
        )
        self.history = History()
        self.step = 0
        self.before: dict | None = None  # the position before an unfinished step
        self.val_mark: str | None = None  # of the validation ids
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.random_state = get_random_state()

    def windows_of(self, ids: Ids) -> Source:
        return Batches(
            ids,
            self.config.batch_size,
            self.length,
            self.config.seed,
            self.device,
            self.model.config.vocab_size,
        )

    def to_the_end(
        self,
        val_data: Ids | None = None,
        out: str | Path | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> History:
        """Take the steps that are left, evaluating and saving on the way."""
        config, steps = self.config, self.config.steps
        self.keep_validation(val_data)
        bar = tqdm(
            total=steps, initial=self.step, disable=not config.progress, unit="step"
        )
        with torch.random.fork_rng(), bar:
            set_random_state(self.random_state)
            try:
                late = self.evaluate_if_due(val_data)  # if that was interrupted
                if late and out is not None:
                    self.save(out, tokenizer)
                while self.step < steps:
                    self.take_step()
                    self.evaluate_if_due(val_data)
                    due = self.step % config.save_every == 0 or self.step == steps
                    if out is not None and due:
                        self.save(out, tokenizer)
                    bar.set_postfix(self.report(), refresh=False)
                    bar.update()
            except (KeyboardInterrupt, BrokenPipeError):
                if out is not None:
                    self.save_interrupted(out, tokenizer)
                raise
        self.model.zero_grad()
        return self.history

    def keep_validation(self, val_data: Ids | None) -> None:
        """Keep which ids validate; a ValueError if the run was begun with others."""
        if val_data is None:
            return
        mark = fingerprint(as_array(val_data, at_least=2))
        if self.val_mark not in (None, mark):
            raise ValueError(
                "val_data: expected the ids that the run was begun with, got others"
            )
        self.val_mark = mark

    def evaluate_if_due(self, val_data: Ids | None) -> bool:
        """Evaluate after each `eval_every` steps and the last, once."""
        due = self.step % self.config.eval_every == 0 or self.step == self.config.steps
        done = self.step == 0 or self.history.val_step[-1:] == [self.step]
        if val_data is None or done or not due:
            return False
        self.evaluate(val_data)
        return True

    def save_interrupted(self, out: str | Path, tokenizer: Tokenizer | None) -> None:
        """Save the whole steps, unless there are none or they are saved already."""
        if self.step and not checkpoint_path(out, self.step).exists():
            with deferred():
                self.save(out, tokenizer)

    def take_step(self) -> None:
        """Take one optimizer step on `accumulate` batches, whole or not at all."""
        start = time.perf_counter()
        self.before = self.position()
        scale = self.config.scale(self.step)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * scale
        self.model.train()
        self.model.zero_grad()  # gradients of the step before, or of the caller
        loss = self.gradients()
        norm = self.clip_gradients()
        if not math.isfinite(loss + norm):
            raise FloatingPointError(
                f"the loss is {loss} and its gradient's norm {norm} at step {self.step}"
                f" (learning rate {self.config.learning_rate * scale:.3g}); "
                "the last checkpoint is from before that"
            )
        with deferred():
            for optimizer in self.optimizers:
                optimizer.step()
            self.step += 1
            self.history.loss.append(loss)
            self.history.grad_norm.append(norm)
            self.history.learning_rate.append(self.config.learning_rate * scale)
            self.history.seconds.append(time.perf_counter() - start)
            self.before = None

    def gradients(self) -> float:
        """Add up the gradients of the mean loss; return that loss."""
        count = self.config.accumulate
        losses = []
        for i in range(count):
            batch = next(self.batches)
            with self.sending(last=i + 1 == count):
                with self.precision():
                    loss = self.loss(self.forward, batch)
                (loss / count).backward()
            losses.append(loss.detach())
        total = 0.0
        for loss in losses:  # not sooner: reading a loss waits for the device
            total += loss.item() / count
        return total

    def sending(self, last: bool) -> AbstractContextManager:
        """Where processes exchange gradients: after the `last` batch of a step."""
        return nullcontext()

    def clip_gradients(self) -> float:
        """Scale the gradients down to norm `clip`; return the norm that they had."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        if self.config.clip is not None:
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        else:
            norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        return norm.item()

    def save(self, out: str | Path, tokenizer: Tokenizer | None) -> None:
        save_checkpoint(out, self.model, tokenizer, self.state())

    def precision(self) -> AbstractContextManager:
        if not self.config.autocast:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def evaluate(self, val_data: Ids) -> None:
        with self.precision():
            loss = evaluate(self.forward, val_data, self.length, device=self.device)
        self.history.val_step.append(self.step)
        self.history.val_loss.append(loss)

    def report(self) -> dict[str, str]:
        """The figures for the progress bar."""
        last = self.history.seconds[-10:]
        tokens = self.config.batch_size * self.config.accumulate * self.length
        said = {
            "loss": f"{self.history.loss[-1]:.3f}",
            "tokens/s": f"{tokens * len(last) / sum(last):,.0f}",
        }
        if self.history.val_loss:
            said["val"] = f"{self.history.val_loss[-1]:.3f}"
        return said

    def position(self) -> dict:
        """Where batches and random numbers stand."""
        return {
            "batches": self.batches.state_dict(),
            "random_state": get_random_state(),
        }

    def state(self) -> dict:
        """Everything that `load` needs, in the form that `save_checkpoint` takes."""
        return {
            "step": self.step,
            "device": str(self.device),
            "config": asdict(self.config),
            "optimizers": [convert_keys(o.state_dict(), str) for o in self.optimizers],
            "val_data": self.val_mark,
            "history": asdict(self.history),
            **(self.before or self.position()),
        }

    def load(self, folder: str | Path) -> None:
        """Continue from the newest checkpoint in a folder; it must be of this run."""
        saved, _, state = load_checkpoint(folder)
        self.check_same(folder, saved.config, state["config"])
        load_weights(self.model, saved)
        for optimizer, stored in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(convert_keys(stored, int))
        self.random_state = state["random_state"]
        self.load_progress(state)

    def check_same(self, folder: str | Path, shape: Any, settings: dict) -> None:
        """Raise a ValueError unless a checkpoint is of this model and this run."""
        if shape != self.model.config:
            raise ValueError(
                f"{folder}: expected a model of {self.model.config}, got {shape}"
            )
        begun = TrainingConfig.stored(settings)
        for name in (f.name for f in fields(TrainingConfig)):
            here, there = getattr(self.config, name), getattr(begun, name)
            if name not in NOT_OF_THE_RUN and here != there:
                raise ValueError(
                    f"{folder}: the run was started with {name} = {there!r} "
                    f"and cannot continue with {here!r}"
                )

    def load_progress(self, state: dict) -> None:
        self.batches.load_state_dict(state["batches"])
        self.history = History(**state["history"])
        self.val_mark = state.get("val_data")
        self.step = state["step"]


def get_random_state() -> dict[str, list[Tensor]]:
    """The states of the CPU and CUDA generators, which dropout draws from."""
    return {"cpu": [torch.get_rng_state()], "cuda": torch.cuda.get_rng_state_all()}


def set_random_state(state: dict[str, list[Tensor]]) -> None:
    torch.set_rng_state(state["cpu"][0])
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])


def convert_keys(state: dict, kind: Callable[[Any], Any]) -> dict:
    """Convert the parameter numbers of an optimizer's state to text, or back."""
    return state | {"state": {kind(key): v for key, v in state["state"].items()}}


@torch.no_grad()
def evaluate(
    model: nn.Module,
    ids: Ids,
    length: int,
    batch_size: int = 128,
    device: DeviceLike = "cpu",
) -> float:
    """The mean loss in nats over every token of `ids` but the first."""
    vocab_size = cast(Any, model).config.vocab_size
    total, count = 0.0, 0
    with evaluating(model):
        for inputs, targets in windows(ids, length, batch_size, device, vocab_size):
            total += model(inputs, targets)[1].item() * targets.numel()
            count += targets.numel()
    return total / count
