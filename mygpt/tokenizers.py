"""From text to token ids and back: characters, words, and GPT-2's byte pairs."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import SupportsIndex

import regex

from mygpt.support import tokenizer_files
from mygpt.support.arguments import check_positive, takes_numbers
from mygpt.support.files import read_json, write_atomically, write_json

# GPT-2's: endings of English contractions, words, numbers, other signs, spaces; a space
# before a word belongs to it (Radford et al. 2019, section 2.2).
SPLIT = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
END_OF_TEXT = "<|endoftext|>"
CACHED_WORDS = 100_000
Pair = tuple[int, int]


class MergesError(ValueError):
    """A merge needs a token that the vocabulary lacks."""


class TokenList:
    """Ids for a fixed list of tokens; the two simple tokenizers differ in `pieces`."""

    FILE: str
    glue: str  # between the tokens of a decoded text
    KIND: str  # in messages

    def __init__(self, tokens: Iterable[str]):
        self.tokens = list(tokens)
        for token in self.tokens:
            if not isinstance(token, str) or self.pieces(joined(token)) != [token]:
                raise ValueError(
                    f"expected tokens, a list of {self.KIND}s, got {token!r}"
                )
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            raise ValueError(f"expected every {self.KIND} once, got one of them twice")

    @property
    def vocab_size(self) -> int:
        return len(self.tokens)

    @classmethod
    def train(cls, text: str) -> "TokenList":
        """Learn the tokens of a text, in alphabetical order."""
        tokens = sorted(set(cls.pieces(joined(text))))
        if not tokens:
            raise ValueError(f"expected a text with at least one {cls.KIND}")
        return cls(tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; a piece that training never saw is a ValueError."""
        text = joined(text)
        try:
            return [self.ids[piece] for piece in self.pieces(text)]
        except KeyError as error:
            place, piece = next(
                (i, p) for i, p in enumerate(self.pieces(text)) if p not in self.ids
            )
            raise ValueError(
                f"unknown {self.KIND} {piece!r} at index {place} of the text; "
                f"the tokenizer knows {self.vocab_size} {self.KIND}s"
            ) from error

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        return self.glue.join(self.tokens[check_id(i, self.vocab_size)] for i in ids)

    def save(self, folder: str | Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_json(Path(folder) / self.FILE, {"tokens": self.tokens})

    @classmethod
    def load(cls, folder: str | Path) -> "TokenList":
        path = Path(folder) / cls.FILE
        tokens = read_json(path).get("tokens")
        if not isinstance(tokens, list):
            raise ValueError(f"{path}: expected tokens, a list of {cls.KIND}s")
        try:
            return cls(tokens)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


class CharTokenizer(TokenList):
    """One token for each character."""

    FILE, KIND, glue = "chars.json", "character", ""
    pieces = staticmethod(list)


class WordTokenizer(TokenList):
    """One token for each word between white space; decoding puts one space between."""

    FILE, KIND, glue = "words.json", "word", " "
    pieces = staticmethod(str.split)


def joined(text: str) -> str:
    """The text with pairs of surrogates joined; half a pair stays as it is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def whole(text: str) -> str:
    """The text with pairs of surrogates joined; half a pair is a ValueError."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as error:
            place = len(error.object[: error.start].decode("utf-16-le"))
            raise ValueError(
                "text must be whole characters, got half of one, a surrogate, "
                f"as character {place}"
            ) from None
    return text


def byte_signs() -> list[str]:
    """GPT-2's printable sign for each byte: the byte's own character where it has one.

    The others, such as spaces and control characters, get the characters from 256 on.
    """
    own = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(b if b in own else next(others)) for b in range(256)]


SIGNS = byte_signs()
BYTES = {sign: byte for byte, sign in enumerate(SIGNS)}


