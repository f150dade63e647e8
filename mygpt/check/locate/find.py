"""Says at which step a wrong program first departs from the right ones."""

import inspect
import itertools
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mygpt.check import work
from mygpt.check.compare import convert, copy_of
from mygpt.check.locate import maps
from mygpt.check.locate.blame import Blame
from mygpt.check.locate.conditions import place_of_condition
from mygpt.check.locate.list_tasks import ListRun, found_in
from mygpt.check.locate.match import Pool, numbers_of
from mygpt.check.locate.record import (
    CodeSite,
    Made,
    RecordedRun,
    is_readers_file,
    recorded,
)
from mygpt.check.locate.stage import Stage
from mygpt.check.locate.text import line_of_return
from mygpt.check.locate.values import traced
from mygpt.check.process.run import kept_state
from mygpt.check.task import Program, Task

HALVES = (torch.float16, torch.bfloat16)
SECONDS = 1.0  # of work in which probes are looked at
NAMED = 4  # stages that are named as right
SURE = 2  # probes that are enough if they show the same line
AGREE = 0.5  # share of the probes that must show the same line


@dataclass(frozen=True)
class Found:
    """Where a program departs from the right ones.

    text: which stages are right, and which is missing; empty if none is known.
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
        """Write the stages with the line; nothing if neither is known."""
        if self.text and self.where:
            return f"{self.text} ({self.where})."
        return f"{self.text}." if self.text else self.where


@dataclass(frozen=True)
class Right:
    """The tensors of right programs on one probe: all of them, and the stages by name.

    results: of each form of the right answer.
    whole: whether all tensors were recorded.
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
    """Find where a wrong program departs from the right ones.

    probes: on which it runs; wrong: the probes on which its result is wrong.
    """
    found = Found()
    with kept_state():
        if task.values is not None:
            found = find_value(task, program, wrong)
        elif task.stages is not None:
            found = find_stage(task, program, probes, wrong, dtype, line_alone)
        if wrong and (place := place_of_condition(task, program, wrong[0], dtype)):
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
    """Find which tensors of a program right programs make, and which not."""
    seen: dict[int, tuple[RecordedRun, Right]] = {}
    for i in in_time(probes, wrong):
        run = run_on(task, program, i, dtype)
        if not is_readers_run(program, run):
            return Found()
        right = right_on(task, i, dtype)
        if run.whole and right.whole:
            seen[i] = run, right
    if not seen:
        return Found()
    runs = [run for run, _ in seen.values()]
    if half := half_line(runs):
        return with_place("some of your tensors are in half precision", half, program)
    places = (blame_of(*seen[i]).place() for i in seen if i in wrong)
    place = agreed(filter(None, places)) or place_of_end(program, runs)
    if line_alone:
        return with_place("", place, program)
    sizes = [maps.sizes_of(task.probes[i].sizes) for i in seen]
    told = Telling(runs, [right for _, right in seen.values()], sizes)
    text = told.text()
    if place is None and text.startswith(told.ALL):
        place = place_of_last(program)
    return with_place(text, place, program)


def find_value(task: Task, program: Program, wrong: Sequence[int]) -> Found:
    """Find where a program of lists departs, and which value is missing."""
    assert task.values is not None
    traces, right = {}, {}
    for i in in_time(range(len(task.probes)), wrong):
        given = task.arguments_of(task.probes[i])
        traces[i] = traced(partial(task.run, program, copy_of(given)))
        right[i] = [*task.values(**given)]
    kinds = {
        right[i][number].kind
        for i in traces
        for number in found_in(traces[i], right[i])
    }
    runs = [ListRun(traces[i], program, right[i], kinds) for i in traces if i in wrong]
    places = [CodeSite(run.code, line) for run in runs if (line := run.line())]
    return with_place(runs[0].text() if runs else "", most_common(places), program)


def in_time(probes: Sequence[int], wrong: Sequence[int]) -> Iterator[int]:
    """Yield probes, the wrong ones first, until enough work is done."""
    end = work.after(SECONDS)
    for i in sorted(probes, key=lambda i: i not in wrong):
        yield i
        if work.now() > end:
            return


def blame_of(run: RecordedRun, right: Right) -> Blame:
    stages = itertools.chain(*right.stages.values())
    return Blame(run, right.known, right.results, stages)


def run_on(
    task: Task, program: Program, probe: int, dtype: torch.dtype, watched: bool = True
) -> RecordedRun:
    given = copy_of(convert(task.arguments_of(task.probes[probe]), dtype))
    return recorded(lambda seen: task.run(seen, given), program, watched)


@cache
@work.uncounted()
def right_on(task: Task, probe: int, dtype: torch.dtype) -> Right:
    """Run the right programs on a probe, and keep the tensors that they make."""
    named: dict[str, list[Stage]] = {}

    def staged(*given: Any) -> Any:
        assert task.stages is not None
        for stage in task.stages(*given):
            named.setdefault(stage.name, []).append(stage)
        return task.reference(*given)

    programs = [inspect.unwrap(each) for each in task.answers.values()]
    programs += [staged] if task.stages else []
    runs = [run_on(task, each, probe, dtype, watched=False) for each in programs]
    made = [one for run in runs for one in run.made if is_filled(one, dtype)]
    computed = [one for one in made if not one.constant]
    known = Pool(
        ((one.value, False) for one in computed if not one.beside),
        (one.value for one in computed if one.beside),
        (one.value for one in made if one.constant),
    )
    results = [
        [one.value for one in itertools.chain(*run.results)]
        for run in runs[: len(task.answers)]
    ]
    return Right(known, results, named, all(run.whole for run in runs))


