"""Training: batches in, a history out, and checkpoints that resume to the same bits."""

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

from mygpt.checkpoint import INDEX, checkpoints, load_checkpoint, save_checkpoint
from mygpt.data import Batches, DeviceLike, Ids, windows
from mygpt.gpt import LanguageModel
from mygpt.optimizers import Muon, is_hidden_matrix
from mygpt.support.arguments import (
    check_below_one,
    check_choice,
    check_flags,
    check_positive,
    check_range,
    check_seed,
    check_whole,
)
from mygpt.support.files import held
from mygpt.support.modes import evaluating
from mygpt.tokenizers import Tokenizer

OPTIMIZERS = ("adamw", "muon")
SCHEDULES = ("cosine", "linear")
RECIPES = {  # settings of TrainingConfig
    "gpt2": {},
    "modern": {
        "optimizer": "muon",
        "learning_rate": 0.02,
        "matrix_learning_rate": 0.04,
        "momentum": 0.85,
        "betas": (0.8, 0.95),
        "weight_decay": 0.0,
        "clip": None,
        "schedule": "linear",
        "warmup_steps": 0,
        "final_learning_rate_share": 0.0,
    },
}
NOT_OF_THE_RUN = ("eval_every", "save_every", "progress", "compile")


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; an invalid setting is a ValueError.

    steps: of the optimizer, in the whole run.
    batch_size: rows in a batch.
    length: positions in a row; None: the model's max_seq_len.
    accumulate: batches whose gradients are averaged for one step.
    optimizer: adamw, or muon for the matrices in the blocks and AdamW for the rest.
    learning_rate: AdamW's, at its peak.
    matrix_learning_rate: Muon's, at its peak.
    momentum: Muon's.
    betas: AdamW's.
    weight_decay: AdamW's, of matrices; vectors never decay.
    matrix_weight_decay: Muon's.
    clip: the largest norm allowed for the gradient, or None.
    schedule: of the learning rates after the warmup: cosine falls towards the final
        share, which it would reach one step after the last; linear stays at the peak,
        then falls in a straight line that would meet zero one step after the last, but
        not below the final share.
    warmup_steps: steps over which the learning rates rise in a straight line.
    flat_share: share of the steps before linear falls.
    final_learning_rate_share: share of the peak at the end.
    autocast: whether matrix products are in bfloat16.
    compile: whether the model is compiled by torch.compile.
    seed: of the batches and of dropout.
    eval_every: steps between two evaluations.
    save_every: steps between two checkpoints.
    progress: whether a progress bar is shown.
    """

    steps: int
    batch_size: int = 12
    length: int | None = None
    accumulate: int = 1
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    matrix_learning_rate: float = 0.02
    momentum: float = 0.95
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.1
    matrix_weight_decay: float = 0.0
    clip: float | None = 1.0
    schedule: str = "cosine"
    warmup_steps: int = 100
    flat_share: float = 0.4
    final_learning_rate_share: float = 0.1
    autocast: bool = False
    compile: bool = False
    seed: int = 0
    eval_every: int = 250
    save_every: int = 250
    progress: bool = True

    def __post_init__(self) -> None:
        check_positive(steps=self.steps, batch_size=self.batch_size)
        check_positive(accumulate=self.accumulate)
        check_positive(eval_every=self.eval_every, save_every=self.save_every)
        if self.length is not None:
            check_positive(length=self.length)
        check_whole(0, warmup_steps=self.warmup_steps)
        check_seed(self.seed)
        check_choice(OPTIMIZERS, optimizer=self.optimizer)
        check_choice(SCHEDULES, schedule=self.schedule)
        check_range(
            0,
            math.inf,
            learning_rate=self.learning_rate,
            matrix_learning_rate=self.matrix_learning_rate,
            weight_decay=self.weight_decay,
            matrix_weight_decay=self.matrix_weight_decay,
            clip=0 if self.clip is None else self.clip,
        )
        check_range(
            0,
            1,
            flat_share=self.flat_share,
            final_learning_rate_share=self.final_learning_rate_share,
        )
        check_below_one(momentum=self.momentum)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas must be a pair of numbers, got {self.betas!r}")
        for beta in self.betas:
            check_below_one(betas=beta)
        check_flags(autocast=self.autocast, compile=self.compile)
        check_flags(progress=self.progress)

    @classmethod
    def stored(cls, settings: dict, **changes: Any) -> "TrainingConfig":
        """The config in the JSON of a checkpoint's state, where tuples became lists."""
        return cls(**settings | {"betas": tuple(settings["betas"])} | changes)

    def scale(self, step: int) -> float:
        """The share of the peak learning rate at a step, counted from 0."""
        rise = min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.schedule == "linear":
            left = (1 - step / self.steps) / max(1 - self.flat_share, 1e-9)
            return rise * min(1.0, max(self.final_learning_rate_share, left))
        if step < self.warmup_steps:
            return rise
        done = (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps)
        fall = (1 - math.cos(math.pi * min(1.0, done))) / 2
        return 1 - (1 - self.final_learning_rate_share) * fall


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


