"""Where a wrong program leaves the way of the right ones, in a sentence."""

import inspect
import linecache
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mygpt.check.compare import convert, copy_of
from mygpt.check.run import kept_state
from mygpt.check.stages import maps
from mygpt.check.stages.blame import Blame
from mygpt.check.stages.conditions import place_of_condition
from mygpt.check.stages.match import Pool, numbers_of
from mygpt.check.stages.record import Made, Place, Run, is_readers_file, recorded
from mygpt.check.stages.stage import Stage
from mygpt.check.stages.text import line_of_return
from mygpt.check.stages.values import traced
from mygpt.check.stages.ways import Way, found_in
from mygpt.check.task import Program, Task

HALVES = (torch.float16, torch.bfloat16)
SECONDS = 1.0  # of processor time in which probes are looked at
NAMED = 4  # stages that are named as right
AGREE = 0.5  # share of the probes that must show the same line


@dataclass(frozen=True)
class Found:
    """Where a program leaves the right way.

    text: which stages are right, and which is not there; empty if none is known.
    line: of the program's own file, or of `file` if that is not empty.
    """

    text: str = ""
    line: int | None = None
    file: str = ""

    @property
    def where(self) -> str:
        """Write the line: "line 3", "line 3 of softmax.py"; nothing if not known."""
        if self.line is None:
            return ""
        return f"line {self.line}" + (f" of {self.file}" if self.file else "")

    @property
    def sentence(self) -> str:
        """Write what was found, with the line; nothing if nothing was."""
        if self.text and self.where:
            return f"{self.text} ({self.where})."
        return f"{self.text}." if self.text else self.where


@dataclass(frozen=True)
class Right:
    """What right programs make on one probe: all of it, and the stages by name.

    results: what each form of the right answer gives.
    whole: whether all of it was recorded.
    """

    known: Pool
    results: list[list[Tensor]]
    stages: dict[str, list[Stage]]
    whole: bool


def find(
    task: Task,
    program: Program,
    probes: Sequence[int],
    wrong: Sequence[int],
    dtype: torch.dtype,
    line_alone: bool = False,
) -> Found:
    """Find where a wrong program leaves the right way.

    probes: those on which it runs; wrong: those of them on which it is wrong.
    """
    found = Found()
    if task.values is not None:
        found = find_value(task, program, wrong)
    elif task.stages is not None:
        found = find_stage(task, program, probes, wrong, dtype, line_alone)
    for i in wrong[:1]:
        with kept_state():
            place = place_of_condition(task, program, i, dtype)
        if place:
            return with_place(found.text, place, program)
    return found


def find_stage(
    task: Task,
    program: Program,
    probes: Sequence[int],
    wrong: Sequence[int],
    dtype: torch.dtype,
    line_alone: bool,
) -> Found:
    """Find which tensors of a program are those of right programs, and which not."""
    seen: list[int] = []
    runs: list[Run] = []
    rights: list[Right] = []
    end = time.process_time() + SECONDS
    with kept_state():
        for i in sorted(probes, key=lambda i: i not in wrong):
            run = run_on(task, program, i, dtype)
            if not is_readers_run(program, run):
                return Found()
            right = right_on(task, i, dtype)
            if run.whole and right.whole:
                seen.append(i)
                runs.append(run)
                rights.append(right)
            if time.process_time() > end:
                break
    if not runs:
        return Found()
    if half := half_line(runs):
        return with_place("some of your tensors are in half precision", half, program)
    places = [
        place
        for i, run, right in zip(seen, runs, rights, strict=True)
        if i in wrong and (place := blame_of(run, right).place())
    ]
    sizes = [maps.sizes_of(task.probes[i].sizes) for i in seen]
    text = "" if line_alone else Telling(runs, rights, sizes).text()
    place = most_common(places) or place_of_end(program, runs)
    return with_place(text, place, program)


