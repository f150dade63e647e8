"""Moved to `mygpt.arguments`."""

from mygpt.moved import moved

__getattr__ = moved(__name__, {"*": "mygpt.arguments"})
