"""Chapter 9: one position's vector on its way through a transformer block."""

from collections.abc import Mapping, Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.block import PLACES, draw_block
from mygpt.explorers.kit.checks import check_index, check_names, checked, finite_array
from mygpt.explorers.kit.numbers import Numbers
from mygpt.explorers.kit.text import count, drawable

MAX_STAGES = 16
MAX_POSITIONS = 64
MAX_NUMBERS = 65_536
KNOWN = {  # names of stages, and the place of each
    "x": "input",
    "ln1": "norm1",
    "attention": "attention",
    "x + attention": "middle",
    "ln2": "norm2",
    "fc1": "hidden",
    "activation": "activation",
    "fc2": "network",
    "x + fc2": "output",
    "add 1": "middle",
    "GELU": "activation",
    "add 2": "output",
}


class BlockWalk(Explorer):
    """The vectors at each stage of a block, for every position of a text.

    `stages` holds an array of shape (T, width) for each name, in order; the widths may
    differ. `tokens` are the T words of the text. `notes` may give a sentence for a
    stage, and `before` may name an earlier stage of the same width, which is drawn as
    an outline: what an addition started from. `parts` names the place of each stage in
    the drawn block, one of "input", "norm1", "attention", "middle", "norm2", "hidden",
    "activation", "network" and "output"; a stage that `mygpt.inside.hooks.stages` has
    needs none. Stages that have no place, as with `parts={}`, are drawn as a line.
    Read-outs show three decimals.
    """

    names = traitlets.List(traitlets.Unicode())
    notes = traitlets.List(traitlets.Unicode())
    before = traitlets.List(traitlets.Int())
    widths = traitlets.List(traitlets.Int())
    tokens = traitlets.List(traitlets.Unicode())
    parts = traitlets.List(traitlets.Unicode())
    data = traitlets.Bytes()

    stage = traitlets.Int()
    position = traitlets.Int()

    def __init__(
        self,
        stages: Mapping[str, Numbers],
        tokens: Sequence[str],
        *,
        notes: Mapping[str, str] | None = None,
        before: Mapping[str, str] | None = None,
        parts: Mapping[str, str] | None = None,
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
        _of_stages("parts", parts, names)
        super().__init__(
            names=list(names),
            notes=[notes.get(name, "") for name in names],
            before=self._earlier(_of_stages("before", before, names), names),
            widths=[array.shape[1] for array in self.stages.values()],
            tokens=tokens,
            parts=_places(parts, names),
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

    _checked = checked(
        stage=(check_index, lambda self: len(self.names)),
        position=(check_index, lambda self: len(self.tokens)),
    )

    def draw(self, figure: Figure) -> None:
        """The block with the length at each stage, above the chosen stage's vector."""
        upper, lower = figure.subplots(2, 1, height_ratios=(4, 5))
        lengths = list(self.norms().values())
        draw_block(upper, self.names, self.parts, lengths, self.stage)
        vector, before = self._vector(self.stage), self.before[self.stage]
        channels = np.arange(len(vector))
        signs = [plots.SERIES[0 if number < 0 else 1] for number in vector]
        lower.bar(channels, vector, color=signs)
        if before >= 0:
            old = self._vector(before)
            lower.plot(channels, old, ls="", marker="_", color=plots.PALETTE["ink"])
        name, token = drawable(self.names[self.stage]), self.tokens[self.position]
        lower.set_title(
            f"{name} at {self.position}, “{drawable(token)}”",
            loc="left",
            parse_math=False,
        )
        lower.set_xlabel("channel")

    def _vector(self, stage: int) -> np.ndarray:
        return self.stages[self.names[stage]][self.position]


def _rows(name: str, array: Numbers, positions: int) -> np.ndarray:
    rows = finite_array(f"stages[{name!r}]", array)
    if rows.ndim != 2 or len(rows) != positions or not rows.shape[1]:
        raise ValueError(
            f"stages[{name!r}] must have shape ({positions}, width), got {rows.shape}"
        )
    return rows


def _places(given: Mapping[str, str] | None, names: Sequence[str]) -> list[str]:
    """The place of each stage in the block; all are empty where the stages make none.

    What is not given is the place that a stage has by its name.
    """
    places = {name: KNOWN.get(name, "") for name in names} | dict(given or {})
    known = all(places.values()) and len(set(places.values())) == len(names)
    if not given and (given is not None or not known):
        return [""] * len(names)
    for i, (name, place) in enumerate(places.items()):
        if place not in PLACES:
            raise ValueError(
                f"parts[{name!r}] must be one of {list(PLACES)}, got {place!r}"
            )
        if place in list(places.values())[:i]:
            raise ValueError(
                f"parts must give {place!r} to one stage, got {name!r} too"
            )
    return list(places.values())


def _of_stages(name: str, given: Mapping | None, names: Sequence[str]) -> Mapping:
    unknown = [one for one in given or {} if one not in names]
    if unknown:
        raise ValueError(f"{name} must be of stages {list(names)}, got {unknown[0]!r}")
    return given or {}
