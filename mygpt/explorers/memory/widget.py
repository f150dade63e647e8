"""A feed-forward layer as a memory: what fires its neurons, and what they write."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import (
    check_index,
    check_member,
    check_names,
    check_tokens,
    checked,
    finite_array,
)
from mygpt.explorers.kit.neurons import MAX_NUMBER, Pairs, check_pairs, pack_pairs
from mygpt.explorers.kit.numbers import Numbers, as_shown, thousandths
from mygpt.explorers.kit.text import count, drawable, label_tokens

MAX_TOKENS = 64
MAX_NEURONS = 1024
MAX_WORDS = 512
MAX_CHANNELS = 256
PROMOTED = 5  # words said of a neuron
BESIDE = 5  # other words than the chosen one, in the map of values
ORDERS = ("adds", "fires", "number")


class Memory(Explorer):
    """The neurons of a feed-forward layer: their keys by word, their values by answer.

    `activations`, of shape [T, N], are those of N neurons (1 to 1024) at T `tokens`
    (1 to 64). For each neuron `triggers` has up to 8 pairs (text, activation) and
    `promoted` up to 8 pairs (word, score), in the order in which they are shown.
    Tokens and neurons count from 0; at first the token is that of the largest
    activation. Numbers lie within ±9999.

    With `words`, which the layer may write, and `values` and `vectors` there are bars
    of what each adds, and the words that a neuron promotes are the five of the largest
    value · vector. Row n of `values` [N, C] is what neuron n writes, as the output
    layer reads it, and row w of `vectors` [W, C] is that layer's weight for word w. The
    page has both to one part in 4,000 of a row's largest number. At a
    token where the neuron's activation is m it adds m · value · vector / norm to the
    word's score; `norms` [T] are what the last norm divides by, or else 1. `word` is
    the word that is looked at: at first the one to which all neurons together add
    most at the token. `order` sorts the neurons by what they "adds" to that word, by
    the size with which each "fires", or by "number"; the neuron at first is the first.
    """

    tokens = traitlets.List(traitlets.Unicode())
    neurons = traitlets.Int()
    texts = traitlets.List(traitlets.Unicode())
    data = traitlets.Bytes()
    trigger_data = traitlets.Bytes()
    promoted_data = traitlets.Bytes()
    words = traitlets.List(traitlets.Unicode())
    value_data = traitlets.Bytes()
    vector_data = traitlets.Bytes()
    norms = traitlets.List(traitlets.Float())

    word = traitlets.Unicode()
    order = traitlets.Unicode("fires")
    neuron = traitlets.Int()
    token = traitlets.Int()

    def __init__(
        self,
        activations: Numbers,
        tokens: Sequence[str],
        *,
        triggers: Pairs,
        promoted: Pairs | None = None,
        words: Sequence[str] | None = None,
        values: Numbers | None = None,
        vectors: Numbers | None = None,
        norms: Numbers | None = None,
        word: str | None = None,
        order: str | None = None,
        neuron: int | None = None,
        token: int | None = None,
    ) -> None:
        self.activations = _activations(activations)
        length, neurons = self.activations.shape
        names = check_tokens("tokens", tokens, length)
        self.triggers = check_pairs("triggers", triggers, neurons)
        written = self._read_values(words, values, vectors, norms)
        if promoted is None and not self._names:
            raise ValueError("promoted must be given where values are not")
        told = [] if promoted is None else check_pairs("promoted", promoted, neurons)
        self.promoted = told or self._most_written()
        texts = {
            text: None
            for lists in (self.triggers, told)
            for pairs in lists
            for text, _ in pairs
        }
        places = {text: place for place, text in enumerate(texts)}
        if token is None:
            token = int(np.abs(self.activations).max(axis=1).argmax())
        check_index("token", token, length)
        if word is None:
            word = self.words_most_added(token)[0] if self._names else ""
        if order is None:
            order = "adds" if self._names else "fires"
        check_member("word", word, self._names or [""])
        check_member("order", order, ORDERS if self._names else ORDERS[1:])
        if neuron is None:
            neuron = int(self._ranked(order, word, token)[0])
        super().__init__(
            tokens=names,
            neurons=neurons,
            texts=list(texts),
            data=thousandths(self.activations),
            trigger_data=pack_pairs(self.triggers, places),
            promoted_data=pack_pairs(told, places) if told else b"",
            **written,
            word=word,
            order=order,
            neuron=neuron,
            token=token,
            description=(
                f"Activations of {count(neurons, 'neuron')} "
                f"at {count(length, 'token')}."
            ),
        )

    def _read_values(
        self,
        words: Sequence[str] | None,
        values: Numbers | None,
        vectors: Numbers | None,
        norms: Numbers | None,
    ) -> dict[str, Any]:
        """Keep the values, and return the traits that they are sent in."""
        length, neurons = self.activations.shape
        given = {"words": words, "values": values, "vectors": vectors}
        missing = [name for name, one in given.items() if one is None]
        if missing and (len(missing) < 3 or norms is not None):
            raise ValueError(
                "words, values and vectors must be given together, and norms with "
                f"them; got no {' and no '.join(missing)}"
            )
        self._names = (
            [] if words is None else list(check_names("words", words, MAX_WORDS))
        )
        self._norms = _norms(norms, length)
        if missing:
            self._values = self._vectors = np.zeros((0, 0))
            return {}
        numbers = finite_array("values", values)
        channels = numbers.shape[-1] if numbers.ndim == 2 else 0
        if numbers.shape[:1] != (neurons,) or not 1 <= channels <= MAX_CHANNELS:
            raise ValueError(
                f"values must have shape [{neurons}, C] with C from 1 to "
                f"{MAX_CHANNELS}, got {numbers.shape}"
            )
        others = finite_array("vectors", vectors, (len(self._names), channels))
        value_data, self._values = _packed(numbers)
        vector_data, self._vectors = _packed(others)
        return {
            "words": self._names,
            "value_data": value_data,
            "vector_data": vector_data,
            "norms": self._norms.tolist(),
        }

    def _most_written(self) -> list[list[tuple[str, float]]]:
        """For each neuron the five words of the largest value · vector, with it."""
        scores = self._values @ self._vectors.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :PROMOTED]
        return [
            [(self._names[i], float(row[i])) for i in places]
            for row, places in zip(scores, best, strict=True)
        ]

    def __repr__(self) -> str:
        length, neurons = self.activations.shape
        return f"Memory({count(length, 'token')}, {count(neurons, 'neuron')})"

    def strongest(self, token: int, count: int = 10) -> list[tuple[int, float]]:
        """The `count` neurons of the largest absolute activation at a token.

        Pairs (neuron, activation to three decimals), the strongest first and of equals
        the first neuron. A token out of range, or a count below 1, is a ValueError.
        """
        row = self.activations[check_index("token", token, len(self.tokens))]
        order = self._ranked("fires", "", token)[: _at_least_one(count)]
        return [(int(n), float(format(row[n], ".3f"))) for n in order]

    def added(self, word: str, token: int) -> np.ndarray:
        """What each neuron adds to a word's score at a token, [N]."""
        check_index("token", token, len(self.activations))
        vector = self._vectors[self._place(word)]
        return self.activations[token] * (self._values @ vector) / self._norms[token]

    def writers(
        self, word: str, token: int, count: int = 10
    ) -> list[tuple[int, float]]:
        """The `count` neurons that add most to a word's score at a token.

        Pairs (neuron, what it adds to two decimals), the largest first and of equals
        the first neuron.
        """
        amounts = self.added(word, token)
        order = self._ranked("adds", word, token)[: _at_least_one(count)]
        return [(int(n), float(format(amounts[n], ".2f"))) for n in order]

    def words_most_added(self, token: int) -> list[str]:
        """The words by what all neurons together add to them at a token."""
        totals = self._vectors @ (self.activations[token] @ self._values)
        return [self._names[i] for i in np.argsort(-totals, kind="stable")]

    def nearest(self, neuron: int, count: int = 5) -> list[tuple[int, float]]:
        """The `count` other neurons whose values have the largest cosine with one's.

        Pairs (neuron, cosine to two decimals).
        """
        check_index("neuron", neuron, len(self._values))
        sizes = np.linalg.norm(self._values, axis=1)
        products = self._values @ self._values[neuron]
        scale = sizes * sizes[neuron]
        cosines = np.divide(
            products, scale, out=np.zeros_like(products), where=scale > 0
        )
        order = [n for n in np.argsort(-cosines, kind="stable") if n != neuron]
        few = order[: _at_least_one(count)]
        return [(int(n), float(format(cosines[n], ".2f"))) for n in few]

    def _ranked(self, order: str, word: str, token: int) -> np.ndarray:
        if order == "number":
            return np.arange(self.activations.shape[1])
        if order == "fires":
            return np.argsort(-np.abs(self.activations[token]), kind="stable")
        return np.argsort(-self.added(word, token), kind="stable")

    def _place(self, word: str) -> int:
        return self._names.index(check_member("word", word, self._names))

    _checked = checked(
        token=(check_index, lambda self: len(self.tokens)),
        neuron=(check_index, lambda self: self.neurons),
        word=(check_member, lambda self: self.words or [""]),
        order=(check_member, lambda self: ORDERS if self.words else ORDERS[1:]),
    )

    def draw(self, figure: Figure) -> None:
        """The first neurons of the order: their keys above, their values below."""
        seen = self._ranked(self.order, self.word, self.token)[:20]
        if self.neuron not in seen:
            seen[-1] = self.neuron
        maps = [(self.tokens, self.activations[:, seen], "activation")]
        if self._names:
            others = [w for w in self.words_most_added(self.token) if w != self.word]
            rows = [self.word, *others[:BESIDE]]
            added = np.array([self.added(one, self.token)[seen] for one in rows])
            at = drawable(self.tokens[self.token], 10)
            maps.append((rows, added, f"added at “{at}”"))
        axes = figure.subplots(len(maps), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (rows, numbers, title) in zip(axes, maps, strict=True):
            plots.heatmap(ax, numbers)
            ax.set_title(title, fontsize="small", parse_math=False)
            label_tokens(ax.yaxis, rows, 12)
        axes[-1].set_xticks(range(len(seen)), seen.tolist(), fontsize="x-small")
        axes[-1].set_xlabel("neuron")


def _at_least_one(count: int) -> int:
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    return count


def _packed(numbers: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Rows of 12-bit numbers as the page gets them, and the numbers that these are.

    First each row's unit, float32, of which its numbers are multiples up to ±2047; then
    of all multiples the upper eight bits, and then the lower four, two to a byte.
    """
    units = (np.abs(numbers).max(axis=1, keepdims=True) / 2047).astype("<f4")
    units[units == 0] = 1
    multiples = np.rint(numbers / units).astype(np.int64)
    lower = np.zeros((-(-multiples.size // 2), 2), dtype=np.int64)
    lower.flat[: multiples.size] = multiples & 15
    pieces = (
        units,
        (multiples >> 4).astype("i1"),
        (lower << [0, 4]).sum(axis=1).astype("u1"),
    )
    packed = b"".join(piece.tobytes() for piece in pieces)
    return packed, multiples * units.astype(np.float64)


def _norms(norms: Numbers | None, length: int) -> np.ndarray:
    if norms is None:
        return np.ones(length)
    numbers = finite_array("norms", norms, (length,))
    if not (numbers > 0).all():
        raise ValueError(f"norms must be above 0, got {numbers.min():g}")
    return numbers


def _activations(activations: Numbers) -> np.ndarray:
    """[T, N] to three decimals, as they are sent."""
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
    return as_shown(numbers, ".3f") + 0.0