def find_value(task: Task, program: Program, wrong: Sequence[int]) -> Found:
    """Find where a program of lists leaves the right way, and say what is missing."""
    assert task.values is not None
    traces, right = {}, {}
    end = time.process_time() + SECONDS
    with kept_state():
        for i in sorted(range(len(task.probes)), key=lambda i: i not in wrong):
            given = task.arguments_of(task.probes[i])
            copy = copy_of(given)
            traces[i] = traced(lambda copy=copy: task.run(program, copy))
            right[i] = [*task.values(**given)]
            if time.process_time() > end:
                break
    kinds = {
        right[i][number].kind
        for i in traces
        for number in found_in(traces[i], right[i])
    }
    ways = [Way(traces[i], program, right[i], kinds) for i in traces if i in wrong]
    places = [
        Place(way.code.co_filename, line, way.code, 0, {}, {})
        for way in ways
        if (line := way.line())
    ]
    return with_place(ways[0].text() if ways else "", most_common(places), program)


def blame_of(run: Run, right: Right) -> Blame:
    stages = [one for named in right.stages.values() for one in named]
    return Blame(run, right.known, right.results, stages)


def run_on(
    task: Task, program: Program, probe: int, dtype: torch.dtype, watched: bool = True
) -> Run:
    given = copy_of(convert(task.arguments_of(task.probes[probe]), dtype))
    return recorded(lambda seen: task.run(seen, given), program, watched)


@cache
def right_on(task: Task, probe: int, dtype: torch.dtype) -> Right:
    """Run what is right on a probe, and keep what it makes."""
    named: dict[str, list[Stage]] = {}

    def staged(*given: Any) -> Any:
        assert task.stages is not None
        for stage in task.stages(*given):
            named.setdefault(stage.name, []).append(stage)
        return task.reference(*given)

    programs = [task.reference, *task.forms.values()]
    programs += [staged] if task.stages else []
    runs = [run_on(task, each, probe, dtype, watched=False) for each in programs]
    made = [one for run in runs for one in run.made if is_filled(one, dtype)]
    known = Pool(
        ((one.value, False) for one in made if not one.beside and not one.constant),
        (one.value for one in made if one.beside and not one.constant),
        (one.value for one in made if one.constant),
    )
    results = [
        [one.value for each in run.results for one in each]
        for run in runs[: 1 + len(task.forms)]
    ]
    return Right(known, results, named, all(run.whole for run in runs))


def is_filled(one: Made, dtype: torch.dtype) -> bool:
    """Whether a tensor has numbers; a new one of PyTorch's layers may not have any."""
    if one.operation == "given":
        return one.value.dtype == dtype or not one.value.is_floating_point()
    if one.operation == "detach":
        return is_filled(one.inputs[0], dtype)
    return "empty" not in one.operation


def is_readers_run(program: Program, run: Run) -> bool:
    """Whether a program, or something that it calls, is the reader's."""
    code = getattr(inspect.unwrap(program), "__code__", None)
    own = code is not None and is_readers_file(code.co_filename)
    return own or any(one.place for one in run.made)


def half_line(runs: list[Run]) -> Place | None:
    """Return where a program first computes in 16 bits."""
    for run in runs:
        for one in run.made:
            if one.value.dtype in HALVES and one.place:
                return one.place
    return None


def most_common(places: list[Place]) -> Place | None:
    """Return the place that the most probes show, if these are many enough."""
    counts = Counter((place.file, place.line) for place in places)
    if not counts:
        return None
    best, times = counts.most_common(1)[0]
    if times < AGREE * len(places):
        return None
    return next(place for place in places if (place.file, place.line) == best)


def place_of_end(program: Program, runs: list[Run]) -> Place | None:
    """Return the last `return` of a program that makes nothing on its way."""
    code = getattr(inspect.unwrap(program), "__code__", None)
    if code is None or any(one.place for run in runs for one in run.made):
        return None
    start = Place(code.co_filename, code.co_firstlineno, code, 0, {}, {})
    line = line_of_return(start)
    return replace(start, line=line) if line else None


def with_place(text: str, place: Place | None, program: Program) -> Found:
    if place is None or not linecache.getline(place.file, place.line):
        return Found(text)
    own = getattr(inspect.unwrap(program), "__code__", None)
    elsewhere = (
        own is not None
        and is_readers_file(own.co_filename)
        and own.co_filename != place.file
    )
    return Found(text, place.line, name_of(place) if elsewhere else "")