Loss = Callable[[LanguageModel, tuple[Tensor, ...]], Tensor]


def next_token_loss(model: LanguageModel, batch: tuple[Tensor, ...]) -> Tensor:
    """The model's own loss on (inputs, targets)."""
    return model(*batch)[1]


def train(
    model: LanguageModel,
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
    same bits as if it had not been interrupted. A loss that is not a finite number
    stops training before anything is saved.
    """
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the checkpoints")
    if out is not None:
        check_out(out, resume)
    run = Run(model, data, config, loss)
    if resume and out is not None:
        run.load(out)
    with nullcontext() if out is None else held(out):
        return run.to_the_end(val_data, out, tokenizer)


def check_out(
    folder: str | Path, resume: bool = False, how: str = "resume=True"
) -> None:
    """Raise a ValueError if training would mix with another run."""
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
        model: LanguageModel,
        data: Ids | Source,
        config: TrainingConfig,
        loss: Loss = next_token_loss,
    ):
        self.model, self.config, self.loss = model, config, loss
        self.device = next(model.parameters()).device
        self.length = config.length or model.config.max_seq_len
        self.batches = data if isinstance(data, Source) else self.windows_of(data)
        self.optimizers = make_optimizers(model, config)
        self.forward = cast(
            LanguageModel, torch.compile(model) if config.compile else model
        )
        self.history = History()
        self.step = 0
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
        bar = tqdm(
            total=steps, initial=self.step, disable=not config.progress, unit="step"
        )
        with torch.random.fork_rng(), bar:
            set_random_state(self.random_state)
            while self.step < steps:
                self.take_step()
                last = self.step == steps
                if val_data is not None and (
                    self.step % config.eval_every == 0 or last
                ):
                    self.evaluate(val_data)
                if out is not None and (self.step % config.save_every == 0 or last):
                    self.save(out, tokenizer)
                bar.set_postfix(self.report(), refresh=False)
                bar.update()
        self.model.zero_grad()
        return self.history

    def take_step(self) -> None:
        """Take one optimizer step on `accumulate` batches."""
        start = time.perf_counter()
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
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        self.history.loss.append(loss)
        self.history.grad_norm.append(norm)
        self.history.learning_rate.append(self.config.learning_rate * scale)
        self.history.seconds.append(time.perf_counter() - start)

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

    def state(self) -> dict:
        """Everything that `load` needs, in the form that `save_checkpoint` takes."""
        return {
            "step": self.step,
            "device": str(self.device),
            "config": asdict(self.config),
            "optimizers": [convert_keys(o.state_dict(), str) for o in self.optimizers],
            "batches": self.batches.state_dict(),
            "random_state": get_random_state(),
            "history": asdict(self.history),
        }

    def load(self, folder: str | Path) -> None:
        """Continue from the newest checkpoint in a folder; it must be of this run."""
        saved, _, state = load_checkpoint(folder)
        self.check_same(folder, saved.config, state["config"])
        self.model.load_state_dict(saved.state_dict())
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


def make_optimizers(
    model: nn.Module, config: TrainingConfig
) -> list[torch.optim.Optimizer]:
    """AdamW that decays only matrices; Muon for the hidden ones if asked.

    The decay is decoupled (Loshchilov and Hutter 2019): lr × decay × weight, apart from
    the gradient.
    """
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    if not named:
        raise ValueError(
            "expected a model to train, got one whose parameters need no gradient, "
            "such as a model for inference"
        )
    hidden = [p for n, p in named if is_hidden_matrix(n, p)]
    if config.optimizer == "adamw":
        hidden = []
    taken = set(map(id, hidden))
    rest = [p for _, p in named if id(p) not in taken]
    groups = [
        {
            "params": [p for p in rest if p.ndim >= 2],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )
    optimizers: list[torch.optim.Optimizer] = [adamw]
    if hidden:
        muon = Muon(
            hidden,
            lr=config.matrix_learning_rate,
            momentum=config.momentum,
            weight_decay=config.matrix_weight_decay,
        )
        optimizers.append(muon)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


@torch.no_grad()
def evaluate(
    model: LanguageModel,
    ids: Ids,
    length: int,
    batch_size: int = 128,
    device: DeviceLike = "cpu",
) -> float:
    """The mean loss in nats over every token of `ids` but the first."""
    vocab_size = model.config.vocab_size
    total, count = 0.0, 0
    with evaluating(model):
        for inputs, targets in windows(ids, length, batch_size, device, vocab_size):
            total += model(inputs, targets)[1].item() * targets.numel()
            count += targets.numel()
    return total / count
