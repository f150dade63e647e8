"""Edits of single words and signs: numbers, operators, names, and their relatives."""

import ast
import io
import keyword
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tokenize import NAME, NUMBER, STRING, TokenInfo

from mygpt.check.mends.scope import Scope
from mygpt.check.mends.source import Edit

RARE = 1.0  # added to the cost of what is seldom meant
SIGNS = {"-": 1.0, "": 1.0, "+": 2.0, "~": 2.0, "not ": 2.0}
COMPARISON, OPERATOR = "a comparison in it", "an operator in it"
# Words and signs that are taken for one another, with the cost of each. In the kind of
# the edit {0} is the old one, {1} the new one.
EXCHANGED: tuple[tuple[str, Mapping[str, float]], ...] = (
    (COMPARISON, {"is": 1.0, "is not": 1.0}),
    (
        COMPARISON,
        dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 1.0)
        | dict.fromkeys(("in", "not in", "is", "is not"), 2.0),
    ),
    (
        OPERATOR,
        dict.fromkeys(("+", "-", "*", "/", "**"), 1.0)
        | dict.fromkeys(("@", "//"), 1.5)
        | dict.fromkeys(("%", "&", "|", "^", "<<", ">>"), 2.4),
    ),
    (OPERATOR, dict.fromkeys(("+=", "-=", "*=", "/=", "=", "//="), 1.0)),
    ("one that should be {1}", {"True": 1.0, "False": 1.0}),
    ("`{0}` in it", {"and": 1.0, "or": 1.0}),
    ("`{0}` in it", {"break": 1.0, "continue": 1.0, "pass": 1.0}),
    ("whether it is done once or again and again", {"if": 1.5, "while": 1.5}),
)
# Functions and attributes that are taken for one another.
RELATIVES = (
    ("mean", "sum", "prod", "std", "var"),
    ("max", "min"),
    ("amax", "amin"),
    ("maximum", "minimum"),
    ("argmax", "argmin"),
    ("tril", "triu"),
    ("softmax", "log_softmax", "sigmoid"),
    ("exp", "log", "expm1", "exp2", "log2", "log10", "log1p"),
    ("sqrt", "rsqrt", "square"),
    ("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like"),
    ("relu", "gelu", "silu"),
    ("erf", "tanh", "erfc", "sigmoid"),
    ("cumsum", "cumprod"),
    ("append", "extend", "insert"),
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
)


Replacement = tuple[str, str, float]  # what comes there, the kind of the edit, its cost
Numbers = Sequence[tuple[str, float]]  # with their costs


def words_of(text: str) -> list[TokenInfo]:
    """The tokens of a source that count, in order; `not in` and `is not` are one."""
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    found: list[TokenInfo] = []
    for one in tokenize.generate_tokens(io.StringIO(text).readline):
        both = f"{found[-1].string} {one.string}" if found else ""
        if both in ("not in", "is not"):
            found[-1] = found[-1]._replace(string=both, end=one.end)
        elif one.type not in skipped:
            found.append(one)
    return found


def token_edits(scope: Scope, lines: set[int]) -> Iterator[Edit]:
    """Yield the edits of single words and signs in some lines."""
    text, hints = scope.text, scope.hints
    words = words_of(text.text)
    known = sorted({one.string for one in words if one.type == NUMBER})
    near = [
        *((new, 1.4) for new in known),
        *((new, 1.8) for new in hints.numbers),
        ("3", 2.2),
    ]
    names = sorted({*scope.names, *scope.outer_names})
    around = zip([words[0], *words[:-1]], words, [*words[1:], words[-1]], strict=True)
    for before, one, after in around:
        if one.start[0] in lines:
            start, end = text.at(*one.start), text.at(*one.end)
            found = replacements(before, one, after, near, names, sorted(scope.strings))
            for new, kind, cost in found:
                yield Edit(start, end, new, one.start[0], kind, cost)


