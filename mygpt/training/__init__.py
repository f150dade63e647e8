"""Training a model on token ids, or on batches of your own."""

from mygpt.training.config import RECIPES, TrainingConfig
from mygpt.training.loop import (
    History,
    Loss,
    Run,
    Source,
    check_out,
    evaluate,
    next_token_loss,
    train,
)
from mygpt.training.optimizers import Muon, make_optimizers

__all__ = [
    "RECIPES",
    "History",
    "Loss",
    "Muon",
    "Run",
    "Source",
    "TrainingConfig",
    "check_out",
    "evaluate",
    "make_optimizers",
    "next_token_loss",
    "train",
]
