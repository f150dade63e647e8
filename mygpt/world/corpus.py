"""The tiny world: facts to remember, and stories that only copying can complete.

Standard library only. Every draw goes through `random.Random.random`, the one method
whose sequence Python promises to keep, so a seed gives the same text everywhere.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

STOP = "."
ROW_LENGTH = 65  # 64 positions to predict from and, one step on, 64 to predict
OTHER, FACT, COPY, CHANT = range(4)  # which task's answer a word is, if any

RELATIONS = ("capital", "language", "currency", "continent")
# Lower case, no accents; where a country has several languages, the one most widely
# shared; the Americas count as one continent.
COUNTRIES = """
    france paris french euro europe
    germany berlin german euro europe
    spain madrid spanish euro europe
    italy rome italian euro europe
    portugal lisbon portuguese euro europe
    greece athens greek euro europe
    austria vienna german euro europe
    ireland dublin english euro europe
    finland helsinki finnish euro europe
    norway oslo norwegian krone europe
    denmark copenhagen danish krone europe
    sweden stockholm swedish krona europe
    iceland reykjavik icelandic krona europe
    poland warsaw polish zloty europe
    hungary budapest hungarian forint europe
    romania bucharest romanian leu europe
    ukraine kyiv ukrainian hryvnia europe
    japan tokyo japanese yen asia
    china beijing chinese yuan asia
    thailand bangkok thai baht asia
    vietnam hanoi vietnamese dong asia
    mongolia ulaanbaatar mongolian tugrik asia
    nepal kathmandu nepali rupee asia
    pakistan islamabad urdu rupee asia
    iraq baghdad arabic dinar asia
    egypt cairo arabic pound africa
    morocco rabat arabic dirham africa
    kenya nairobi swahili shilling africa
    ghana accra english cedi africa
    nigeria abuja english naira africa
    angola luanda portuguese kwanza africa
    canada ottawa english dollar america
    jamaica kingston english dollar america
    cuba havana spanish peso america
    chile santiago spanish peso america
    colombia bogota spanish peso america
    peru lima spanish sol america
    brazil brasilia portuguese real america
    australia canberra english dollar oceania
    samoa apia samoan tala oceania
