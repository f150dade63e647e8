"""The words by which the book is searched, of its prose, its code and its formulas.

Python splits the text and the browser splits the query. The two must find the same
words, so that what both need stands here once.
"""

import json
import re
from itertools import pairwise
from typing import ClassVar

from sphinx.search.en import SearchEnglish

from website import synonyms

GREEK_NAMES = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho
sigma tau upsilon phi chi psi omega
"""
GREEK = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", GREEK_NAMES.split(), strict=True))
LETTERS = {name: letter for letter, name in GREEK.items()}
# A Greek letter that stands alone or beside signs and digits, and is no part of a word.
SYMBOL = "(?<![A-Za-zͰ-Ͽ])[Α-Ωα-ω](?![A-Za-zͰ-Ͽ])"
WORD = re.compile(r"\w+(?:\.\w+)*")
HYPHEN = re.compile(r"\b([A-Za-z]+)-([a-z]+)\b")
AMERICAN = r"(?<=\w{3})iz(?=e|i|at)"  # tokenizer, normalizing, optimization
NUMBER = re.compile(r"[\d.]+")
# Beside Sphinx's own: words of nearly every section, in prose and in code.
COMMON = """
about above after again all also an any been before below both can cannot could did do
does each first from give gives had has have here how i its just last less may more most
much must my one only other our out over own same second see should so some than them
these this those three too two under up us use used very we what when where which while
who why vs versus would you your def import print return self true false none range len
"""
POWERS = {"^2": "²", "^3": "³"}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE = re.compile(r"\\(?:text|operatorname|boldsymbol|math)[a-z]*\b")
FRACTION = re.compile(r"\\[td]?frac(?:\{([^{}]*)\}|(\w))(?:\{([^{}]*)\}|(\w))")
COMMAND = re.compile(r"\\(?:var)?([A-Za-z]+)")
POWER = re.compile(r"\^(?:\{(-?\d+)\}|(\d))")
NAMES = ("ln", "log", "exp", "max", "min", "tanh", "sin", "cos", "arg", "det")
SIGNS = {"sqrt": "√", "cdot": "·", "times": "×", "infty": "∞", "partial": "∂"}

SPLITTER = """
const greekNames = %s;
const pairs = (names) => names.slice(1).map((name, i) => `${names[i]}.${name}`);
var splitQuery = (query) => (query
  .replace(/^this is what comes out when /i, "")
  .replace(/\\^2/g, "²").replace(/\\^3/g, "³")
  .replace(/%s/gu, (letter) => ` ${greekNames[letter.toLowerCase()]} `)
  .match(/[\\p{L}\\p{N}_]+(?:\\.[\\p{L}\\p{N}_]+)*/gu) ?? [])
  .flatMap((word) => /^[^.]+$|^[\\d.]+$/.test(word) ? [word] : pairs(word.split(".")));
const synonyms = new Map(%s);
var inBookWords = (query) => query.replace(/%s/giu,
  (typed, found) => synonyms.get(found.toLowerCase().replace(/[ -]/g, "")));
"""


def _symbol(command: re.Match) -> str:
    name = command[1]
    letter = LETTERS.get(name.lower())
    if letter:
        return f" {letter if name[0].islower() else letter.upper()} "
    return f" {name if name in NAMES else SIGNS.get(name, '')} "


def plain(tex: str) -> str:
    """A formula in one line of Unicode, near enough to read and to search."""
    text = FRACTION.sub(r"\1\2/\3\4", STYLE.sub("", tex))
    text = COMMAND.sub(_symbol, text)
    text = POWER.sub(lambda found: (found[1] or found[2]).translate(RAISED), text)
    text = re.sub(r"[&\\$]|\^(?=\s|$)", " ", text)
    return " ".join(re.sub(r"[{}]", "", text).split())


class BookWords(SearchEnglish):
    """English, with the names of code (`fc1.weight`) and the letters of formulas."""

    stopwords = SearchEnglish.stopwords | set(COMMON.split())
    stems: ClassVar[dict[str, str]] = {}  # of words met before
    js_splitter_code = SPLITTER % (
        json.dumps(GREEK, ensure_ascii=False),
        SYMBOL,
        json.dumps(synonyms.pairs(), ensure_ascii=False),
        synonyms.pattern(),
    )

    def split(self, input: str) -> list[str]:
        """Words; of a dotted name its pieces and its pairs, a.b and b.c of a.b.c."""
        for power, sign in POWERS.items():
            input = input.replace(power, sign)
        text = re.sub(SYMBOL, lambda found: f" {GREEK[found[0].lower()]} ", input)
        words = [piece for word in WORD.findall(text) for piece in pieces(word)]
        words += map("".join, HYPHEN.findall(input))  # prenorm, for pre-norm
        # Here, for Sphinx compares their stems, which are no stop words.
        return [word for word in words if word.lower() not in self.stopwords]

    def stem(self, word: str) -> str:
        """The stem of an English word; a name or a sign stays as it is."""
        if not word.isalpha():
            return word
        if word not in self.stems:
            self.stems[word] = super().stem(re.sub(AMERICAN, "is", word))
        return self.stems[word]

    def word_filter(self, word: str) -> bool:
        """Leave out whole numbers: the search page does not look for them."""
        return bool(word) and not word.isdecimal() and super().word_filter(word)


def pieces(word: str) -> list[str]:
    """Pieces and pairs of a dotted name; a number as it is."""
    names = word.split(".")
    if NUMBER.fullmatch(word) or len(names) == 1:
        return [word]
    pairs = pairwise(names)
    return [*names, *(f"{one}.{next}" for one, next in pairs)]
