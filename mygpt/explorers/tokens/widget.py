"""A text as byte-level BPE reads it: pieces, tokens and ids, and how bytes merge."""

from itertools import pairwise

import numpy as np
import regex
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mygpt import plots
from mygpt.explorers.kit.base import Explorer
from mygpt.explorers.kit.text import count, drawable, shown

MAX_VOCAB = 5_000
MAX_TEXT = 500

# GPT-2's, as in mygpt.tokenizers.
SPLIT = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


class Tokens(Explorer):
    """A text that the reader types, cut into the tokens of a byte-level BPE.

    `tokenizer` has the `vocab` and the `merges` of `mygpt.tokenizers.BPETokenizer`,
    with at most 5,000 tokens. `text` has at most 500 characters. GPT-2's pattern cuts
    it into pieces. The merges of piece number `piece`, or of the last if there are
    fewer, are shown one by one: the first `merges_done` of them, or all if it is None.
    The page itself encodes what is typed. A still has all of them, those to come paler.
    """

    vocab_size = traitlets.Int()
    data = traitlets.Bytes()

    text = traitlets.Unicode()
    piece = traitlets.Int()
    merges_done = traitlets.Int(None, allow_none=True)

    def __init__(
        self,
        tokenizer,
        text: str = "The reader types, and the text becomes tokens.",
        *,
        piece: int = 0,
        merges_done: int | None = 0,
    ) -> None:
        numbers = _numbers(tokenizer)
        self._byte_ids = numbers[:256]
        self._joined: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, (a, b, both) in enumerate(numbers[256:].reshape(-1, 3).tolist()):
            self._joined.setdefault((a, b), (rank, both))
        super().__init__(
            vocab_size=len(tokenizer.vocab),
            data=numbers.astype("<u2").tobytes(),
            text=text,
            piece=piece,
            merges_done=merges_done,
            description="A text as tokens of a byte-level BPE.",
        )

    def __repr__(self) -> str:
        return f"Tokens({count(self.vocab_size, 'token')} in the vocabulary)"

    def pieces(self) -> list[str]:
        """The text as the pattern cuts it; no token crosses a cut."""
        return SPLIT.findall(self.text)

    def ids(self) -> list[int]:
        """Ids of the text's tokens, as `BPETokenizer.encode` gives them."""
        return [i for piece in self.pieces() for i in self._merge(piece)[-1][1]]

    def steps(self) -> list[tuple[int | None, list[bytes]]]:
        """The chosen piece as bytes, with rank None, then after each of its merges.

        The rank is the place of the merge in `tokenizer.merges`. An empty text has no
        piece and no steps.
        """
        pieces = self.pieces()
        if not pieces:
            return []
        return [
            (rank, parts)
            for rank, _, parts in self._merge(pieces[min(self.piece, len(pieces) - 1)])
        ]

    def _merge(self, piece: str) -> list[tuple[int | None, list[int], list[bytes]]]:
        """Rank, ids and parts of a piece at first and after each merge."""
        parts = [bytes([byte]) for byte in piece.encode()]
        ids = [int(self._byte_ids[part[0]]) for part in parts]
        steps = [(None, ids, parts)]
        while True:
            found = [
                (*self._joined[pair], place)
                for place, pair in enumerate(pairwise(ids))
                if pair in self._joined
            ]
            if not found:
                return steps
            rank, both, at = min(found, key=lambda one: (one[0], one[2]))
            ids = [*ids[:at], both, *ids[at + 2 :]]
            parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]
            steps.append((rank, ids, parts))

    @traitlets.validate("text")
    def _short_text(self, proposal) -> str:
        text = proposal["value"]
        if len(text) > MAX_TEXT:
            raise ValueError(
                f"text must have at most {MAX_TEXT} characters, got {len(text)}"
            )
        if halves := regex.findall(r"\p{Cs}", text):
            raise ValueError(
                f"text must be whole characters, got a surrogate, {halves[0]!r}"
            )
        return text

    @traitlets.validate("piece", "merges_done")
    def _counted_from_zero(self, proposal) -> int | None:
        value = proposal["value"]
        if value is not None and value < 0:
            raise ValueError(f"{proposal['trait'].name} must be 0 or more, got {value}")
        return value

    def draw(self, figure: Figure) -> None:
        """The tokens with their ids, and under them the merges of the chosen piece."""
        ax = figure.subplots()
        ax.set(xlim=(0, 84), ylim=(14.5, 0))
        ax.set_axis_off()
        bottom = self._draw_tokens(ax)
        steps = self.steps()
        done = len(steps) if self.merges_done is None else self.merges_done
        room = max(2, int((14 - bottom) / 1.15))
        rows = list(enumerate(steps))
        rows = [*rows[:1], *rows[1:][-(room - 1) :]]
        for line, (number, (rank, parts)) in enumerate(rows):
            y = bottom + 1.15 * (line + 0.7)
            text = " | ".join(map(_spelled, parts))
            alpha = 1 if number <= done else 0.6
            drawn = drawable(text, 64, "monospace")
            _write(ax, 0.0, y, drawn, ha="left", alpha=alpha)
            note = "bytes" if rank is None else f"merge {number}: rank {rank}"
            _write(ax, 84.0, y, note, ha="right", alpha=alpha)

    def _draw_tokens(self, ax) -> float:
        """The tokens as boxes in up to three lines; return where these end."""
        x, y = 0.0, 0.2
        for number, (i, part) in enumerate(self._spelled_tokens()):
            text = drawable(_spelled(part), 24, "monospace")
            width = 1.05 * max(len(text), len(str(i))) + 1.2
            if x + width > 84:
                x, y = 0.0, y + 2.6
            if y > 6:
                _write(ax, 83.5, 7.4, "…", ha="right")
                break
            colour = plots.SERIES[0 if number % 2 else 2]
            box = Rectangle((x, y), width, 2.2, facecolor=colour, alpha=0.25)
            ax.add_patch(box)
            _write(ax, x + width / 2, y + 0.7, text)
            _write(ax, x + width / 2, y + 1.65, str(i), size=7)
            x += width + 0.4
        return min(y, 5.4) + 3.2

    def _spelled_tokens(self) -> list[tuple[int, bytes]]:
        last = [self._merge(piece)[-1] for piece in self.pieces()]
        return [one for _, ids, parts in last for one in zip(ids, parts, strict=True)]


