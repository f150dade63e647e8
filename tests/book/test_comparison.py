"""The comparison of printed output: its rules alone, then in real nbval runs."""

import os
import shutil
import xml.etree.ElementTree as ElementTree
from decimal import Decimal

import pytest
from helpers.notebooks import ROOT, code, printed, write
from helpers.programs import run_python
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat import v4

from tools.comparison import NUMBER, difference, numbers_differ

RTOL = Decimal("2e-2")

# Numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("fc1 W_1 v2 0x7f 1_000 nan inf", []),
        ("3.4.5 and 2.4.0+cpu", []),
        ("0.5-0.7", ["0.5", "0.7"]),
        ("(2)-3.5, x=-1, [-0.5, −0.5], a - 4", ["2", "3.5", "-1", "-0.5", "−0.5", "4"]),
        ("4,722,432 of 1,234.5", ["4,722,432", "1,234.5"]),
        ("tensor([0., 1., 1.2e-05])", ["0.", "1.", "1.2e-05"]),
        ("2026-11-20 3:30", ["2026", "11", "20", "3", "30"]),
        ("45.5% 2.5x 12.5ms 3rd", ["45.5", "2.5", "12.5"]),
        ("0.weight, 1.e+05, #1e5f20, 1e99999", ["0", "1.e+05"]),
        ("Layer 3.", ["3."]),
    ],
)
def test_numbers_are_found_outside_names_and_versions(text, numbers):
    assert NUMBER.findall(text) == numbers


AGREE = [
    ("0.1234", "0.1235"),
    ("0.1234", "0.1233"),
    ("9.99", "10.00"),
    ("1.", "0.9999"),
    ("1.", "1.0001"),
    ("-0.0000", "0.0000"),
    ("+0.0000", "-0.0000"),
    ("-0.0001", "0.0000"),
    ("1.0e-05", "9.9e-06"),
    ("1.2e+01", "1.3e+01"),
    ("1,000.0", "999.9"),
    ("45.5", "45.6"),
]
DISAGREE = [
    ("0.1234", "0.1236", "2 units of the last digit"),
    ("0.1234", "-0.1234", "2,468 units"),
    ("1.", "1.4", "4 units"),
    ("1.", "2.", "nothing is printed after the point"),
    ("1.", "0.9998", "2 units"),
    ("1.2e-05", "9.9e-06", "21 units"),
    ("1.2e-05", "1.2e-06", "108 units"),
    ("5", "6", "integers must be equal"),
    ("-5", "5", "integers must be equal"),
    ("007", "7", "integers must be equal"),
    ("3", "3.0", "an integer and a decimal"),
    ("+0.50", "0.50", "the sign is printed differently"),
    ("−0.50", "-0.50", "the sign is printed differently"),
    ("1e9999", "3e9999", "2 units"),
]


@pytest.mark.parametrize(("one", "other"), AGREE)
def test_decimals_agree_within_one_unit_of_the_last_digit(one, other):
    assert numbers_differ(one, other) is None
    assert numbers_differ(other, one) is None


@pytest.mark.parametrize(("one", "other", "why"), DISAGREE)
def test_other_numbers_disagree_in_both_directions_with_a_reason(one, other, why):
    assert why in numbers_differ(one, other)
    assert numbers_differ(other, one)


def test_a_relative_tolerance_widens_decimals_but_not_integers():
    assert numbers_differ("10.512", "10.712", RTOL) is None
    assert "0.029 of it; rtol 0.02" in numbers_differ("10.512", "10.812", RTOL)
    assert numbers_differ("0.00", "0.01", RTOL) is None
    assert numbers_differ("0.00", "0.02", RTOL)
    assert numbers_differ("100", "101", RTOL)


def test_the_tolerance_is_a_share_of_the_stored_number():
    assert numbers_differ("10.000", "10.202", RTOL)  # 2 % of the fresh one is enough
    assert numbers_differ("10.202", "10.000", RTOL) is None


# Lines


