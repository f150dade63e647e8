"""A feed-forward layer as a memory: neurons, what triggers them, what they promote."""

from collections.abc import Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer, module, stylesheet
from mygpt.explorers.kit.checks import check_index, check_tokens, finite_array
from mygpt.explorers.kit.neurons import MAX_NUMBER, Pairs, check_pairs, pack_pairs
from mygpt.explorers.kit.numbers import Numbers, as_shown
from mygpt.explorers.kit.text import count, label_tokens

MAX_TOKENS = 64
MAX_NEURONS = 1024


class Memory(Explorer):
    """The hidden activations of a feed-forward layer, token by token.

    `activations`, of shape [T, N], are those of N neurons (1 to 1024) at T `tokens`
    (1 to 64). For each neuron `triggers` has up to 8 pairs (text, activation) and
    `promoted` up to 8 pairs (word, score), in the order in which they are shown.
    Tokens and neurons count from 0; at first the token is that of the largest
    activation, and the neuron the strongest of the token. Numbers lie within ±9999 and
    read-outs show three decimals.
    """

    _esm = module("memory")
    _css = stylesheet("memory")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    neurons = traitlets.Int().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)
    trigger_data = traitlets.Bytes().tag(sync=True)
    promoted_data = traitlets.Bytes().tag(sync=True)

    neuron = traitlets.Int().tag(sync=True)
    token = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        activations: Numbers,
        tokens: Sequence[str],
        *,
        triggers: Pairs,
        promoted: Pairs,
        neuron: int | None = None,
        token: int | None = None,
    ) -> None:
        self.activations = _activations(activations)
        length, neurons = self.activations.shape
        names = check_tokens("tokens", tokens, length)
        self.triggers = check_pairs("triggers", triggers, neurons)
        self.promoted = check_pairs("promoted", promoted, neurons)
        texts = {
            text: None
            for lists in (self.triggers, self.promoted)
            for pairs in lists
            for text, _ in pairs
        }
        places = {text: place for place, text in enumerate(texts)}
        if token is None:
            token = int(np.abs(self.activations).max(axis=1).argmax())
        if neuron is None:
            neuron = int(
                np.abs(self.activations[check_index("token", token, length)]).argmax()
            )
        super().__init__(
            tokens=names,
            neurons=neurons,
            texts=list(texts),
            data=self.activations.astype("<f4").tobytes(),
            trigger_data=pack_pairs(self.triggers, places),
            promoted_data=pack_pairs(self.promoted, places),
            neuron=neuron,
            token=token,
            description=(
                f"Activations of {count(neurons, 'neuron')} "
                f"at {count(length, 'token')}."
            ),
        )

    def __repr__(self) -> str:
        length, neurons = self.activations.shape
        return f"Memory({count(length, 'token')}, {count(neurons, 'neuron')})"

    def strongest(self, token: int, count: int = 10) -> list[tuple[int, float]]:
        """The `count` neurons of the largest absolute activation at a token.

        Pairs (neuron, activation to three decimals), the strongest first and of equals
        the first neuron. A token out of range, or a count below 1, is a ValueError.
        """
        row = self.activations[check_index("token", token, len(self.tokens))]
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        order = np.argsort(-np.abs(row), kind="stable")[:count]
        return [(int(n), float(format(row[n], ".3f"))) for n in order]

    @traitlets.validate("token")
    def _known_token(self, proposal) -> int:
        return check_index("token", proposal["value"], self.activations.shape[0])

    @traitlets.validate("neuron")
    def _known_neuron(self, proposal) -> int:
        return check_index("neuron", proposal["value"], self.activations.shape[1])

    def draw(self, figure: Figure) -> None:
        """All activations and, beside them, those of the chosen neuron."""
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        plots.heatmap(left, self.activations, xlabel="neuron")
        label_tokens(left.yaxis, self.tokens, 24)
        column = self.activations[:, self.neuron]
        plots.bars(right, [""] * len(self.tokens), column)
        right.set_ylabel(f"activation of neuron {self.neuron}")
        label_tokens(right.xaxis, self.tokens, 12)


def _activations(activations: Numbers) -> np.ndarray:
    """[T, N] to three decimals, as float64 of the float32 numbers that are sent."""
    numbers = finite_array("activations", activations)
    shape = numbers.shape
    right = len(shape) == 2 and 1 <= shape[0] <= MAX_TOKENS
    if not right or not 1 <= shape[1] <= MAX_NEURONS:
        raise ValueError(
            f"activations must have shape [T, N] with T from 1 to {MAX_TOKENS} and N "
            f"from 1 to {MAX_NEURONS}, got {shape}"
        )
    largest = numbers.flat[np.abs(numbers).argmax()]
    if abs(largest) > MAX_NUMBER:
        raise ValueError(f"activations must be within ±{MAX_NUMBER}, got {largest:g}")
    return as_shown(numbers, ".3f").astype("<f4").astype(np.float64) + 0.0