def replacements(
    before: TokenInfo,
    one: TokenInfo,
    after: TokenInfo,
    numbers: Numbers,
    names: Iterable[str],
    strings: Iterable[str],
) -> Iterator[Replacement]:
    """Yield what may come in the place of a token, between two others."""
    word = one.string
    if one.type == NUMBER:
        for new, cost in near_numbers(word, numbers):
            if new != "0" or before.string != "-":
                yield new, "a number in it", cost
    elif one.type == STRING:
        for new in strings:
            if new != word:
                yield new, "a name in it", 2.0 - near(word, new)
    elif word in ("-", "+", "~", "not") and is_prefix(before):
        for new, cost in SIGNS.items():
            if new.strip() != word:
                plain = word == "not" and not new
                yield new, "`not` in it" if plain else "a sign in it", cost
    elif one.type == NAME and not keyword.iskeyword(word.split()[0]):
        yield from other_names(before, word, after, names)
    else:
        for kind, group in EXCHANGED:
            for new, cost in group.items() if word in group else ():
                if new != word:
                    rare = RARE * (word in ("=", "in"))
                    yield new, kind.format(word, new), cost + rare


def is_prefix(before: TokenInfo) -> bool:
    """Whether a sign after a token belongs to what follows alone."""
    word = before.string
    if before.type == NAME:
        return keyword.iskeyword(word) and word not in ("None", "True", "False")
    return before.type not in (NUMBER, STRING) and word not in (")", "]", "}", "...")


def near_numbers(word: str, others: Numbers) -> Iterator[tuple[str, float]]:
    """Yield what a number may stand for, with costs."""
    found = {word: 0.0}
    try:
        value = ast.literal_eval(word)
        near = near_whole(value) if isinstance(value, int) else near_real(value)
        for cost, news in near.items():
            for new in news:
                text = new if isinstance(new, str) else repr(round(new, 12))
                found.setdefault(text, cost)
    except (ValueError, OverflowError, TypeError):  # such as a complex number
        return
    for text, cost in others:
        found.setdefault(text, cost)
    yield from list(found.items())[1:]


def near_whole(n: int) -> dict[float, Sequence[int | str]]:
    """What a whole number may stand for, by its cost."""
    return {
        1.0: (n - 1, n + 1),
        1.1: (0, 1, 2, -1, -2, -n),
        1.6: ("0.5", 2, "0.25", 4, 3),
        2.0: (2 * n, 10 * n, "None"),
        2.5: ("(0, 1)", "(1, 2)", "(-2, -1)"),
    }


def near_real(n: float) -> dict[float, Sequence[float | str]]:
    """What a number with a decimal point may stand for, by its cost."""
    return {
        1.1: (1, 0, 2, 0.5, n + 1, n - 1, -n),
        1.5: (n * 10, n / 10),
        1.8: (n * 2, n / 2, *([1 / n] if n else []), 1 - n),
        2.0: ('float("inf")',),
        **({} if 1e-3 < abs(n) < 1e3 else {1.7: (1e9, 1 / n if n else 1)}),
    }


def other_names(
    before: TokenInfo, word: str, after: TokenInfo, names: Iterable[str]
) -> Iterator[Replacement]:
    is_called, is_attribute = after.string == "(", before.string == "."
    for group in RELATIVES:
        if word in group and (is_called or is_attribute):
            for new in group:
                if new != word:
                    yield new, "a call in it" if is_called else "an attribute", 1.2
    bound = before.string in ("def", "class", "for", "lambda", "import", "as")
    if is_attribute or bound or word not in names or after.string == "=":
        return
    for new in names:
        if new != word:
            yield new, "a name in it", 1.5 - near(word, new)


def near(one: str, other: str) -> float:
    """What is taken off the cost of exchanging names that look alike."""
    same = len(one) == len(other) and sum(map(str.__ne__, one, other)) == 1
    return 0.4 if same else 0.0
