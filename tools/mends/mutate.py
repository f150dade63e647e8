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
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from cosmic_ray.mutating import mutate_code

from mygpt.check.catalogue import TASKS
from mygpt.check.mends.source import SourceText
from mygpt.check.process.run import Outcome
from mygpt.check.task import Program
from tools.mends import inputs
from tools.mends.programs import (
    FOLDER,
    StoredEdit,
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
from tools.mutants.of_python import operators, positions

SEED = 2026
NUMBER, SPARE, PAIRS = 500, 250, 150
OF_A_TASK = NUMBER * 8 // 100
INPUTS = {"answer": 200}
USUAL_INPUTS = 1000


OPERATORS = operators()


@dataclass(frozen=True)
class MutationSite:
    """Where an operator can change a right source.

    occurrence: which of the operator's places there it is, from 0. first, last: line
    from 1, and column from 0.
    """

    source: str
    operator: str
    occurrence: int
    first: tuple[int, int]
    last: tuple[int, int]


def places_of(source: str) -> Iterator[MutationSite]:
    """Yield every place of a right source that an operator can change."""
    for name, occurrence, *ends in positions(text_of(source), OPERATORS):
        yield MutationSite(source, name, occurrence, *ends)


def edit_at(place: MutationSite) -> StoredEdit | None:
    """The change that is made there; None if it leaves the program, or none at all."""
    text = text_of(place.source)
    new = mutate_code(text, OPERATORS[place.operator], place.occurrence)
    if not new or not is_program(new) or same_syntax(text, new):
        return None
    return change(text, new, place)


def change(text: str, new: str, place: MutationSite) -> StoredEdit:
    """What stands between the same beginning and end, with no space too many."""
    source = SourceText(text)
    start, end = source.at(*place.first), source.at(*place.last)
    before, after = len(text[:start].rstrip()), len(text) - end
    put = new[before : len(new) - after].strip()
    for spaced in (put, f"{put} ", f" {put}", f" {put} "):
        if same_syntax(text[:start] + spaced + text[end:], new):
            return StoredEdit(*place.first, text[start:end], spaced, place.operator)
    raise ValueError(f"expected a change at {place} alone; got {new!r}")


@dataclass
class JudgedMutation:
    """A wrong program with the outcomes on its task's probes."""

    wrong: Wrong
    edit: StoredEdit
    program: Program
    outcomes: list[Outcome]


class Judge:
    """Says which wrong programs are of use; keeps these, by source and line."""

    def __init__(self) -> None:
        self.accepted: dict[tuple[str, int], list[JudgedMutation]] = defaultdict(list)

    def judged(self, source: str, edit: StoredEdit) -> JudgedMutation | None:
        """The program that an edit makes, or None if it is of no use."""
        wrong = edited(name_of(source, [edit]), source, [edit])
        program = self.loaded(wrong)
        if program is None or not self.alters(wrong, program):
            return None
        found = JudgedMutation(wrong, edit, program, on_probes(wrong, program))
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
        numbers = range(INPUTS.get(task.name, USUAL_INPUTS))
        right = function_of(task, text_of(wrong.source))
        return all(
            inputs.first_difference(task, program, other, numbers) is not None
            for other in (right, *others)
        )

    def same(self, one: JudgedMutation, other: JudgedMutation) -> bool:
        task = TASKS[one.wrong.task]
        pairs = zip(other.outcomes, one.outcomes, strict=True)
        return not any(inputs.differ(task, *pair) for pair in pairs)


def on_probes(wrong: Wrong, program: Program) -> list[Outcome]:
    """What a program gives on the probes of its task."""
    task = TASKS[wrong.task]
    given = map(task.arguments_of, task.probes)
    return [inputs.outcome_of(task, program, each) for each in given]


def name_of(source: str, edits: list[StoredEdit]) -> str:
    parts = (source, *(str((e.line, e.column, e.new)) for e in edits))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def drawn(judge: Judge, rng: random.Random) -> list[JudgedMutation]:
    """NUMBER programs within the limits, then SPARE more of the common families."""
    waiting: dict[str, dict[str, list[MutationSite]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for source in right_sources():
        for place in places_of(source):
            waiting[family(place.operator)][task_of(source)].append(place)
    for by_task in waiting.values():
        for places in by_task.values():
            rng.shuffle(places)
    sizes = {name: sum(map(len, by.values())) for name, by in waiting.items()}
    rarest_first = sorted(waiting, key=lambda name: (sizes[name], name))
    found: list[JudgedMutation] = []
    counts: Counter = Counter()
    for number, of_a_task in ((NUMBER, OF_A_TASK), (NUMBER + SPARE, NUMBER)):
        for i, name in enumerate(rarest_first):
            share = math.ceil((number - len(found)) / (len(rarest_first) - i))
            some = of_family(judge, waiting[name], counts, of_a_task)
            found += itertools.islice(some, share)
            print(f"{name}: {len(found)} in all", file=sys.stderr, flush=True)
    return found


def of_family(
    judge: Judge,
    waiting: dict[str, list[MutationSite]],
    counts: Counter,
    of_a_task: int,
) -> Iterator[JudgedMutation]:
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


def halves(found: list[JudgedMutation], rng: random.Random) -> tuple[list, list]:
    """Split the programs of each task, an odd one to the half that is smaller."""
    first: list[JudgedMutation] = []
    second: list[JudgedMutation] = []
    for task in TASKS:
        some = [each for each in found if each.wrong.task == task]
        rng.shuffle(some)
        for each in some:
            (first if len(first) <= len(second) else second).append(each)
    return first, second


def pairs(judge: Judge, found: list[JudgedMutation], rng: random.Random) -> list[tuple]:
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


def store(name: str, rows: list[tuple[str, list[StoredEdit]]]) -> None:
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
