"""Follow the values of a program's variables: lists of ids, pairs and counts."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from mygpt.check.stages.record import Enough, is_readers_file

SECONDS = 0.4  # of processor time that one run may take
MOST = 4000  # changes of variables that are kept
LONGEST = 400  # items of a value that is looked at

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """What a right program has in a variable at some time, in any container.

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

    forms: the value by kind; none of those that it is not.
    when: how many lines had run.
    """

    line: int
    code: CodeType
    name: str
    forms: dict[str, Any]
    when: int


@dataclass
class Trace:
    """A run of a program: its events in order, and the lines that ran."""

    events: list[Event] = field(default_factory=list)
    lines: list[tuple[CodeType, int]] = field(default_factory=list)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def as_ids(value: Any) -> Ids | None:
    """Ids in a row; a tuple of two is rather a pair."""
    if not isinstance(value, list | tuple | bytes | bytearray):
        return None
    if isinstance(value, tuple) and len(value) == 2:
        return None
    return tuple(value) if value and all(map(is_whole, value)) else None


def as_texts(value: Any) -> tuple[Ids, ...] | None:
    """The ids of several words, in order of size; words may have a count."""
    words: list[Any] = []
    if isinstance(value, dict):
        if all(isinstance(key, tuple | bytes) for key in value):
            for key, count in value.items():
                if not is_whole(count):
                    return None
                words += [list(key)] * min(count, LONGEST)
        else:
            words = [*value.values()]
    elif isinstance(value, list | tuple):
        for each in value:
            counted = isinstance(each, list | tuple) and len(each) == 2
            if counted and is_whole(each[1]) and not is_whole(each[0]):
                words += [each[0]] * min(each[1], LONGEST)
            else:
                words.append(each)
    sequences = (list, tuple, bytes, bytearray)
    if all(isinstance(word, tuple) and len(word) == 2 for word in words):
        return None  # pairs
    if not all(
        isinstance(word, sequences) and all(map(is_whole, word)) for word in words
    ):
        return None
    return tuple(sorted(tuple(word) for word in words if len(word)))


def as_counts(value: Any) -> frozenset | None:
    if not isinstance(value, dict) or not value:
        return None
    if not all(as_pair(key) and is_whole(n) for key, n in value.items()):
        return None
    return frozenset((key, n) for key, n in value.items() if n)


def as_pair(value: Any) -> Ids | None:
    pair = isinstance(value, list | tuple) and len(value) == 2
    return tuple(value) if pair and all(map(is_whole, value)) else None


def as_pairs(value: Any) -> tuple[Ids, ...] | None:
    """Pairs in a row, such as merges; also those that are the keys of new ids."""
    if isinstance(value, dict) and [*value.values()] != [*range(256, 256 + len(value))]:
        return None
    pairs = [as_pair(each) for each in value] if isinstance(value, list | dict) else []
    return tuple(each for each in pairs if each) if pairs and all(pairs) else None


KINDS: dict[str, Callable[[Any], Any]] = {
    "ids": as_ids,
    "texts": as_texts,
    "counts": as_counts,
    "pair": as_pair,
    "pairs": as_pairs,
}


def forms_of(value: Any) -> dict[str, Any]:
    plain = isinstance(value, list | tuple | dict | bytes | bytearray)
    if not plain or len(value) > LONGEST:
        return {}
    found = {name: form(value) for name, form in KINDS.items()}
    return {name: form for name, form in found.items() if form is not None}


def traced(run: Callable[[], Any]) -> Trace:
    """Run a program and note each change of a variable; an error ends it, no more."""
    trace = Trace()
    last: dict[int, int] = {}
    known: dict[tuple[int, str], str] = {}
    frames: list[FrameType] = []
    end = time.process_time() + SECONDS

    def changes(frame: FrameType) -> Iterator[tuple[str, Any]]:
        for name, value in frame.f_locals.items():
            text = repr(value) if isinstance(value, SHOWN) else ""
            if text and known.get((id(frame), name)) != text:
                known[id(frame), name] = text
                yield name, value

    def watch(frame: FrameType, event: str, given: Any) -> Any:
        if not is_readers_file(frame.f_code.co_filename):
            return None
        if time.process_time() > end or len(trace.events) > MOST:
            raise Enough
        if event == "call":
            frames.append(frame)
            last[id(frame)] = frame.f_lineno
            for _ in changes(frame):
                pass
            return watch
        line, when = last[id(frame)], len(trace.lines)
        for name, value in changes(frame):
            if forms := forms_of(value):
                trace.events.append(Event(line, frame.f_code, name, forms, when))
        if event == "return" and (forms := forms_of(given)):
            trace.events.append(Event(frame.f_lineno, frame.f_code, "", forms, when))
        if event == "line":
            last[id(frame)] = frame.f_lineno
            trace.lines.append((frame.f_code, frame.f_lineno))
        return watch

    before = sys.gettrace()
    with suppress(Exception, Enough, SystemExit):
        try:
            sys.settrace(watch)
            run()
        finally:
            sys.settrace(before)
    return trace


SHOWN = (list, tuple, dict, bytes, bytearray)


def parts(words: Sequence[Ids]) -> set[Ids]:
    """Every part of every word, the empty one with it."""
    return {()} | {
        word[i:j]
        for word in set(words)
        for i in range(len(word))
        for j in range(i + 1, len(word) + 1)
    }


def lacks_nothing_of(counts: frozenset, whole: frozenset) -> bool:
    """Whether counts hold at most what others do."""
    most = Counter(dict(whole))
    return all(n <= most[pair] for pair, n in counts)
