"""What the code cells of a notebook bind and use: a solution's code is not run."""

import symtable
from collections.abc import Iterator

from publish.plain.marks import NotPlain


class Names:
    """Follows one notebook's code, and refuses what only a solution has made."""

    def __init__(self) -> None:
        self.solved: set[str] = set()  # bound by a solution, and by nothing since

    def solution(self, source: str) -> None:
        self.solved |= bound_and_used(source)[0]

    def cell(self, source: str) -> None:
        bound, used = bound_and_used(source)
        if needed := sorted((used - bound) & self.solved):
            raise NotPlain(f"uses {', '.join(needed)} as a solution leaves it")
        self.solved -= bound


def bound_and_used(source: str) -> tuple[set[str], set[str]]:
    """The names of the notebook that a cell binds, and those that it uses."""
    top = symtable.symtable(source, "cell", "exec")
    bound, used = set(), set()
    for table in tables(top):
        for symbol in table.get_symbols():
            ours = table is top or symbol.is_global()
            if ours and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
            if ours and symbol.is_referenced():
                used.add(symbol.get_name())
    return bound, used


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from tables(child)
