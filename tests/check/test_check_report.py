"""How two values are compared, and how a result is written, without a task."""

import math
from collections import OrderedDict

import numpy as np
import pytest
import torch

from mygpt.check import compare, result
from mygpt.check.compare import find_difference, show
from mygpt.check.result import Result

t = torch.tensor
NAN = math.nan


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (t([1.0, NAN]), t([1.00001, NAN])),
        (t([1000.0, 1.0]), t([1000.0, 1.01])),  # within a share of the largest
        (t([math.inf, 1.0]), t([math.inf, 1.00001])),
        (t([1, 2]), t([1, 2])),
        (t([1.0]).double(), t([1.0])),
        (t([]), t([])),
        (2, 2),
        (2, np.int64(2)),
        (2, t(2)),
        (True, True),
        (0.5, 0.50001),
        (100.0, 100.001),
        (0.5, t(0.5)),
        (1.0, 1),
        (NAN, NAN),
        ("a", "a"),
        (None, None),
        ([1, [2.0]], (1, [2.0])),
        ({"a": 1, "_b": 2}, {"a": 1}),
    ],
    ids=str,
)
def test_values_that_agree(expected, got):
    assert find_difference(expected, got) is None


@pytest.mark.parametrize(
    ("expected", "got", "kind", "index", "sentence"),
    [
        (t([1.0]), [1.0], "type", "", "got a list of length 1 (`torch.tensor` makes"),
        (t([1.0]), t([[1.0]]), "shape", "", "shape (1,), got one of shape (1, 1)"),
        (t([1.0]), t([1]), "type", "", "decimal numbers, got a tensor of torch.int64"),
        (t([1]), t([1.0]), "type", "", "whole numbers, got a tensor of torch.float32"),
        (t([1.0]), t([1j]), "type", "", "decimal numbers, got a tensor of torch.comp"),
        (t([1.0, 2.0]), t([1.0, NAN]), "nan", "[1]", "got NaN at [1], expected 2"),
        (t([1.0, NAN]), t([1.0, 0.5]), "value", "[1]", "expected nan at [1], got 0.5"),
        (t([[1.0], [2.0]]), t([[1.0], [2.1]]), "value", "[1, 0]", "2 at [1, 0], got 2"),
        (t([1.0]), t([1.0001]), "value", "[0]", "expected 1 at [0], got 1.0001"),
        (t([1.23606]), t([1.23625]), "value", "[0]", "1.2361 at [0], got 1.2363"),
        (t([1e4]), t([1e4 + 2]), "value", "[0]", "expected 10000 at [0], got 10002"),
        (t(1.0), 1.0, "type", "", "the float 1.0 (is there an `.item()` or a `float"),
        (t([2.0]), t([[2.0]]).max(1), "type", "", "pair of values and places of `max`"),
        (t([1, 2]), t([1, 3]), "value", "[1]", "expected 2 at [1], got 3"),
        (t(1.0), t(2.0), "value", "", "expected 1, got 2"),
        (2, 3, "value", "", "expected 2, got 3"),
        (2, 2.0, "type", "", "expected 2, got the float 2.0"),
        (1, True, "type", "", "expected 1, got the bool True"),
        (True, 1, "type", "", "expected True, got the int 1"),
        (True, False, "value", "", " should be True, and is False"),
        ("a", 1, "type", "", "expected 'a', got the int 1"),
        ("a", "b", "value", "", "expected 'a', got 'b'"),
        (None, 1, "type", "", "expected None, got the int 1"),
        (0.5, None, "type", "", "a number, got None (is a `return` missing?)"),
        (0.5, True, "type", "", "expected a number, got the bool True"),
        (0.5, "x" * 60, "type", "", "got the str 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        (0.5, NAN, "nan", "", "expected 0.5, got nan"),
        (0.5, 0.50002, "value", "", "expected 0.5, got 0.50002"),
        (100.0, 100.003, "value", "", "expected 100, got 100.003"),
        ([1, 2], [1, 3], "value", "[1]", "expected 2 at [1], got 3"),
        ([1, 2], [1], "shape", "[1]", "expected a list of length 2, got 1"),
        ([1], [1, 7], "shape", "[1]", "expected a list of length 1, got 2"),
        ([1], np.ones(1), "type", "", "got a NumPy array (return a torch tensor)"),
        ([1], OrderedDict, "type", "", "a list of length 1, got an object of type typ"),
        ([1], OrderedDict(), "type", "", "an object of type collections.OrderedDict"),
        ({"a": [1.0]}, {"a": [2.0]}, "value", "a[0]", "expected 1 at a[0], got 2"),
    ],
    ids=str,
)
def test_the_first_difference_is_said(expected, got, kind, index, sentence):
    found = find_difference(expected, got)
    assert (found.kind, found.index) == (kind, index)
    assert sentence in found.sentence


def test_what_is_missing_or_too_much_is_shown():
    short, long = find_difference([1, 2], [1]), find_difference([1], [1, 7])
    assert (short.expected, short.got) == (2, "nothing more")
    assert (long.expected, long.got) == ("nothing more", 7)
    there = find_difference(t([1, 2]), t([1, 3]))
    assert (there.expected, there.got) == (2, 3)
    assert isinstance(there.got, int)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (t([[1.0, -0.0], [0.123456, 2.0]]), ["[[1, 0],", " [0.1235, 2]]"]),
        (t([[[1]], [[2]]]), ["[[[1]],", " [[2]]]"]),
        (torch.ones(60), ["[" + ", ".join(["1"] * 60) + "]"]),
        (torch.ones(61), ["a tensor of shape (61,)"]),
        (torch.ones(13, 1), [*["[[1],"], *[" [1],"] * 10, "…"]),
        (torch.ones(12, 1), ["[[1],", *[" [1],"] * 10, " [1]]"]),
        (0.1234567, ["0.1235"]),
        ([0.5, 1.0], ["[0.5, 1]"]),
        ([], ["[]"]),
        ([1, 2], ["[1, 2]"]),
        ((t([1.0]), t([2.0])), ["[1]", "[2]"]),
        ({"a": t([[1], [2]]), "_b": 1}, ["a = [[1],", "     [2]]"]),
        ("x" * 197, [repr("x" * 197)]),
        ("x" * 198, ["'" + "x" * 199 + "…"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_is_shown_in_a_few_lines(value, lines):
    lines[-1] = lines[-1].replace("x" * 199 + "…", "x" * 198 + "'…")
    assert show(value) == lines


def test_numbers_get_the_digits_that_tell_them_apart():
    assert compare.apart(0.12341, 0.12342, "at") == ("0.12341", "at", "0.12342")
    assert compare.apart(1.0, 1 + 1e-15, "at") == ("1", "at", "1.000000000000001")
    assert compare.apart(1, 2, "at") == ("1", "at", "2")


def test_a_value_is_shown_with_the_digits_that_are_asked_for():
    assert show(t([1.23606, 2.0]).double(), digits=6) == ["[1.23606, 2]"]
    assert show({"a": t(0.1234567).double()}, digits=5) == ["a = 0.12346"]
    assert show([0.1234567], digits=6) == ["[0.123457]"]
    assert compare.digits_apart(1.23606, 1.23625) == 5
    assert compare.digits_apart(1.0, 2.0) == compare.DIGITS
    assert compare.digits_apart(None, "nothing more") == compare.DIGITS


def test_nested_arguments_are_copied_converted_and_compared():
    given = {"a": [t([1.0]), t([1])], "b": (2, "c")}
    copy = compare.copy_of(given)
    assert compare.unchanged(given, copy)
    copy["a"][0][0] = 3.0
    assert given["a"][0].item() == 1.0
    assert not compare.unchanged(given, copy)
    assert not compare.unchanged(given, {**given, "d": 1})
    assert not compare.unchanged([1, 2], [1])
    assert not compare.unchanged(t([1.0]), t([[1.0]]))
    assert compare.copy_of(t([1.0], requires_grad=True)).requires_grad
    wide = compare.convert(given, torch.float64)
    assert [one.dtype for one in wide["a"]] == [torch.float64, torch.int64]
    assert wide["b"] == (2, "c")


def test_a_text_is_wrapped_below_its_beginning():
    words = " ".join(["four"] * 20)
    first, second = result.wrapped(words, "  also      ")
    assert first == "  also      " + " ".join(["four"] * 15)
    assert second == " " * 12 + " ".join(["four"] * 5)
    assert len(first) <= result.WIDTH < len(first) + 5
    assert result.wrapped("") == []
    assert result.wrapped("x" * 100) == ["x" * 100]


def test_a_long_line_is_broken_at_a_space_and_indented():
    line = "  " + " ".join(["12345"] * 6)
    assert list(result.broken(line, 20)) == [
        "  12345 12345 12345",
        "    12345 12345",
        "    12345",
    ]
    assert list(result.broken("x" * 30, 20)) == ["x" * 30]
    assert list(result.broken("    " + "x" * 30, 20)) == ["    " + "x" * 30]
    assert list(result.broken("x" * 20, 20)) == ["x" * 20]
    whole = ["aaaa bbbb", "  " + "c" * 30]
    assert list(result.broken(f"{whole[0]} {whole[1].strip()}", 20)) == whole


def test_arguments_are_shown_one_below_the_other_within_some_lines():
    given = {
        "x": t([[1.0], [2.0]]),
        "_hidden": 1,
        "act": len,
        "n": 3,
        "weights": {"w": torch.zeros(2), "list": [torch.ones(1)]},
    }
    assert result.show_arguments(given) == [
        "x = [[1],",
        "     [2]]",
        "n = 3",
        "ones: weights['list'][0]",
        "zeros: weights['w']",
    ]
    many = {f"m{i}": torch.ones(8, 1) for i in range(4)}
    shown = result.show_arguments(many)
    assert shown[-2:] == ["m2 = …", "m3 = …"]
    assert len(shown) == 18


def test_weights_of_zeros_and_ones_are_named_together():
    weights = {f"w{i}": torch.full((2,), i + 0.5) for i in range(9)}
    assert result.show_weights("w", weights)[-2:] == [
        "w['w6'] = [6.5, 6.5]",
        "… and 2 more",
    ]
    eight = dict(list(weights.items())[:8])
    assert len(result.show_weights("w", eight)) == 8
    zeros = {f"z{i}": torch.zeros(2) for i in range(4)}
    assert result.show_weights("w", zeros) == ["zeros: all others of w"]
    del zeros["z3"]
    assert result.show_weights("w", zeros) == ["zeros: w['z0'], w['z1'], w['z2']"]
    wide = {"w": torch.arange(20) + 1000.0}
    assert result.show_weights("w", wide) == ["w['w'] = a tensor of shape (20,)"]
    for number in (2.0, 22.0, 2.5, 22.5):
        for size in range(1, 24):
            weight = t([number] * size)
            text = " ".join(map(str.strip, show(weight)))
            (line,) = result.show_weights("w", {"w": weight})
            assert line.endswith(text) == (len(text) <= 60), text


def test_a_result_is_written_as_one_screen():
    found = Result(
        "gelu",
        False,
        message="It is ReLU.",
        asked="Compute GELU.",
        input=["x = [1,", "     2]"],
        expected=["0.84"],
        got=["1"],
        hints=["A hint."],
        section="Chapter 6",
        trace="Traceback",
        printed="\n".join(map(str, range(21))),
    )
    assert repr(found).split("\n") == [
        "gelu: not yet",
        "It is ReLU.",
        "",
        "  asked     Compute GELU.",
        "  input     x = [1,",
        "                 2]",
        "  expected  0.84",
        "  got       1",
        "  also      A hint.",
        "  read      Chapter 6",
        "",
        "  your program printed:",
        *(f"  | {n}" for n in range(20)),
        "  | …",
        "",
        "  (the whole traceback: print(result.trace))",
    ]
    right = Result("gelu", True, message="exact", hints=["Faster."])
    assert repr(right) == "gelu: right (exact)\n  also      Faster."
    assert repr(Result("gelu", True)) == "gelu: right"
