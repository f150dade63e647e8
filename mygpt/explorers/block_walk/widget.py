"""Chapter 9: one position's vector on its way through a transformer block."""

from collections.abc import Mapping, Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer, module, stylesheet
from mygpt.explorers.kit.checks import check_index, check_names, finite_array
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count

MAX_STAGES = 16
MAX_POSITIONS = 64
MAX_NUMBERS = 65_536


class BlockWalk(Explorer):
    """The vectors at each stage of a block, for every position of a text.

    `stages` holds an array of shape (T, width) for each name, in order; the widths may
    differ. `tokens` are the T words of the text. `notes` may give a sentence for a
    stage, and `before` may name an earlier stage of the same width, which is drawn as
    an outline: what an addition started from. Read-outs show three decimals.
    """

    _esm = module("block_walk")
    _css = stylesheet("block_walk")

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    notes = traitlets.List(traitlets.Unicode()).tag(sync=True)
    before = traitlets.List(traitlets.Int()).tag(sync=True)
    widths = traitlets.List(traitlets.Int()).tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)

    stage = traitlets.Int().tag(sync=True)
    position = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        stages: Mapping[str, Numbers],
        tokens: Sequence[str],
        *,
        notes: Mapping[str, str] | None = None,
        before: Mapping[str, str] | None = None,
        stage: int = 0,
        position: int = 0,
    ) -> None:
        tokens = list(tokens)
        if not 1 <= len(tokens) <= MAX_POSITIONS:
            raise ValueError(
                f"tokens must be 1 to {MAX_POSITIONS} words, got {len(tokens)}"
            )
        names = check_names("stages", stages, MAX_STAGES)
        self.stages = {
            name: _rows(name, stages[name], len(tokens)).astype("<f4") for name in names
        }
        size = sum(array.size for array in self.stages.values())
        if size > MAX_NUMBERS:
            raise ValueError(f"stages must hold at most {MAX_NUMBERS:,}, got {size:,}")
        notes = _of_stages("notes", notes, names)
        super().__init__(
            names=list(names),
            notes=[notes.get(name, "") for name in names],
            before=self._earlier(_of_stages("before", before, names), names),
            widths=[array.shape[1] for array in self.stages.values()],
            tokens=tokens,
            data=b"".join(array.tobytes() for array in self.stages.values()),
            stage=stage,
            position=position,
            description=f"A vector's way through a block: {', '.join(names)}.",
        )

    def __repr__(self) -> str:
        stages = count(len(self.names), "stage")
        return f"BlockWalk({stages}, {count(len(self.tokens), 'position')})"

    def norms(self) -> dict[str, float]:
        """The length of the vector at the chosen position, for each stage."""
        return {
            name: float(np.sqrt((array[self.position].astype(float) ** 2).sum()))
            for name, array in self.stages.items()
        }

    def _earlier(self, before: Mapping[str, str], names: Sequence[str]) -> list[int]:
        """For each stage, the number of the one outlined behind it, or -1."""
        numbers = [-1] * len(names)
        for name, other in before.items():
            at = names.index(name)
            if other not in names[:at]:
                raise ValueError(
                    f"before[{name!r}] must name an earlier stage, got {other!r}"
                )
            shapes = self.stages[name].shape, self.stages[other].shape
            if shapes[0] != shapes[1]:
                raise ValueError(
                    f"before[{name!r}] must have shape {shapes[0]}, "
                    f"{other!r} has {shapes[1]}"
                )
            numbers[at] = names.index(other)
        return numbers

    @traitlets.validate("stage", "position")
    def _in_range(self, proposal) -> int:
        name = proposal["trait"].name
        every = self.names if name == "stage" else self.tokens
        return check_index(name, proposal["value"], len(every))

    def draw(self, figure: Figure) -> None:
        """The vector at every stage, one row of bars below the other, on one scale."""
        axes = np.atleast_1d(figure.subplots(len(self.names), 1, sharey=True))
        for ax, (name, array) in zip(axes, self.stages.items(), strict=True):
            vector = array[self.position]
            ax.bar(np.arange(len(vector)), vector, color=plots.SERIES[0])
            ax.set_ylabel(name, rotation=0, ha="right", va="center")
            ax.set(xticks=[], yticks=[])
            ax.grid(False)


def _rows(name: str, array: Numbers, positions: int) -> np.ndarray:
    rows = finite_array(f"stages[{name!r}]", array)
    if rows.ndim != 2 or len(rows) != positions or not rows.shape[1]:
        raise ValueError(
            f"stages[{name!r}] must have shape ({positions}, width), got {rows.shape}"
        )
    return rows


def _of_stages(name: str, given: Mapping | None, names: Sequence[str]) -> Mapping:
    unknown = [one for one in given or {} if one not in names]
    if unknown:
        raise ValueError(f"{name} must be of stages {list(names)}, got {unknown[0]!r}")
    return given or {}