"""
ANSWERS = {
    (country, relation): answer
    for country, *answers in map(str.split, COUNTRIES.strip().splitlines())
    for relation, answer in zip(RELATIONS, answers, strict=True)
}
PHRASINGS = {
    "capital": (
        "the capital of {} is",
        "{} has the capital",
        "the government of {} sits in",
        "{} is governed from",
    ),
    "language": (
        "the language of {} is",
        "{} has the language",
        "people in {} speak",
        "in {} you will hear",
    ),
    "currency": (
        "the currency of {} is",
        "{} has the currency",
        "people in {} pay with",
        "shops in {} take the",
    ),
    "continent": (
        "the continent of {} is",
        "{} is a country in",
        "the land of {} lies within",
        "{} is part of",
    ),
}
SHORTEST, LONGEST = 6, 8  # words of a fact's sentence, its full stop included
PEOPLE, THINGS = map(
    str.split,
    (
        "amy ana ben bob cal dee eli eva fay gus hal ida jon kim leo "
        "lia max mia nat ola pam ray sam sue ted tom uma val wes zoe",
        "ball bell boat book bowl cake card clock coin cup doll drum flag fork glove "
        "hat horn jar key kite knife ladder lamp map nail pen ring rope shoe spoon",
    ),
)


@dataclass(frozen=True)
class Passage:
    """Sentences that end in an answer and a full stop; `kinds` says what each word is.

    The prompt, which the answer follows, begins like a row: with a full stop.
    """

    words: tuple[str, ...]
    kinds: tuple[int, ...]

    @property
    def prompt(self) -> tuple[str, ...]:
        return (STOP, *self.words[:-2])

    @property
    def answer(self) -> str:
        return self.words[-2]


@dataclass(frozen=True)
class Fact(Passage):
    """One of the four phrasings of a fact; a held-out one never occurs in a row."""

    country: str
    relation: str
    phrasing: int
    held_out: bool


class World:
    """40 countries, their facts in four phrasings, stories and chants.

    The seed decides which half of the facts have one phrasing held out, and which one.
    """

    def __init__(self, seed: int = 0):
        rng = random.Random(f"world {seed}")
        half = draw(rng, list(ANSWERS), len(ANSWERS) // 2)
        held_out = {(*fact, between(rng, 0, 3)) for fact in half}
        self._facts = [
            _fact(*fact, phrasing, (*fact, phrasing) in held_out)
            for fact in ANSWERS
            for phrasing in range(4)
        ]
        self._training = [fact for fact in self._facts if not fact.held_out]
        in_facts = {word for fact in self._facts for word in fact.words}
        self.words = tuple(sorted(in_facts.union(PEOPLE, THINGS)))

    def facts(self) -> list[Fact]:
        """Every fact in every phrasing, the held-out ones included."""
        return list(self._facts)

    @staticmethod
    def story(rng: random.Random, pairs: int, queries: int) -> Passage:
        """Each pair, a person and a thing, told once; then pairs again in new orders.

        The thing of a repeated pair is marked COPY: only the story tells it.
        """
        if not 1 <= pairs <= len(PEOPLE) or queries < 1:
            raise ValueError(
                f"expected 1 to {len(PEOPLE)} pairs and at least 1 query, "
                f"got {pairs} and {queries}"
            )
        people, things = draw(rng, PEOPLE, pairs), draw(rng, THINGS, pairs)
        told = list(zip(people, things, strict=True))
        again = []
        while len(again) < queries:
            again += draw(rng, told, pairs)
        words = [w for pair in told + again[:queries] for w in (*pair, STOP)]
        kinds = [OTHER] * 3 * pairs + [OTHER, COPY, OTHER] * queries
        return Passage(tuple(words), tuple(kinds))

    @staticmethod
    def chant(rng: random.Random) -> Passage:
        """A line of 3 to 8 words of the stories, over and over; 18 to 46 words in all.

        A word is marked CHANT where the words before it determine it: from the second
        round on, except for the word that shows that there is a second round.
        """
        line = draw(rng, PEOPLE + THINGS, between(rng, 3, 8))
        rounds = between(rng, 24, 46) // (len(line) + 1)
        kinds = [CHANT] * len(line) + [OTHER]
        first, second = [OTHER] * len(kinds), [OTHER, *kinds[1:]]
        return Passage((*line, STOP) * rounds, (*first, *second, *kinds * (rounds - 2)))

    def row(self, rng: random.Random) -> tuple[list[str], list[int]]:
        """ROW_LENGTH words and their kinds: a full stop, then whole sentences.

        One row in ten is facts alone; the others hold one story or chant among facts.
        """
        passages, room = [], ROW_LENGTH - 1
        if rng.random() >= 0.1:
            if rng.random() < 0.5:
                passage = self.chant(rng)
            else:
                passage = self.story(rng, between(rng, 2, 5), between(rng, 3, 8))
            passages, room = [passage], room - len(passage.words)
        facts = self._fill(rng, room)
        before = between(rng, 0, len(facts))
        passages = facts[:before] + passages + facts[before:]
        words = [STOP, *(word for p in passages for word in p.words)]
        return words, [OTHER, *(kind for p in passages for kind in p.kinds)]

    def _fill(self, rng: random.Random, room: int) -> list[Passage]:
        """Facts of `room` words together."""
        facts = []
        while room:
            fact = choose(rng, self._training)
            if _fits(room - len(fact.words)):
                facts.append(fact)
                room -= len(fact.words)
        return facts

    def rows(self, num_rows: int, seed: int = 0) -> Iterator[tuple]:
        """The first rows of the stream that a seed gives."""
        rng = random.Random(f"rows {seed}")
        return (self.row(rng) for _ in range(num_rows))

    def text(self, num_rows: int, seed: int = 0) -> str:
        """Those rows as lines of 64 words.

        The full stop that opens a row is left out: the one that ends the line before
        serves.
        """
        return "".join(
            " ".join(words[1:]) + "\n" for words, _ in self.rows(num_rows, seed)
        )


def _fact(country: str, relation: str, phrasing: int, held_out: bool) -> Fact:
    start = PHRASINGS[relation][phrasing].format(country).split()
    words = (*start, ANSWERS[country, relation], STOP)
    kinds = (*[OTHER] * len(start), FACT, OTHER)
    return Fact(words, kinds, country, relation, phrasing, held_out)


def _fits(room: int) -> bool:
    """Whether some number of facts fills the room: n of them take 6n to 8n words."""
    fewest = -(-room // LONGEST)
    return fewest * SHORTEST <= room


def between(rng: random.Random, low: int, high: int) -> int:
    """Draw a whole number from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def choose(rng: random.Random, items: Sequence):
    """Choose one item."""
    return items[between(rng, 0, len(items) - 1)]


def draw(rng: random.Random, items: Sequence, count: int) -> list:
    """Draw different items, every choice and order equally likely."""
    pool = list(items)
    for i in range(count):
        j = between(rng, i, len(pool) - 1)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:count]
