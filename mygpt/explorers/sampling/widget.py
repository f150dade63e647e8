"""What temperature, top-k and top-p do to the distribution of the next token."""

from collections.abc import Sequence

import numpy as np
import traitlets
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.checks import check_span, checked, finite_array, one_row
from mygpt.explorers.kit.numbers import Numbers, mulberry32, softmax
from mygpt.explorers.kit.text import count, drawable, shown

MAX_TOKENS = 60
MAX_LOGIT = 1e6
MAX_PROMPT = 500
MAX_DRAWS = 10_000
SHOWN = 12


def _on_scale(name: str, value: float, step: float, high: float) -> float:
    """`value` when it is a multiple of `step` up to `high`."""
    number = float(finite_array(name, value, ()))
    steps = round(number / step)
    if abs(number - steps * step) > 1e-6 or not 1 <= steps <= round(high / step):
        raise ValueError(
            f"{name} must be {step} to {high} in steps of {step}, got {value}"
        )
    return round(steps * step, 2)


class Sampling(Explorer):
    """The probabilities that temperature, top-k and top-p make of the `logits`.

    `logits` is one row of V numbers and `tokens` has V different strings, 2 to 60 of
    them. The settings mean what they mean in `mygpt.sampling`: temperature is 0.1 to
    2.0 in steps of 0.1, `top_k` 1 to V or None for off, `top_p` 0.01 to 1 in steps of
    0.01, where 1 is off. `draws` tokens have been drawn with the numbers that the
    generator mulberry32 gives for `seed`: another setting turns the same numbers into
    other tokens. Probabilities are shares of 1 with three decimals.
    """

    tokens = traitlets.List(traitlets.Unicode())
    prompt = traitlets.Unicode()
    data = traitlets.Bytes()

    temperature = traitlets.Float()
    top_k = traitlets.Int(None, allow_none=True)
    top_p = traitlets.Float()
    seed = traitlets.Int()
    draws = traitlets.Int()

    def __init__(
        self,
        logits: Numbers,
        tokens: Sequence,
        *,
        prompt: str = "",
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        seed: int = 0,
        draws: int = 0,
    ) -> None:
        self.logits = _row(logits)
        tokens = _different(tokens, len(self.logits))
        if not isinstance(prompt, str) or len(prompt) > MAX_PROMPT:
            raise ValueError(
                f"prompt must be a text of at most {MAX_PROMPT} characters, "
                f"got {prompt!r:.60}"
            )
        after = f" after “{prompt}”" if prompt else ""
        super().__init__(
            tokens=tokens,
            prompt=prompt,
            data=self.logits.astype("<f4").tobytes(),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            draws=draws,
            description=f"Probabilities of the next token{after}.",
        )

    def __repr__(self) -> str:
        return f"Sampling({count(len(self.tokens), 'token')})"

    def probabilities(self) -> np.ndarray:
        """The distribution at the current setting: V numbers, 0 where a token is cut.

        It is that of `mygpt.sampling.next_token_probabilities`, in float64, with top_p
        1 as None.
        """
        scaled = self.logits / self.temperature
        if self.top_k is not None:
            scaled[scaled < np.sort(scaled)[-self.top_k]] = -np.inf
        if self.top_p < 1:
            order = np.argsort(-scaled, kind="stable")
            ordered = softmax(scaled[order])
            outside = ordered.cumsum() - ordered >= self.top_p
            outside[0] = False
            scaled[order[outside]] = -np.inf
        return softmax(scaled)

    def share(self) -> float:
        """The probability of the tokens kept, before it is made to sum to 1."""
        everything = softmax(self.logits / self.temperature)
        return float(everything[self.probabilities() > 0].sum())

    def entropy(self) -> float:
        """Entropy of the distribution at the current setting, in bits."""
        left = self.probabilities()
        left = left[left > 0]
        return float(np.abs(left @ np.log2(left)))

    def drawn(self) -> list[int]:
        """Ids of the tokens drawn so far, in order."""
        probabilities = self.probabilities()
        left = np.flatnonzero(probabilities)
        ends = probabilities[left].cumsum()
        places = np.searchsorted(ends, mulberry32(self.seed, self.draws), side="right")
        return left[np.minimum(places, len(left) - 1)].tolist()

    _checked = checked(
        temperature=(_on_scale, 0.1, 2.0),
        top_p=(_on_scale, 0.01, 1.0),
        seed=(check_span, 0, 2**32 - 1),
        draws=(check_span, 0, MAX_DRAWS),
    )

    @traitlets.validate("top_k")
    def _known_top_k(self, proposal) -> int | None:
        top_k, V = proposal["value"], len(self.tokens)
        if top_k is not None and not 1 <= top_k <= V:
            raise ValueError(f"top_k must be 1 to {V} or None, got {top_k}")
        return top_k

    def draw(self, figure: Figure) -> None:
        """A bar for each of the likeliest tokens now, a line at temperature 1."""
        order = np.argsort(-self.logits, kind="stable")
        first, others = order[:SHOWN], order[SHOWN:]
        names = [drawable(shown(self.tokens[i])) for i in first]
        rows = []
        for probabilities in (self.probabilities(), softmax(self.logits)):
            rest = [probabilities[others].sum()] if len(others) else []
            rows.append([*probabilities[first], *rest])
        names += [count(len(others), "other")] if len(others) else []
        ax = figure.subplots()
        places = range(len(names))
        blue, ink = plots.PALETTE["blue"], plots.PALETTE["ink"]
        ax.barh(places, rows[0], color=blue, height=0.7, label="now")
        label = "temperature 1, nothing cut"
        ax.plot(rows[1], places, "|", color=ink, ms=13, mew=2, label=label)
        ax.set_yticks(places, names, parse_math=False)
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("probability")
        ax.legend(loc="lower right")


def _row(logits: Numbers) -> np.ndarray:
    """`logits` as the page gets them: float32 numbers, here in float64."""
    numbers = one_row("logits", logits, 2, MAX_TOKENS)
    if np.abs(numbers).max() > MAX_LOGIT:
        raise ValueError(
            f"logits must be within ±{MAX_LOGIT:,.0f}, "
            f"got {numbers[np.abs(numbers).argmax()]:g}"
        )
    return numbers.astype("<f4").astype(np.float64)


def _different(tokens: Sequence, V: int) -> list[str]:
    given = [tokens] if isinstance(tokens, str) else list(tokens)
    if len(given) != V:
        raise ValueError(
            f"tokens must be {V} strings, one for each logit, got {len(given)}"
        )
    for place, token in enumerate(given):
        if not isinstance(token, str) or not token:
            raise ValueError(
                f"tokens must be strings that are not empty, "
                f"got {token!r} at index {place}"
            )
        if token in given[:place]:
            raise ValueError(f"tokens must be different, got {token!r} twice")
    return given
