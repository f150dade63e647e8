"""The line at which a program of lists and counts leaves the way of the right ones."""

import ast
import inspect
import linecache
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from types import CodeType

from mygpt.check.crashes.place import parsed
from mygpt.check.stages.text import names_in
from mygpt.check.stages.values import Event, Ids, Trace, Value, lacks_nothing_of, parts
from mygpt.check.task import Program

LOOPS = (ast.For, ast.While)
FIRST = 256  # new id


def found_in(trace: Trace, values: Sequence[Value]) -> dict[int, int]:
    """Return which values, by number, a program had, and at which event first."""
    found: dict[int, int] = {}
    for i, each in enumerate(trace.events):
        for number, value in enumerate(values):
            if value.want and each.forms.get(value.kind) == value.want:
                found.setdefault(number, i)
    return found


class Steps:
    """What ids may be on the way from those before to those that are wanted."""

    def __init__(self, wanted: Value) -> None:
        words = [wanted.want] if wanted.kind == "ids" else wanted.want
        self.merges = wanted.merges
        self.new, self.old = parts(words), parts(wanted.before)
        self.known = {i for ids in (*words, *wanted.before) for i in ids}
        self.whole = {*words, *wanted.before}
        self.plain = parts([in_bytes(ids, self.merges) for ids in words])

    def lead_to(self, ids: Ids) -> bool:
        """Whether ids begin like wanted ones and end like those before."""
        return self.keep_bytes(ids) and any(
            ids[:i] in self.new and ids[i:] in self.old for i in range(len(ids) + 1)
        )

    def keep_bytes(self, ids: Ids) -> bool:
        return in_bytes(ids, self.merges) in self.plain

    def join_inside(self) -> bool:
        """Whether a pair that is to be joined stands before the end of a word."""
        new = {i for word in self.new for i in word if i >= FIRST}
        pairs = [tuple(self.merges[i - FIRST]) for i in new if (i,) not in self.old]
        return any(word[:2] in pairs for word in self.old if len(word) > 2)

    def misnumber(self, ids: Ids) -> bool:
        """Whether another number in one place makes ids lead to the wanted ones."""
        joined = {i for word in self.new for i in word} - {
            i for word in self.old for i in word
        }
        return any(
            self.lead_to((*ids[:place], new, *ids[place + 1 :]))
            for place, i in enumerate(ids)
            if i >= FIRST - 1
            for new in joined
        )


def in_two_lines(told: Sequence[tuple[Event, Ids]], steps: Steps) -> list[Event]:
    """Return the events after which a line or two further all is as it should be."""
    found = []
    after: dict[tuple, tuple[Event, Ids]] = {}
    for each, ids in reversed(told):
        key = each.code, each.name
        then, other = after.get(key, (each, ids))
        if each.line < then.line <= each.line + 2 and steps.lead_to(other):
            found.append(each)
        after[key] = each, ids
    return found


