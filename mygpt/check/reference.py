"""A program in pieces, and what goes wrong with each of them.

The pieces of a program are its keyword arguments, and their defaults are right. A
mistake is a change of a piece. A piece that is a program itself, such as a block's
attention, is a part, and brings its own mistakes with it.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from textwrap import dedent
from typing import Any

from torch import Tensor

from mygpt.check.task import Mistake, Program, Task
from mygpt.workbook.asked import ASKED

# Pieces that every program has: the whole of it, what it is given, what it returns.
WHOLE, GIVEN, RESULT = "whole", "given", "result"
TOGETHER = "together"  # several pieces at once

Pieces = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class PieceChange:
    """What replaces one piece, or several at once, with a name and half a sentence.

    pieces: those replaced; those of a part stand in a mapping of their own.
    word: what a reader calls the piece, and in which part it lies.
    form: the only form of the program in which there is such a piece; None: every one.
    rare: tried after the others; it may give what another gives, or what is right.
    written: spellings of what is right, for a mend.
    """

    name: str
    text: str
    pieces: Pieces
    word: str = ""
    form: str | None = None
    rare: bool = False
    written: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """The model of a piece, or of several alike, and words for where it lies.

    form: the only form of the whole in which the piece is of this model.
    """

    model: "Reference"
    pieces: str
    where: str = ""
    form: str | None = None

    def changes(self) -> Iterator[PieceChange]:
        """Yield the changes of the part, with words for where it lies."""
        for each in self.model.changes():
            yield replace(
                each,
                text=placed(each.text, self.where),
                word=f"{each.word} {self.where}".strip(),
                pieces=dict.fromkeys(self.pieces.split(), each.pieces),
                form=each.form if self.form is None else self.form,
            )


class Reference:
    """A program with named pieces.

    program: right as it is; its keyword arguments are the pieces.
    catalogue: what goes wrong with each piece, in rows (see `Catalogue`).
    parts: pieces that have models of their own.
    forms: other right programs, such as another form of GELU, by their pieces.
    wrong: wrong pieces by the names of mistakes; also lists of changes by pieces.
    """

    def __init__(
        self,
        program: Program,
        catalogue: str = "",
        /,
        *,
        parts: Sequence[Part] = (),
        forms: Mapping[str, Pieces] | None = None,
        **wrong: Any,
    ):
        self.program, self.parts = program, parts
        self.forms = forms or {"": {}}
        self.pieces = self.read(catalogue, wrong)

    def but(self, catalogue: str, /, **wrong: Any) -> "Reference":
        """The same model with other mistakes of some pieces."""
        other = copy(self)
        other.pieces = {**self.pieces, **self.read(catalogue, wrong)}
        return other

    def read(self, catalogue: str, wrong: Pieces) -> dict[str, list[PieceChange]]:
        """Return the changes of each piece."""
        defaults = getattr(self.program, "__kwdefaults__", None) or {}
        one_form = {name for pieces in self.forms.values() for name in pieces}
        return Catalogue(catalogue, wrong, defaults, one_form).pieces

    def own(self) -> list[PieceChange]:
        """Changes of its pieces, and of parts that need no words for their place."""
        within = (part.changes() for part in self.parts if not part.where)
        found = chain(*self.pieces.values(), *within)
        return sorted(found, key=lambda change: change.rare)

    def changes(self) -> Sequence[PieceChange]:
        """Return its own changes and those of its parts, the common ones first."""
        return changes_of(self)

    def forms_of(self, changes: Sequence[PieceChange]) -> list[str]:
        """The forms in which there are such pieces."""
        return [
            form
            for form in self.forms
            if all(change.form in (None, form) for change in changes)
        ]

    def changed(self, changes: Sequence[PieceChange], form: str) -> Program | None:
        """Return the program with some changes; None if two replace the same piece."""
        pieces: Pieces | None = {}
        for change in changes:
            pieces = merged(pieces, change.pieces)
            if pieces is None:
                return None
        return build(self.program, laid_over(self.forms[form], pieces))

    def mistake(self, *changes: PieceChange, form: str = "") -> Mistake | None:
        """Return the mistake of some changes; None if two replace the same piece."""
        program = self.changed(changes, form)
        if program is None:
            return None
        names = "+".join(change.name for change in changes)
        text = in_one_sentence([change.text for change in changes])
        return Mistake(names, text, program, form, changes)

    def mistakes(self, changes: Sequence[PieceChange] | None = None) -> list[Mistake]:
        """Return mistakes of single changes in every form; default: its common ones."""
        if changes is None:
            changes = [change for change in self.own() if not change.rare]
        found = [
            self.mistake(change, form=form)
            for change in changes
            for form in self.forms_of([change])
        ]
        return [each for each in found if each]

    def task(self, name: str, **options: Any) -> Task:
        """Return the task of a name, with the common mistakes."""
        asked = vars(ASKED[name])
        return Task(**asked, mistakes=self.mistakes(), model=self, **options)


@cache
def changes_of(model: Reference) -> Sequence[PieceChange]:
    """Return the changes of a model and of its parts, the common ones first."""
    parts = (part.changes() for part in model.parts if part.where)
    found = chain(model.own(), *parts)
    return tuple(sorted(found, key=lambda change: change.rare))


def placed(text: str, where: str) -> str:
    """Add to a mistake's text where it lies: "(in the norms of the blocks)"."""
    if not where:
        return text
    if text.endswith(")") and " (in " in text:
        return f"{text[:-1]} of {where.removeprefix('in ')})"
    return f"{text} ({where})"