def test_the_message_shows_the_line_and_the_number():
    stored = "loss 0.512\nstep 5, loss 0.4321\n"
    fresh = "loss 0.513\nstep 5, loss 0.4329\n"
    assert difference(stored, fresh) == (
        "line 2\n"
        "  expected: step 5, loss 0.4321\n"
        "  got:      step 5, loss 0.4329\n"
        "  0.4321 became 0.4329: 8 units of the last digit; one is allowed"
    )


@pytest.mark.parametrize(
    ("stored", "fresh", "why"),
    [
        ("loss 0.5", "lost 0.5", "the text 'loss ' became 'lost '"),
        ("a\nb\n", "a\n", "2 lines stored, 1 line printed"),
        ("a\n", "a\nb\n", "(nothing)"),
        ("0.1\n0.7\n", "0.7\n0.1\n", "0.1 became 0.7"),
        ("0.5 nan", "0.5 inf", "the text ' nan' became ' inf'"),
        ("0.5 0.6", "0.5", "2 numbers stored, 1 number printed"),
        ("0.5  0.6", "0.5 0.6", "the text '  ' became ' '"),
        ("torch 2.4.0", "torch 2.4.1", "2.4.0"),
        ("fc1 0.5", "fc2 0.5", "fc1"),
    ],
)
def test_text_around_the_numbers_must_match_exactly(stored, fresh, why):
    assert why in difference(stored, fresh)


def test_spaces_may_move_only_where_a_number_changed_its_width():
    stored = "tensor([[0.0000, 0.5000],\n        [0.2500, 0.7500]])"
    padded = "tensor([[-0.0001,  0.5000],\n        [ 0.2500,  0.7500]])"
    assert difference(stored, padded) is None
    assert difference(padded, stored) is None
    assert difference(stored, stored.replace(", 0", ",  0"))
    assert difference(stored, padded.replace("tensor", "Tensor"))


# Properties

QUIET = settings(deadline=None, max_examples=200)
LABELS = st.text(st.sampled_from("abcxyz ,:=[]"), max_size=8).map(lambda s: f"{s} ")
LIKE_NUMBERS = st.text(st.sampled_from("0123456789.,-+e\n ax()[]"), max_size=40)
FIXED = st.tuples(st.integers(-(10**9), 10**9), st.integers(1, 8))


def shown_as(units: int, decimals: int) -> str:
    return f"{Decimal(units).scaleb(-decimals):.{decimals}f}"


@QUIET
@given(st.text(), st.sampled_from([Decimal(0), RTOL]))
def test_any_text_agrees_with_itself(text, rtol):
    assert difference(text, text, rtol) is None


@QUIET
@given(LIKE_NUMBERS, LIKE_NUMBERS)
def test_the_comparison_is_symmetric(one, other):
    assert (difference(one, other) is None) == (difference(other, one) is None)


@QUIET
@given(LABELS, FIXED, LABELS, st.sampled_from([-1, 1]))
def test_a_decimal_moved_by_one_unit_agrees(before, number, after, move):
    units, decimals = number
    line = f"{before}{{}} {after}"
    stored, fresh = shown_as(units, decimals), shown_as(units + move, decimals)
    assert difference(line.format(stored), line.format(fresh)) is None


@QUIET
@given(LABELS, FIXED, LABELS, st.integers(2, 10**9), st.booleans())
def test_a_decimal_moved_by_two_units_or_more_is_caught(
    before, number, after, move, down
):
    units, decimals = number
    line = f"{before}{{}} {after}"
    fresh = shown_as(units - move if down else units + move, decimals)
    assert difference(line.format(shown_as(units, decimals)), line.format(fresh))


@QUIET
@given(LABELS, st.integers(), st.integers(), LABELS)
def test_a_changed_integer_is_caught_at_any_tolerance(before, one, other, after):
    line = f"{before}{{}} {after}"
    agree = difference(line.format(one), line.format(other), RTOL) is None
    assert agree == (one == other)


