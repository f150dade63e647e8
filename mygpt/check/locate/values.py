"""Follow the values of a program's variables: lists of ids, pairs and counts."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from mygpt.check.locate.record import Enough, is_readers_file
from mygpt.check.tree import is_whole

MOST = 4000  # changes of variables that are kept
LINES = 60_000  # that one run may take
LONGEST = 400  # items of a value that is followed
FIRST = 256  # new id

Ids = tuple[int, ...]
SEQUENCES = (list, tuple, bytes, bytearray)


@dataclass(frozen=True)
class Value:
    """The value of a right program's variable at some time, in any container.

    kind: one of KINDS; want: in the form that it gives.
    before: ids that these are made from, of all words.
    merges: all the pairs that get ids, from 256 on.
    """

    name: str
    kind: str
    want: Any
    before: Sequence[Ids] = ()
    merges: Sequence[Ids] = ()


@dataclass(frozen=True, eq=False)
class Event:
    """A variable has a new value: after which line of which function.

    An argument has it in the line of the call; a result has no name.
    forms: the value by kind; kinds that it is not are left out.
    when: how many lines had run.
    """

    line: int
    code: CodeType
    name: str
    forms: dict[str, Any]
    when: int

    @property
    def variable(self) -> tuple[CodeType, str]:
        return self.code, self.name

    @property
    def ids(self) -> list[Ids]:
        """Return the ids, of each word if there are several."""
        return [*self.forms.get("texts", ()), *filter(None, [self.forms.get("ids")])]


@dataclass
class Trace:
    """A run of a program: its events in order, and the lines that ran."""

    events: list[Event] = field(default_factory=list)
    lines: list[tuple[CodeType, int]] = field(default_factory=list)


def is_pair(value: Any, kinds: Any = (list, tuple)) -> bool:
    return isinstance(value, kinds) and len(value) == 2


def as_id(value: Any) -> int | None:
    return value if is_whole(value) and value >= FIRST - 1 else None


def as_ids(value: Any) -> Ids | None:
    """Return ids in a row; a tuple of two is rather a pair."""
    if is_pair(value, tuple) or not isinstance(value, SEQUENCES):
        return None
    return tuple(value) if value and all(map(is_whole, value)) else None


def as_texts(value: Any) -> tuple[Ids, ...] | None:
    """Return the ids of several words, in order of size; words may have a count."""
    if isinstance(value, dict):
        counted = all(isinstance(key, tuple | bytes) for key in value)
        words = [*value.items()] if counted else [(word, 1) for word in value.values()]
    elif isinstance(value, list | tuple):
        words = [each if is_counted(each) else (each, 1) for each in value]
    else:
        return None
    if all(is_pair(word, tuple) for word, _ in words):
        return None  # pairs
    if not all(
        is_whole(count) and isinstance(word, SEQUENCES) and all(map(is_whole, word))
        for word, count in words
    ):
        return None
    repeated = (tuple(w) for w, n in words for _ in range(min(n, LONGEST)) if len(w))
    return tuple(sorted(repeated))


def is_counted(value: Any) -> bool:
    """Whether a value is a word with its count."""
    return is_pair(value) and is_whole(value[1]) and not is_whole(value[0])


def as_counts(value: Any) -> frozenset | None:
    items = value.items() if isinstance(value, dict) else ()
    if not items or not all(as_pair(key) and is_whole(n) for key, n in items):
        return None
    return frozenset((key, n) for key, n in items if n)


def as_pair(value: Any) -> Ids | None:
    return tuple(value) if is_pair(value) and all(map(is_whole, value)) else None


def as_pairs(value: Any) -> tuple[Ids, ...] | None:
    """Return pairs in a row, such as merges; also pairs that are keys of new ids."""
    if isinstance(value, dict):
        if [*value.values()] != [*range(FIRST, FIRST + len(value))]:
            return None
    elif not isinstance(value, list):
        return None
    pairs = [*map(as_pair, value)]
    return tuple(pairs) if pairs and all(pairs) else None


KINDS: dict[str, Callable[[Any], Any]] = {
    "id": as_id,
    "ids": as_ids,
    "texts": as_texts,
    "counts": as_counts,
    "pair": as_pair,
    "pairs": as_pairs,
}


def forms_of(value: Any) -> dict[str, Any]:
    if not isinstance(value, int) and len(value) > LONGEST:
        return {}
    found = {name: form(value) for name, form in KINDS.items()}
    return {name: form for name, form in found.items() if form is not None}


def traced(run: Callable[[], Any]) -> Trace:
    """Run a program and note each change of a variable; an error only ends the run."""
    trace = Trace()
    last: dict[int, int] = {}
    known: dict[tuple[int, str], str] = {}
    frames: list[FrameType] = []  # kept, so that no other has their id

    def note(frame: FrameType, line: int, values: dict[str, Any]) -> None:
        for name, value in values.items():
            outer = name in frame.f_code.co_freevars
            if outer or not isinstance(value, (int, dict, *SEQUENCES)):
                continue
            text = repr(value)
            if name and known.get((id(frame), name)) == text:
                continue
            known[id(frame), name] = text
            if forms := forms_of(value):
                when = len(trace.lines)
                trace.events.append(Event(line, frame.f_code, name, forms, when))

    def watch(frame: FrameType, event: str, given: Any) -> Any:
        if not is_readers_file(frame.f_code.co_filename):
            return None
        if len(trace.lines) > LINES or len(trace.events) > MOST:
            raise Enough
        if event == "call":
            frames.append(frame)
            caller = frame.f_back
            own = caller and is_readers_file(caller.f_code.co_filename)
            note(frame, caller.f_lineno if own else frame.f_lineno, frame.f_locals)
        else:
            note(frame, last[id(frame)], frame.f_locals)
        if event == "return":
            note(frame, frame.f_lineno, {"": given})
        if event == "line":
            trace.lines.append((frame.f_code, frame.f_lineno))
        last[id(frame)] = frame.f_lineno
        return watch

    before = sys.gettrace()
    with suppress(Exception, Enough, SystemExit):
        try:
            sys.settrace(watch)
            run()
        finally:
            sys.settrace(before)
    return trace


def in_bytes(ids: Ids, merges: Sequence[Ids]) -> Ids:
    """Return the bytes behind ids."""
    found: list[int] = []
    for i in ids:
        known = FIRST <= i < FIRST + len(merges)
        found += in_bytes(merges[i - FIRST], merges[: i - FIRST]) if known else [i]
    return tuple(found)


def parts(words: Sequence[Ids]) -> set[Ids]:
    """Return every part of every word, the empty one too."""
    return {()} | {
        word[i:j]
        for word in set(words)
        for i in range(len(word))
        for j in range(i + 1, len(word) + 1)
    }
