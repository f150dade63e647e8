"""Make the sets of programs that are wrong by one change, and by two, anew.

    python -m tools.mends.mutate

It needs Cosmic Ray 8.7.0, as `make mutants` does. All its operators that take no
arguments are used, under the names that it gives them, on the right programs of the
tests. What is drawn, with the seed 2026:

- no program that raises on the first probe, or does not end there in two seconds;
- none that gives what its right program gives on 1,000 inputs apart from the probes
  (for `answer`, where one takes 20 ms, on 200), as the checker compares;
- none that gives on every probe what another gives that is wrong in the same line;
- of a task, at most 40. The families of operators, such as all that replace a
  comparison, have equal shares, but for those that do not make so many: the rarest
  family is drawn first, and each time from the task with the fewest programs;
- half of each task's are in `open`, half in `held`. A program of `pairs` has two
  changes in two lines: of `open`, or of programs drawn beyond the 500, never of
  `held`. It does not raise on the first probe, and gives on 1,000 inputs neither what
  is right nor what either change gives alone.
"""

import hashlib
import itertools
import json
import math
import random
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from mygpt.check.catalogue import TASKS
from mygpt.check.run import Outcome
from mygpt.check.task import Program
from tools.mends import inputs
from tools.mends.programs import (
    FOLDER,
    Edit,
    Wrong,
    edited,
    family,
    function_of,
    is_program,
    right_sources,
    same_syntax,
    task_of,
    text_of,
)

SEED = 2026
NUMBER, SPARE, PAIRS = 500, 250, 150
OF_A_TASK = NUMBER * 8 // 100
INPUTS = {"answer": 200}
USUAL_INPUTS = 1000


def operators() -> dict[str, type]:
    """Those that take no arguments, by name."""
    found = {
        name.removeprefix("core/"): plugins.get_operator(name)
        for name in plugins.operator_names()
    }
    return {name: one for name, one in found.items() if not one.arguments()}


OPERATORS = operators()


@dataclass(frozen=True)
class Place:
    """Where an operator can change a right source.

    occurrence: which of the operator's places there it is, from 0. first, last: line
    from 1, and column from 0.
    """

    source: str
    operator: str
    occurrence: int
    first: tuple[int, int]
    last: tuple[int, int]


def places_of(source: str) -> Iterator[Place]:
    nodes = list(ast_nodes(get_ast(text_of(source))))
    for name, operator in OPERATORS.items():
        found = (one for node in nodes for one in operator().mutation_positions(node))
        for occurrence, (first, last) in enumerate(found):
            yield Place(source, name, occurrence, first, last)


def edit_at(place: Place) -> Edit | None:
    """The change that is made there; None if it leaves the program, or none at all."""
    text = text_of(place.source)
    new = mutate_code(text, OPERATORS[place.operator](), place.occurrence)
    if not new or not is_program(new) or same_syntax(text, new):
        return None
    return change(text, new, place)


def change(text: str, new: str, place: Place) -> Edit:
    """What stands between the same beginning and end, with no space too many."""
    offsets = [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]
    start, end = (
        offsets[row - 1] + column for row, column in (place.first, place.last)
    )
    before, after = len(text[:start].rstrip()), len(text) - end
    put = new[before : len(new) - after].strip()
    for spaced in (put, f"{put} ", f" {put}", f" {put} "):
        if same_syntax(text[:start] + spaced + text[end:], new):
            return Edit(*place.first, text[start:end], spaced, place.operator)
    raise ValueError(f"expected a change at {place} alone; got {new!r}")


@dataclass
class Judged:
    """A wrong program with the outcomes on its task's probes."""

    wrong: Wrong
    edit: Edit
    program: Program
    outcomes: list[Outcome]


