"""What a reader is told of a mend: first its line and kind, the edit on request."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from mygpt.check.mends.names import names_used
from mygpt.check.mends.source import Edit, Mend, SourceText
from mygpt.check.mends.statements import ORDER
from mygpt.check.result import Result

STAGES = ("run", "type", "shape", "value", "gradient", "property", "effect", "time")
NAMES = ("line", "only", "kind", "mend", "edit")
SHORT = 6  # characters of what is shown of a line, at least
KIND = re.compile(r" \([^()]*\)")
LATER = (
    "An edit is known that makes it right. Look for it first: after a second failed "
    "try, with another source, {how} shows it."
)
OFFERED = "{how} shows an edit that makes it right."


def is_mendable(result: Result) -> bool:
    """Whether an edit may make a wrong program right: it ran, and was written.

    None is tried where what is wrong seems to be in another file.
    """
    stub = "NotImplementedError" in result.trace
    waits = result.stage == "time" and not result.where
    large = "more memory than it may have" in result.message
    return result.stage in STAGES and not (stub or waits or large or result.file)


def as_json(mend: Mend) -> dict[str, Any]:
    """Turn a mend into the fields of a result."""
    lines, changed = lines_of(mend), lines_changed(mend)
    kinds = [edit.kind for edit in mend.edits]
    parts = list(zip(mend.texts, mend.edits, lines, strict=True))
    places = [placed(*part) for part in parts]
    changes = [change(text, edit) for text, edit, _ in parts]
    only = likely = ""
    if len(set(lines)) > 1:
        (_, first), (_, last) = sorted(zip(lines, places, strict=True))
        likely = f"Probably two places are wrong: {first} and {last}."
    elif len(kinds) > 1:
        same = kinds[0] == kinds[1]
        both = f"{kinds[0]}, twice" if same else " and ".join(kinds)
        likely = f"Probably line {lines[0]} is wrong, in two places: {both}."
        changes = [change(mend.texts[0], as_one(mend))]
    elif len(changed) > 1:
        numbers = listed(changed)
        only = f"Lines {numbers} hold the only thing that is wrong: {kinds[0]}."
        likely = f"Probably lines {numbers} are wrong: {kinds[0]}."
        lines = [lines[0] if lines[0] in changed else changed[0]]
    elif len(kinds) == 1 and changed and lines != changed:
        lines = changed  # beside lines that are added
        only = f"Line {lines[0]} is the only thing wrong: {kinds[0]}."
        likely = f"Probably line {lines[0]} is wrong: {kinds[0]}."
    elif adds_lines(mend.texts[0], mend.edits[0]):
        only = f"{capital(places[0])}, and nothing else is wrong."
        likely = f"Probably {places[0]}."
    else:
        only = f"Line {lines[0]} is the only thing wrong: {kinds[0]}."
        likely = f"Probably line {lines[0]} is wrong: {kinds[0]}."
    if mend.unused:
        name, made = mend.unused
        likely = f"Probably line {made} is wrong, which sets `{name}`: {kinds[0]}."
        lines = [made]
    return {
        "line": min(lines),
        "only": only if mend.alone and len(kinds) == 1 else likely,
        "kind": ", and ".join(kinds),
        "mend": mend.text,
        "edit": f"{capital(' and '.join(changes))} it passes everything.{idle(mend)}",
    }


def idle(mend: Mend) -> str:
    """Say which names nothing reads any more, if their own line can go."""
    before, after = ast.parse(mend.texts[0]), ast.parse(mend.text)
    gone = names_used(before) - names_used(after)
    set_alone = {
        target.id
        for one in ast.walk(after)
        for target in getattr(one, "targets", ())
        if isinstance(one, ast.Assign) and isinstance(target, ast.Name)
    }
    names = " and ".join(map(quoted, sorted(gone & set_alone)))
    return f" Nothing reads {names} then." if names else ""


def lines_of(mend: Mend) -> list[int]:
    """The lines of the edits in the reader's own source."""
    lines, shift = [], 0
    for edit, text in zip(mend.edits, mend.texts, strict=True):
        before = lines and edit.line > lines[0]
        lines.append(edit.line - shift * bool(before))
        shift = edit.new.count("\n") - text[edit.start : edit.end].count("\n")
    return lines


def lines_changed(mend: Mend) -> list[int]:
    """The lines of the reader's own source that are other ones, or not there, after."""
    before, after = mend.texts[0].split("\n"), mend.text.split("\n")
    match = SequenceMatcher(None, before, after, autojunk=False)
    return [
        number + 1
        for kind, start, end, _, _ in match.get_opcodes()
        if kind != "equal"
        for number in range(start, end)
    ]


def adds_lines(text: str, edit: Edit) -> bool:
    """Whether an edit adds whole lines and changes none."""
    at_start = edit.start == 0 or text[edit.start - 1] == "\n"
    return at_start and edit.start == edit.end and edit.new.endswith("\n")


