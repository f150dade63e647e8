"""Edits of single words and signs: numbers, operators, names, and their relatives."""

import io
import keyword
import tokenize
from collections.abc import Iterable, Iterator
from tokenize import NAME, NUMBER, OP, STRING, TokenInfo

from mygpt.check.mends.edit import Edit, Text

ARITHMETIC = ("+", "-", "*", "/", "@", "**", "//", "%")
BITS = ("&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
OPENING = ("(", "[", "{", ",", "=", ":", ";", "->", ":=")
SIGNS = ("-", "+", "~")
RARE = 1.0  # added to the cost of what is seldom meant

# What is taken for one another.
RELATIVES = (
    ("mean", "sum", "prod", "std", "var"),
    ("max", "min"),
    ("amax", "amin"),
    ("maximum", "minimum"),
    ("argmax", "argmin"),
    ("tril", "triu"),
    ("softmax", "log_softmax", "sigmoid"),
    ("exp", "log", "expm1", "exp2"),
    ("log", "log2", "log10", "log1p"),
    ("sqrt", "rsqrt", "square"),
    ("zeros", "ones", "empty", "zeros_like", "ones_like"),
    ("zeros_like", "ones_like", "empty_like"),
    ("relu", "gelu", "silu"),
    ("erf", "tanh", "erfc", "sigmoid"),
    ("sin", "cos"),
    ("cumsum", "cumprod"),
    ("ge", "gt", "le", "lt", "eq", "ne"),
    ("append", "extend", "insert"),
    ("floor", "ceil", "round", "trunc"),
    ("bmm", "matmul", "mm"),
    ("all", "any"),
    ("stack", "cat", "hstack", "vstack"),
    ("eval", "train"),
    ("keys", "values", "items"),
    ("unsqueeze", "squeeze"),
    ("gather", "scatter"),
    ("nll_loss", "cross_entropy"),
    ("sorted", "reversed", "list"),
    ("repeat", "repeat_interleave", "expand", "tile"),
    ("T", "mT"),
    ("add", "sub", "mul", "div"),
    ("var_mean", "std_mean"),
    ("no_grad", "enable_grad"),
    ("masked_fill", "masked_fill_"),
)
WORDS = {
    "True": ("False",),
    "False": ("True",),
    "and": ("or",),
    "or": ("and",),
    "break": ("continue", "pass"),
    "continue": ("break", "pass"),
    "pass": ("continue", "break"),
}
NAMED = {
    "True": "one that should be False",
    "False": "one that should be True",
    "and": "`and` in it",
    "or": "`or` in it",
    "break": "`break` in it",
    "continue": "`continue` in it",
    "pass": "`pass` in it",
}
HALF = ("0.5", "2", "0.25", "4")


def tokens_of(text: str) -> list[TokenInfo]:
    """The tokens of a source that count, in order."""
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    read = io.StringIO(text).readline
    return [one for one in tokenize.generate_tokens(read) if one.type not in skipped]


def token_edits(
    text: Text, lines: set[int], names: Iterable[str], strings: Iterable[str]
) -> Iterator[Edit]:
    """Yield the edits of one or two tokens in some lines.

    names: what may stand for a name; strings: for a string, both as written.
    """
    tokens = tokens_of(text.text)
    numbers = {one.string for one in tokens if one.type == NUMBER}
    names, strings = sorted(set(names)), sorted(set(strings))
    around = zip(
        [tokens[0], *tokens[:-1]], tokens, [*tokens[1:], tokens[-1]], strict=True
    )
    for before, one, after in around:
        if one.start[0] not in lines:
            continue
        start, end = text.at(*one.start), text.at(*one.end)
        line = one.start[0]
        for new, kind, cost, stop in replacements(
            before, one, after, numbers, names, strings
        ):
            last = text.at(*after.end) if stop else end
            yield Edit(start, last, new, line, kind, cost)
        if one.string == "-" and is_prefix(before):
            yield Edit(start, end, "", line, "a sign in it", 1.0)


Replacement = tuple[str, str, float, bool]  # text, kind, cost, with the token after it


def replacements(
    before: TokenInfo,
    one: TokenInfo,
    after: TokenInfo,
    numbers: Iterable[str],
    names: Iterable[str],
    strings: Iterable[str],
) -> Iterator[Replacement]:
    word = one.string
    if one.type == NUMBER:
        for new, cost in near_numbers(word, numbers):
            if new != "0" or before.string != "-":
                yield new, "a number in it", cost, False
    elif one.type == STRING:
        for new in strings:
            if new != word:
                yield new, "a name in it", 2.0 - near(word, new), False
    elif word in WORDS:
        for new in WORDS[word]:
            yield new, NAMED[word], 1.0, False
    elif word in ("not", "is", "in", *COMPARISONS):
        yield from comparisons(before, word, after)
    elif one.type == OP:
        yield from operators(before, word)
    elif one.type == NAME and not keyword.iskeyword(word):
        yield from other_names(before, word, after, names)


def comparisons(
    before: TokenInfo, word: str, after: TokenInfo
) -> Iterator[Replacement]:
    kind = "a comparison in it"
    if word == "not" and is_prefix(before):
        yield "", "`not` in it", 1.0, False
        yield "-", "a sign in it", 1.0, False
        return
    if word == "not" and after.string == "in":
        yield "in", kind, 1.0, True
        return
    if word == "in" and before.string == "not":
        return
    if word == "is" and after.string == "not":
        for new in COMPARISONS:
            yield new, kind, 1.0, True
        yield "is", kind, 1.0, True
        return
    for new in COMPARISONS:
        if new != word and not (word == "in" and before.string == ","):
            yield new, kind, 1.0 + RARE * (word == "in"), False
    if word == "in":
        yield "not in", kind, 1.5, False
    elif word in ("is", "==", "!="):
        yield "is not", kind, 1.0 + RARE * (word != "is"), False
        yield "in", kind, 2.0, False
        yield "not in", kind, 2.0, False
    if word in ("==", "!="):
        yield "is", kind, 2.5, False


def operators(before: TokenInfo, word: str) -> Iterator[Replacement]:
    kind = "an operator in it"
    if word in SIGNS and is_prefix(before):
        for new in ("-", "", "+", "~", "not "):
            if new != word and not (word == "-" and new == ""):
                rare = new in ("+", "~", "not ")
                yield new, "a sign in it", 1.0 + RARE * rare, False
    elif word in (*ARITHMETIC, *BITS):
        for new in (*ARITHMETIC, *BITS):
            if new != word:
                rare = new in BITS or new in ("%", "@", "//")
                yield new, kind, 1.0 + RARE * 0.5 * rare, False
    elif word.endswith("=") and word[:-1] in (*ARITHMETIC, *BITS):
        for new in ("+=", "-=", "*=", "/=", "=", "//="):
            if new != word:
                yield new, kind, 1.0, False
    elif word == "=":
        for new in ("+=", "-=", "*=", "/="):
            yield new, kind, 2.0, False


def is_prefix(before: TokenInfo) -> bool:
    """Whether a sign after a token belongs to what follows alone."""
    if before.type == NAME:
        return keyword.iskeyword(before.string) and before.string not in (
            *("None", "True", "False"),
        )
    return before.type not in (NUMBER, STRING) and before.string not in (
        *(")", "]", "}", "..."),
    )


def near_numbers(word: str, numbers: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Yield what a number may stand for, with costs."""
    seen = {word}
    try:
        value = complex(word.replace("_", "")).real if "j" not in word else None
        whole = int(word, 0) if value == int(value or 0) and "." not in word else None
    except (ValueError, OverflowError):
        value, whole = None, None
    if value is None:
        return
    found: list[tuple[str, float]] = []
    if whole is not None:
        found += [(str(n), 1.0) for n in (whole - 1, whole + 1)]
        found += [(str(n), 1.1) for n in (0, 1, 2, -1, -2, -whole)]
        found += [(new, 1.6) for new in HALF]
        found += [("3", 1.6), (str(2 * whole), 2.0), (str(10 * whole), 2.0)]
        found += [("None", 2.0), ("(0, 1)", 2.5), ("(1, 2)", 2.5), ("(-2, -1)", 2.5)]
    else:
        found += [(new, 1.1) for new in ("1", "0", "2", "0.5")]
        found += [(repr(round(n, 12)), 1.1) for n in (value + 1, value - 1, -value)]
        found += [(repr(round(n, 12)), 1.5) for n in (value * 10, value / 10)]
        found += [(repr(round(n, 12)), 1.8) for n in (value * 2, value / 2)]
        found += [(repr(round(1 / value, 12)), 1.8)] if value else []
        found += [(repr(round(1 - value, 12)), 1.8), ('float("inf")', 2.0)]
    found += [(new, 1.4) for new in sorted(numbers)]
    found += [(new, 2.2) for new in ("0.044715", "1e-5", "-1e9", "3", "256", "255")]
    for new, cost in found:
        if new not in seen:
            seen.add(new)
            yield new, cost


def other_names(
    before: TokenInfo, word: str, after: TokenInfo, names: Iterable[str]
) -> Iterator[Replacement]:
    is_called, is_attribute = after.string == "(", before.string == "."
    for group in RELATIVES:
        if word in group and (is_called or is_attribute):
            for new in group:
                if new != word:
                    yield new, "a call in it" if is_called else "an attribute", 1.2, 0
    bound = before.string in ("def", "class", "for", "lambda", "import", "as")
    if is_attribute or bound or word not in names or after.string == "=":
        return
    for new in names:
        if new != word:
            yield new, "a name in it", 1.5 - near(word, new), False


def near(one: str, other: str) -> float:
    """What is taken off the cost of exchanging names that look alike."""
    same = len(one) == len(other) and sum(map(str.__ne__, one, other)) == 1
    return 0.4 if same else 0.0
