"""Byte-pair encoding: training and encoding."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from mygpt.check.locate.values import Value
from mygpt.check.reference import Reference
from mygpt.check.task import Hints, Probe, Property, probes, result_of
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


def count_pairs(texts: list[list[int]]) -> Counter:
    """Count the pairs of neighbours in all words."""
    return Counter(pair for ids in texts for pair in pairwise(ids))


def slow_train(
    words: list[str],
    num_merges: int,
    *,
    to_ids=lambda word: list(word.encode()),
    first=BYTES,
    least=2,
    choose=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair)),
    count=count_pairs,
    join=merge,
) -> list[Pair]:
    """Train in pieces."""
    texts = [to_ids(word) for word in words]
    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts = count(texts)
        if not counts or counts[pair := choose(counts)] < least:
            break
        texts = [join(ids, pair, first + len(merges)) for ids in texts]
        merges.append(pair)
    return merges


def count_apart(texts: list[list[int]]) -> Counter:
    """Count without overlaps: aaa holds aa once."""
    counts: Counter = Counter()
    for ids in texts:
        last = None
        for i, pair in enumerate(pairwise(ids)):
            last = None if last == (pair, i - 1) else (pair, i)
            counts[pair] += last is not None
    return counts


def merge_first(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace only the first occurrence."""
    for i, found in enumerate(pairwise(ids)):
        if found == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return ids


