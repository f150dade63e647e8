"""What the code cells of a notebook bind and use: a solution's code is not run."""

from publish.plain.marks import NotPlain
from tools.reading import bound_and_used


class ShortNames:
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
