"""What in MyST Markdown is not plain, found: blocks of a cell, and marks in a line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

ROLE = re.compile(r"\{(?P<role>[a-z][\w:-]*)\}`(?P<of>[^`]+)`")
CODE = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S)
FORMULA = re.compile(r"(?<![\\$])\$(?![\s$])[^$]*?(?<![\s\\])\$(?![\d$])")
LINK = re.compile(r"(?<!!)\[(?P<shown>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<to>[^)\s]*)\)")
TITLED = re.compile(r"(?P<shown>.+?)\s*<(?P<target>[^<>]+)>", re.S)

DIRECTIVE = re.compile(r"(?P<fence>:{3,}|`{3,})\{(?P<name>[\w-]+)\}[ \t]*(?P<title>.*)")
OPTION = re.compile(r":(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
LABEL = re.compile(r"\((?P<name>[\w-]+)\)=\s*")
FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[^`]*")
HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<text>.+?)[ \t]*#*")
FORMULA_END = re.compile(r"(?P<before>.*)\$\$[ \t]*(?:\((?P<label>[\w-]+)\))?\s*")


class NotPlain(ValueError):
    """What the tool does not know: the notebook, the cell and the words."""


@dataclass
class Block:
    """A part of a cell: "text", "code", "formula", "heading", "label" or "directive".

    name: of a directive or a label, or the label of a formula. title: what stands
    beside a directive's name, or a heading's text. level: a heading's.
    """

    kind: str
    lines: list[str] = field(default_factory=list)
    name: str = ""
    title: str = ""
    options: dict[str, str] = field(default_factory=dict)
    level: int = 0


def blocks(source: str) -> Iterator[Block]:
    """The blocks of a cell's source, in order; what is text stays together."""
    lines = source.splitlines()
    text = Block("text")
    while lines:
        found = special(lines)
        if found is None:
            text.lines.append(lines.pop(0))
            continue
        if any(map(str.strip, text.lines)):
            yield text
        text = Block("text")
        yield found
    if any(map(str.strip, text.lines)):
        yield text


def special(lines: list[str]) -> Block | None:
    """Take a block that is not text from the beginning of the lines."""
    line = lines[0]
    if found := DIRECTIVE.fullmatch(line):
        return directive(found, lines)
    if found := FENCE.fullmatch(line):
        end = next(
            (i for i, one in enumerate(lines) if i and one.rstrip() == found["fence"]),
            len(lines) - 1,
        )
        return Block("code", taken(lines, end + 1))
    if line.startswith("$$"):
        return formula(lines)
    if found := HEADING.fullmatch(line):
        lines.pop(0)
        return Block("heading", title=found["text"], level=len(found["marks"]))
    if found := LABEL.fullmatch(line):
        lines.pop(0)
        return Block("label", name=found["name"])
    return None


def directive(found: re.Match, lines: list[str]) -> Block:
    """A directive with its options and its body, without its fences."""
    end = next(
        (i for i, one in enumerate(lines) if i and one.rstrip() == found["fence"]), None
    )
    if end is None:
        raise NotPlain(f"{found[0]!r} is not closed")
    body = taken(lines, end + 1)[1:-1]
    made = Block("directive", name=found["name"], title=found["title"].strip())
    while body and (option := OPTION.fullmatch(body[0])):
        made.options[option["name"]] = option["value"].strip()
        body.pop(0)
    made.lines = body
    return made


def formula(lines: list[str]) -> Block:
    """A formula on lines of its own, without its dollars."""
    for end, line in enumerate(lines):
        rest = line[2:] if end == 0 else line
        if (found := FORMULA_END.fullmatch(rest)) and (end or rest.strip()):
            whole = [lines[0][2:], *lines[1 : end + 1]]
            whole[-1] = found["before"]
            taken(lines, end + 1)
            inside = [one for one in whole if one.strip()]
            return Block("formula", inside, name=found["label"] or "")
    raise NotPlain(f"the formula {lines[0]!r} is not closed")


def taken(lines: list[str], count: int) -> list[str]:
    found, lines[:] = lines[:count], lines[count:]
    return found


def titled(text: str) -> tuple[str, str]:
    """What is shown and what is meant: of `losses <loss>`, or of `loss` alone."""
    text = " ".join(text.split())
    found = TITLED.fullmatch(text)
    return (found["shown"], found["target"]) if found else (text, text)


def bare(text: str) -> str:
    """A heading as it is read: roles by what they show, no marks of Markdown."""
    text = ROLE.sub(lambda role: titled(role["of"])[0], text)
    return re.sub(
        r"[`*]|(?<!\w)_|_(?!\w)", "", LINK.sub(lambda one: one["shown"], text)
    )