def in_one_sentence(texts: Sequence[str]) -> str:
    """Join half sentences: "a; b; and also c"."""
    if len(texts) < 2:
        return "".join(texts)
    *first, last = texts
    return f"{'; '.join(first)}{',' if len(texts) == 2 else ';'} and also {last}"


# Programs of pieces


def build(program: Program, pieces: Pieces) -> Program:
    """Put pieces into a program; a mapping holds those of a part."""
    if WHOLE in pieces:
        program = pieces[WHOLE]
    made = {
        name: build(program.__kwdefaults__[name], value)
        if isinstance(value, Mapping)
        else value
        for name, value in pieces.items()
        if name not in (WHOLE, GIVEN, RESULT)
    }
    if made:
        program = partial(program, **made)
    if GIVEN in pieces or RESULT in pieces:
        return partial(around, program, pieces.get(GIVEN), pieces.get(RESULT))
    return program


def around(
    program: Program,
    given: Callable[..., tuple] | None,
    result: Callable[[Any], Any] | None,
    /,
    *values: Any,
) -> Any:
    """Run a program on changed arguments, and change its result."""
    returned = program(*(given(*values) if given else values))
    return result(returned) if result else returned


def merged(a: Pieces, b: Pieces) -> Pieces | None:
    """Return the pieces of both mappings; None if both replace the same piece."""
    for one, other in ((a, b), (b, a)):
        if WHOLE in one and not other.keys() <= {GIVEN, RESULT}:
            return None
    both = {**a, **b}
    for name in a.keys() & b.keys():
        if not isinstance(a[name], Mapping) or not isinstance(b[name], Mapping):
            return None
        both[name] = merged(a[name], b[name])
        if both[name] is None:
            return None
    return both


def places(pieces: Pieces) -> frozenset[tuple[str, ...]]:
    """Which pieces are replaced, each by its way through the parts."""
    return frozenset(
        (name, *rest)
        for name, value in pieces.items()
        for rest in (places(value) if isinstance(value, Mapping) else [()])
    )


def laid_over(under: Pieces, over: Pieces) -> Pieces:
    """Return the pieces of both mappings; the second takes precedence."""
    both = {**under, **over}
    for name in under.keys() & over.keys():
        if isinstance(under[name], Mapping) and isinstance(over[name], Mapping):
            both[name] = laid_over(under[name], over[name])
    return both


def within(piece: str, forms: Mapping[str, Pieces]) -> Mapping[str, Pieces]:
    """Return the forms of a whole from the forms of its part."""
    return {name: {piece: pieces} if pieces else {} for name, pieces in forms.items()}


# What stands for several right pieces and wrong ones


def same(value: Any, *_: Any) -> Any:
    """The first argument as it is."""
    return value


def last(*values: Any) -> Any:
    """The last argument."""
    return values[-1]


def transposed(W: Tensor) -> Tensor:
    """A matrix with its last two axes exchanged."""
    return W.mT


def constant(value: Any) -> Callable[..., Any]:
    """Return a function that returns a value, whatever it is given."""
    return lambda *_: value


# The text of a catalogue

PIECE = re.compile(r"\[([\w ]+)(?:: ([\w-]+))?\] ?(.*?)(?: = (.+))?")
MISTAKE = re.compile(r"([\w-]+)(?: = (.+?))?: (.+)")