@QUIET
@given(
    st.lists(st.sampled_from(["loss", "0.25", "7", "=", "W_1"]), min_size=1), st.data()
)
def test_a_changed_word_is_caught(words, data):
    place = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:place], "other", *words[place + 1 :]]
    assert difference(" ".join(words), " ".join(changed))


# Real runs


def cell(source, *outputs, tags=(), count=1):
    return code(source, *tags, outputs=outputs, count=count)


def shown(**data):
    data = {kind.replace("_", "/"): content for kind, content in data.items()}
    return v4.new_output("display_data", data)


def error(name, message):
    return v4.new_output("error", ename=name, evalue=message, traceback=[])


HTML = "from IPython.display import HTML; HTML('<b>0.25</b> of 4')"
FIGURE = (
    "import base64; from IPython.display import display\n"
    "display({'image/png': base64.b64encode(b'x').decode()}, raw=True)"
)
VIEW = (
    "display({'application/vnd.jupyter.widget-view+json': {'model_id': 'a'}}, raw=True)"
)
WARNS = "import sys; print('careful', file=sys.stderr)"

NONE_STORED = "gives an output and none is stored"


def prints(fresh, stored, *tags):
    return cell(f"print({fresh!r})", f"{stored}\n", tags=tags)


def html(text):
    """What HTML shows, as it is stored."""
    return shown(text_html=text, text_plain="<IPython.core.display.HTML object>")


RESULT = v4.new_output("execute_result", {"text/plain": "0.26"}, execution_count=1)
DIVIDED = error("ZeroDivisionError", "division by zero")
RAISES = ["raises-exception"]
PASSES = {
    "the same text": prints("loss 0.25", "loss 0.25"),
    "one unit": prints("loss 0.1235, 5 steps", "loss 0.1234, 5 steps"),
    "one unit in html": cell(HTML, html("<b>0.26</b> of 4")),
    "one unit in a result": cell("0.25", RESULT),
    "a tolerance": prints("loss 1.02 after 5", "loss 1.00 after 5", "rtol-2e-2"),
    "varies": prints("took 17", "took 12", "varies"),
    "an explorer that varies": cell(
        f"import base64\n{FIGURE.replace('image/png', 'text/html')}",
        shown(text_html="eA==", image_png="eQ=="),
        tags=["varies"],
    ),
    "an offer where there is a GPU": cell("print('doctor')", tags=["setup"]),
    "stored stderr": cell(WARNS, printed("careful\n", "stderr")),
    "an expected error": cell("1 / 0", DIVIDED, tags=RAISES),
    "nothing": cell("x = 1"),
    "a closing semicolon": cell("x;"),
    "an empty cell": cell("", count=None),
    "the same figure": cell(FIGURE, shown(image_png="eQ==")),
}
FAILS = {
    "two units": (
        prints("loss 0.1236", "loss 0.1234"),
        "0.1234 became 0.1236: 2 units of the last digit; one is allowed",
    ),
    "an integer": (prints("5 steps", "6 steps"), "6 became 5: integers must be equal"),
    "an integer under a tolerance": (
        prints("101 steps", "100 steps", "rtol-2e-2"),
        "100 became 101",
    ),
    "beyond a tolerance": (prints("1.03", "1.00", "rtol-2e-2"), "rtol 0.02 is allowed"),
    "a word": (prints("lost 0.25", "loss 0.25"), "'loss ' became 'lost '"),
    "a missing line": (prints("a", "a\nb"), "2 lines stored, 1 line printed"),
    "a new line": (prints("a\nb", "a"), "1 line stored, 2 lines printed"),
    "a moved line": (prints("b\na", "a\nb"), "'a' became 'b'"),
    "html": (cell(HTML, html("<b>0.25</b> of 5")), "5 became 4"),
    "a missing output": (cell("x = 1", "a\n"), "Missing output fields"),
    "a second result": (cell("print('a'); 7", "a\n"), "Unexpected output fields"),
    "no stored output": (cell("print('a')"), NONE_STORED),
    "no stored figure": (cell(FIGURE), NONE_STORED),
    "no stored widget": (cell(VIEW), NONE_STORED),
    "no stored output where it varies": (
        cell("print('a')", tags=["varies"]),
        NONE_STORED,
    ),
    "nothing where it varies": (
        cell("x = 1", "a\n", tags=["varies"]),
        "gives no output",
    ),
    "an empty line where it varies": (
        cell("print()", "a\n", tags=["varies"]),
        "gives no output",
    ),
    "another kind of output where it varies": (
        cell("print('a')", html("<b>a</b>"), tags=["varies"]),
        "gives ['stdout'], stored is ['text/html', 'text/plain']",
    ),
    "a figure before the text": (
        cell(f"print('a')\n{FIGURE}", shown(image_png="eQ=="), "a\n"),
        "gives stdout; image/png, stored is image/png; stdout",
    ),
    "a figure too few": (
        cell(f"{FIGURE}\nprint('a')", "a\n"),
        "stores 0 pictures and drew 1",
    ),
    "a figure too many": (
        cell("print('a')", "a\n", shown(image_png="eQ==")),
        "stores 1 pictures and drew 0",
    ),
    "a warning": (cell(WARNS), NONE_STORED),
    "a warning beside output": (
        cell(f"{WARNS}; print('a')", "a\n"),
        "Unexpected output fields",
    ),
    "never run": (cell("print('a')", count=None), "was never run"),
    "an error": (cell("1 / 0"), "ZeroDivisionError"),
    "another error": (
        cell("1 / 0", error("ValueError", "no"), tags=RAISES),
        "mismatch 'ename'",
    ),
    "an error that varies": (cell("1 / 0", tags=["varies"]), "ZeroDivisionError"),
    "a malformed tolerance": (
        cell("1;", tags=["rtol-big"]),
        "malformed tag among ['rtol-big']",
    ),
    "a tolerance of a hundred": (cell("1;", tags=["rtol-100"]), "malformed tag"),
    "two tolerances": (
        cell("1;", tags=["rtol-1e-2", "varies"]),
        "more than one of the tags",
    ),
}