def _write(ax, x: float, y: float, text: str, *, ha="center", size=9, **look):
    given = {"ha": ha, "va": "center", "size": size, "family": "monospace"}
    ax.text(x, y, text, parse_math=False, **given, **look)


def _spelled(part: bytes) -> str:
    """The characters of some bytes, or \\x and hex where they make no character."""
    return shown(part.decode("utf-8", errors="backslashreplace"))


def _byte_signs() -> list[str]:
    """GPT-2's printable sign for each byte, as in mygpt.tokenizers."""
    own = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(b if b in own else next(others)) for b in range(256)]


def _numbers(tokenizer) -> np.ndarray:
    """Ids of the 256 bytes, then for each merge the ids of its parts and of both."""
    vocab = getattr(tokenizer, "vocab", None)
    merges = getattr(tokenizer, "merges", None)
    if not isinstance(vocab, dict) or not isinstance(merges, list):
        raise ValueError(
            "tokenizer must have vocab, a dict, and merges, a list, as a BPETokenizer "
            f"has them, got {type(tokenizer).__name__}"
        )
    if max(len(vocab), len(merges)) > MAX_VOCAB:
        raise ValueError(
            f"tokenizer must have at most {MAX_VOCAB:,} tokens and as many merges, "
            f"got {len(vocab):,} and {len(merges):,}"
        )
    if sorted(vocab.values()) != list(range(len(vocab))):
        raise ValueError("tokenizer must have the ids 0, 1, 2, … once each")
    signs = _byte_signs()
    if missing := [sign for sign in signs if sign not in vocab]:
        raise ValueError(
            f"tokenizer must have a token for every byte, got none for {missing[0]!r}"
        )
    numbers = [vocab[sign] for sign in signs]
    for rank, (a, b) in enumerate(merges):
        if not {a, b, a + b} <= vocab.keys():
            raise ValueError(
                f"tokenizer must have a token for each merge and its parts, "
                f"got none for merge {rank}, {a} and {b}"
            )
        numbers += [vocab[a], vocab[b], vocab[a + b]]
    return np.array(numbers)
