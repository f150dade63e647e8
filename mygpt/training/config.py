"""The settings of a training run, their limits, and two recipes."""

import math
from dataclasses import dataclass
from typing import Any

from mygpt.support.arguments import (
    check_below_one,
    check_choice,
    check_flags,
    check_positive,
    check_range,
    check_seed,
    check_whole,
    named,
    store_numbers,
)

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
        store_numbers(self)
        counts = ("steps", "batch_size", "accumulate", "eval_every", "save_every")
        check_positive(**named(self, *counts))
        if self.length is not None:
            check_positive(length=self.length)
        check_whole(0, warmup_steps=self.warmup_steps)
        check_seed(self.seed)
        check_choice(OPTIMIZERS, optimizer=self.optimizer)
        check_choice(SCHEDULES, schedule=self.schedule)
        for name in ("learning_rate", "weight_decay"):
            check_range(0, math.inf, **named(self, name, f"matrix_{name}"))
        check_range(0, math.inf, clip=0 if self.clip is None else self.clip)
        check_range(0, 1, **named(self, "flat_share", "final_learning_rate_share"))
        check_below_one(momentum=self.momentum)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas must be a pair of numbers, got {self.betas!r}")
        for beta in self.betas:
            check_below_one(betas=beta)
        check_flags(**named(self, "autocast", "compile", "progress"))

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