def placed(text: str, edit: Edit, line: int) -> str:
    """Say where an edit is, and of what kind: "line 7 (a number in it)"."""
    if not adds_lines(text, edit):
        below = text[edit.start : edit.end].rstrip("\n").count("\n")
        if edit.kind == ORDER and below:
            return f"lines {listed([*range(line, line + below + 1)])} ({ORDER})"
        return f"line {line} ({edit.kind})"
    for side in ("above", "below"):
        if edit.kind.endswith(f"missing {side} it"):
            what = edit.kind.removesuffix(f" missing {side} it")
            return f"{what} is missing {side} line {line}"
    return f"a line is missing above line {line} ({edit.kind})"


def as_one(mend: Mend) -> Edit:
    """Return two edits as one, in the reader's own source."""
    first, second = mend.edits
    more = len(first.new) - (first.end - first.start)
    end = max(first.end, second.end - more)
    start = min(first.start, second.start)
    before, after = mend.texts[0], mend.text
    new = after[start : len(after) - len(before) + end]
    return replace(first, start=start, end=end, new=new)


def listed(lines: list[int]) -> str:
    """Write numbers: "3 and 4", "3 to 5" or "3, 5 and 9"."""
    if len(lines) > 2 and lines[-1] - lines[0] == len(lines) - 1:
        return f"{lines[0]} to {lines[-1]}"
    return f"{', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def with_mend(result: Result, mend: Mend | bytes) -> Result:
    """Add to a result what makes its program right; nothing that is no mend."""
    try:
        found = json.loads(mend) if isinstance(mend, bytes) else as_json(mend)
        named = {name: found[name] for name in NAMES}
    except (ValueError, TypeError, KeyError):
        return result
    if [*map(type, named.values())] != [int, str, str, str, str]:
        return result
    if result.sure:
        named |= {"line": result.line, "only": ""}
    line, was = named["line"], f"line {result.line}"
    was += f" of {result.file}" if result.file else ""
    where = "" if result.where == was else result.where
    told = re.search(r" of yours .*\(line (\d+)\)", where)
    if " of yours " in where and not (
        told and re.search(rf"\b{told[1]}\b", named["only"])
    ):
        where = ""  # the mistake is known, and is not there
    if (
        result.mistake and " places are wrong: " in named["only"]
    ):  # they are named above
        named["only"] = KIND.sub("", named["only"])
    if line != result.line or result.file:
        where = where.replace(f" ({was}).", ".")
    return replace(result, where=where, file="", **named)


def with_edit(result: Result, tries: int, how: str, asked: bool) -> Result:
    """Tell the edit that makes a program right, from the second failed try on.

    Where nobody asked for it, tell from then on that it can be had.
    """
    if result.mend is None or (tries < 2 and not asked):
        return result
    told = LATER if tries < 2 else result.edit if asked else OFFERED
    return replace(result, hints=[*result.hints, told.replace("{how}", how)])


def change(text: str, edit: Edit) -> str:
    """Say in half a sentence what an edit does: "with `b` in place of `a`"."""
    start, end = around(text, edit)
    if "\n" in text[start:end] + edit.new:
        return " and ".join(changes_of_lines(text, edit.applied(text)))
    new = text[start : edit.start] + edit.new + text[edit.end : end]
    if not new.strip():
        return f"without {quoted(text[start:end])}"
    return f"with {quoted(new)} in place of {quoted(text[start:end])}"


def changes_of_lines(before: str, after: str) -> Iterator[str]:
    """Say of each line that is another, is new, or is left out, what becomes of it."""
    old, new = before.split("\n"), after.split("\n")
    match = SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, first, last in match.get_opcodes():
        if kind == "equal":
            continue
        both = min(end - start, last - first)
        for k in range(both):
            one, other = old[start + k], new[first + k]
            yield (
                f"with {quoted(other)} in line {start + k + 1} indented by "
                f"{indent(other)}, not {indent(one)}"
                if one.strip() == other.strip()
                else f"with {quoted(other)} in place of {quoted(one)}"
            )
        for line in new[first + both : last]:
            yield f"with {quoted(line)} above line {start + both + 1}"
        for line in old[start + both : end]:
            yield f"without {quoted(line)}"


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def quoted(text: str) -> str:
    return f"`{text.strip()}`"


def around(text: str, edit: Edit) -> tuple[int, int]:
    """The smallest part of a source that shows what an edit changes."""
    place = SourceText(text)
    best = place.at(edit.line, 0), place.at(edit.line + 1, 0) - 1
    best = min(best[0], edit.start), max(best[1], edit.end)
    for node in ast.walk(ast.parse(text)):
        shows = isinstance(node, ast.expr | ast.keyword)
        if shows and not isinstance(node, ast.Attribute):
            start, end = place.span(node)
            holds = start <= edit.start and edit.end <= end
            if holds and SHORT <= end - start < best[1] - best[0]:
                best = start, end
    return best


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
