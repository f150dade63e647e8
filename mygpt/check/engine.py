"""How a check goes: values, then gradients, then what must hold besides."""

import math
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from io import StringIO
from itertools import chain
from typing import Any

import torch

from mygpt.check.apart import copies_ended
from mygpt.check.classes import first_entry, from_class
from mygpt.check.compare import (
    DIGITS,
    TOLERANCE,
    Difference,
    convert,
    copy_of,
    describe,
    digits_apart,
    distance,
    find_difference,
    show,
)
from mygpt.check.compose import Search
from mygpt.check.crashes import cause_of
from mygpt.check.errors import one_line, readers_frames, too_large, trace_of
from mygpt.check.fresh import fresh_arguments
from mygpt.check.gradients import gradients, in_order, show_in_nudges, tensors_in
from mygpt.check.result import Result, shapes, show_arguments
from mygpt.check.run import (
    PATIENCE,
    RANDOM,
    Outcome,
    OutOfTime,
    Unusable,
    WrongResult,
    in_parts,
    kept_state,
    own_state,
    run_once,
    time_limit,
)
from mygpt.check.shrink import shrink
from mygpt.check.source import slips
from mygpt.check.stages.find import Found, find
from mygpt.check.task import Arguments, Mistake, Probe, Program, Property, Task

VISIBLE = 0.02  # share of the largest value by which a shown difference exceeds it
LONGEST = 2000  # characters of what a program printed
HALVES = (torch.float16, torch.bfloat16)
ROUGH = 0.02  # what half precision is right to after a few steps
FEW = 3  # numbers that half precision may hold by chance
PRECISE = 1e-10  # a program in float64 is as close as this
FRESH, FEWEST = 60, 12  # inputs that the task does not list, on which a name must hold
FRESH_SECONDS = 0.3  # of processor time, after which the fewest are enough
SELDOM = 0.05  # share of them on which it need not
MEMORY = (
    "Your program asked for more memory than it may have. Its inputs are small: is a "
    "shape or a count larger than meant?"
)
NUDGED = (
    "The gradients of your program are not those that small changes of its inputs show."
)
ENDLESS = "is there a loop that never ends?"
WAITED = "in most of them it did not compute: does it sleep, or wait?"
COMPILED = (
    "PyTorch's compiler (`torch.compile`) was at work: leave it out here, or give it "
    "more time with a longer limit."
)
DRAWN = "Your program's result is random; nothing in this task is."
OWN_WEIGHTS = (
    " A layer that is made inside it, such as `nn.Linear`, draws weights of its own: "
    "compute with those that are given."
)
PRINTED = "None (your program prints something; is a `return` missing?)"
HALF = (
    "Your result has only the three digits of half precision (float16, or bfloat16): "
    "compute in the type of the arguments."
)
WRONG_TYPES = re.compile(r"dtype|[Ff]loat|[Dd]ouble|scalar type")


class NotRight(Exception):
    """A check has found something; holds the result."""

    def __init__(self, result: Result):
        self.result = result


def check(
    task: Task,
    program: Any,
    parameters: dict[str, str] | None = None,
    limit: int | float | None = None,
) -> Result:
    """Check a reader's program, up to the first thing that is wrong.

    `parameters` tells which attribute of a class holds which weight. What the program
    prints in its first run is in the result.
    """
    return examine(task, program, parameters, limit)[0]


