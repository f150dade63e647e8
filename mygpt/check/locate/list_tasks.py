"""The line at which a program of lists and counts diverges from the right ones."""

import ast
import inspect
from collections import Counter
from collections.abc import Collection, Sequence
from types import CodeType

from mygpt.check.locate.values import FIRST, Event, Ids, Trace, Value, in_bytes, parts
from mygpt.check.syntax import assigned, innermost, lines_of, names_in, tree_of
from mygpt.check.task import Program

LOOPS = (ast.For, ast.While)
ENDS = (ast.Break, ast.Return)
LATEST = 4  # lines that ran last, among which the end of a loop is looked for


def found_in(trace: Trace, values: Sequence[Value]) -> dict[int, int]:
    """Return which values, by number, a program had, and at which event first."""
    found: dict[int, int] = {}
    for i, each in enumerate(trace.events):
        for number, value in enumerate(values):
            if value.want and each.forms.get(value.kind) == value.want:
                found.setdefault(number, i)
    return found


class Steps:
    """The ids between those before a merge and those after it."""

    def __init__(self, wanted: Value) -> None:
        words = [wanted.want] if wanted.kind == "ids" else wanted.want
        self.merges = wanted.merges
        self.new, self.old = parts(words), parts(wanted.before)
        self.whole = {*words, *wanted.before}
        self.known = {i for ids in self.whole for i in ids}
        self.plain = parts([in_bytes(ids, self.merges) for ids in words])

    def lead_to(self, ids: Ids) -> bool:
        """Whether ids begin like wanted ones and end like those before."""
        return in_bytes(ids, self.merges) in self.plain and any(
            ids[:i] in self.new and ids[i:] in self.old for i in range(len(ids) + 1)
        )


