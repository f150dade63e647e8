"""Byte-pair encoding: training and encoding."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from mygpt.check.model import Model, Piece
from mygpt.check.stages.values import Value
from mygpt.check.task import Arguments, Draw, Probe, Property, Task, result_of
from mygpt.tokenizers import PairCounts, merge
from mygpt.workbook.asked import ASKED

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
    """Train in pieces."""
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


TRAINING = Model(
    slow_train,
    count=Piece(
        "the counts",
        across_words=("pairs are counted across the border of two words", count_across),
        each_word_once=(
            "a word that comes several times is counted once",
            count_words_once,
        ),
        once_a_word=("a pair that occurs twice in a word is counted once", count_texts),
        no_overlap=(
            "overlapping pairs are not counted: aaa holds the pair aa twice",
            count_apart,
        ),
    ),
    whole=Piece(
        "the counting",
        counted_once=("the pairs are not counted again after a merge", all_at_once),
    ),
    choose=Piece(
        "the choice",
        first_seen=(
            "of equally frequent pairs the one seen first is taken, not the smaller",
            first_seen,
        ),
        larger_pair=("of equally frequent pairs the larger one is taken", larger_pair),
        rarest=(
            "the rarest pair is merged",
            lambda counts: min(counts, key=lambda p: (counts[p], p)),
        ),
    ).rarely(
        last_seen=(
            "of equally frequent pairs the one seen last is taken, not the smaller",
            last_seen,
        )
    ),
    join=Piece(
        "the merge",
        first_occurrence=(
            "only the first occurrence in each word is merged",
            merge_first,
        ),
        from_the_right=("pairs are replaced from right to left", merge_from_right),
    ),
    least=Piece(
        "the least count",
        single_pairs=("merging goes on with pairs that occur only once", 1),
        triples_wanted=("a pair must occur three times to be merged, not twice", 3),
    ),
    first=Piece(
        "the first new id",
        ids_from_255=("the first new id is 255, which is a byte", BYTES - 1),
        ids_from_257=("the first new id is 257", BYTES + 1),
    ).rarely(
        ids_from_zero=("the first new id is 0, which is a byte", 0),
        ids_from_128=("the first new id is 128, a byte", 128),
    ),
    to_ids=Piece(
        "the bytes",
        characters=(
            "words are cut into characters (`ord`) instead of UTF-8 bytes",
            lambda word: list(map(ord, word)),
        ),
        spaces_lost=(
            "the spaces at the ends of words are lost",
            lambda word: list(word.strip().encode()),
        ),
    ).rarely(
        lower_case=(
            "capitals are lost: the words are put into lower case",
            lambda word: list(word.lower().encode()),
        )
    ),
    given=Piece(
        "the words",
        one_text=(
            "the words are put together into one text, so that pairs across their "
            "borders are counted and merged",
            lambda words, num_merges: (["".join(words)], num_merges),
        ),
    ).rarely(
        one_fewer=(
            "the last merge is missing",
            lambda words, num_merges: (words, max(0, num_merges - 1)),
        ),
        one_more=(
            "there is one merge too many",
            lambda words, num_merges: (words, num_merges + 1),
        ),
    ),
    result=Piece(
        "the merges",
        backwards=(
            "the merges are in reverse order, the last one first",
            lambda merges: merges[::-1],
        ),
    ).rarely(
        last_merge_lost=("the last merge found is lost", lambda merges: merges[:-1])
    ),
).written(
    count=(
        '[list(word.encode("utf-8")) for word in {words}]',
        'dict(enumerate(list(word.encode("utf-8")) for word in {words}))',
        "{words}",
        "list({words})",
        "{it} + 1",
    ),
    whole=("{it} + 1",),
    choose=(
        "min({counts}, key=lambda pair: (-{counts}[pair], pair))",
        "min({counts}, key=lambda pair: (-{counts}[pair], pair), default=None)",
        "min({counts}.items(), key=lambda item: (-item[1], item[0]))",
        "(-{counts}[{pair}], {pair})",
    ),
    least=("max({counts}.values(), default=0) < 2", "{counts}[{pair}] < 2"),
    first=("256 + {i}", "256 + len({merges})", "256"),
    to_ids=(
        '[list(word.encode("utf-8")) for word in {words}]',
        'list({word}.encode("utf-8"))',
    ),
    given=(
        "{num_merges}",
        "range({num_merges})",
        '[list(word.encode("utf-8")) for word in {words}]',
    ),
    result=("{merges}",),
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
    return tuple(sorted(tuple(ids) for ids in texts if ids))


bpe_train = Task(
    **vars(ASKED["bpe_train"]),
    reference=train,
    make=make_words,
    probes=[
        Probe(0, {"which": i, "num_merges": n})
        for i, n in enumerate([6, 7, 6, 8, 3, 4, 0])
    ],
    fixed=["num_merges"],
    limit=15.0,
    values=values_of_training,
    mistakes=TRAINING.mistakes(),
    model=TRAINING,
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


def once_each(text: str, merges: Sequence[Pair]) -> list[int]:
    ids = list(text.encode())
    for rank, pair in enumerate(merges):
        ids = merge_first(ids, pair, BYTES + rank)
    return ids


ENCODING = Model(
    encode_with,
    choose=Piece(
        "the choice",
        frequency_for_rank=(
            "the pair that is most frequent in this text goes first, not the one that "
            "training merged first",
            by_frequency,
        ),
        leftmost_for_rank=(
            "the leftmost pair goes first, not the one that training merged first",
            lambda found, ids: min(found, key=lambda f: f[1])[0],
        ),
        last_rank_first=(
            "the pair that training merged last goes first",
            lambda found, ids: max(found)[0],
        ),
    ),
    together=Piece(
        "choice and merge",
        leftmost_one=(
            "the leftmost known pair is merged, one place at a time; it is the rank "
            "that decides",
            {
                "choose": lambda found, ids: min(found, key=lambda f: f[1])[0],
                "join": merge_first,
            },
        ),
    ),
    whole=Piece(
        "the merging",
        any_pair=(
            "the text is swept from left to right and any known pair is merged; it is "
            "the rank that decides",
            any_pair,
        ),
        merges_backwards=(
            "the merges are gone through once, from the last to the first",
            backwards,
        ),
        one_pass=("the text is gone through only once, from left to right", one_pass),
        longest_token=("the longest token is taken at each place", longest_token),
        bytes_only=("merged tokens are never merged again", first_round),
        first_occurrence=("each merge is made only at its first occurrence", once_each),
    ),
    join=Piece(
        "the merge",
        from_the_right=("pairs are replaced from right to left", merge_from_right),
    ),
    first=Piece(
        "the first new id",
        ids_from_255=("the first merge gives id 255", BYTES - 1),
        ids_from_257=("the first merge gives id 257", BYTES + 1),
    ).rarely(ids_from_zero=("a merge gives its index as the id, without 256 added", 0)),
    to_ids=Piece(
        "the bytes",
        characters=(
            "the text is cut into characters (`ord`) instead of UTF-8 bytes",
            lambda text: list(map(ord, text)),
        ),
        spaces_lost=(
            "the spaces are lost",
            lambda text: list(text.replace(" ", "").encode()),
        ),
        lower_case=(
            "capitals are lost: the text is put into lower case",
            lambda text: list(text.lower().encode()),
        ),
        ends_stripped=(
            "the spaces at the ends of the text are lost",
            lambda text: list(text.strip().encode()),
        ),
    ),
    given=Piece(
        "the merges", no_merges=("nothing is merged", lambda text, merges: (text, []))
    ).rarely(
        last_merge_missing=(
            "the last of the merges is never made",
            lambda text, merges: (text, merges[:-1]),
        ),
        first_merge_missing=(
            "the first of the merges is never made",
            lambda text, merges: (text, [(-1, -1), *merges[1:]]),
        ),
    ),
    result=Piece("the ids").rarely(
        last_id_missing=(
            "the last id is lost: the loop ends one place too early",
            lambda ids: ids[:-1],
        )
    ),
).written(
    first=("256 + {i}", "256"),
    to_ids=('list({text}.encode("utf-8"))', '{text}.encode("utf-8")'),
    given=("{merges}", "enumerate({merges})"),
    whole=("{merges}", "enumerate({merges})"),
    result=("{ids}",),
)


def round_trip(ids: list[int], arguments: Arguments) -> str | None:
    text, merges = arguments.values()
    parts = {i: bytes([i]) for i in range(BYTES)}
    for rank, (a, b) in enumerate(merges):
        parts[BYTES + rank] = parts[a] + parts[b]
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


bpe_encode = Task(
    **vars(ASKED["bpe_encode"]),
    reference=encode,
    make=make_text,
    probes=[Probe(0, {"which": i}) for i in range(len(TEXTS))],
    properties=[Property("round trip", result_of, round_trip)],
    fixed=["merges"],
    values=values_of_encoding,
    mistakes=ENCODING.mistakes(),
    model=ENCODING,
)
