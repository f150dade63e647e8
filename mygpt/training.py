"""Training: batches in, a history out, and checkpoints that resume to the same bits."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from mygpt.checkpoint import load_checkpoint, save_checkpoint
from mygpt.checks import check_choice, check_positive
from mygpt.data import Batches, Ids, windows
from mygpt.modern import Muon, is_hidden_matrix
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
        "final_learning_rate": 0.0,
    },
}
NOT_OF_THE_RUN = ("eval_every", "save_every", "progress", "compile")


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; a setting that makes no sense is a ValueError.

    The learning rate rises linearly over `warmup_steps`; then "cosine" falls to
    `final_learning_rate` times its peak at the last step, and "linear" stays at the
    peak for `flat` of the steps before it falls. "muon" is for the matrices in the
    blocks, at `matrix_learning_rate` with `momentum`; AdamW has the rest.
    """

    steps: int
    batch_size: int = 12
    length: int | None = None  # positions in a row; the model's max_seq_len by default
    accumulate: int = 1  # batches whose gradients make one step
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    matrix_learning_rate: float = 0.02
    momentum: float = 0.95  # Muon's
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.1  # of matrices; vectors never decay
    clip: float | None = 1.0  # largest norm of the gradient
    schedule: str = "cosine"
    warmup_steps: int = 100
    flat: float = 0.4
    final_learning_rate: float = 0.1
    autocast: bool = False  # matrix products in bfloat16
    compile: bool = False
    seed: int = 0
    eval_every: int = 250
    save_every: int = 250
    progress: bool = True

    def __post_init__(self):
        check_positive(
            steps=self.steps,
            batch_size=self.batch_size,
            accumulate=self.accumulate,
            eval_every=self.eval_every,
            save_every=self.save_every,
            **({} if self.length is None else {"length": self.length}),
        )
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("schedule", self.schedule, SCHEDULES)
        ranges = {
            "learning_rate": (0, math.inf),
            "matrix_learning_rate": (0, math.inf),
            "weight_decay": (0, math.inf),
            "warmup_steps": (0, math.inf),
            "clip": (0, math.inf),
            "flat": (0, 1),
            "final_learning_rate": (0, 1),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if value is not None and not (low <= value <= high and value < math.inf):
                raise ValueError(f"{name} must be from {low} to {high}, got {value!r}")
        if not 0 <= self.momentum < 1:
            raise ValueError(
                f"momentum must be at least 0 and below 1, got {self.momentum!r}"
            )

    @classmethod
    def stored(cls, settings: dict, **changes) -> "TrainingConfig":
        """From the JSON of a checkpoint's state, which knows no tuples."""
        return cls(**settings | {"betas": tuple(settings["betas"])} | changes)

    def scale(self, step: int) -> float:
        """The share of the peak learning rate at a step, counted from 0."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        start = self.warmup_steps
        if self.schedule == "linear":
            start = max(start, self.flat * self.steps)
        done = min(1.0, max(0.0, (step - start) / max(1, self.steps - start)))
        fall = done if self.schedule == "linear" else (1 - math.cos(math.pi * done)) / 2
        return 1 - (1 - self.final_learning_rate) * fall


@dataclass
class History:
    """What happened: one entry for each step, and for each evaluation."""

    loss: list[float] = field(default_factory=list)  # nats
    learning_rate: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)  # before clipping
    val_step: list[int] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)  # nats, over all of val_data
    seconds: list[float] = field(default_factory=list)  # of each step


def train(
    model: nn.Module,
    data: Ids | Batches,
    config: TrainingConfig,
    *,
    val_data: Ids | None = None,
    out: str | Path | None = None,
    tokenizer: Tokenizer | None = None,
    resume: bool = False,
) -> History:
    """Train a model in place on token ids, or on batches of your own.

    With `out`, checkpoints are saved there with the tokenizer; with `resume` too,
    training goes on from the newest one, and ends with the same bits as if it had not
    been interrupted. A loss that is not a number stops it before anything is saved.
    """
    if resume and out is None:
        raise ValueError("resume=True needs out, the folder of the checkpoints")
    run = Run(model, data, config)
    if resume:
        run.load(out)
    bar = tqdm(
        total=config.steps, initial=run.step, disable=not config.progress, unit="step"
    )
    with torch.random.fork_rng(), bar:
        set_random_state(run.random_state)
        while run.step < config.steps:
            run.take_step()
            last = run.step == config.steps
            if val_data is not None and (run.step % config.eval_every == 0 or last):
                run.evaluate(val_data)
            if out is not None and (run.step % config.save_every == 0 or last):
                save_checkpoint(out, model, tokenizer, run.state())
            bar.set_postfix(run.report(), refresh=False)
            bar.update()
    return run.history


class Run:
    """A training run between two steps."""

    def __init__(self, model: nn.Module, data: Ids | Batches, config: TrainingConfig):
        self.model, self.config = model, config
        self.device = next(model.parameters()).device
        self.length = config.length or model.config.max_seq_len
        self.batches = (
            data
            if isinstance(data, Batches)
            else Batches(data, config.batch_size, self.length, config.seed, self.device)
        )
        self.optimizers = make_optimizers(model, config)
        self.forward = torch.compile(model) if config.compile else model
        self.history = History()
        self.step = 0
        with torch.random.fork_rng():
            torch.manual_seed(config.seed)
            self.random_state = get_random_state()

    def take_step(self) -> None:
        """One step of the optimizers on `accumulate` batches."""
        start = time.perf_counter()
        scale = self.config.scale(self.step)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * scale
        self.model.train()
        loss = self.gradients()
        norm = self.clip_gradients()
        if not math.isfinite(loss + norm):
            raise FloatingPointError(
                f"the loss is {loss} and its gradient's norm {norm} at step {self.step}"
                f" (learning rate {self.config.learning_rate * scale:.3g}); "
                "the last checkpoint is from before"
            )
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        self.history.loss.append(loss)
        self.history.grad_norm.append(norm)
        self.history.learning_rate.append(self.config.learning_rate * scale)
        self.history.seconds.append(time.perf_counter() - start)

    def gradients(self) -> float:
        """Add up the gradients of the mean loss; return that loss."""
        total = 0.0
        for _ in range(self.config.accumulate):
            inputs, targets = next(self.batches)
            with self.precision():
                _, loss = self.forward(inputs, targets)
            (loss / self.config.accumulate).backward()
            total += loss.item() / self.config.accumulate
        return total

    def clip_gradients(self) -> float:
        """Scale them down to the norm `clip`; return the norm that they had."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters])
        if self.config.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.config.clip, norm)
        return norm.item()

    def precision(self):
        if not self.config.autocast:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def evaluate(self, val_data: Ids) -> None:
        with self.precision():
            loss = evaluate(self.forward, val_data, self.length, device=self.device)
        self.history.val_step.append(self.step)
        self.history.val_loss.append(loss)

    def report(self) -> dict[str, str]:
        """For the progress bar."""
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
        """All that `load` needs, as `save_checkpoint` takes it."""
        return {
            "step": self.step,
            "config": asdict(self.config),
            "optimizers": [keyed(o.state_dict(), str) for o in self.optimizers],
            "batches": self.batches.state_dict(),
            "random_state": get_random_state(),
            "history": asdict(self.history),
        }

    def load(self, folder: str | Path) -> None:
        """Continue from the newest checkpoint in a folder; it must be of this run."""
        saved, _, state = load_checkpoint(folder)
        if saved.config != self.model.config:
            raise ValueError(
                f"{folder}: expected a model of {self.model.config}, got {saved.config}"
            )
        begun = TrainingConfig.stored(state["config"])
        for name in (f.name for f in fields(TrainingConfig)):
            here, there = getattr(self.config, name), getattr(begun, name)
            if name not in NOT_OF_THE_RUN and here != there:
                raise ValueError(
                    f"{folder}: the run was begun with {name} = {there!r}, "
                    f"and cannot go on with {here!r}"
                )
        self.model.load_state_dict(saved.state_dict())
        for optimizer, stored in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(keyed(stored, int))
        self.batches.load_state_dict(state["batches"])
        self.random_state = state["random_state"]
        self.history = History(**state["history"])
        self.step = state["step"]


