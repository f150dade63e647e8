"""Byte-pair encoding: training and encoding."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from mygpt.check.task import Arguments, Draw, Mistake, Probe, Property, Task, result_of
from mygpt.tokenizers import PairCounts, merge

Pair = tuple[int, int]
BYTES = 256


def train(words: list[str], num_merges: int) -> list[Pair]:
    """Train with the package's own counts; ids 0 to 255 are bytes."""
    counts = Counter(words)
    pairs = PairCounts((list(word.encode()), n) for word, n in counts.items())
    merges = []
    while len(merges) < num_merges:
        pair, count = pairs.most_frequent()
        if count < 2:
            break
        pairs.merge(pair, BYTES + len(merges))
        merges.append(pair)
    return merges


def slow_train(
    words: list[str],
    num_merges: int,
    *,
    to_ids: Callable[[str], list[int]] = lambda word: list(word.encode()),
    first: int = BYTES,
    least: int = 2,
    choose: Callable[[Counter], Pair] = lambda counts: min(
        counts, key=lambda pair: (-counts[pair], pair)
    ),
    count: Callable[[list[list[int]]], Counter] | None = None,
    join: Callable[[list[int], Pair, int], list[int]] = merge,
) -> list[Pair]:
    """Train with one piece replaced; for the catalogue."""
    texts = [to_ids(word) for word in words]
    merges: list[Pair] = []
    count = count or count_pairs
    while len(merges) < num_merges:
        counts = count(texts)
        if not counts:
            break
        pair = choose(counts)
        if counts[pair] < least:
            break
        texts = [join(ids, pair, first + len(merges)) for ids in texts]
        merges.append(pair)
    return merges


def count_pairs(texts: list[list[int]]) -> Counter:
    return Counter(pair for ids in texts for pair in pairwise(ids))


def count_across(texts: list[list[int]]) -> Counter:
    return Counter(pairwise([i for ids in texts for i in ids]))


def count_words_once(texts: list[list[int]]) -> Counter:
    return count_pairs([list(ids) for ids in dict.fromkeys(map(tuple, texts))])


def count_texts(texts: list[list[int]]) -> Counter:
    """In how many words each pair occurs."""
    return Counter(pair for ids in texts for pair in set(pairwise(ids)))


def count_apart(texts: list[list[int]]) -> Counter:
    """Count without overlaps: aaa holds aa once."""
    counts: Counter = Counter()
    for ids in texts:
        last = None
        for i, pair in enumerate(pairwise(ids)):
            if last == (pair, i - 1):
                last = None
                continue
            counts[pair] += 1
            last = (pair, i)
    return counts


