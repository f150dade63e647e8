"""Training on several processes, and what a run on many devices costs."""

from mygpt.distributed.training import (
    SharedRun,
    connected,
    evaluate,
    is_shared,
    load_checkpoint,
    split_parameters,
    train,
)

__all__ = [
    "SharedRun",
    "connected",
    "evaluate",
    "is_shared",
    "load_checkpoint",
    "split_parameters",
    "train",
]