class ListRun:
    """A run of a wrong program, beside the values that a right one has, in order.

    kinds: of the values of which it has any, in any of its runs.
    last: the value that it had last of those before the missing one; missing: the first
    that it should have had after all others of its kind that it had.
    """

    def __init__(
        self,
        trace: Trace,
        program: Program,
        values: Sequence[Value],
        kinds: Collection[str],
    ) -> None:
        self.trace, self.values = trace, values
        self.code: CodeType = inspect.unwrap(program).__code__
        self.tree = tree_of(self.code.co_filename)
        found = found_in(trace, values)
        ends = {values[number].kind: number for number in sorted(found)}
        missing = [
            number
            for number, value in enumerate(values)
            if value.want and value.kind in kinds and number > ends.get(value.kind, -1)
        ]
        number = missing[0] if missing else len(values)
        counted = any("counts" in each.forms for each in trace.events)
        chosen = bool(missing) and values[number].kind == "pairs"
        if chosen and counted and "counts" not in kinds:
            number -= 1  # counts that are right in no run are why the choice is wrong
        before = [each for each in found if each < number]
        self.missing = values[number] if missing else None
        self.last = values[max(before)] if before else None
        if self.missing and self.missing.kind == "texts":
            before = [each for each in before if values[each].kind != "pairs"]
        start = found[max(before)] if before else -1
        self.before, self.after = trace.events[: start + 1], trace.events[start + 1 :]
        when = trace.events[start].when if before else 0
        self.ran = [line for _, line in trace.lines[when:]]

    def text(self) -> str:
        """Say which value was right last, and which is missing."""
        if self.missing is None:
            return ""
        told = f"everything up to {self.last.name} is right; then " if self.last else ""
        return f"{told}no variable of yours holds {self.missing.name}"

    def line(self) -> int | None:
        """Return the line of the first variable that differs from a right program's."""
        if self.missing is None:
            went_on = self.last and any(each.forms.get("pairs") for each in self.after)
            return self.line_of_stop() if went_on else None
        lines = {"counts": self.line_of_counts, "pairs": self.line_of_choice}
        line = lines.get(self.missing.kind, self.line_of_ids)(self.missing)
        return line or self.line_of_stop()

    def line_of_ids(self, missing: Value) -> int | None:
        """Return the line of the first ids that are no step to the right ones."""
        steps = Steps(missing)
        told = [(each, ids) for each in self.after for ids in each.ids]
        right = {
            each.variable
            for each in self.trace.events
            if any(map(steps.lead_to, each.ids))
        }
        held = {e.variable: (e.line, ids) for e in self.before for ids in e.ids}
        last_line = 0
        for i, (each, ids) in enumerate(told):
            if missing.kind == "texts" and not missing.before and "texts" in each.forms:
                return each.line
            copied = self.copied(each)
            line, before = held.get(each.variable, (0, ()))
            if steps.lead_to(ids):
                if copied and before in steps.whole and ids not in steps.whole:
                    return self.loop_around(last_line)  # which left something out
                held[each.variable] = each.line, ids
                last_line = last_line if copied else each.line
                continue
            other = self.last and right and each.variable not in right
            if other or lead_soon(told[i:], steps):
                continue
            step = innermost(self.tree, line + 1, ast.stmt)
            joined = before and before[-1] >= FIRST and ids[:-1] == before
            if joined and isinstance(step, ast.AugAssign):
                return step.lineno  # which does not pass the pair
            return self.source(each, max({*ids} - steps.known, default=None))
        return None

    def line_of_counts(self, missing: Value) -> int | None:
        """Return the line where counts became too large, or ended too small."""
        wanted, last = dict(missing.want), None
        held = {each.name for each in self.before if "counts" in each.forms}
        for each in self.after:
            counts = dict(each.forms.get("counts", ()))
            if not counts:
                continue
            if last and sum(counts.values()) < sum(n for _, n in last.forms["counts"]):
                break  # the next round
            wrong = [pair for pair, n in counts.items() if n > wanted.get(pair, 0)]
            if wrong:
                start = assigned(self.tree, each.name, each.line)
                if start and each.name in held and not last:
                    return start.lineno  # they were not begun anew
                other = [pair for pair in wrong if pair not in wanted]
                return self.source(each, *other[:1])
            last = each
        return self.loop_around(last.line) if last else None

    def line_of_choice(self, missing: Value) -> int | None:
        """Return the line where a wrong pair was chosen."""
        right = missing.want
        counts = [value.want for value in self.values if value.kind == "counts"]
        known = {pair for pair, _ in counts[len(right) - 1]}
        for each in self.after:
            pairs = each.forms.get("pairs", ())
            if pairs and pairs[:-1] == right[:-1] and pairs[-1] in known:
                return self.source(each, pairs[-1])
        return None

    def source(self, event: Event, part: int | Ids | None = None) -> int:
        """Return the line in which a wrong part of a value, an id or pair, was made."""
        around = innermost(self.tree, event.line, ast.If, *LOOPS)
        guarded = isinstance(around, ast.If) and around.lineno < event.line
        if guarded and not isinstance(part, int):
            return around.lineno
        statement = innermost(self.tree, event.line, ast.stmt)
        names = {*names_in(statement)} - {event.name}
        earlier = self.trace.events[: self.trace.events.index(event)]
        for each in reversed(earlier):
            held = each.forms.get("id"), each.forms.get("pair")
            if part is not None and each.name in names and part in held:
                return self.source(each, part)
        match statement:
            case ast.Assign(value=ast.Subscript() as value):
                while isinstance(value, ast.Subscript):
                    value = value.value
                found = assigned(self.tree, getattr(value, "id", ""), event.line)
                return found.lineno if found else event.line
        return event.line

    def copied(self, event: Event) -> str | None:
        """Return the name that an event's variable was set to, if it was set to one."""
        match innermost(self.tree, event.line, ast.stmt):
            case ast.Assign(value=ast.Name(id=name)):
                return name
        return None

    def line_of_stop(self) -> int | None:
        """Return the condition or the loop that ended too early."""
        ran = {line for _, line in self.trace.lines}
        nodes = [n for n in ast.walk(self.tree) if isinstance(n, (ast.If, *LOOPS))]
        ends = [n for n in nodes if isinstance(n.body[-1], ENDS)]
        reached = [
            n for line in dict.fromkeys(self.ran) for n in nodes if n.lineno == line
        ]
        idle = [n for n in reached if n not in ends and not ran & body(n)]
        busy = Counter[int | None]()
        for line, count in Counter(self.ran).items():
            busy[self.loop_around(line)] += count
        places = [
            *(n.lineno for n in reversed(ends) if not self.missing),
            *(n.lineno for n in idle if isinstance(n, LOOPS)),
            *(n.lineno for n in ends if body(n) & {*self.ran[-LATEST:]}),
            *(n.lineno for n in idle),
            *(self.loop_around(e.line) for e in reversed(self.after) if e.ids),
            *(line for line, _ in busy.most_common()),
        ]
        return next(filter(None, places), None)

    def loop_around(self, line: int) -> int | None:
        """Return the innermost loop around a line, or at it."""
        return getattr(innermost(self.tree, line, *LOOPS), "lineno", None)


def body(node: ast.For | ast.While | ast.If) -> set[int]:
    """Return the lines of a body."""
    return {*range(node.body[0].lineno, lines_of(node.body[-1])[1] + 1)}


def lead_soon(told: Sequence[tuple[Event, Ids]], steps: Steps) -> bool:
    """Whether the first ids are a step again after one more line, or two."""
    each, _ = told[0]
    later = (pair for pair in told[1:] if pair[0].variable == each.variable)
    then, ids = next(later, told[0])
    return each.line < then.line <= each.line + 2 and steps.lead_to(ids)