@dataclass
class Judge:
    """Says which wrong programs are of use; keeps what the right ones give.

    given: the right outcomes, by source and number of the inputs.
    """

    given: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    accepted: dict[tuple[str, int], list[Judged]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def judged(self, source: str, edit: Edit) -> Judged | None:
        """The program that an edit makes, or None if it is of no use."""
        wrong = edited(name_of(source, [edit]), source, [edit])
        program = self.loaded(wrong)
        if program is None or not self.alters(wrong, program):
            return None
        found = Judged(wrong, edit, program, self.on_probes(wrong, program))
        if any(self.same(found, other) for other in self.accepted[source, edit.line]):
            return None
        self.accepted[source, edit.line].append(found)
        return found

    def loaded(self, wrong: Wrong) -> Program | None:
        """The program, or None if it does not run on the first probe."""
        task = TASKS[wrong.task]
        try:
            program = function_of(task, wrong.text)
        except Exception:
            return None
        first = task.arguments_of(task.probes[0])
        return None if inputs.outcome_of(task, program, first).error else program

    def alters(self, wrong: Wrong, program: Program, *others: Program) -> bool:
        """Whether it differs from the right program, and from others."""
        task = TASKS[wrong.task]
        right = [lambda number: self.right(wrong.source, number)]
        for other in others:
            right.append(
                lambda number, other=other: inputs.outcome(task, other, number)
            )
        return all(self.differs(wrong, program, expected) for expected in right)

    def differs(
        self, wrong: Wrong, program: Program, expected: Callable[[int], Outcome]
    ) -> bool:
        task = TASKS[wrong.task]
        return any(
            inputs.differ(task, expected(i), inputs.outcome(task, program, i))
            for i in range(INPUTS.get(task.name, USUAL_INPUTS))
        )

    def right(self, source: str, number: int) -> Outcome:
        if (source, number) not in self.given:
            task = TASKS[task_of(source)]
            program = function_of(task, text_of(source))
            self.given[source, number] = inputs.outcome(task, program, number)
        return self.given[source, number]

    def on_probes(self, wrong: Wrong, program: Program) -> list[Outcome]:
        task = TASKS[wrong.task]
        given = map(task.arguments_of, task.probes)
        return [inputs.outcome_of(task, program, each) for each in given]

    def same(self, one: Judged, other: Judged) -> bool:
        task = TASKS[one.wrong.task]
        pairs = zip(other.outcomes, one.outcomes, strict=True)
        return not any(inputs.differ(task, *pair) for pair in pairs)


def name_of(source: str, edits: list[Edit]) -> str:
    parts = (source, *(str((e.line, e.column, e.new)) for e in edits))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def drawn(judge: Judge, rng: random.Random) -> list[Judged]:
    """NUMBER programs within the limits, then SPARE more of the common families."""
    waiting: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for source in right_sources():
        for place in places_of(source):
            waiting[family(place.operator)][task_of(source)].append(place)
    for by_task in waiting.values():
        for places in by_task.values():
            rng.shuffle(places)
    sizes = {name: sum(map(len, by.values())) for name, by in waiting.items()}
    rarest_first = sorted(waiting, key=lambda name: (sizes[name], name))
    found: list[Judged] = []
    counts: Counter = Counter()
    for number, of_a_task in ((NUMBER, OF_A_TASK), (NUMBER + SPARE, NUMBER)):
        for i, name in enumerate(rarest_first):
            share = math.ceil((number - len(found)) / (len(rarest_first) - i))
            some = of_family(judge, waiting[name], counts, of_a_task)
            found += itertools.islice(some, share)
            print(f"{name}: {len(found)} in all", file=sys.stderr, flush=True)
    return found


def of_family(
    judge: Judge, waiting: dict[str, list[Place]], counts: Counter, of_a_task: int
) -> Iterator[Judged]:
    """Programs of one family, counted, each time of the task with the fewest."""
    while tasks := [
        task for task, places in waiting.items() if places and counts[task] < of_a_task
    ]:
        task = min(tasks, key=lambda task: (counts[task], task))
        place = waiting[task].pop()
        edit = edit_at(place)
        if edit and (judged := judge.judged(place.source, edit)):
            counts[task] += 1
            yield judged


def halves(found: list[Judged], rng: random.Random) -> tuple[list, list]:
    """Split the programs of each task, an odd one to the half that is smaller."""
    first: list[Judged] = []
    second: list[Judged] = []
    for task in TASKS:
        some = [each for each in found if each.wrong.task == task]
        rng.shuffle(some)
        for each in some:
            (first if len(first) <= len(second) else second).append(each)
    return first, second


def pairs(judge: Judge, found: list[Judged], rng: random.Random) -> list[tuple]:
    """Programs with two changes, each time of the task with the fewest."""
    waiting = defaultdict(list)
    for one, other in itertools.combinations(found, 2):
        same_source = one.wrong.source == other.wrong.source
        if same_source and one.edit.line != other.edit.line:
            waiting[one.wrong.task].append((one, other))
    for some in waiting.values():
        rng.shuffle(some)
    made: list[tuple] = []
    counts: Counter = Counter()
    while len(made) < PAIRS and any(waiting.values()):
        task = min(filter(waiting.get, waiting), key=lambda each: (counts[each], each))
        one, other = waiting[task].pop()
        edits = sorted((one.edit, other.edit), key=lambda e: (e.line, e.column))
        source = one.wrong.source
        wrong = edited(name_of(source, edits), source, edits)
        program = judge.loaded(wrong)
        if program and judge.alters(wrong, program, one.program, other.program):
            made.append((source, edits))
            counts[task] += 1
    return made


def store(name: str, rows: list[tuple[str, list[Edit]]]) -> None:
    lines = [
        json.dumps(
            {
                "name": name_of(source, edits),
                "source": source,
                "edits": [asdict(edit) for edit in edits],
            },
            ensure_ascii=False,
        )
        for source, edits in rows
    ]
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    warnings.simplefilter("ignore")  # of what the changed programs do
    rng, judge = random.Random(SEED), Judge()
    found = drawn(judge, rng)
    first, second = halves(found[:NUMBER], rng)
    two = pairs(judge, first + found[NUMBER:], rng)
    for name, half in (("open", first), ("held", second)):
        store(name, [(each.wrong.source, [each.edit]) for each in half])
    store("pairs", two)


if __name__ == "__main__":
    main()
