"""What a check found, as one screen of text and as JSON."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from mygpt.check.compare import beside, show
from mygpt.check.task import Arguments, Task
from mygpt.check.tree import named_tensors
from mygpt.support.output import WHOLE_WORDS, WIDTH, wrapped

NOT_SENT = ("mend", "edit")  # the reader is to find it
ROOM = 10  # lines that an argument may take
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
    sure: whether the program's text alone shows that this line is wrong.
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
    sure: bool = False
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
        """Write whether the program is right, and what was found."""
        alone = self.where.startswith("line ")  # beside the name of a mistake
        return [
            *(self.praise() if self.passed else self.blame()),
            *labelled("asked", self.asked),
            *block("input", self.input),
            *block("expected", self.expected),
            *block("got", self.got),
            *labelled("where", f"probably {self.where}" if alone else self.where),
            *labelled("wrong", self.only),
            *(line for hint in self.hints for line in labelled("also", hint)),
            *labelled("read", self.section),
        ]

    def blame(self) -> list[str]:
        """Write that a program is not right, and why."""
        word = "not begun" if self.stage == "begin" else "not yet"
        return [f"{self.task}: {word}", *wrapped(self.message), ""]

    def praise(self) -> list[str]:
        """Write that a program is right, with what it did or which form it has."""
        first, *others = self.message.splitlines() or [""]
        if not others:
            return wrapped(f"{self.task}: right{f' ({first})' if first else ''}")
        told = [line for each in others for line in wrapped(each, "  ")]
        return [f"{self.task}: right", "", *wrapped(first), "", *told]

    def as_json(self) -> dict[str, Any]:
        """Return the fields as a dict, except the edit that is for later."""
        found = asdict(self)
        return {name: found[name] for name in found if name not in NOT_SENT}


def failed(task: Task, stage: str, message: str, **found: Any) -> Result:
    """Return the result of a program that failed a stage of a task's check."""
    told = {"asked": f"{task.signature}: {task.asks}", "section": task.section}
    return Result(task.name, False, stage, message=message, **told, **found)


class NotRight(Exception):
    """Ends a check at its first fault; holds the result."""

    def __init__(self, task: Task, stage: str, message: str, **found: Any):
        self.result = failed(task, stage, message, **found)


def labelled(name: str, text: str) -> list[str]:
    """Break a text into lines beside its name; nothing for an empty text."""
    return wrapped(text, f"  {name:10}")


def block(name: str, lines: list[str]) -> list[str]:
    """Write lines beside their name."""
    lines = [part for line in lines for part in broken(line, WIDTH - 12)]
    return beside(f"  {name:10}", lines)


def broken(line: str, width: int) -> list[str]:
    """Break a long line at spaces, and indent what follows."""
    start = " " * (len(line) - len(line.lstrip()))
    indents = {"initial_indent": start, "subsequent_indent": f"{start}  "}
    return textwrap.wrap(line.lstrip(), width, **indents, **WHOLE_WORDS)


def show_arguments(arguments: Arguments) -> list[str]:
    """Write arguments one below the other; where they are many, with fewer lines."""
    lines: list[str] = []
    for name, value in showable(arguments):
        if isinstance(value, dict):
            lines += show_weights(name, value)
            continue
        shown = beside(f"{name} = ", show(value, ROOM))
        fits = len(lines) + len(shown) <= 2 * ROOM
        lines += shown if fits else [f"{name} = …"]
    return lines


def showable(arguments: Arguments) -> Iterator[tuple[str, Any]]:
    """Yield the arguments that have a short form: no model, no function."""
    for name, value in arguments.items():
        if not name.startswith("_") and isinstance(value, SHOWN):
            yield name, value


def show_weights(name: str, weights: dict) -> list[str]:
    """Write a dict of weights in a few lines: those of zeros and of ones together."""
    flat = named_tensors(weights, name)
    zeros = [key for key, tensor in flat.items() if (tensor == 0).all()]
    rest = {key: tensor for key, tensor in flat.items() if key not in zeros}
    ones = [key for key, tensor in rest.items() if (tensor == 1).all()]
    lines = [f"{key} = {in_short(rest[key])}" for key in rest if key not in ones]
    if len(lines) > 8:
        lines = [*lines[:7], f"… and {len(lines) - 7} more"]
    if ones:
        lines.append(f"ones: {', '.join(ones)}")
    if zeros:
        few = len(zeros) < 4
        lines.append(f"zeros: {', '.join(zeros) if few else f'all others of {name}'}")
    return lines


def in_short(tensor: Tensor) -> str:
    """Write a tensor in a line: its numbers if they are few, or its shape."""
    text = " ".join(line.strip() for line in show(tensor))
    return text if len(text) <= 60 else f"a tensor of shape {tuple(tensor.shape)}"


def shapes(arguments: Arguments) -> list[str]:
    """Describe arguments by their shapes."""
    lines = []
    for name, value in showable(arguments):
        if isinstance(value, Tensor):
            lines.append(f"{name}: {tuple(value.shape)}")
        elif isinstance(value, dict):
            count = len(named_tensors(value, name))
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