class BPETokenizer:
    """Byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019).

    A word is its UTF-8 bytes, each written as a sign; pairs of neighbours are merged in
    the order in which training found them. Any text has ids, and decodes unchanged.

    `added` are tokens that are no bytes, in the form of tokenizer.json: each has an id
    and a text. `encode` cuts them out of a text before it merges bytes, but for special
    ones such as <|endoftext|>, which no text becomes.
    """

    def __init__(
        self,
        vocab: dict[str, int],
        merges: list[tuple[str, str]],
        added: Sequence[dict] = (),
    ):
        vocab = self.vocab = {token: index(i) for token, i in vocab.items()}
        self.merges, self.added = merges, {token["content"]: token for token in added}
        for text, token in self.added.items():
            if vocab.setdefault(text, token["id"]) != token["id"]:
                raise ValueError(f"added token {text!r}: two ids")
        self.patterns = [
            added_pattern(self.added.values(), normalized)
            for normalized in (False, True)  # the library's order
        ]
        self.tokens = {i: token for token, i in vocab.items()}
        if sorted(self.tokens) != list(range(len(vocab))):
            raise ValueError("expected the ids 0, 1, 2, … once each")
        if missing := [sign for sign in SIGNS if sign not in vocab]:
            raise ValueError(
                f"expected a token for every byte, none for {missing[0]!r}"
            )
        self.joined: dict[Pair, tuple[int, int]] = {}  # pair: (rank, id of both)
        for rank, (a, b) in enumerate(merges):
            if not {a, b, a + b} <= vocab.keys():
                raise MergesError(f"merge {rank + 1}, {a} {b}: not in the vocabulary")
            self.joined.setdefault((vocab[a], vocab[b]), (rank, vocab[a + b]))
        self.byte_ids = [vocab[sign] for sign in SIGNS]
        self.cache: dict[str, list[int]] = {}

    @property
    def vocab_size(self) -> int:
        return len(self.vocab)

    @property
    def end_of_text(self) -> int | None:
        """The id that ends a text, if the vocabulary has one."""
        return self.vocab.get(END_OF_TEXT)

    @classmethod
    @takes_numbers
    def train(cls, text: str, vocab_size: int, min_count: int = 2) -> "BPETokenizer":
        """Merge the most frequent pair, again and again, up to `vocab_size` tokens.

        Training stops sooner when no pair occurs `min_count` times. Among equally
        frequent pairs the one with the smaller ids goes first.
        """
        check_positive(vocab_size=vocab_size, min_count=min_count)
        if vocab_size < len(SIGNS):
            raise ValueError(f"vocab_size must be at least 256, got {vocab_size}")
        vocab = {sign: i for i, sign in enumerate(sorted(SIGNS))}
        tokens, merges = list(vocab), []
        pairs = PairCounts(
            ([vocab[SIGNS[byte]] for byte in word.encode()], count)
            for word, count in Counter(SPLIT.findall(whole(text))).items()
        )
        while len(vocab) < vocab_size:
            pair, count = pairs.most_frequent()
            if count < min_count:
                break
            a, b = tokens[pair[0]], tokens[pair[1]]
            merges.append((a, b))
            if a + b not in vocab:
                vocab[a + b] = len(tokens)
                tokens.append(a + b)
            pairs.merge(pair, vocab[a + b])
        return cls(vocab, merges)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; half of a pair of surrogates is a ValueError."""
        ids, parts = [], [(whole(text), False)]
        for pattern in filter(None, self.patterns):
            parts = [new for part in parts for new in cut_out(pattern, *part)]
        for part, is_token in parts:
            ids += [self.vocab[part]] if is_token else self.encode_part(part)
        return ids

    def encode_part(self, text: str) -> list[int]:
        cache, ids = self.cache, []
        if len(cache) > CACHED_WORDS:
            cache.clear()
        for word in SPLIT.findall(text):
            found = cache.get(word)
            if found is None:
                found = cache[word] = self.encode_word(word.encode())
            ids += found
        return ids

    def encode_word(self, word: bytes) -> list[int]:
        """Merge neighbours, always the pair that training merged first, leftmost first.

        Pairs wait in a heap; a merge changes only its two neighbours, so a word of n
        bytes takes about n log n steps.
        """
        n = len(word)
        ids = [self.byte_ids[byte] for byte in word] + [None]  # None: nothing here
        after = [*range(1, n + 1), n]
        before = [*range(-1, n)]
        waiting = []  # (rank, place of the left one, pair, id of both)
        for left, pair in enumerate(pairwise(ids)):
            if pair in self.joined:
                rank, both = self.joined[pair]
                waiting.append((rank, left, pair, both))
        heapq.heapify(waiting)
        while waiting:
            _, left, pair, both = heapq.heappop(waiting)
            right = after[left]
            if (ids[left], ids[right]) != pair:
                continue  # one of the two has been merged since
            ids[left], ids[right] = both, None
            after[left] = after[right]
            before[after[left]] = left
            for start in (before[left], left):
                pair = ids[start], ids[after[start]]
                if pair in self.joined:
                    rank, both = self.joined[pair]
                    heapq.heappush(waiting, (rank, start, pair, both))
        return [i for i in ids if i is not None]

    def decode_bytes(self, ids: Iterable[SupportsIndex]) -> bytes:
        parts = []
        for i in ids:
            token = self.tokens[check_id(i, self.vocab_size)]
            if token == END_OF_TEXT or token in self.added:
                parts.append(token.encode())
            else:
                parts.append(bytes(BYTES[sign] for sign in token))
        return b"".join(parts)

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text; bytes that are not UTF-8, as of half a character, become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def save(self, folder: str | Path) -> None:
        """Write vocab.json and merges.txt, as GPT-2 has them.

        Added tokens need a tokenizer.json beside them. A tokenizer_config.json says
        whether <|endoftext|> is one: else transformers adds it, as an id too many.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "vocab.json", self.vocab)
        end = None if self.end_of_text is None else END_OF_TEXT
        special = dict.fromkeys(("unk_token", "bos_token", "eos_token"), end)
        settings = {"tokenizer_class": "GPT2Tokenizer", "pad_token": None} | special
        write_json(folder / tokenizer_files.CONFIG, settings)
        lines = ["#version: 0.2", *(f"{a} {b}" for a, b in self.merges)]
        text = "\n".join(lines) + "\n"
        write_atomically(
            folder / "merges.txt", lambda file: file.write_text(text, encoding="utf-8")
        )
        if self.added.keys() - {END_OF_TEXT}:
            tokenizer_files.write_whole(
                folder / tokenizer_files.WHOLE,
                self.vocab,
                self.merges,
                list(self.added.values()),
            )

    @classmethod
    def load(cls, folder: str | Path) -> "BPETokenizer":
        vocab, merges, added = tokenizer_files.read(Path(folder))
        path, merges_path = tokenizer_files.names(Path(folder))
        texts = {token["content"] for token in added} | {END_OF_TEXT}
        for token, i in vocab.items():
            if type(i) is not int or not (BYTES.keys() >= set(token) or token in texts):
                raise ValueError(
                    f"{path}: expected tokens and ids, got {token!r}: {i!r}"
                )
        try:
            return cls(vocab, merges, added)
        except MergesError as error:
            raise ValueError(f"{merges_path}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


Tokenizer = CharTokenizer | WordTokenizer | BPETokenizer


def added_pattern(added: Iterable[dict], normalized: bool) -> regex.Pattern | None:
    """What finds the added tokens in a text, the longest first; None if there are none.

    Special ones are not looked for. One that takes the spaces beside it, or stands
    between words alone, is a ValueError.
    """
    texts = []
    for token in added:
        text = token["content"]
        if token["special"] or text == END_OF_TEXT or token["normalized"] != normalized:
            continue
        for option in ("lstrip", "rstrip", "single_word"):
            if token[option]:
                raise ValueError(f"added token {text!r}: expected {option} = False")
        texts.append(text)
    found = "|".join(map(regex.escape, sorted(texts, key=len, reverse=True)))
    return regex.compile(f"({found})") if texts else None


def cut_out(
    pattern: regex.Pattern, text: str, is_token: bool
) -> Iterator[tuple[str, bool]]:
    """The parts of a text that are added tokens, and those between them."""
    if is_token:
        yield text, True
    else:
        for place, part in enumerate(pattern.split(text)):
            yield part, place % 2 == 1


class PairCounts:
    """How often each pair of neighbours occurs in the words, while they are merged."""

    def __init__(self, words: Iterable[tuple[list[int], int]]):
        self.words = list(words)
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place in range(len(self.words)):
            self.add(place, 1)
        self.heap = [(-count, pair) for pair, count in self.counts.items()]
        heapq.heapify(self.heap)

    def add(self, place: int, sign: int) -> set[Pair]:
        """Add the pairs of one word to the counts, or with sign -1 remove them."""
        ids, count = self.words[place]
        pairs = list(pairwise(ids))
        for pair in pairs:
            self.counts[pair] += sign * count
            self.places[pair].add(place)
        return set(pairs)

    def most_frequent(self) -> tuple[Pair, int]:
        """The pair with the largest count, and among equals with the smallest ids."""
        while self.heap:
            count, pair = self.heap[0]
            if -count == self.counts[pair]:
                return pair, -count
            heapq.heappop(self.heap)  # the count has changed since
        return (0, 0), 0

    def merge(self, pair: Pair, new: int) -> None:
        changed = set()
        for place in self.places.pop(pair):
            ids, count = self.words[place]
            merged = merge(ids, pair, new)
            if len(merged) < len(ids):
                changed |= self.add(place, -1)
                self.words[place] = (merged, count)
                changed |= self.add(place, 1)
        for other in changed:
            heapq.heappush(self.heap, (-self.counts[other], other))
        self.counts[pair] = 0


def merge(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace every `pair` by `new`, from left to right."""
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def check_id(i: SupportsIndex, vocab_size: int) -> int:
    """Return an id, also one of a tensor's, as an int."""
    number = index(i)
    if not 0 <= number < vocab_size:
        raise ValueError(f"expected ids from 0 to {vocab_size - 1}, got {number}")
    return number


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Load whichever tokenizer was saved in a folder."""
    folder = Path(folder)
    for kind in (CharTokenizer, WordTokenizer):
        if (folder / kind.FILE).is_file():
            return kind.load(folder)
    if tokenizer_files.are_in(folder):
        return BPETokenizer.load(folder)
    raise ValueError(
        f"no tokenizer in {folder}: expected chars.json, words.json, tokenizer.json, "
        "or vocab.json with merges.txt"
    )