class Catalogue:
    """The rows of a text: the pieces of a program, and what goes wrong with each.

    `[scale] the scale = {x} / 2 | 0.5 * {x}` begins a piece: its keyword, what a reader
        calls it, and spellings of what is right, for a mend. A name in braces is a
        hole, which a name or a part of a reader's source fills.
    `no-scale: half a sentence` is a mistake. The wrong piece is given beside the text,
        as `no_scale`; a list of them has what replaces the braces of the sentence.
    `no-scale = 1: …` has the wrong piece itself; in the place of a function it is what
        that returns. Of several values, `= 1, 2`, each is a mistake and replaces the
        braces; what is given as `no_scale` makes the wrong pieces of them.
    `~ no-scale: …` is rare.
    `= 0.5` has spellings for the mistake above alone.
    `[b1: bias] the bias b1` is a term of a sum: forgotten, added twice, or subtracted.
    `[together] the weights` is of several pieces at once: `no-biases = no-b1 + no-b2`.
    A row goes on in lines that are indented further.
    """

    def __init__(self, text: str, wrong: Pieces, defaults: Pieces, one_form: set[str]):
        self.wrong, self.defaults, self.one_form = wrong, defaults, one_form
        self.pieces: dict[str, list[PieceChange]] = {}
        self.spellings: dict[tuple[str, str], list[str]] = {}
        self.used: set[str] = set()
        for row in re.sub(r"\n +", " ", dedent(text)).strip().splitlines():
            self.read(row.removeprefix("~ "), rare=row.startswith("~ "))
        for name, changes in wrong.items():
            if name not in self.used:
                if not isinstance(changes, list):
                    raise ValueError(f"a mistake without a sentence: {name}")
                self.pieces.setdefault(name, []).extend(changes)
        for name, changes in self.pieces.items():
            whole = self.spellings.get((name, ""))
            for i, each in enumerate(changes):
                own = self.spellings.get((name, each.name), whole)
                changes[i] = replace(each, written=own or each.written)

    def read(self, row: str, rare: bool) -> None:
        """Read a row."""
        if begun := PIECE.fullmatch(row):
            self.begin(rare, *begun.groups())
        elif row.startswith("= "):
            self.spellings[self.piece, self.mistake] = row[2:].split(" | ")
        elif told := MISTAKE.fullmatch(row):
            self.mistake = told[1]
            self.add(rare, *told.groups())
        else:
            raise ValueError(f"no row of a catalogue: {row}")

    def begin(
        self, rare: bool, names: str, term: str | None, word: str, spelled: str | None
    ) -> None:
        """Begin a piece, or the places of several that are given beside the text."""
        self.pieces |= {name: [] for name in names.split()}
        self.piece, self.word = names.split()[-1], word
        if spelled:
            self.spellings[self.piece, ""] = spelled.split(" | ")
        if term:
            self.add(rare, f"no-{term}", "0", f"{word} is forgotten")
            self.add(True, f"{term}-twice", "2", f"{word} is added twice")
            subtracted = f"{word} is subtracted, not added"
            self.add(True, f"{term}-subtracted", "-1", subtracted)

    def add(self, rare: bool, name: str, values: str | None, text: str) -> None:
        """Add a mistake of the piece, or one of each value."""
        form = "" if self.piece in self.one_form else None
        for filled, value in self.wrong_pieces(name, values):
            pieces = value if self.piece == TOGETHER else {self.piece: value}
            said = text.format(*filled) if filled else text
            change = PieceChange(name, said, pieces, self.word, form, rare)
            self.pieces[self.piece].append(change)

    def wrong_pieces(
        self, name: str, values: str | None
    ) -> Iterator[tuple[Sequence[str], Any]]:
        """Yield the wrong pieces of a mistake, and what each puts into its sentence."""
        key = name.replace("-", "_")
        given = self.wrong.get(key)
        self.used.add(key)
        if values is None:
            if key not in self.wrong:
                raise ValueError(f"a sentence without a mistake: {name}")
            yield from given if isinstance(given, list) else [((), given)]
            return
        if self.piece == TOGETHER:
            known = {each.name: each.pieces for each in chain(*self.pieces.values())}
            joined = (known[part].items() for part in values.split(" + "))
            yield (), dict(chain(*joined))
            return
        if given is None and callable(self.defaults.get(self.piece)):
            given = constant
        for value in [values] if values.startswith("(") else values.split(", "):
            plain = literal_eval(value)
            yield (value,), given(plain) if given else plain
