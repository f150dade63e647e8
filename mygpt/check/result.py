"""What a check found, as one screen of text and as JSON."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from mygpt.check.compare import show
from mygpt.check.task import Arguments
from mygpt.support.output import WHOLE_WORDS, WIDTH, wrapped

NOT_SENT = ("mend", "edit")  # the reader is to find it
SHOWN = (Tensor, str, int, float, list, tuple, dict)


@dataclass
class Result:
    """The outcome of one check.

    task: its name.
    passed: whether the program is right.
    stage: what failed: "load", "run", "type", "shape", "value", "gradient", "property",
        "effect" or "time"; "begin" if nothing is written yet; empty if nothing failed.
    mistake: name in the catalogue, if the program makes a known mistake.
    message: what is wrong, in one or two sentences; or which form passed.
    hints: what else was noticed.
    where: which steps are right, and which is the first that is not, if that was found.
    line, file: its line in the program; the file's name if that is another one.
    only: which line is the only thing wrong, if an edit of it makes all right.
    kind: of that edit: "a number in it".
    mend: the whole source with it; edit: it alone, in a sentence. Both are shown on
        request, and never in JSON.
    asked, section: what the function is to do, and where the book explains it.
    input, expected, got, index: the smallest input found that fails, as text.
    trace: the traceback of an error, shown on request.
    printed: what the program printed, in its first run and in its file.
    judged: where the verdict was made: "inside" the program's process, or "outside" it,
        from the values that it sent. A file is right only if it was judged outside.
    """

    task: str
    passed: bool
    stage: str = ""
    mistake: str | None = None
    message: str = ""
    hints: list[str] = field(default_factory=list)
    where: str = ""
    line: int | None = None
    file: str = ""
    only: str = ""
    kind: str = ""
    mend: str | None = None
    edit: str = ""
    asked: str = ""
    section: str = ""
    input: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    got: list[str] = field(default_factory=list)
    index: str = ""
    trace: str = ""
    printed: str = ""
    judged: str = "inside"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        more = ["", "  (the whole traceback: print(result.trace))"]
        return "\n".join(self.lines() + (more if self.trace else []))

    def lines(self) -> list[str]:
        """Write all but the traceback."""
        return self.verdict() + self.output()

    def output(self) -> list[str]:
        """Write what the program printed."""
        if not self.printed:
            return []
        lines = self.printed.splitlines()
        shown = [f"  | {line}" for line in lines[:20]] + ["  | …"] * (len(lines) > 20)
        return ["", "  your program printed:", *shown]

    def verdict(self) -> list[str]:
        if self.passed:
            lines = self.praise()
            for hint in self.hints:
                lines += wrapped(hint, "  also      ")
            return lines
        word = "not begun" if self.stage == "begin" else "not yet"
        lines = [f"{self.task}: {word}", *wrapped(self.message), ""]
        lines += wrapped(self.asked, "  asked     ")
        for name in ("input", "expected", "got"):
            lines += block(name, getattr(self, name))
        if self.where:
            alone = self.where.startswith("line ")  # beside the name of a mistake
            where = f"probably {self.where}" if alone else self.where
            lines += wrapped(where, "  where     ")
        if self.only:
            lines += wrapped(self.only, "  wrong     ")
        for hint in self.hints:
            lines += wrapped(hint, "  also      ")
        return [*lines, *wrapped(self.section, "  read      ")]

    def praise(self) -> list[str]:
        """Write that a program is right, with what it did or which form it has."""
        first, *others = self.message.splitlines() or [""]
        if not others:
            return wrapped(f"{self.task}: right{f' ({first})' if first else ''}")
        told = [line for each in others for line in wrapped(each, "  ")]
        return [f"{self.task}: right", "", *wrapped(first), "", *told]

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        return {name: found[name] for name in found if name not in NOT_SENT}


def block(name: str, lines: list[str]) -> list[str]:
    """Write lines beside their name."""
    if not lines:
        return []
    lines = [part for line in lines for part in broken(line, WIDTH - 12)]
    return [f"  {name:10}{lines[0]}", *(" " * 12 + line for line in lines[1:])]


def broken(line: str, width: int) -> list[str]:
    """Break a long line at spaces, and indent what follows."""
    start = " " * (len(line) - len(line.lstrip()))
    indents = {"initial_indent": start, "subsequent_indent": f"{start}  "}
    return textwrap.wrap(line.lstrip(), width, **indents, **WHOLE_WORDS)


def show_arguments(arguments: Arguments, room: int = 10) -> list[str]:
    """Write arguments one under the other, with fewer lines each when there are many.

    What has no short form (a model, a function) is left out.
    """
    lines: list[str] = []
    for name, value in arguments.items():
        if name.startswith("_") or not isinstance(value, SHOWN):
            continue
        if isinstance(value, dict):
            lines += show_weights(name, value)
            continue
        shown = show(value, max(4, room))
        if len(lines) + len(shown) > 2 * room:
            lines.append(f"{name} = …")
            continue
        lines += [f"{name} = {shown[0]}"]
        lines += [" " * (len(name) + 3) + line for line in shown[1:]]
    return lines


def show_weights(name: str, weights: dict) -> list[str]:
    """Write a dict of weights in a few lines: those of zeros and of ones together."""
    flat = dict(flatten(weights, f"{name}"))
    by_kind: dict[str, list[str]] = {}
    lines = []
    for key, tensor in flat.items():
        if (tensor == 0).all():
            by_kind.setdefault("zeros", []).append(key)
        elif (tensor == 1).all():
            by_kind.setdefault("ones", []).append(key)
        else:
            text = " ".join(line.strip() for line in show(tensor))
            if len(text) > 60:
                text = f"a tensor of shape {tuple(tensor.shape)}"
            lines.append(f"{key} = {text}")
    if len(lines) > 8:
        lines = [*lines[:7], f"… and {len(lines) - 7} more"]
    if ones := by_kind.get("ones"):
        lines.append(f"ones: {', '.join(ones)}")
    if zeros := by_kind.get("zeros"):
        few = len(zeros) < 4
        lines.append(f"zeros: {', '.join(zeros) if few else f'all others of {name}'}")
    return lines


def shapes(arguments: Arguments) -> list[str]:
    """Describe arguments by their shapes."""
    lines = []
    for name, value in arguments.items():
        if name.startswith("_") or not isinstance(value, SHOWN):
            continue
        if isinstance(value, Tensor):
            lines.append(f"{name}: {tuple(value.shape)}")
        elif isinstance(value, dict):
            count = len(dict(flatten(value, name)))
            lines.append(f"{name}: {count} tensors{named(value)}")
        elif isinstance(value, list) and value and isinstance(value[0], Tensor):
            shapes = ", ".join(str(tuple(part.shape)) for part in value)
            lines.append(f"{name}: tensors of shapes {shapes}")
        else:
            lines.append(f"{name} = {value!r:.60}")
    return lines


def named(tensors: dict) -> str:
    """The keys of a flat dictionary, for a reader who guessed another name."""
    if all(isinstance(value, Tensor) for value in tensors.values()):
        return ": " + ", ".join(map(str, tensors))
    return ""


def flatten(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """Return the tensors in nested weights, with the expressions that reach them."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from flatten(part, f"{name}[{key!r}]")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from flatten(part, f"{name}[{i}]")