def name_of(place: Place) -> str:
    path = Path(place.file)
    return path.name if path.is_file() else f"the cell of `{place.code.co_name}`"


class Telling:
    """The stages of a task, looked up among what a program makes on each probe."""

    def __init__(
        self, runs: list[Run], rights: list[Right], sizes: list[dict[str, int]]
    ) -> None:
        self.runs, self.rights, self.sizes = runs, rights, sizes
        self.pools = [
            Pool((one.value, one.rough) for one in run.made if one.operation != "given")
            for run in runs
        ]
        self.names = list(rights[0].stages)
        before = [None, *self.names]
        self.needs = {
            name: tuple(
                [before[i]] * (i > 0)
                if rights[0].stages[name][0].needs is None
                else rights[0].stages[name][0].needs
            )
            for i, name in enumerate(self.names)
        }
        self.found = {name: self.find(name) for name in self.names}

    def find(self, name: str) -> str:
        """Say whether a stage is there on every probe."""
        found = [
            any_form(stage, pool)
            for pool, right in zip(self.pools, self.rights, strict=True)
            for stage in right.stages.get(name, ())
        ]
        if not all(found):
            return ""
        return "same" if set(found) == {"same"} else "transposed"

    def above(self, name: str) -> Iterator[str]:
        """Yield what a stage is made from."""
        for each in self.needs[name]:
            yield each
            yield from self.above(each)

    def text(self) -> str:
        is_there = {name for name in self.names if self.found[name]}
        passed = {each for name in is_there for each in self.above(name)}
        last = [name for name in self.names if name in is_there - passed]
        right = [name for name in last if self.found[name] == "same"]
        missing = next((n for n in self.names if n not in is_there | passed), None)
        if missing is None:
            return self.beyond(self.names[-1])
        said = []
        if right:
            verb = "is" if len(right) == 1 else "are"
            said.append(f"{listed(right[-NAMED:])} {verb} right")
        turned = [name for name in last if self.found[name] != "same"]
        if turned:
            verb = "is" if len(turned) == 1 else "are"
            said.append(f"{listed(turned[-NAMED:])} {verb} there, transposed")
        said.append(f"no tensor of yours is {missing}")
        text = "; ".join(said)
        if known := self.map_onto(missing):
            text += f": yours is that {known}"
        return text

    def beyond(self, last: str) -> str:
        """Say what is told when every stage is there."""
        text = f"everything up to {last} is right; what you return is not"
        results = [
            Pool((one.value, one.rough) for one in run.results[-1])
            if run.results
            else Pool([])
            for run in self.runs
        ]
        known = self.map_onto(last, results)
        return f"{text}: it is that {known}" if known else text

    def map_onto(self, name: str, pools: list[Pool] | None = None) -> str:
        """Say by which map a stage that is not there becomes one that is."""
        found: list[list[maps.Map]] = []
        sizes = []
        for pool, right, size in zip(
            pools or self.pools, self.rights, self.sizes, strict=True
        ):
            forms = [
                numbers_of(tensor)
                for stage in right.stages.get(name, ())
                for tensor in stage.tensors[:1]
            ]
            tells = [one for one in forms if len(np.unique(np.abs(one).round(9))) > 1]
            if tells:
                rough = any(pool.rough)
                found.append(list(maps.maps_onto(tells[-1], pool, rough)))
                sizes.append(size)
        return maps.told(found, sizes)


def any_form(stage: Stage, pool: Pool) -> str:
    best = ""
    for tensor in stage.tensors:
        best = whole_or_parts(numbers_of(tensor), pool) or best
        if best == "same":
            break
    return best


def whole_or_parts(array: np.ndarray, pool: Pool, depth: int = 2) -> str:
    """Look an array up, or else all of its rows along one axis, or two."""
    if found := pool.find(array, parts=False):
        return found
    for axis in range(array.ndim - 1 if depth else 0):
        if 1 < array.shape[axis] <= 64:
            parts = np.moveaxis(array, axis, 0)
            if all(whole_or_parts(part, pool, depth - 1) for part in parts):
                return "same"
    return ""


def listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