def merge_first(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace only the first occurrence."""
    for i, found in enumerate(pairwise(ids)):
        if found == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return ids


def merge_from_right(ids: list[int], pair: Pair, new: int) -> list[int]:
    return merge(ids[::-1], pair[::-1], new)[::-1]


def all_at_once(words: list[str], num_merges: int) -> list[Pair]:
    counts = count_pairs([list(word.encode()) for word in words])
    ordered = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return [pair for pair in ordered if counts[pair] > 1][:num_merges]


def first_seen(counts: Counter) -> Pair:
    return max(counts, key=counts.__getitem__)


def last_seen(counts: Counter) -> Pair:
    return max(reversed(counts), key=counts.__getitem__)


def larger_pair(counts: Counter) -> Pair:
    return max(counts, key=lambda pair: (counts[pair], pair))


WORDS = [
    ["low", "low", "lower", "newest", "newest", "widest"],
    ["banana", "bandana", " ban", " ban", "aaaa", "aaaaa", "aaa"],
    ["zxy", "zx", "zxab", "xab", "zyab", "cba", "cbaz", "cb"],
    ["naïve", "naïve", "naïf", "é", "éé", "日本", "日本語"],
    ["one", "two"],
    ["", "aa", "aa"],
    ["ab", "ab"],
]


def make_words(draw: Draw, which: int, num_merges: int) -> dict:
    return {"words": list(WORDS[which]), "num_merges": num_merges}


def variant(**pieces) -> Callable[[list[str], int], list[Pair]]:
    return partial(slow_train, **pieces)


bpe_train = Task(
    name="bpe_train",
    chapter="01_tokens",
    label="check-bpe-train",
    asks="Find the merges of byte-pair encoding. Each word begins as its UTF-8 bytes, "
    "ids 0 to 255. Count the pairs of neighbours in all words, a repeated word each "
    "time; take the most frequent pair, of equally frequent ones the one that is "
    "smaller as a tuple; replace it from left to right in every word by a new id, 256 "
    "for the first merge; and again. Stop early when no pair occurs twice.",
    arguments={"words": "list of str", "num_merges": "int"},
    returns="a list of pairs of ids, in the order in which they were merged",
    example="""\
>>> bpe_train(["low", "low", "lower"], 2)
[(108, 111), (256, 119)]""",
    reference=train,
    make=make_words,
    probes=[
        Probe(0, {"which": i, "num_merges": n})
        for i, n in enumerate([6, 7, 6, 8, 3, 4, 0])
    ],
    fixed=["num_merges"],
    limit=15.0,
    mistakes=[
        Mistake(
            "across-words",
            "pairs are counted across the border of two words",
            variant(count=count_across),
        ),
        Mistake(
            "one-text",
            "the words are put together into one text, so that pairs across their "
            "borders are counted and merged",
            lambda words, num_merges: slow_train(["".join(words)], num_merges),
        ),
        Mistake(
            "each-word-once",
            "a word that occurs several times is counted once",
            variant(count=count_words_once),
        ),
        Mistake(
            "once-a-word",
            "a pair that occurs twice in a word is counted once",
            variant(count=count_texts),
        ),
        Mistake(
            "no-overlap",
            "overlapping pairs are not counted: aaa holds the pair aa twice",
            variant(count=count_apart),
        ),
        Mistake(
            "first-seen",
            "of equally frequent pairs the one seen first is taken, not the smaller",
            variant(choose=first_seen),
        ),
        Mistake(
            "larger-pair",
            "of equally frequent pairs the larger one is taken",
            variant(choose=larger_pair),
        ),
        Mistake(
            "rarest",
            "the rarest pair is merged",
            variant(choose=lambda counts: min(counts, key=lambda p: (counts[p], p))),
        ),
        Mistake(
            "first-occurrence",
            "only the first occurrence in each word is merged",
            variant(join=merge_first),
        ),
        Mistake(
            "from-the-right",
            "pairs are replaced from right to left",
            variant(join=merge_from_right),
        ),
        Mistake(
            "counted-once", "the pairs are not counted again after a merge", all_at_once
        ),
        Mistake(
            "backwards",
            "the merges are in reverse order, the last one first",
            lambda words, num_merges: slow_train(words, num_merges)[::-1],
        ),
        Mistake(
            "single-pairs",
            "merging goes on with pairs that occur only once",
            variant(least=1),
        ),
        Mistake(
            "ids-from-255",
            "the first new id is 255, which is a byte",
            variant(first=BYTES - 1),
        ),
        Mistake("ids-from-257", "the first new id is 257", variant(first=BYTES + 1)),
        Mistake(
            "characters",
            "words are cut into characters (`ord`) instead of UTF-8 bytes",
            variant(to_ids=lambda word: list(map(ord, word))),
        ),
        Mistake(
            "spaces-lost",
            "the spaces at the ends of words are lost",
            variant(to_ids=lambda word: list(word.strip().encode())),
        ),
        Mistake(
            "triples-wanted",
            "a pair must occur three times to be merged; twice is enough",
            variant(least=3),
        ),
    ],
    more=lambda: [
        Mistake(
            "one-fewer",
            "the last merge is missing",
            lambda words, num_merges: train(words, max(0, num_merges - 1)),
        ),
        Mistake(
            "one-more",
            "there is one merge too many",
            lambda words, num_merges: train(words, num_merges + 1),
        ),
        Mistake(
            "last-merge-lost",
            "the last merge that was found is lost",
            lambda words, num_merges: train(words, num_merges)[:-1],
        ),
        Mistake(
            "ids-from-zero",
            "the first new id is 0, which is a byte",
            variant(first=0),
        ),
        Mistake("ids-from-128", "the first new id is 128, a byte", variant(first=128)),
        Mistake(
            "last-seen",
            "of equally frequent pairs the one seen last is taken, not the smaller",
            variant(choose=last_seen),
        ),
        Mistake(
            "lower-case",
            "capitals are lost: the words are put into lower case",
            variant(to_ids=lambda word: list(word.lower().encode())),
        ),
    ],
)


def encode(text: str, merges: Sequence[Pair]) -> list[int]:
    """Encode with the package's merge, lowest rank first."""
    ids = list(text.encode())
    for rank, pair in enumerate(merges):
        ids = merge(ids, pair, BYTES + rank)
    return ids


def encode_with(
    text: str,
    merges: Sequence[Pair],
    *,
    to_ids: Callable[[str], list[int]] = lambda text: list(text.encode()),
    choose: Callable[[list[tuple[int, int]], list[int]], int] | None = None,
    first: int = BYTES,
    join: Callable[[list[int], Pair, int], list[int]] = merge,
) -> list[int]:
    """Encode with one piece replaced; `choose` gets (rank, place) of what can merge."""
    ids, ranks = to_ids(text), {pair: rank for rank, pair in enumerate(merges)}
    for _ in range(1000):
        found = [
            (ranks[pair], place)
            for place, pair in enumerate(pairwise(ids))
            if pair in ranks
        ]
        if not found:
            break
        rank = choose(found, ids) if choose else min(found)[0]
        joined = join(ids, merges[rank], first + rank)
        if joined == ids:
            break
        ids = joined
    return ids


def by_frequency(found: list[tuple[int, int]], ids: list[int]) -> int:
    counts = Counter(rank for rank, _ in found)
    return min(counts, key=lambda rank: (-counts[rank], rank))


def one_pass(text: str, merges: Sequence[Pair]) -> list[int]:
    """Walk once from left to right and merge what can be merged."""
    ranks = {pair: BYTES + rank for rank, pair in enumerate(merges)}
    ids = []
    for i in text.encode():
        if ids and (ids[-1], i) in ranks:
            ids[-1] = ranks[ids[-1], i]
        else:
            ids.append(i)
    return ids


def longest_token(text: str, merges: Sequence[Pair]) -> list[int]:
    """Take the longest known token at each place."""
    tokens = {bytes([i]): i for i in range(BYTES)}
    parts = {i: bytes([i]) for i in range(BYTES)}
    for rank, (a, b) in enumerate(merges):
        parts[BYTES + rank] = parts[a] + parts[b]
        tokens.setdefault(parts[BYTES + rank], BYTES + rank)
    data, ids = text.encode(), []
    while data:
        length = max(n for n in range(1, len(data) + 1) if data[:n] in tokens)
        ids.append(tokens[data[:length]])
        data = data[length:]
    return ids


def any_pair(text: str, merges: Sequence[Pair]) -> list[int]:
    """Sweep from left to right, again and again, and merge any pair that is known."""
    ranks = {pair: BYTES + rank for rank, pair in enumerate(merges)}
    ids, before = list(text.encode()), None
    while ids != before:
        before, ids, old = ids, [], ids
        i = 0
        while i < len(old):
            pair = tuple(old[i : i + 2])
            ids.append(ranks.get(pair, old[i]))
            i += 2 if pair in ranks else 1
    return ids


def backwards(text: str, merges: Sequence[Pair]) -> list[int]:
    ids = list(text.encode())
    for rank, pair in reversed(list(enumerate(merges))):
        ids = merge(ids, pair, BYTES + rank)
    return ids


def first_round(text: str, merges: Sequence[Pair]) -> list[int]:
    """Merge pairs of bytes only; merged tokens never merge again."""
    ids = list(text.encode())
    for rank, pair in enumerate(merges):
        if max(pair) < BYTES:
            ids = merge(ids, pair, BYTES + rank)
    return ids


MERGES = [
    [(108, 111), (256, 119), (101, 114)],  # lo, low, er
    [(97, 98), (98, 99), (99, 97), (256, 258), (257, 97)],  # ab, bc, ca, abca, bca
    [(97, 97), (256, 256), (256, 97), (32, 97)],  # aa, aaaa, aaa, " a"
    [(195, 175), (110, 97), (257, 256), (118, 101)],  # ï, na, naï, ve
    [(98, 99), (97, 256), (97, 98), (258, 99)],  # bc, abc, ab, abc again
    [(120, 121), (121, 122), (257, 120), (256, 122)],  # xy, yz, yzx, xyz
    [(97, 97)],
    [(99, 99)],
    [(98, 32)],
    [(97, 97)],
    [(97, 98), (256, 99)],
    [(76, 111), (108, 111), (256, 119)],  # Lo, lo, Low
]
TEXTS = [
    "slow lower",
    "abcabc cabca bcab",
    "aaaaa aaaaaaa a",
    "naïve naïf",
    " abc ab cab ",
    "xyzxyyzyzxyzyz",
    "",
    "c",
    "cb",
    "aa",
    "abc",
    "Low LOW low",
]


def make_text(draw: Draw, which: int) -> dict:
    return {"text": TEXTS[which], "merges": list(MERGES[which])}


def coding(**pieces) -> Callable[[str, Sequence[Pair]], list[int]]:
    return partial(encode_with, **pieces)


def round_trip(ids: list[int], arguments: Arguments) -> str | None:
    text, merges = arguments.values()
    parts = {i: bytes([i]) for i in range(BYTES)}
    for rank, (a, b) in enumerate(merges):
        parts[BYTES + rank] = parts[a] + parts[b]
    if b"".join(parts.get(i, b"?") for i in ids) == text.encode():
        return None
    return "The bytes behind your ids, put together, are not the bytes of the text."


bpe_encode = Task(
    name="bpe_encode",
    chapter="01_tokens",
    label="check-bpe-encode",
    asks="Turn a text into ids. Begin with its UTF-8 bytes; go through merges in their "
    "order, and replace each of these pairs everywhere, from left to right, by 256 "
    "plus its index in merges.",
    arguments={"text": "str", "merges": "list of pairs of ids"},
    returns="a list of ids",
    example="""\
>>> bpe_encode("slow", [(108, 111), (256, 119)])
[115, 257]""",
    reference=encode,
    make=make_text,
    probes=[Probe(0, {"which": i}) for i in range(len(TEXTS))],
    properties=[Property("round trip", result_of, round_trip)],
    fixed=["merges"],
    mistakes=[
        Mistake(
            "frequency-for-rank",
            "the pair that is most frequent in this text goes first, not the one that "
            "training merged first",
            coding(choose=by_frequency),
        ),
        Mistake(
            "leftmost-for-rank",
            "the leftmost pair goes first, not the one that training merged first",
            coding(choose=lambda found, ids: min(found, key=lambda f: f[1])[0]),
        ),
        Mistake(
            "leftmost-one",
            "the leftmost known pair is merged, one place at a time; it is the rank "
            "that decides",
            coding(
                choose=lambda found, ids: min(found, key=lambda f: f[1])[0],
                join=merge_first,
            ),
        ),
        Mistake(
            "any-pair",
            "the text is swept from left to right and any known pair is merged; it is "
            "the rank that decides",
            any_pair,
        ),
        Mistake(
            "last-rank-first",
            "the pair that training merged last goes first",
            coding(choose=lambda found, ids: max(found)[0]),
        ),
        Mistake(
            "merges-backwards",
            "the merges are gone through once, from the last to the first",
            backwards,
        ),
        Mistake(
            "one-pass",
            "the text is gone through only once, from left to right",
            one_pass,
        ),
        Mistake(
            "longest-token", "the longest token is taken at each place", longest_token
        ),
        Mistake("bytes-only", "merged tokens are never merged again", first_round),
        Mistake(
            "first-occurrence",
            "each merge is made only at its first occurrence",
            lambda text, merges: once_each(text, merges),
        ),
        Mistake(
            "from-the-right",
            "pairs are replaced from right to left",
            coding(join=merge_from_right),
        ),
        Mistake(
            "ids-from-255", "the first merge gives id 255", coding(first=BYTES - 1)
        ),
        Mistake(
            "ids-from-257", "the first merge gives id 257", coding(first=BYTES + 1)
        ),
        Mistake(
            "characters",
            "the text is cut into characters (`ord`) instead of UTF-8 bytes",
            coding(to_ids=lambda text: list(map(ord, text))),
        ),
        Mistake(
            "spaces-lost",
            "the spaces are lost",
            coding(to_ids=lambda text: list(text.replace(" ", "").encode())),
        ),
        Mistake(
            "lower-case",
            "capitals are lost: the text is put into lower case",
            coding(to_ids=lambda text: list(text.lower().encode())),
        ),
        Mistake(
            "ends-stripped",
            "the spaces at the ends of the text are lost",
            coding(to_ids=lambda text: list(text.strip().encode())),
        ),
        Mistake(
            "no-merges",
            "nothing is merged",
            lambda text, merges: list(text.encode()),
        ),
    ],
    more=lambda: [
        Mistake(
            "ids-from-zero",
            "a merge gives its index as the id, without 256 added",
            coding(first=0),
        ),
        Mistake(
            "last-merge-missing",
            "the last of the merges is never made",
            lambda text, merges: encode(text, merges[:-1]),
        ),
        Mistake(
            "first-merge-missing",
            "the first of the merges is never made",
            lambda text, merges: encode(text, [(-1, -1), *merges[1:]]),
        ),
        Mistake(
            "last-id-missing",
            "the last id is lost: the loop ends one place too early",
            lambda text, merges: encode(text, merges)[:-1],
        ),
    ],
)


def once_each(text: str, merges: Sequence[Pair]) -> list[int]:
    ids = list(text.encode())
    for rank, pair in enumerate(merges):
        ids = merge_first(ids, pair, BYTES + rank)
    return ids
