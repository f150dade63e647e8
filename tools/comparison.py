"""Comparison of printed texts, with a tolerance for numbers and for nothing else.

Integers must be equal. Two numbers with a decimal point or an exponent agree within one
unit of the last printed digit. Where they show different numbers of digits, the finer
unit counts, so `1.` agrees with `0.9999` and not with `1.4`. Two numbers such as `1.`,
with nothing after the point, must be equal: each may be an integer that ends a
sentence. A tolerance, relative to the stored number, widens this for decimals only. An
integer never agrees with a decimal.

A number is digits with thousands commas, outside identifiers (`fc1`, `W_1`, `0x7f` are
text) and versions (`3.4.5` is text). A sign belongs to it unless what stands before
makes it a hyphen or an operator: `0.5-0.7` holds two positive numbers. `nan` and `inf`
are text.

Spaces beside a number may change only in a text where some number changed its printed
width: torch pads a whole tensor to its widest number. A line that wraps at another
place is a different line.
"""

import re
from decimal import Decimal, localcontext
from itertools import zip_longest

DIGITS = r"(?<!\w)(?<!\d\.)(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
NUMBER = re.compile(
    rf"""(
    (?: (?<![\w)\]]) [-+−] )?
    (?: (?> {DIGITS} (?:\.\d*)? [eE][-+]?\d{{1,4}} ) (?!\w)
      | (?> {DIGITS} (?: \.\d+ | \.(?!\w) ) )
      | (?> {DIGITS} ) (?!\w) )
    (?! \.\d )
    )""",
    re.VERBOSE,
)


def value(number: str) -> Decimal:
    """The value of a printed number."""
    return Decimal(number.replace(",", "").replace("−", "-"))


def unit(number: str) -> Decimal:
    """One unit of the last digit of a printed number."""
    digits, _, exponent = number.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return Decimal((0, (1,), int(exponent or 0) - decimals))


def is_integer(number: str) -> bool:
    return not re.search(r"[.eE]", number)


def numbers_differ(stored: str, fresh: str, rtol: Decimal = Decimal(0)) -> str | None:
    """Why two printed numbers disagree, in words; None where they agree."""
    if stored == fresh:
        return None
    change = f"{stored} became {fresh}"
    if is_integer(stored) != is_integer(fresh):
        return f"{change}: an integer and a decimal"
    if is_integer(stored):
        return f"{change}: integers must be equal"
    if _sign_style(stored, fresh) != _sign_style(fresh, stored):
        return f"{change}: the sign is printed differently"
    with localcontext(prec=50 + len(stored) + len(fresh)):
        return _decimals_differ(stored, fresh, rtol, change)


def _sign_style(number: str, other: str) -> tuple[bool, bool]:
    """Glyph of the sign, and plus sign: equal unless the format has changed."""
    return number[0] == "−", number[0] == "+" and other[0] != "-"


def _decimals_differ(stored: str, fresh: str, rtol: Decimal, change: str) -> str | None:
    step, gap = min(unit(stored), unit(fresh)), abs(value(stored) - value(fresh))
    if gap and stored.endswith(".") and fresh.endswith("."):
        return f"{change}: nothing is printed after the point, so they must be equal"
    allowed = max(step, rtol * abs(value(stored)))
    if gap <= allowed:
        return None
    if allowed > step:
        relative = f", {gap / abs(value(stored)):.2g} of it" if value(stored) else ""
        return f"{change}: they differ by {gap:g}{relative}; rtol {rtol:g} is allowed"
    return f"{change}: {gap / step:,f} units of the last digit; one is allowed"


def difference(stored: str, fresh: str, rtol: Decimal = Decimal(0)) -> str | None:
    """The first line in which two texts disagree, and why; None where they agree."""
    if stored == fresh:
        return None
    old, new = stored.split("\n"), fresh.split("\n")
    if old[-1] == new[-1] == "":  # both end with a line break
        old, new = old[:-1], new[:-1]
    padded = _some_width_changed(old, new)
    for place, (expected, got) in enumerate(zip_longest(old, new), start=1):
        if expected == got:
            continue
        if expected is None or got is None:
            why = f"{_count(old, 'line')} stored, {_count(new, 'line')} printed"
        else:
            why = _line_differs(expected, got, rtol, padded)
        if why:
            return (
                f"line {place}\n"
                f"  expected: {'(nothing)' if expected is None else expected}\n"
                f"  got:      {'(nothing)' if got is None else got}\n"
                f"  {why}"
            )
    return None


def _count(things: list[str], name: str) -> str:
    return f"{len(things)} {name}" if len(things) == 1 else f"{len(things)} {name}s"


def _some_width_changed(old: list[str], new: list[str]) -> bool:
    pairs = (
        (NUMBER.findall(a), NUMBER.findall(b)) for a, b in zip(old, new, strict=False)
    )
    return any(
        len(a) != len(b)
        for olds, news in pairs
        for a, b in zip(olds, news, strict=False)
    )


def _line_differs(stored: str, fresh: str, rtol: Decimal, padded: bool) -> str | None:
    # text, number, text, number, …, text
    old, new = NUMBER.split(stored), NUMBER.split(fresh)
    if len(old) != len(new):
        stored, printed = (_count(parts[1::2], "number") for parts in (old, new))
        return f"{stored} stored, {printed} printed"
    for place, (expected, got) in enumerate(zip(old, new, strict=True)):
        if place % 2:
            why = numbers_differ(expected, got, rtol)
        elif padded:
            ends = place > 0, place < len(old) - 1
            same = _unpadded(expected, *ends) == _unpadded(got, *ends)
            why = None if same else f"the text {expected!r} became {got!r}"
        else:
            why = None if expected == got else f"the text {expected!r} became {got!r}"
        if why:
            return why
    return None


def _unpadded(text: str, after_number: bool, before_number: bool) -> str:
    text = text.rstrip(" ") if before_number else text
    return text.lstrip(" ") if after_number else text
