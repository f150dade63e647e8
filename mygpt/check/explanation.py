"""Why a program's values are wrong: the name of its mistake, and the smallest input."""

from functools import partial

from torch import Tensor

from mygpt.check import work
from mygpt.check.combine import MistakeSearch
from mygpt.check.compare import (
    DIGITS,
    convert,
    copy_of,
    digits_apart,
    find_difference,
    show,
)
from mygpt.check.crashes import crash_of
from mygpt.check.locate.find import Found, find, right_on
from mygpt.check.locate.match import numbers_of
from mygpt.check.process.errors import one_line, too_large, trace_of
from mygpt.check.process.run import Outcome, OutOfTime, WrongResult, kept_state
from mygpt.check.properties import broken_properties
from mygpt.check.result import Result, failed, shapes, show_arguments
from mygpt.check.shrink import shrink
from mygpt.check.slips import (
    kept_between_calls,
    last_line,
    only_line,
    slips,
    slips_with_lines,
)
from mygpt.check.task import Arguments, Mistake, Program
from mygpt.check.values import (
    HALF,
    Submission,
    arguments_at,
    differ,
    differences,
    distance_on_first,
    has_nan,
    in_half_precision,
    is_telling,
    other_input,
    outcome_of,
    same_as_mistake,
    value_of,
)

VISIBLE = 0.02  # share of the largest value by which a shown difference exceeds it
OTHERS, FEWEST = 60, 12  # inputs that are no probes, on which a name must hold
OTHERS_SECONDS = 0.3  # of work, after which the fewest are enough
SELDOM = 0.05  # share of them on which it need not
MEMORY = (
    "Your program asked for more memory than it may have. Its inputs are small: is a "
    "shape or a count larger than meant?"
)
WHOLE = r"torch\.(int|long|short|uint)|\.(long|int|short)\("  # a type is chosen
KINDS = {
    "type": ("type", "Your program gives the wrong kind of result"),
    "shape": ("shape", "The shape is wrong"),
    "nan": ("value", "Your program gives NaN, which is not a number"),
    "value": ("value", "The values are wrong"),
}


def explain(submission: Submission) -> Result:
    """Name the mistake if it is known; otherwise show the plain difference."""
    task, reference = submission.task, submission.reference
    mistake = known_mistake(submission)
    if mistake and mistake.form:
        reference = task.forms[mistake.form]
    expected = submission.outcomes_of(reference)
    wrong = differences(expected, submission.outcomes, task)
    first = wrong[0]
    got = submission.outcomes[first]
    stage, text = reason(expected[first], got, task.tolerance)
    if stage in ("run", "type") and not mistake:
        line = None
        if stage == "run" and not too_large(got.error):

            def is_right(tensor: Tensor) -> bool:
                made = right_on(task, first, submission.dtype).known
                return made.find(numbers_of(tensor)) == "same"

            said, line = crash_of(got.error, task, submission.program, is_right)
            text = f"{said} {text}".strip()
            kept = kept_between_calls(submission.program)
            if kept and first:  # the first call ran
                text, line = f"{text} {kept[0]}", kept[1]
        elif stage == "type" and "got None" in text:
            line = last_line(submission.program)
        elif stage == "type" and "tensor of torch.int" in text:
            line = only_line(submission.program, WHOLE)
        return failed(
            task,
            stage,
            text,
            input=shapes(submission.arguments[first]),
            hints=slips(submission.program),
            trace=trace_of(got.error),
            line=line,
        )
    result = with_smallest_input(submission, reference, first, mistake)
    if result.stage in ("value", "shape"):
        found = located(submission, wrong, named=bool(mistake))
        result.line, result.file = found.line, found.file
        result.where = found.where if mistake else found.sentence
    told = slips_with_lines(submission.program)
    kept = kept_between_calls(submission.program)
    if kept and keeps(submission):
        result.hints.append(kept[0])
        told = [kept, *told]
    if told:
        result.line, result.file, result.sure = told[0][1], "", True
        result.where = f"line {result.line}"
    return result


def keeps(submission: Submission) -> bool:
    """Whether a program gives something else when it is called once more."""
    first = submission.outcome(submission.arguments[0])
    before = Outcome(copy_of(first.value), first.error)
    return differ(before, submission.outcome(submission.arguments[0]))


def located(submission: Submission, wrong: list[int], named: bool) -> Found:
    """Find where a program departs from the right ones; nothing if that fails."""
    runs = [i for i, each in enumerate(submission.outcomes) if not each.error]
    wrong = [i for i in wrong if i in runs]
    task, program, dtype = submission.task, submission.program, submission.dtype
    try:
        return find(task, program, runs, wrong, dtype, named)
    except (Exception, OutOfTime):
        return Found()  # the failure itself is told in any case


# The name


