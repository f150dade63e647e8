"""Moved to `mygpt.huggingface`."""

from mygpt.moved import moved

__getattr__ = moved(__name__, {"*": "mygpt.huggingface"})