class Way:
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
        self.trace, self.program, self.values = trace, program, values
        self.code: CodeType = inspect.unwrap(program).__code__
        found = found_in(trace, values)
        ends = {values[number].kind: number for number in sorted(found)}
        missing = [
            number
            for number, value in enumerate(values)
            if value.want and value.kind in kinds and number > ends.get(value.kind, -1)
        ]
        number = missing[0] if missing else len(values)
        if "counts" not in kinds and missing and values[number].kind == "pairs":
            # Counts that are right in no run are why the choice is wrong.
            seen = any("counts" in each.forms for each in trace.events)
            number -= seen and number > 0 and values[number - 1].kind == "counts"
        before = [each for each in found if each < number]
        last = max(before, default=None)
        self.missing = values[number] if missing else None
        self.last = None if last is None else values[last]
        if self.missing and self.missing.kind == "texts":
            before = [each for each in before if values[each].kind != "pairs"]
        start = found[max(before)] if before else -1
        self.before, self.after = trace.events[: start + 1], trace.events[start + 1 :]
        when = trace.events[start].when if before else 0
        self.ran = [line for _, line in trace.lines[when:]]

    @cached_property
    def tree(self) -> ast.AST:
        return parsed("".join(linecache.getlines(self.code.co_filename)))

    def line(self) -> int | None:
        """Return the line where the way is left."""
        missing = self.missing
        if missing is None:
            return self.line_of_end()
        if missing.kind in ("ids", "texts"):
            return self.line_of_ids(missing)
        if missing.kind == "counts":
            return self.line_of_counts(missing)
        return self.line_of_choice(missing)

    def text(self) -> str:
        """Say what was right last, and what is missing."""
        if self.missing is None:
            return ""
        told = f"everything up to {self.last.name} is right; then " if self.last else ""
        return f"{told}no variable of yours holds {self.missing.name}"

    def line_of_ids(self, missing: Value) -> int | None:
        """Return where ids became what they are not on the way to the right ones."""
        steps = Steps(missing)
        told = [(each, ids) for each in self.after for ids in ids_of(each)]
        off = [each for each, ids in told if not steps.lead_to(ids)]
        followed = in_two_lines(told, steps)
        of_kind = {
            (each.code, each.name)
            for each in self.trace.events
            for ids in ids_of(each)
            if steps.lead_to(ids)
        }
        held = {(e.code, e.name): ids for e in self.before for ids in ids_of(e)}
        line, good = None, {each.line for each in self.before if ids_of(each)}
        for each, ids in told:
            key = each.code, each.name
            if missing.kind == "texts" and not missing.before and "texts" in each.forms:
                return each.line
            leads = steps.lead_to(ids)
            counts = not of_kind or key in of_kind or not self.last
            if not leads and counts and each not in followed:
                at = self.made_of(each, off)
                if steps.misnumber(ids):
                    return self.line_of_numbering(at.line, at.line in good)
                if set(ids) <= steps.known:
                    step = self.line_of_step(line, held.get(key), ids, missing)
                    return step or self.guarded(at.line)
                other = self.line_of_other(at, max(set(ids) - steps.known), missing)
                if not other and steps.keep_bytes(ids) and line:
                    return self.loop_around(line)  # which left something to be joined
                return other or self.line_of_numbering(at.line, at.line in good)
            shrinks = ids not in steps.whole and held.get(key) in steps.whole
            if leads and shrinks and self.sets(each):
                return self.line_of_loop([line or each.line])
            held[key] = ids
            good.add(each.line)
            if not self.sets(each):
                line = each.line
        if found := self.idle_loop() or self.untaken(steps.join_inside()):
            return found
        lines = [each.line for each, _ in told if each.name]
        return self.line_of_stop(lines or self.busiest())

    def made_of(self, event: Event, others: Sequence[Event]) -> Event:
        """Return the first of others of the name that an event's was set to, or it."""
        node = self.statement(event.line)
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
            return event
        name = node.value.id
        return next((each for each in others if each.name == name), event)

    def sets(self, event: Event) -> bool:
        """Whether an event is that a name was set to what another name stands for."""
        node = self.statement(event.line)
        return isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)

    def line_of_step(
        self, line: int | None, before: Ids | None, ids: Ids, missing: Value
    ) -> int | None:
        """Return the step over a pair that was joined, if its second id came again."""
        if not before or not line or len(ids) <= len(before) or before[-1] < FIRST:
            return None
        pair = missing.merges[before[-1] - FIRST :][:1]
        if not pair or ids[len(before)] not in repeats(pair[0], before[-1]):
            return None
        for node in ast.walk(self.tree):
            body = getattr(node, "body", [])
            lines = [each.lineno for each in body] if isinstance(body, list) else []
            if line in lines:
                steps = [e.lineno for e in body if isinstance(e, ast.AugAssign)]
                return next(iter(steps), None)
        return None

    def line_of_other(self, event: Event, new: int, missing: Value) -> int | None:
        """Return where another pair was chosen than the one that is next."""
        if not FIRST <= new < FIRST + len(missing.merges):
            return None
        pair = tuple(missing.merges[new - FIRST])
        events = self.trace.events
        for each in reversed(events[: events.index(event)]):
            if each.forms.get("pair") == pair and not self.is_loop(each.line):
                return self.line_of_source(each.line)
        return None

    def line_of_numbering(self, line: int, later: bool) -> int:
        """Return where a new id comes from: the loop that counts, or another line.

        later: whether the first ones were right.
        """
        node = self.statement(line)
        names = set(names_in(node)) if node else set()
        for other in ast.walk(self.tree):
            if isinstance(other, ast.FunctionDef) and line in span(other.body):
                given = {each.arg for each in other.args.args} & names
                if other.name != self.code.co_name and len(given) == 1:
                    return self.line_of_call(other.name, line)
        for other in ast.walk(self.tree):
            if isinstance(other, ast.For) and isinstance(other.iter, ast.Call):
                starts = len(other.iter.args) + len(other.iter.keywords) > 1
                counted = names & set(names_in(other.target))
                if starts and counted and other.lineno < line:
                    return other.lineno
            grows = isinstance(other, ast.AugAssign) and names_in(other.target)
            if later and grows and grows[0] in names:
                return other.lineno
        return line

    def line_of_call(self, name: str, line: int) -> int:
        """Return the line in which a function is called, outside itself."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and names_in(node.func) == [name]:
                return node.lineno
        return line

    def busiest(self) -> list[int]:
        """Return the loop in which the most lines ran, at its line."""
        loops = Counter(filter(None, map(self.loop_around, self.ran)))
        return [line for line, _ in loops.most_common(1)]

    def untaken(self, lately: bool) -> int | None:
        """Return a condition that was never met, or not lately.

        None that guards the end of a loop.
        """
        lines = self.ran if lately else [line for _, line in self.trace.lines]
        ran = set(lines)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and node.lineno in self.ran:
                ends = isinstance(node.body[-1], ast.Break | ast.Return | ast.Continue)
                if not ends and not ran & set(span(node.body)):
                    return node.lineno
        return None

    def line_of_counts(self, missing: Value) -> int | None:
        """Return where counts became too large, or are too small in the end."""
        told = [each for each in self.after if each.forms.get("counts")]
        held = {e.name for e in self.before if "counts" in e.forms}
        last = None
        for each in told:
            counts = each.forms["counts"]
            if last and sum(n for _, n in counts) < sum(
                n for _, n in last.forms["counts"]
            ):
                break  # the next round
            if not lacks_nothing_of(counts, missing.want):
                if not last and each.name in held:
                    return self.first_set(each.name, each.line)
                if {pair for pair, _ in counts} <= {pair for pair, _ in missing.want}:
                    return each.line
                return self.line_of_key(each.line)
            last = each
        if not last:
            return self.line_of_loop([])
        pairs = {pair for pair, _ in last.forms["counts"]}
        if pairs == {pair for pair, _ in missing.want}:
            return last.line
        return self.loop_around(last.line) or last.line

    def line_of_key(self, line: int) -> int:
        """Return the loop that yields what a line has between brackets, or the line."""
        node = self.statement(line)
        for part in ast.walk(node) if node else ():
            if isinstance(part, ast.Subscript):
                for loop in ast.walk(self.tree):
                    inside = isinstance(loop, ast.For) and line in span(loop.body)
                    keys = names_in(part.slice)
                    if inside and keys and {*keys} <= {*names_in(loop.target)}:
                        return loop.lineno
        return line

    def first_set(self, name: str, line: int) -> int:
        """Return where a name was set first in a text, above a line."""
        lines = [
            node.lineno
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno < line
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            if part.id == name
        ]
        return min(lines, default=line)

    def line_of_choice(self, missing: Value) -> int | None:
        """Return where a wrong pair was chosen, or where the choosing ended."""
        right = missing.want[-1]
        choices = (e for e in self.after if self.is_choice(e, missing.want))
        longer = next(choices, None)
        if longer is None:
            return self.line_of_stop()
        chosen = longer.forms["pairs"][-1]
        if chosen == right:
            return longer.line
        node = self.statement(longer.line)
        names = set(names_in(node)) if node else set()
        for each in reversed(self.after[: self.after.index(longer)]):
            is_it = each.forms.get("pair") == chosen and each.name in names
            if is_it and not self.is_loop(each.line):
                return self.line_of_source(each.line)
        return self.line_of_source(longer.line)

    def is_choice(self, event: Event, right: tuple[Ids, ...]) -> bool:
        """Whether an event is that a pair was added to those before the last right."""
        pairs = event.forms.get("pairs", ())
        if not pairs or len(pairs) != len(right) or pairs[:-1] != right[:-1]:
            return False
        counts = [value.want for value in self.values if value.kind == "counts"]
        return any(pairs[-1] == pair for pair, _ in counts[len(right) - 1])

    def line_of_source(self, line: int) -> int:
        """Return the line of a choice: of the list that its first item is taken from.

        Of a choice that is made in a loop, the condition.
        """
        node = self.statement(line)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            base: ast.expr = node.value
            while isinstance(base, ast.Subscript):
                base = base.value
            for each in ast.walk(self.tree):
                if isinstance(each, ast.Assign) and isinstance(base, ast.Name):
                    names = [t.id for t in each.targets if isinstance(t, ast.Name)]
                    if base.id in names and each.lineno < line:
                        return each.lineno
        return self.guarded(line)

    def line_of_end(self) -> int | None:
        """Return where a program should have ended, if it went on after the end."""
        if self.last and any(each.forms.get("pairs") for each in self.after):
            stops = self.stops()
            return stops[-1].lineno if stops else self.line_of_loop([])
        return None

    def line_of_stop(self, lines: Sequence[int] = ()) -> int | None:
        """Return the condition that ended a loop, or the loop around some lines."""
        for line in reversed(self.ran[-4:]):
            for node in self.stops():
                if line in span(node.body):
                    return node.lineno
        return self.line_of_loop(lines)

    def stops(self) -> list[ast.If]:
        """Return the conditions on which a loop ends."""
        return [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If)
            and isinstance(node.body[-1], ast.Break | ast.Return)
            and self.loop_around(node.lineno)
        ]

    def line_of_loop(self, lines: Sequence[int]) -> int | None:
        """Return the loop that never ran, or that around the last of some lines."""
        if idle := self.idle_loop():
            return idle
        around = [self.loop_around(line) for line in reversed(lines)]
        loops = [n.lineno for n in ast.walk(self.tree) if isinstance(n, LOOPS)]
        return next(filter(None, around), min(loops, default=None))

    def idle_loop(self) -> int | None:
        """Return the first loop that was reached and never ran."""
        ran = {line for _, line in self.trace.lines}
        loops = {n.lineno: n for n in ast.walk(self.tree) if isinstance(n, LOOPS)}
        idle = (line for line in self.ran if line in loops)
        return next((n for n in idle if not ran & set(span(loops[n].body))), None)

    def statement(self, line: int) -> ast.AST | None:
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt) and node.lineno == line
        ]
        return found[-1] if found else None

    def is_loop(self, line: int) -> bool:
        return isinstance(self.statement(line), LOOPS)

    def loop_around(self, line: int) -> int | None:
        """Return the line of the innermost loop around a line, or at it."""
        return max(
            (
                node.lineno
                for node in ast.walk(self.tree)
                if isinstance(node, LOOPS) and node.lineno <= line <= end_of(node)
            ),
            default=None,
        )

    def guarded(self, line: int) -> int:
        """Return the condition right above a line, in the same loop; else the line."""
        conditions = [
            node.lineno
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and node.lineno < line <= end_of(node)
        ]
        loop = self.loop_around(line) or 0
        return max((each for each in conditions if each > loop), default=line)


def in_bytes(ids: Ids, merges: Sequence[Ids]) -> Ids:
    """Return the bytes behind ids."""
    found: list[int] = []
    for i in ids:
        known = FIRST <= i < FIRST + len(merges)
        found += in_bytes(merges[i - FIRST], merges[: i - FIRST]) if known else [i]
    return tuple(found)


def repeats(pair: Ids, new: int) -> Ids:
    """Return what follows a pair if its second id is taken once more."""
    return (pair[1], new) if pair[0] == pair[1] else (pair[1],)


def span(body: list[ast.stmt]) -> range:
    return range(body[0].lineno, end_of(body[-1]) + 1)


def end_of(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def ids_of(event: Event) -> list[Ids]:
    texts = event.forms.get("texts", ())
    return [*texts, *([event.forms["ids"]] if "ids" in event.forms else [])]