def merge_from_right(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair from right to left."""
    return merge(ids[::-1], pair[::-1], new)[::-1]


def all_at_once(words: list[str], num_merges: int) -> list[Pair]:
    """Merge by the counts of the beginning."""
    counts = count_pairs([list(word.encode()) for word in words])
    ordered = sorted(counts, key=lambda pair: (-counts[pair], pair))
    return [pair for pair in ordered if counts[pair] > 1][:num_merges]


WORDS = [
    ["low", "low", "lower", "newest", "newest", "widest"],
    ["banana", "bandana", " ban", " ban", "aaaa", "aaaaa", "aaa"],
    ["zxy", "zx", "zxab", "xab", "zyab", "cba", "cbaz", "cb"],
    ["naïve", "naïve", "naïf", "é", "éé", "日本", "日本語"],
    ["one", "two"],
    ["", "aa", "aa"],
    ["ab", "ab"],
]


TRAINING = Reference(
    slow_train,
    """
    [count] the counts = [list(word.encode("utf-8")) for word in {words}]
        | dict(enumerate(list(word.encode("utf-8")) for word in {words})) | {words}
        | list({words}) | {it} + 1
    across-words: pairs are counted across the border of two words
    each-word-once: a word that comes several times is counted once
    once-a-word: a pair that occurs twice in a word is counted once
    no-overlap: overlapping pairs are not counted: aaa holds the pair aa twice
    [whole] the counting = {it} + 1
    counted-once: the pairs are not counted again after a merge
    [choose] the choice = min({counts}, key=lambda pair: (-{counts}[pair], pair))
        | min({counts}, key=lambda pair: (-{counts}[pair], pair), default=None)
        | min({counts}.items(), key=lambda item: (-item[1], item[0]))
        | (-{counts}[{pair}], {pair})
    first-seen: of equally frequent pairs the one seen first is taken, not the smaller
    larger-pair: of equally frequent pairs the larger one is taken
    rarest: the rarest pair is merged
    ~ last-seen: of equally frequent pairs the one seen last is taken, not the smaller
    [join] the merge
    first-occurrence: only the first occurrence in each word is merged
    from-the-right: pairs are replaced from right to left
    [least] the least count = max({counts}.values(), default=0) < 2
        | {counts}[{pair}] < 2
    single-pairs = 1: merging goes on with pairs that occur only once
    triples-wanted = 3: a pair must occur three times to be merged, not twice
    [first] the first new id = 256 + {i} | 256 + len({merges}) | 256
    ids-from-255: the first new id is 255, which is a byte
    ids-from-257: the first new id is 257
    ~ ids-from-zero = 0: the first new id is 0, which is a byte
    ~ ids-from-128 = 128: the first new id is 128, a byte
    [to_ids] the bytes = [list(word.encode("utf-8")) for word in {words}]
        | list({word}.encode("utf-8"))
    characters: words are cut into characters (`ord`) instead of UTF-8 bytes
    spaces-lost: the spaces at the ends of words are lost
    ~ lower-case: capitals are lost: the words are put into lower case
    [given] the words = {num_merges} | range({num_merges})
        | [list(word.encode("utf-8")) for word in {words}]
    one-text: the words are put together into one text, so that pairs across their
        borders are counted and merged
    ~ one-fewer: the last merge is missing
    ~ one-more: there is one merge too many
    [result] the merges = {merges}
    backwards: the merges are in reverse order, the last one first
    ~ last-merge-lost: the last merge found is lost
    """,
    across_words=lambda texts: Counter(pairwise([i for ids in texts for i in ids])),
    each_word_once=lambda texts: count_pairs([*dict.fromkeys(map(tuple, texts))]),
    once_a_word=lambda texts: Counter(
        pair for ids in texts for pair in set(pairwise(ids))
    ),
    no_overlap=count_apart,
    counted_once=all_at_once,
    first_seen=lambda counts: max(counts, key=counts.get),
    larger_pair=lambda counts: max(counts, key=lambda pair: (counts[pair], pair)),
    rarest=lambda counts: min(counts, key=lambda p: (counts[p], p)),
    last_seen=lambda counts: max(reversed(counts), key=counts.get),
    first_occurrence=merge_first,
    from_the_right=merge_from_right,
    ids_from_255=BYTES - 1,
    ids_from_257=BYTES + 1,
    characters=lambda word: list(map(ord, word)),
    spaces_lost=lambda word: list(word.strip().encode()),
    lower_case=lambda word: list(word.lower().encode()),
    one_text=lambda words, num_merges: (["".join(words)], num_merges),
    one_fewer=lambda words, num_merges: (words, max(0, num_merges - 1)),
    one_more=lambda words, num_merges: (words, num_merges + 1),
    backwards=lambda merges: merges[::-1],
    last_merge_lost=lambda merges: merges[:-1],
)


def values_of_training(words: list[str], num_merges: int) -> Iterator[Value]:
    """What training has in its variables, round by round."""
    texts = [list(word.encode()) for word in words]
    yield Value("the bytes of each word", "texts", sorted_ids(texts))
    for number, pair in enumerate(train(words, num_merges)):
        at = f"in round {number + 1}"
        counts = frozenset(count_pairs(texts).items())
        yield Value(f"the counts of the pairs {at}", "counts", counts)
        merges = (*train(words, number), pair)
        yield Value(f"the merges after the choice {at}", "pairs", merges)
        before = sorted_ids(texts)
        texts = [merge(ids, pair, BYTES + number) for ids in texts]
        if number + 1 < num_merges:
            name = f"the words after the merge {at}"
            yield Value(name, "texts", sorted_ids(texts), before, merges)
    if len(train(words, num_merges)) < num_merges:
        last = frozenset(count_pairs(texts).items())
        yield Value("the counts of the pairs in the last round", "counts", last)


def sorted_ids(texts: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the ids of all words that have some, sorted."""
    return tuple(sorted(tuple(ids) for ids in texts if ids))


ID_HINTS = Hints(
    numbers=("256", "255"),
    rules={
        "what the loop goes over": {
            "over: []": (1.0, "enumerate($name, start=256)"),
            "over: $x": (2.4, "enumerate($name, start=256)"),
        },
        "without the argument `start` in it": {
            "enumerate($x)": (1.6, "enumerate($x, start=256)")
        },
    },
)
PAIR_HINTS = Hints(
    rules={
        "which of equal ones comes first in it": {
            "$x.most_common(...)[$i][$j]": (
                1.1,
                "min($x, key=lambda one: (-$x[one], one))",
            )
        },
        "a condition missing in it": {
            "test: $x": (1.7, "$x or max($mentioned.values()) < 2")
        },
    }
)

bpe_train = TRAINING.task(
    "bpe_train",
    hints=ID_HINTS | PAIR_HINTS,
    reference=train,
    make=lambda draw, which, num_merges: {
        "words": WORDS[which][:],
        "num_merges": num_merges,
    },
    probes=probes("which num_merges", "0 6 | 1 7 | 2 6 | 3 8 | 4 3 | 5 4 | 6 0"),
    fixed=["num_merges"],
    limit=15.0,
    values=values_of_training,
)


def encode(
    text: str, merges: Sequence[Pair], *, join=merge, ordered=list, most=math.inf
) -> list[int]:
    """Encode with the package's merge, lowest rank first; `most`: the largest id."""
    ids = list(text.encode())
    for rank, pair in ordered([*enumerate(merges)]):
        if max(pair) < most:
            ids = join(ids, pair, BYTES + rank)
    return ids


def bytes_of_tokens(merges: Sequence[Pair]) -> dict[int, bytes]:
    """Return the bytes of every token."""
    parts = {i: bytes([i]) for i in range(BYTES)}
    for rank, (a, b) in enumerate(merges):
        parts[BYTES + rank] = parts[a] + parts[b]
    return parts


def encode_with(
    text: str,
    merges: Sequence[Pair],
    *,
    to_ids=lambda text: list(text.encode()),
    choose=None,
    first=BYTES,
    join=merge,
) -> list[int]:
    """Encode in pieces; `choose` gets (rank, place) of what can merge."""
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
    """Choose the most frequent pair of a text."""
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
    tokens: dict[bytes, int] = {}
    for i, part in bytes_of_tokens(merges).items():
        tokens.setdefault(part, i)
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


# A text, its merges, and what these give.
TEXTS = [
    ("slow lower", [(108, 111), (256, 119), (101, 114)]),  # lo, low, er
    (
        "abcabc cabca bcab",
        [(97, 98), (98, 99), (99, 97), (256, 258), (257, 97)],  # ab, bc, ca, abca, bca
    ),
    ("aaaaa aaaaaaa a", [(97, 97), (256, 256), (256, 97), (32, 97)]),  # aa to " a"
    ("naïve naïf", [(195, 175), (110, 97), (257, 256), (118, 101)]),  # ï, na, naï, ve
    (" abc ab cab ", [(98, 99), (97, 256), (97, 98), (258, 99)]),  # bc, abc, ab, abc
    ("xyzxyyzyzxyzyz", [(120, 121), (121, 122), (257, 120), (256, 122)]),  # xy to xyz
    ("", [(97, 97)]),
    ("c", [(99, 99)]),
    ("cb", [(98, 32)]),
    ("aa", [(97, 97)]),
    ("abc", [(97, 98), (256, 99)]),
    ("abc", [(98, 99)]),  # the same text, other merges
    ("Low LOW low", [(76, 111), (108, 111), (256, 119)]),  # Lo, lo, Low
]


ENCODING = Reference(
    encode_with,
    """
    [choose] the choice
    frequency-for-rank: the pair that is most frequent in this text goes first, not the
        one that training merged first
    leftmost-for-rank: the leftmost pair goes first, not the one that training merged
        first
    last-rank-first: the pair that training merged last goes first
    [whole] the merging = {merges} | enumerate({merges})
    any-pair: the text is swept from left to right and any known pair is merged; it is
        the rank that decides
    merges-backwards: the merges are gone through once, from the last to the first
    one-pass: the text is gone through only once, from left to right
    longest-token: the longest token is taken at each place
    bytes-only: merged tokens are never merged again
    first-occurrence: each merge is made only at its first occurrence
    [join] the merge
    from-the-right: pairs are replaced from right to left
    [first] the first new id = 256 + {i} | 256
    ids-from-255: the first merge gives id 255
    ids-from-257: the first merge gives id 257
    ~ ids-from-zero = 0: a merge gives its index as the id, without 256 added
    [to_ids] the bytes = list({text}.encode("utf-8")) | {text}.encode("utf-8")
    characters: the text is cut into characters (`ord`) instead of UTF-8 bytes
    spaces-lost: the spaces are lost
    lower-case: capitals are lost: the text is put into lower case
    ends-stripped: the spaces at the ends of the text are lost
    [given] the merges = {merges} | enumerate({merges})
    no-merges: nothing is merged
    ~ last-merge-missing: the last of the merges is never made
    ~ first-merge-missing: the first of the merges is never made
    [result] the ids = {ids}
    ~ last-id-missing: the last id is lost: the loop ends one place too early
    [together] choice and merge
    leftmost-one: the leftmost known pair is merged, one place at a time; it is the rank
        that decides
    """,
    frequency_for_rank=by_frequency,
    leftmost_for_rank=lambda found, ids: min(found, key=lambda f: f[1])[0],
    last_rank_first=lambda found, ids: max(found)[0],
    any_pair=any_pair,
    merges_backwards=partial(encode, ordered=reversed),
    one_pass=one_pass,
    longest_token=longest_token,
    bytes_only=partial(encode, most=BYTES),
    first_occurrence=partial(encode, join=merge_first),
    from_the_right=merge_from_right,
    ids_from_255=BYTES - 1,
    ids_from_257=BYTES + 1,
    characters=lambda text: list(map(ord, text)),
    spaces_lost=lambda text: list(text.replace(" ", "").encode()),
    lower_case=lambda text: list(text.lower().encode()),
    ends_stripped=lambda text: list(text.strip().encode()),
    no_merges=lambda text, merges: (text, []),
    last_merge_missing=lambda text, merges: (text, merges[:-1]),
    first_merge_missing=lambda text, merges: (text, [(-1, -1), *merges[1:]]),
    last_id_missing=lambda ids: ids[:-1],
    leftmost_one={
        "choose": lambda found, ids: min(found, key=lambda f: f[1])[0],
        "join": merge_first,
    },
)


def round_trip(ids, arguments):
    """Whether the ids stand for the bytes of the text."""
    text, merges = arguments.values()
    parts = bytes_of_tokens(merges)
    if b"".join(parts.get(i, b"?") for i in ids) == text.encode():
        return None
    return "The bytes behind your ids, put together, are not the bytes of the text."


def values_of_encoding(text: str, merges: Sequence[Pair]) -> Iterator[Value]:
    """What encoding has in its variables, merge by merge."""
    ids = list(text.encode())
    yield Value("the bytes of the text", "ids", tuple(ids))
    for rank, pair in enumerate(merges):
        before, ids = ids, merge(ids, pair, BYTES + rank)
        if ids != before:
            name = f"what merges[{rank}] gives"
            yield Value(name, "ids", tuple(ids), [tuple(before)], merges)


bpe_encode = ENCODING.task(
    "bpe_encode",
    hints=ID_HINTS,
    reference=encode,
    make=lambda draw, which: {"text": TEXTS[which][0], "merges": TEXTS[which][1][:]},
    probes=[Probe(0, {"which": i}) for i in range(len(TEXTS))],
    properties=[Property("round trip", result_of, round_trip)],
    fixed=["merges"],
    values=values_of_encoding,
)