def is_filled(one: Made, dtype: torch.dtype) -> bool:
    """Whether a tensor has numbers; a new one of PyTorch's layers may not have any."""
    if one.operation == "given":
        return one.value.dtype == dtype or not one.value.is_floating_point()
    if one.operation == "detach":
        return is_filled(one.inputs[0], dtype)
    return "empty" not in one.operation


def is_readers_run(program: Program, run: RecordedRun) -> bool:
    """Whether a program, or a function that it calls, is the reader's."""
    code = code_of(program)
    own = code is not None and is_readers_file(code.co_filename)
    return own or any(one.place for one in run.made)


def half_line(runs: list[RecordedRun]) -> CodeSite | None:
    """Return where a program first computes in 16 bits."""
    made = [one for run in runs for one in run.made if one.value.dtype in HALVES]
    return next((one.place for one in made if one.place), None)


def agreed(places: Iterable[CodeSite]) -> CodeSite | None:
    """Return the place that the first two probes show, or the most of all."""
    found: list[CodeSite] = []
    for place in places:
        found.append(place)
        if len(found) == SURE and len({(one.file, one.line) for one in found}) == 1:
            return place
    return most_common(found)


def most_common(places: list[CodeSite]) -> CodeSite | None:
    """Return the place that the most probes show, if these are many enough."""
    counts = Counter((place.file, place.line) for place in places)
    for best, times in counts.most_common(1):
        if times >= AGREE * len(places):
            return next(place for place in places if (place.file, place.line) == best)
    return None


def place_of_end(program: Program, runs: list[RecordedRun]) -> CodeSite | None:
    """Return the last `return` of a program that makes no tensors."""
    if any(one.place for run in runs for one in run.made):
        return None
    return place_of_last(program)


def place_of_last(program: Program) -> CodeSite | None:
    """Return the last `return` of a program."""
    code = code_of(program)
    if code is None:
        return None
    line = line_of_return(CodeSite(code, code.co_firstlineno))
    return CodeSite(code, line) if line else None


def with_place(text: str, place: CodeSite | None, program: Program) -> Found:
    if place is None or not linecache.getline(place.file, place.line):
        return Found(text)
    code = code_of(program)
    own = code.co_filename if code else place.file
    if own == place.file or not is_readers_file(own):
        return Found(text, place.line)
    path = Path(place.file)
    name = path.name if path.is_file() else f"the cell of `{place.code.co_name}`"
    return Found(text, place.line, name)


def code_of(program: Program) -> CodeType | None:
    return getattr(inspect.unwrap(program), "__code__", None)


class Telling:
    """The stages of a task, looked up among the tensors of a program on each probe."""

    ALL = "everything"

    def __init__(
        self, runs: list[RecordedRun], rights: list[Right], sizes: list[dict[str, int]]
    ) -> None:
        self.runs, self.rights, self.sizes = runs, rights, sizes
        self.pools = [
            pool_of(one for one in run.made if one.operation != "given") for run in runs
        ]
        stages = rights[0].stages
        self.names = list(stages)
        self.needs: dict[str, Sequence[str]] = {}
        for i, name in enumerate(self.names):
            needs = stages[name][0].needs
            self.needs[name] = self.names[:i][-1:] if needs is None else needs
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
        """Yield the stages that a stage is made from."""
        for each in self.needs[name]:
            yield each
            yield from self.above(each)

    def text(self) -> str:
        """Say which stages are there, and the first that is missing."""
        is_there = {name for name in self.names if self.found[name]}
        passed = {each for name in is_there for each in self.above(name)}
        missing = [name for name in self.names if name not in is_there | passed]
        if not missing:
            return self.beyond(self.names[-1])
        said = []
        for kind, how in (("same", "right"), ("transposed", "there, transposed")):
            last = [
                name
                for name in self.names
                if self.found[name] == kind and name not in passed
            ]
            if last:
                verb = "is" if len(last) == 1 else "are"
                said.append(f"{listed(last[-NAMED:])} {verb} {how}")
        said.append(f"no tensor of yours is {missing[0]}")
        known = self.map_onto(missing[0], self.pools)
        return "; ".join(said) + (f": yours is that {known}" if known else "")

    def beyond(self, last: str) -> str:
        """Say what is told when every stage is there."""
        pools = [pool_of(*run.results[-1:]) for run in self.runs]
        known = self.map_onto(last, pools)
        text = f"{self.ALL} up to {last} is right; what you return is not"
        return text + (f": it is that {known}" if known else "")

    def map_onto(self, name: str, pools: list[Pool]) -> str:
        """Say by which map a stage that is not there becomes one that is."""
        found: list[list[maps.Map]] = []
        sizes = []
        for pool, right, size in zip(pools, self.rights, self.sizes, strict=True):
            forms = [
                numbers_of(stage.tensors[0]) for stage in right.stages.get(name, ())
            ]
            tells = [one for one in forms if len(np.unique(np.abs(one).round(9))) > 1]
            if tells:
                found.append(list(maps.maps_onto(tells[-1], pool, any(pool.rough))))
                sizes.append(size)
        return maps.told(found, sizes)


def pool_of(made: Iterable[Made] = ()) -> Pool:
    return Pool((one.value, one.rough) for one in made)


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
