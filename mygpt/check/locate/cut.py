"""The line in which a program cuts the graph that gradients flow back through."""

import ast
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from mygpt.check.process.errors import readers_frame
from mygpt.check.syntax import lines_of, tree_of
from mygpt.check.tree import is_decimal, parts_of

OFF = re.compile("no_grad|inference_mode|set_grad_enabled")
LEAVES = ("item", "tolist", "numpy", "__float__", "__array__")  # no tensor comes out


class CutRecorder(TorchFunctionMode):
    """Note where numbers that need a gradient go in, and come out without a graph.

    places: file and line of each such call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[str, int]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        needs = any(one.requires_grad for one in parts_of((args, kwargs), Tensor))
        made = [one for one in parts_of(out, Tensor) if is_decimal(one)]
        name = getattr(func, "__name__", "")
        cut = name in LEAVES or any(not one.requires_grad for one in made)
        frame = readers_frame(sys._getframe(1)) if needs and cut else None
        if frame:
            place = frame.f_code.co_filename, frame.f_lineno
            off = None if torch.is_grad_enabled() else place_of_off(frame)
            self.places.append(off or place)
        return out


def place_of_off(frame: FrameType | None) -> tuple[str, int] | None:
    """Return the place, above that of a frame, that turns gradients off."""
    while frame := readers_frame(frame):
        file, line = frame.f_code.co_filename, frame.f_lineno
        for node in ast.walk(tree_of(file)):
            first, last = lines_of(node)
            heads = getattr(node, "items", getattr(node, "decorator_list", ()))
            off = [each for each in heads if OFF.search(ast.unparse(each))]
            if off and first <= line <= last:
                return file, getattr(off[0], "lineno", first)
        frame = frame.f_back
    return None


def line_of_cut(run: Callable[[], Any], file: str) -> int | None:
    """Return the only line of a file in which a run cuts the graph."""
    with suppress(Exception), CutRecorder() as recorder:
        run()
    lines = {line for name, line in recorder.places if name == file}
    return lines.pop() if len(lines) == 1 else None