def get_random_state() -> dict[str, list[Tensor]]:
    """Of the processor and of every CUDA device: dropout draws from them."""
    return {"cpu": [torch.get_rng_state()], "cuda": torch.cuda.get_rng_state_all()}


def set_random_state(state: dict[str, list[Tensor]]) -> None:
    torch.set_rng_state(state["cpu"][0])
    torch.cuda.set_rng_state_all(state["cuda"])


def keyed(state: dict, kind: Callable) -> dict:
    """An optimizer's state with the numbers of its parameters as text, or back."""
    return state | {"state": {kind(key): v for key, v in state["state"].items()}}


def make_optimizers(
    model: nn.Module, config: TrainingConfig
) -> list[torch.optim.Optimizer]:
    """AdamW, with decoupled decay of matrices alone; Muon for the hidden ones if asked.

    The decay is Loshchilov and Hutter's (2019): lr × decay × weight, apart from the
    gradient.
    """
    named = list(model.named_parameters())
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
    optimizers = [adamw]
    if hidden:
        optimizers.append(
            Muon(hidden, lr=config.matrix_learning_rate, momentum=config.momentum)
        )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


@torch.no_grad()
def evaluate(
    model: nn.Module, ids: Ids, length: int, batch_size: int = 128, device="cpu"
) -> float:
    """The mean loss in nats over every token of `ids` but the first."""
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for inputs, targets in windows(ids, length, batch_size, device):
        total += model(inputs, targets)[1].item() * targets.numel()
        count += targets.numel()
    model.train(was_training)
    return total / count