def examine(
    task: Task,
    program: Any,
    parameters: dict[str, str] | None = None,
    limit: int | float | None = None,
) -> tuple[Result, "Checking | None"]:
    """Check a program; return also the check itself, if it came that far."""
    seconds = limit or task.limit
    printed = Printed()
    checking = None
    with redirect_stdout(printed), copies_ended(), own_state():
        try:
            with time_limit(seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the reader's program
                if parameters is not None:
                    task, program = from_class(task, program, parameters)
                check_function(task, program)
                checking = Checking(task, program, printed=printed)
                result = checking.result()
        except NotRight as found:
            result = found.result
        except Unusable as error:
            result = failed(task, "load", str(error))
        except OutOfTime as error:
            result = out_of_time(task, seconds, error)
        except SystemExit as error:
            text = f"Your program ends Python itself with {one_line(error)}."
            result = failed(task, "run", text)
    result.printed = printed.first()
    return result, checking


def out_of_time(
    task: Task,
    seconds: int | float,
    error: OutOfTime | None = None,
    when: str = "",
    **found: Any,
) -> Result:
    waited = error is not None and "wait" in error.args
    why = WAITED if waited else ENDLESS
    why = COMPILED if "torch._inductor" in sys.modules else why
    seconds *= PATIENCE if waited else 1
    text = f"Your program was stopped after {seconds:g} seconds; {why}{when}"
    return failed(task, "time", text, **found)


class Printed(StringIO):
    """What a program prints; only its first run counts, and no more than fits."""

    end: int | None = None

    def write(self, text: str) -> int:
        if self.tell() < LONGEST:
            super().write(text)
        return len(text)

    def first(self) -> str:
        return self.getvalue()[: self.end]


def check_function(task: Task, program: Any) -> None:
    if not callable(program):
        raise Unusable(
            f"Expected a function {task.signature}, got {describe(program)}."
        )
    if isinstance(program, type):
        raise Unusable(
            f"Expected a function {task.signature}, got a class."
            if task.sizes is None
            else "For a class, say which of its parameters is which weight: "
            f"parameters={{{first_entry(task)}, …}}."
        )


def failed(task: Task, stage: str, message: str, **found: Any) -> Result:
    return Result(
        task.name,
        False,
        stage,
        message=message,
        asked=f"{task.signature}: {task.asks}",
        section=task.section,
        **found,
    )


@dataclass
class Checking:
    """One program under check, against one form of the right answer.

    gradients, seen: what it computed besides the outcomes, as far as the check went.
    """

    task: Task
    program: Program
    dtype: torch.dtype = torch.float64
    printed: Printed = field(default_factory=Printed)
    gradients: list[dict[str, Any]] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    fresh: list[tuple[Arguments, Outcome]] = field(default_factory=list)

    def result(self) -> Result:
        if self.needs_float32():
            self.dtype = torch.float32
        form, reference = self.nearest_form()
        if self.trouble_with(reference):
            for arguments, outcome in zip(self.arguments, self.outcomes, strict=True):
                if outcome.trouble == RANDOM and not outcome.error:
                    self.check_effect(RANDOM, arguments)
            raise NotRight(self.explain(reference))
        self.check_effects()
        self.check_gradients(reference)
        self.check_properties()
        return self.right(form)

    def right(self, form: str) -> Result:
        if self.task.praise:
            given = [outcome.value for outcome in self.outcomes]
            form = self.task.praise(self.arguments, given)
        return Result(self.task.name, True, message=form)

    @cached_property
    def arguments(self) -> list[Arguments]:
        return [self.task.arguments_of(probe) for probe in self.task.probes]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        return [
            run_once(self.task, self.program, each, self.dtype)
            for each in self.arguments
        ]

    def known_outcomes(self, program: Program) -> list[Outcome]:
        """Return the outcomes of a program of the book or of the catalogue."""
        count = range(len(self.task.probes))
        return [outcome_of(self.task, program, i, self.dtype) for i in count]

    def needs_float32(self) -> bool:
        """Whether the program makes tensors of its own in PyTorch's default type."""
        error = run_once(
            self.task, self.program, self.arguments[0], torch.float64
        ).error
        self.printed.end = self.printed.tell()
        return isinstance(error, RuntimeError) and bool(WRONG_TYPES.search(str(error)))

    def nearest_form(self) -> tuple[str, Program]:
        """Return the form of the right answer that is nearest to the program's."""
        forms = {"": self.task.reference, **self.task.forms}
        return min(forms.items(), key=lambda form: self.distance_from(form[1]))

    def distance_from(self, reference: Program) -> float:
        """Add up the largest differences from what a program of the book gives."""
        total = 0.0
        for expected, got in zip(
            self.known_outcomes(reference), self.outcomes, strict=True
        ):
            pairs = zip(
                tensors_in(in_order(expected.value)),
                tensors_in(in_order(got.value)),
                strict=False,
            )
            for a, b in pairs:
                if a.shape == b.shape and a.numel():
                    total += (a - b).abs().nan_to_num(0.0).max().item()
        return total

    def trouble_with(self, reference: Program) -> bool:
        return any(map(self.differ, self.known_outcomes(reference), self.outcomes))

    def differ(self, expected: Outcome, got: Outcome) -> bool:
        return differ(expected, got, self.task.tolerance)

    # What is wrong

    def explain(self, reference: Program) -> Result:
        """Name the mistake if it is known; otherwise show the plain difference."""
        expected = self.known_outcomes(reference)
        mistake = self.known_mistake()
        if mistake and mistake.form:
            reference = self.task.forms[mistake.form]
            expected = self.known_outcomes(reference)
        first = next(
            i
            for i, pair in enumerate(zip(expected, self.outcomes, strict=True))
            if self.differ(*pair)
        )
        if mistake:
            text = f"This is what comes out when {mistake.text}."
            stage, name = "value", mistake.name
        else:
            stage, text = reason(
                expected[first], self.outcomes[first], self.task.tolerance
            )
            name = None
        if stage in ("run", "type") and not mistake:
            error = self.outcomes[first].error
            return failed(
                self.task,
                stage,
                self.plainly(stage, text, error),
                input=shapes(self.arguments[first]),
                hints=slips(self.program),
                trace=trace_of(error),
            )
        result = self.with_smallest_input(
            self.task.probes[first], reference, stage, text, name
        )
        if result.stage in ("value", "shape"):
            self.with_place(result, expected)
        return result

    def with_place(self, result: Result, expected: list[Outcome]) -> None:
        """Add to a result where the program leaves the right way."""
        found = self.place(expected, bool(result.mistake))
        result.line, result.file = found.line, found.file
        result.where = found.where if result.mistake else found.sentence

    def place(self, expected: list[Outcome], named: bool) -> Found:
        probes = [i for i, each in enumerate(self.outcomes) if not each.error]
        wrong = [i for i in probes if self.differ(expected[i], self.outcomes[i])]
        try:
            return find(self.task, self.program, probes, wrong, self.dtype, named)
        except (Exception, OutOfTime):
            return Found()  # the failure itself is told in any case

    def plainly(self, stage: str, text: str, error: BaseException | None) -> str:
        """Put plain words before an error's own, and add what a print shows."""
        if stage == "run" and error and not too_large(error):
            return self.with_cause(error, text)
        printed = self.printed.first().strip()
        return text.replace(describe(None), PRINTED) if printed else text

    def with_cause(self, error: BaseException, text: str) -> str:
        return f"{cause_of(error, self.task, self.program)} {text}".strip()

    def agrees(self, program: Program) -> bool:
        """Whether a wrong program does what this one does, with at least one value.

        It also has to leave the same trail.
        """
        valued = False
        for i, got in enumerate(self.outcomes):
            wrong = outcome_of(self.task, program, i, self.dtype)
            if self.differ(wrong, got) or trail(wrong) != trail(got):
                return False
            valued = valued or wrong.error is None
        return valued

    def known_mistake(self) -> Mistake | None:
        """Find the wrong program that gives what this one gives on every input."""
        for mistake in self.task.mistakes:
            if self.agrees(mistake.program) and self.agrees_elsewhere(mistake.program):
                return mistake
        with kept_state():
            search = Search(self.task, self.fits, self.distance_from_first)
            several = self.has_all_values and len(self.values_seen()) > 1
            return search.mistake(several)

    def fits(self, program: Program) -> bool:
        """Whether a wrong program does what this one does, and not what is right."""
        first = first_value_of(self.task, program, self.dtype)
        if self.differ(first, self.outcomes[0]) or not self.agrees(program):
            return False
        given = self.known_outcomes(program)
        forms = (self.task.reference, *self.task.forms.values())
        return all(
            any(map(self.differ, self.known_outcomes(f), given)) for f in forms
        ) and self.agrees_elsewhere(program)

    def agrees_elsewhere(self, program: Program) -> bool:
        """Whether a wrong program does what this one does on inputs beyond the probes.

        Few may differ, or give NaN instead: "forgotten" may mean "far too small".
        """
        end, apart = time.process_time() + FRESH_SECONDS, 0
        given = any(map(has_nan, self.outcomes))
        for number, (arguments, got) in enumerate(self.elsewhere(), start=1):
            wrong = run_once(self.task, program, arguments, self.dtype)
            if given or not has_nan(wrong):
                apart += self.differ(wrong, got) or trail(wrong) != trail(got)
            if apart > SELDOM * number and number >= FEWEST:
                return False
            if number >= FEWEST and time.process_time() > end:
                break
        return True

    def elsewhere(self) -> Iterator[tuple[Arguments, Outcome]]:
        """Inputs that the task does not list, and what came of each; run once."""
        for number in range(FRESH):
            if len(self.fresh) <= number:
                arguments = taken_input(self.task, self.dtype, number)
                got = run_once(self.task, self.program, arguments, self.dtype)
                self.fresh.append((arguments, got))
            yield self.fresh[number]

    def distance_from_first(self, mistake: Mistake) -> float:
        """How far a mistake's first result is from this one's, as a share."""
        single = len(mistake.changes) == 1
        run = first_value_of if single else value_on_first
        found = run(self.task, mistake.program, self.dtype)
        if found.error or self.outcomes[0].error:
            return 0.0 if found.error and self.outcomes[0].error else math.inf
        return distance(found.value, self.outcomes[0].value)

    @property
    def has_all_values(self) -> bool:
        return not any(outcome.error for outcome in self.outcomes)

    def values_seen(self) -> set:
        """Some values of the results; one alone where they hold no information.

        What is always empty, or zero, or NaN, fits too many combinations.
        """
        seen: set = set()
        for outcome in self.outcomes:
            tensors = tensors_in(in_order(outcome.value))
            parts = (tensor.nan_to_num().unique().tolist() for tensor in tensors)
            seen |= set(chain(*parts)) if tensors else {repr(outcome.value)}
            if len(seen) > 1:
                break
        return seen

    def with_smallest_input(
        self, probe: Probe, reference: Program, stage: str, text: str, name: str | None
    ) -> Result:
        def outcomes(arguments: Arguments) -> tuple[Outcome, Outcome]:
            expected, got = (
                run_once(self.task, p, arguments, self.dtype)
                for p in (reference, self.program)
            )
            return expected, got

        def kind_of(arguments: Arguments, tolerance: float) -> str | None:
            expected, got = outcomes(arguments)
            if expected.error:
                return None
            if got.error:
                return "error"
            found = find_difference(expected.value, got.value, "", tolerance)
            return found and found.kind

        # What is shown should differ in the same way, and by enough to be seen.
        original = self.task.arguments_of(probe)
        tolerance = VISIBLE if kind_of(original, VISIBLE) else self.task.tolerance
        kind = kind_of(original, tolerance)

        def fails(arguments: Arguments) -> bool:
            return kind_of(arguments, tolerance) == kind

        smallest = shrink(self.task, probe, fails) if kind else original
        expected, got = outcomes(smallest)
        place, digits = None, DIGITS
        if not got.error:
            tolerance = self.task.tolerance
            place = find_difference(expected.value, got.value, "", tolerance)
        if place:
            digits = digits_apart(place.expected, place.got)
        half = not name and in_half_precision(*outcomes(original))
        if not name:
            stage, text = reason(expected, got, self.task.tolerance)
        if half:
            text = f"{text} {HALF}"
        result = failed(
            self.task,
            stage,
            text,
            mistake=name,
            input=[*show_arguments(smallest), *self.task.given],
            expected=show(expected.value, 8, digits),
            got=([one_line(got.error)] if got.error else show(got.value, 8, digits)),
            index=place.index if place else "",
            trace=trace_of(got.error),
        )
        several = len(result.expected) > 1
        if name and several and place and place.kind == "value" and place.index:
            result.hints.append(f"the first difference: {place.sentence}")
        if not half:
            result.hints += slips(self.program)
        if not name and not half:
            result.hints += self.broken_properties(stage)
        return result

    # What else must hold

    def check_effects(self) -> None:
        for arguments, outcome in zip(self.arguments, self.outcomes, strict=True):
            self.check_effect(outcome.trouble, arguments)

    def check_effect(self, trouble: str | None, arguments: Arguments) -> None:
        if trouble == RANDOM:
            trouble = self.random_trouble(arguments)
        if trouble:
            raise NotRight(
                failed(self.task, "effect", trouble, input=shapes(arguments))
            )

    def random_trouble(self, arguments: Arguments) -> str | None:
        """Return what is wrong with its random numbers; weights never used are fine."""
        states, values = [], []
        for seed in (1, 2):
            with kept_state():
                torch.manual_seed(seed)
                random.seed(seed)
                given = copy_of(convert(arguments, self.dtype))
                values.append(in_parts(self.task, self.task.run(self.program, given)))
                states.append((torch.get_rng_state().tolist(), random.getstate()))
        if find_difference(*values):
            return DRAWN + (OWN_WEIGHTS if self.task.weights else "")
        if states[0][0] == states[1][0] or states[0][1] == states[1][1]:
            return "Your program sets the seed of the random numbers for everybody."
        return None

    def check_gradients(self, reference: Program) -> None:
        for arguments in self.arguments if self.task.differentiable else ():
            expected = gradients(self.task, reference, arguments, self.dtype)
            try:
                got = gradients(self.task, self.program, arguments, self.dtype)
            except Exception as error:
                got = self.stops(error, "when gradients are wanted")
            if isinstance(got, str):
                raise NotRight(
                    failed(self.task, "gradient", got, input=shapes(arguments))
                )
            self.gradients.append(got)
            if place := find_difference(expected, got, "", self.task.tolerance):
                raise NotRight(self.explain_gradient(place, expected, got, arguments))
        if self.task.differentiable and self.is_precise(reference):
            self.compare_with_nudges()

    def stops(self, error: Exception, when: str) -> str:
        text = f"The values are right, but {when} your program stops with "
        return self.with_cause(error, f"{text}{one_line(error)}.")

    def stops_alone(
        self, error: Exception, when: str, run: Callable[[Program], Any]
    ) -> str:
        """Say how a program stops; raise again what stops the book's own one too."""
        if not readers_frames(error):
            run(self.task.reference)
        return self.stops(error, when)

    def is_precise(self, reference: Program) -> bool:
        """Whether the program computes in float64 throughout."""
        return self.dtype == torch.float64 and not any(
            find_difference(expected.value, got.value, "", PRECISE)
            for expected, got in zip(
                self.known_outcomes(reference), self.outcomes, strict=True
            )
        )

    def explain_gradient(
        self, place: Difference, expected: dict, got: dict, arguments: Arguments
    ) -> Result:
        """Name the mistake if it is known; otherwise tell which gradient is wrong."""
        name = re.split(r"\[\d", place.index)[0]
        if name in got and not got[name].any() and expected[name].any():
            return failed(
                self.task,
                "gradient",
                f"The values are right, but no gradient reaches {name}: something cuts "
                "the graph on the way (`detach`, `item`, `round`, `no_grad`, or a new "
                "`nn.Parameter` made of it).",
                input=show_arguments(arguments),
            )
        for mistake in self.task.mistakes:
            program = mistake.program
            if self.agrees(program) and self.gradients_agree(program):
                text = f"These are the gradients that come out when {mistake.text}."
                return failed(
                    self.task,
                    "gradient",
                    text,
                    mistake=mistake.name,
                    input=show_arguments(arguments),
                    hints=[f"the gradient: {place.sentence}"],
                )
        return failed(
            self.task,
            "gradient",
            f"The values are right, but a gradient with respect to {name} is not: "
            f"{place.sentence}.",
            input=show_arguments(arguments),
        )

    def gradients_agree(self, program: Program) -> bool:
        """Whether a wrong program has the gradients of this one."""
        for arguments in self.arguments:
            theirs, ours = (
                gradients(self.task, each, arguments, self.dtype)
                for each in (program, self.program)
            )
            if find_difference(theirs, ours):
                return False
        return True

    def compare_with_nudges(self) -> None:
        """Compare with what small changes of the arguments show."""
        arguments = convert(self.task.arguments_of(self.task.probes[0]), self.dtype)
        nudge = partial(show_in_nudges, self.task, arguments=arguments)
        text, trace = NUDGED, ""
        try:
            if nudge(self.program):
                return
        except Exception as error:
            text = self.stops_alone(error, "when gradients are wanted", nudge)
            trace = trace_of(error)
        raise NotRight(failed(self.task, "gradient", text, trace=trace))

    def check_properties(self) -> None:
        for each in self.task.properties:
            given = convert(self.arguments[0], self.dtype)
            try:
                self.seen.append(convert(each.seen(self.program, given), self.dtype))
                sentence = each.broken(self.seen[-1], given)
            except Exception as error:
                sentence = self.stops_alone(
                    error, "with other inputs", partial(self.holds, each)
                )
            if sentence:
                known = self.known_outcomes(self.task.reference)
                half = any(map(in_half_precision, known, self.outcomes))
                raise NotRight(self.property_failed(HALF if half else sentence))

    def holds(self, one: Property, program: Program) -> None:
        """Go through a property with a program of the book."""
        given = convert(self.arguments[0], self.dtype)
        one.broken(convert(one.seen(program, given), self.dtype), given)

    def property_failed(self, sentence: str) -> Result:
        return failed(self.task, "property", sentence, input=shapes(self.arguments[0]))

    def broken_properties(self, stage: str) -> list[str]:
        """Return a sentence for each property that does not hold either.

        Beside a wrong shape or type, only of what is not about the result.
        """
        sentences: list[str] = []
        if any(map(has_nan, self.outcomes)):
            return sentences  # nothing equals NaN
        for each in self.task.properties:
            if stage in ("shape", "type") and not each.of_calls:
                continue
            given = convert(self.arguments[0], self.dtype)
            try:
                seen = convert(each.seen(self.program, given), self.dtype)
                sentence = each.broken(seen, given)
            except Exception:
                continue  # the error has been told already
            if sentence:
                sentences.append(sentence)
        return sentences[:2]


@cache
def outcome_of(task: Task, program: Program, probe: int, dtype: torch.dtype) -> Outcome:
    """Run a program of the book or of the catalogue once for all checks."""
    return run_once(task, program, arguments_at(task, probe), dtype)


@cache
def taken_inputs(
    task: Task, dtype: torch.dtype
) -> tuple[list[Arguments], Iterator[Arguments]]:
    """Inputs that no probe has and the book's own program takes: those drawn so far."""
    inputs = fresh_arguments(task, 1)
    taken = (a for a in inputs if not run_once(task, task.reference, a, dtype).error)
    return [], taken


def taken_input(task: Task, dtype: torch.dtype, number: int) -> Arguments:
    """One of them by its number, drawn once for all checks."""
    drawn, more = taken_inputs(task, dtype)
    while len(drawn) <= number:
        drawn.append(next(more))
    return drawn[number]


@cache
def first_value_of(task: Task, program: Program, dtype: torch.dtype) -> Outcome:
    """What a program of the catalogue gives on the first probe, run once for all."""
    return value_on_first(task, program, dtype)


def value_on_first(task: Task, program: Program, dtype: torch.dtype) -> Outcome:
    """Run a program of the catalogue on the first probe, watching nothing else."""
    try:
        return Outcome(in_parts(task, task.run(program, first_arguments(task, dtype))))
    except Exception as error:
        return Outcome(error=error)


@cache
def first_arguments(task: Task, dtype: torch.dtype) -> Arguments:
    """Arguments for programs of the catalogue, which do not change them."""
    return convert(arguments_at(task, 0), dtype)


@cache
def arguments_at(task: Task, probe: int) -> Arguments:
    """Make a probe's arguments once; every run gets a copy."""
    return task.arguments_of(task.probes[probe])


def differ(expected: Outcome, got: Outcome, tolerance: float = TOLERANCE) -> bool:
    if expected.error or got.error:
        return not (expected.error and got.error)
    return find_difference(expected.value, got.value, "", tolerance) is not None


def trail(outcome: Outcome) -> list[Any]:
    """Return what is compared with mistakes only, not with the right answer."""
    value = outcome.value
    parts = value.items() if isinstance(value, dict) else ()
    return [part for name, part in parts if name.startswith("_")]


def has_nan(outcome: Outcome) -> bool:
    return any(t.isnan().any() for t in tensors_in(in_order(outcome.value)))


def in_half_precision(expected: Outcome, got: Outcome) -> bool:
    """Whether a result is of a 16-bit type, or is right to the digits of one."""
    results = tensors_in(in_order(got.value))
    if any(result.dtype in HALVES for result in results):
        return True
    right = tensors_in(in_order(expected.value))
    pairs = [(a.double(), b.double()) for a, b in zip(right, results, strict=False)]
    return any(len(b.unique()) > FEW for _, b in pairs) and any(
        all(
            torch.equal(b, b.to(dtype).double())
            and a.shape == b.shape
            and torch.allclose(a, b, rtol=ROUGH, atol=ROUGH)
            for a, b in pairs
        )
        for dtype in HALVES
    )


def reason(
    expected: Outcome, got: Outcome, tolerance: float = TOLERANCE
) -> tuple[str, str]:
    """Return the stage that failed, and a sentence."""
    if isinstance(got.error, WrongResult):
        return "type", f"Your program gives the wrong kind of result: {got.error}."
    if got.error:
        text = f"Your program stopped with {one_line(got.error)}."
        return "run", MEMORY if too_large(got.error) else text
    found = find_difference(expected.value, got.value, "", tolerance)
    assert found is not None
    start = {
        "type": "Your program gives the wrong kind of result",
        "shape": "The shape is wrong",
        "nan": "Your program gives NaN, which is not a number",
        "value": "The values are wrong",
    }[found.kind]
    stage = "value" if found.kind == "nan" else found.kind
    return stage, f"{start}: {found.sentence}."
