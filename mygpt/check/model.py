"""A program in pieces, and what goes wrong with each of them.

The pieces of a program are its keyword arguments, and their defaults are right. A
mistake is a change of a piece. A piece that is a program itself, such as a block's
attention, is a part, and brings its own mistakes with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, product
from typing import Any

from mygpt.check.task import Mistake, Program

# Pieces that every program has: the whole of it, what it is given, what it returns.
WHOLE, GIVEN, RESULT = "whole", "given", "result"

Pieces = Mapping[str, Any]
Entry = tuple[str, Any]  # half a sentence, and what replaces the right piece
Entries = Entry | list[Entry]
Named = Mapping[str, Entries]


@dataclass(frozen=True, eq=False)
class Change:
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


class Piece:
    """A piece in a reader's word, and what is wrong in its place, by names.

    An underscore in a name stands for a hyphen.
    """

    def __init__(self, word: str, form: str | None = None, /, **common: Entries):
        self.word, self.form = word, form
        self.entries: list[tuple[bool, Named]] = [(False, common)]
        self.sources: Sequence[str] = ()
        self.sources_of: dict[str, Sequence[str]] = {}

    def rarely(self, **entries: Entries) -> "Piece":
        """Add what is tried after the others."""
        self.entries.append((True, entries))
        return self

    def changes(self, placed: Callable[[Any], Pieces]) -> Iterator[Change]:
        for rare, entries in self.entries:
            for key, found in entries.items():
                name = key.replace("_", "-")
                for text, value in found if isinstance(found, list) else [found]:
                    told = name, text, placed(value), self.word, self.form, rare
                    yield Change(*told, self.sources_of.get(key, self.sources))


@dataclass(frozen=True, eq=False)
class Part:
    """The model of a piece, or of several alike, and words for where it lies.

    form: the only form of the whole in which the piece is of this model.
    """

    model: "Model"
    pieces: str
    where: str = ""
    form: str | None = None

    def changes(self) -> Iterator[Change]:
        for each in self.model.changes():
            yield replace(
                each,
                text=placed(each.text, self.where),
                word=f"{each.word} {self.where}".strip(),
                pieces=dict.fromkeys(self.pieces.split(), each.pieces),
                form=each.form if self.form is None else self.form,
            )


class Model:
    """A program with named pieces.

    program: right as it is; its keyword arguments are the pieces.
    pieces: what goes wrong with each.
    together: changes of several pieces at once.
    parts: pieces that have models of their own.
    forms: other right programs, such as another form of GELU, by their pieces.
    """

    def __init__(
        self,
        program: Program,
        /,
        *,
        together: Piece | None = None,
        parts: Sequence[Part] = (),
        forms: Mapping[str, Pieces] | None = None,
        **pieces: Piece,
    ):
        self.program, self.pieces, self.parts = program, pieces, parts
        self.together = together or Piece("")
        self.forms = forms or {"": {}}

    def but(self, **pieces: Piece) -> "Model":
        """The same model with other mistakes of some pieces."""
        changed = {**self.pieces, **pieces}
        return Model(
            self.program,
            together=self.together,
            parts=self.parts,
            forms=self.forms,
            **changed,
        )

    def written(self, **sources: Sequence[str]) -> "Model":
        """Add how pieces are written in a right program, in spellings for a mend.

        sources: of a piece, for all its changes, or of one change alone. A name in
        braces is a hole, which a name or a part of a reader's source fills.
        """
        pieces = {**self.pieces, "together": self.together}
        for name, spellings in sources.items():
            if name in pieces:
                pieces[name].sources = spellings
                continue
            for piece in pieces.values():
                if any(name in entries for _, entries in piece.entries):
                    piece.sources_of[name] = spellings
        return self

    def own(self) -> list[Change]:
        """Changes of its pieces, and of parts that need no words for their place."""
        found = chain(
            *(
                piece.changes(lambda value, name=name: {name: value})
                for name, piece in self.pieces.items()
            ),
            self.together.changes(lambda pieces: pieces),
            *(part.changes() for part in self.parts if not part.where),
        )
        return sorted(found, key=lambda change: change.rare)

    def changes(self) -> Sequence[Change]:
        """Its own and those of its parts, the common ones first."""
        return changes_of(self)

    def forms_of(self, changes: Sequence[Change]) -> list[str]:
        """The forms in which there are such pieces."""
        return [
            form
            for form in self.forms
            if all(change.form in (None, form) for change in changes)
        ]

    def mistake(self, *changes: Change, form: str = "") -> Mistake | None:
        """The program with these changes; None if they replace the same piece."""
        pieces: Pieces | None = {}
        for change in changes:
            pieces = merged(pieces, change.pieces)
            if pieces is None:
                return None
        return Mistake(
            "+".join(change.name for change in changes),
            in_one_sentence([change.text for change in changes]),
            build(self.program, laid_over(self.forms[form], pieces)),
            form,
            changes,
        )

    def mistakes(self, changes: Sequence[Change] | None = None) -> list[Mistake]:
        """Single changes in every form; its own common ones, if none are given."""
        if changes is None:
            changes = [change for change in self.own() if not change.rare]
        found = [
            self.mistake(change, form=form)
            for change in changes
            for form in self.forms_of([change])
        ]
        return [each for each in found if each]


@cache
def changes_of(model: Model) -> Sequence[Change]:
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
    """Return the pieces of both, or None if they replace the same one."""
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
    """Return the pieces of both; where both replace one, the second's."""
    both = {**under, **over}
    for name in under.keys() & over.keys():
        if isinstance(under[name], Mapping) and isinstance(over[name], Mapping):
            both[name] = laid_over(under[name], over[name])
    return both


def within(piece: str, forms: Mapping[str, Pieces]) -> Mapping[str, Pieces]:
    """The forms of a whole that has them in one of its parts."""
    return {name: {piece: pieces} if pieces else {} for name, pieces in forms.items()}


# Mistakes that every piece of a kind can have


def term(word: str, name: str, rare: bool = False) -> Piece:
    """What is added, by the number of times that it is."""
    forgotten = {f"no-{name}": (f"{word} is forgotten", 0)}
    others = {
        f"{name}-twice": (f"{word} is added twice", 2),
        f"{name}-subtracted": (f"{word} is subtracted, not added", -1),
    }
    if rare:
        return Piece(word).rarely(**forgotten, **others)
    return Piece(word, **forgotten).rarely(**others)


def numbers(name: str, text: str, *values: float, of: Any = float) -> Named:
    """Other numbers in the place of a constant; the text has a place for each."""
    return {name: [(text.format(f"{value:g}"), of(value)) for value in values]}


def constant(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def alike(text: str, **entries: Entry) -> Named:
    """Mistakes whose sentences differ in a few words, those for its place."""
    return {name: (text.format(words), v) for name, (words, v) in entries.items()}


def exchanged(letters: str, text: Callable[[str], str]) -> Named:
    """Every other choice of these letters, in an order or with one repeated."""
    return {
        f"order-{order.lower()}": (text(order), order)
        for order in map("".join, product(letters, repeat=len(letters)))
        if order != letters
    }
