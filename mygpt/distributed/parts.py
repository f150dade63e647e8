"""PyTorch's checkpoints in parts, imported by what reads or writes one: in a second."""

from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

__all__ = ["CheckpointException", "get_state_dict", "load", "save", "set_state_dict"]