DIES = {
    "before the kernel ends": prints("a", "a"),
    "the end of the kernel": cell("import os; os._exit(3)", count=2),
    "after the kernel ended": prints("b", "b"),
}


def verdicts(folder):
    """Why each case failed under nbval and the chapters' conftest; "" if it passed."""
    shutil.copy(ROOT / "chapters" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    names = {"passes": list(PASSES), "fails": list(FAILS), "dies": list(DIES)}
    cells = {"passes": PASSES.values(), "fails": (case for case, _ in FAILS.values())}
    cells["dies"] = DIES.values()
    for stem in names:
        write(folder / f"{stem}.ipynb", *cells[stem])
    options = "--nbval --nbval-current-env -p no:xdist --color=no"
    outer = {k: kept for k, kept in os.environ.items() if not k.startswith("PYTEST_")}
    outer["PYTHONPATH"] = str(ROOT)  # where tools/ is
    command = ["-m", "pytest", *options.split(), "--junitxml=report.xml"]
    run_python(*command, status=1, cwd=folder, env=outer, timeout=300)
    found = {}
    for case in ElementTree.parse(folder / "report.xml").iter("testcase"):
        where = case.get("classname") + case.get("name")
        stem = next(each for each in names if each in where)
        name = names[stem][int(case.get("name").split()[-1])]
        found[name] = "".join(part.text or "" for part in case)
    return found


def test_nbval_gives_the_right_verdict_on_every_case(tmp_path):
    found = verdicts(tmp_path)
    failed = {name: found[name] for name in PASSES if found[name]}
    passed = {name: found[name] for name in FAILS if FAILS[name][1] not in found[name]}
    assert (failed, passed) == ({}, {})
    ended = {name for name in DIES if "did not run to its end" in found[name]}
    assert ended == {*DIES} - {"before the kernel ends"}
    place = f"cell {FAILS['two units'][0].id!r} printed something else: stdout, line 1"
    assert place in found["two units"]
