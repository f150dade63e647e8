"""One mistake, and the draw that decides which are made."""

import difflib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEED = "mygpt"


@dataclass(frozen=True)
class MutantSite:
    """Where operators can change something; `changes` names how, and by which.

    path: relative to the project's root. start, column: where it begins in its file
    and in its line, in characters. lines: the first and the last line, from 1, of the
    smallest statement that holds it.
    """

    path: str
    start: int
    column: int
    line: str
    lines: tuple[int, int]
    changes: tuple[tuple, ...]

    def rank(self) -> str:
        """A place keeps its rank while its own line stays, whatever others do."""
        margin = len(self.line) - len(self.line.lstrip())
        return digest(SEED, self.path, self.line.strip(), self.column - margin)


@dataclass(frozen=True)
class Mutant:
    """A file with one change: `before` and `after` are the lines that differ."""

    path: str
    start: int
    lines: tuple[int, int]
    operator: str
    before: str
    after: str
    text: str

    @property
    def name(self) -> str:
        """Stays the same while the changed line and its file's path do."""
        parts = (self.path, self.operator, self.before, self.after)
        return digest(*map(str, parts))[:12]


def digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def drawn(places: Iterable[MutantSite], number: int) -> list[MutantSite]:
    """The same `number` places in every run."""
    return sorted(places, key=MutantSite.rank)[:number]


def difference(old: str, new: str) -> tuple[str, str]:
    """The lines that differ, before and after, each side as one."""
    lines = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    sides = [" ".join(one[2:].strip() for one in lines if one[0] == s) for s in "-+"]
    if sides == ["", ""]:
        raise ValueError(f"expected two texts that differ; got {old[:80]!r} twice")
    return sides[0], sides[1]