def known_mistake(submission: Submission) -> Mistake | None:
    """Find a mistake that agrees with the program on every input."""
    task, dtype = submission.task, submission.dtype
    for mistake in task.mistakes:
        program = mistake.program
        if submission.agrees(program) and agrees_elsewhere(submission, program):
            return mistake

    def distance(program: Program, cached: bool) -> float:
        if cached:
            found = outcome_of(task, program, 0, dtype)
        else:
            found = value_of(task, program, arguments_at(task, 0, dtype))
        return distance_on_first(submission, found)

    with kept_state():
        search = MistakeSearch(task, partial(fits, submission), distance)
        return search.mistake(several=is_telling(submission.outcomes))


def fits(submission: Submission, program: Program) -> bool:
    """Whether a candidate agrees with the program, and is no right answer."""
    if not submission.agrees(program):
        return False
    answers = map(submission.outcomes_of, submission.task.answers.values())
    given = submission.outcomes_of(program)
    wrong = all(differences(answer, given, submission.task) for answer in answers)
    return wrong and agrees_elsewhere(submission, program)


def agrees_elsewhere(submission: Submission, program: Program) -> bool:
    """Whether a candidate agrees with the program on inputs that are no probes.

    Few may differ, or give NaN instead: "forgotten" may mean "far too small".
    """
    task, dtype = submission.task, submission.dtype
    end, apart = work.after(OTHERS_SECONDS), 0
    nan_allowed = not any(map(has_nan, submission.outcomes))
    for number in range(OTHERS):
        arguments = other_input(task, dtype, number)
        if number == len(submission.elsewhere):
            submission.elsewhere.append(submission.outcome(arguments))
        wrong = value_of(task, program, arguments)
        if not (nan_allowed and has_nan(wrong)):
            apart += not same_as_mistake(wrong, submission.elsewhere[number], task)
        if apart > SELDOM * max(number + 1, FEWEST):
            return False
        if number + 1 >= FEWEST and work.now() > end:
            break
    return True


# The smallest input


def with_smallest_input(
    submission: Submission, reference: Program, probe: int, mistake: Mistake | None
) -> Result:
    """Describe what is wrong by the smallest input found that shows it."""
    task = submission.task

    def outcomes(arguments: Arguments) -> tuple[Outcome, Outcome]:
        expected = value_of(task, reference, convert(arguments, submission.dtype))
        return expected, submission.outcome(arguments)

    # The difference shown is to be of the same kind, and large enough to be seen.
    original = submission.outcomes_of(reference)[probe], submission.outcomes[probe]
    tolerance = VISIBLE if kind_of(*original, VISIBLE) else task.tolerance
    kind = kind_of(*original, tolerance)

    def fails(arguments: Arguments) -> bool:
        return kind_of(*outcomes(arguments), tolerance) == kind

    smallest = submission.arguments[probe]
    if kind:
        smallest = shrink(task, task.probes[probe], fails)
    expected, got = outcomes(smallest)
    if not differ(expected, got, task.tolerance):  # it keeps something between calls
        smallest, (expected, got) = submission.arguments[probe], original
    difference, digits = None, DIGITS
    if not got.error:
        difference = find_difference(expected.value, got.value, "", task.tolerance)
    if difference:
        digits = digits_apart(difference.expected, difference.got)
    half = not mistake and in_half_precision(*original)
    if mistake:
        stage, text = "value", f"This is what comes out when {mistake.text}."
    else:
        stage, text = reason(expected, got, task.tolerance)
    result = failed(
        task,
        stage,
        f"{text} {HALF}" if half else text,
        mistake=mistake.name if mistake else None,
        input=[*show_arguments(smallest), *task.given],
        expected=show(expected.value, 8, digits),
        got=[one_line(got.error)] if got.error else show(got.value, 8, digits),
        index=difference.index if difference else "",
        trace=trace_of(got.error),
    )
    several = len(result.expected) > 1
    at_index = difference and difference.kind == "value" and difference.index
    if mistake and several and at_index:
        result.hints.append(f"the first difference: {difference.sentence}")
    if not half:
        result.hints += slips(submission.program)
    if not mistake and not half:
        result.hints += broken_properties(submission, stage)
    return result


def kind_of(expected: Outcome, got: Outcome, tolerance: float) -> str | None:
    """Return the kind of a difference, or "error"; None where there is none."""
    if expected.error:
        return None
    if got.error:
        return "error"
    found = find_difference(expected.value, got.value, "", tolerance)
    return found and found.kind


def reason(expected: Outcome, got: Outcome, tolerance: float) -> tuple[str, str]:
    """Return the stage that failed, and a sentence."""
    if isinstance(got.error, WrongResult):
        return "type", f"Your program gives the wrong kind of result: {got.error}."
    if got.error:
        text = f"Your program stopped with {one_line(got.error)}."
        return "run", MEMORY if too_large(got.error) else text
    found = find_difference(expected.value, got.value, "", tolerance)
    assert found is not None
    stage, start = KINDS[found.kind]
    return stage, f"{start}: {found.sentence}."
