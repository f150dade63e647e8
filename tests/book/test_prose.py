"""The check that a cell of the chapter prints every number in its prose."""

from collections import Counter

import pytest
from helpers.notebooks import code, notebook, read, text, write
from nbformat import v4

from tools.execute import chosen
from tools.prose import (
    bad_sources,
    bibliography_keys,
    is_printed,
    linked,
    numbers_in,
    parse,
    sections,
    unprinted,
)


def chapter(prose, *outputs, source="…"):
    cell = code(source, outputs=outputs, id="a-cell", count=1)
    return notebook(text(prose, id="words"), cell)


@pytest.mark.parametrize(
    ("prose", "numbers"),
    [
        ("falls from 0.94 to −0.17, then -0.25", ["0.94", "-0.17", "-0.25"]),
        ("4,722,432 of 124,439,808 are 45.5 %", ["4,722,432", "124,439,808", "45.5"]),
        ("Width 128, (512) or 768-wide.", ["128", "512", "768"]),
        ("It is **0.5** and _0.75_.", ["0.5", "0.75"]),
        ("0.5–0.7 is a range, ±1.34 a pair", ["0.5", "0.7", "1.34"]),
        ("2.5x a factor", ["2.5"]),
        ("about 8.8e-22, or 1.2 × 10⁻²²", ["8.8e-22", "1.2e-22"]),
        ("| depth | 30 |\n|---|---|\n| std | 2.211 |", ["2.211"]),
        ("# A heading with 0.5", ["0.5"]),
        ("![a curve through 0.25](../schematics/a0.75.svg)", ["0.25"]),
        ("```{note}\n:class: x-1.5\nIn a note 3.25\n```", ["3.25"]),
        (":::{admonition} Title 6.5\nBody 7.25\n:::", ["6.5", "7.25"]),
        (
            "```{exercise-start} 0.75\n:label: ex-11\n```\n8.5\n```{exercise-end}\n```",
            ["8.5"],
        ),
        ("Title 0.25\n---\n\n- 0.5\n\n  > 0.75", ["0.25", "0.5", "0.75"]),
        (r"It costs \$5, and 7.25 is the price in \$.", ["7.25"]),
    ],
)
def test_numbers_in_prose_are_found(prose, numbers):
    assert [number.text for number in numbers_in(parse(prose), "here")] == numbers


@pytest.mark.parametrize(
    "prose",
    [
        "12 layers, chapter 10, 99 of them",
        "in 2017, from 1900 to 2100",
        "`0.333`, ``0.25 ` 0.5``, {math}`0.5`",
        "$1.234$, $$\nx = 5.555\n$$\n\n\\begin{align}\n0.25\n\\end{align}",
        "[link 7.77](http://a.example/1.2), <https://b.example/9.9>, www.c.example/0.5",
        "{cite}`vaswani2017`, {ref}`ex-111`, {sourced}`0.02 <radford2019>`",
        "```python\nx = 0.9999\n```",
        "```{math}\n:label: eq-1.5\n3.333\n```",
        "~~~\n0.5\n~~~",
        "(fig-100)=\n% 0.5\n<!-- 0.25 -->",
        '<img width="0.5" height="480">',
        "[link 7.77][there]{width=480}\n\n[there]: http://a.example/1.2",
        "GPT-3.5, ResNet-152, Python 3.11, v3.4, release 2.13.0, section 3.2, §4.1",
        "page 128, pp. 100–120, chapters 5.1 and 6",
        "x128, fc100, W_256",
    ],
)
def test_non_numbers_in_prose_are_left_out(prose):
    assert numbers_in(parse(prose), "here") == []


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        ("0.94", "0.9369"),
        ("45.5", "45.5"),
        ("45.5", "45.51"),
        ("0.50", "0.5000"),
        ("4,722,432", "4722432"),
        ("240", "239.7"),
        ("-0.17", "-0.1695"),
        ("0.17", "-0.1695"),
        ("1.00", "1."),
        ("8.8e-22", "8.83e-22"),
        ("0.125", "0.125"),
    ],
)
def test_a_number_is_printed_when_one_rounds_to_it(number, printed):
    assert is_printed(number, {"7", printed})


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        ("0.93", "0.9369"),
        ("0.95", "0.9369"),
        ("0.9369", "0.94"),
        ("45.5", "0.455"),
        ("-0.17", "0.1695"),
        ("128", "129"),
        ("1,200", "1212"),
        ("1.00", "1"),
        ("0.50", "0.5"),
    ],
)
def test_a_number_is_not_printed_when_none_rounds_to_it(number, printed):
    assert not is_printed(number, {"7", printed})


def test_a_wrong_number_is_reported_with_its_cell_and_its_context():
    sentence = "The std falls to 0.08 after 30 layers."
    (wrong,) = unprinted(chapter(sentence, "std 0.0960\n"))
    assert str(wrong) == f"0.08 in cell 'words': …{sentence}…"


@pytest.mark.parametrize(
    "output",
    [
        "std 0.0960\n",
        v4.new_output("execute_result", {"text/plain": "tensor([0.0960, 0.5000])"}),
        v4.new_output(
            "display_data", {"text/html": "<td>0.0960</td>", "text/plain": "<HTML>"}
        ),
        v4.new_output("error", ename="ValueError", evalue="got 0.0960", traceback=[]),
    ],
)
def test_every_kind_of_stored_text_can_print_a_number(output):
    assert unprinted(chapter("It falls to 0.096.", output)) == []


def test_html_attributes_print_nothing():
    page = v4.new_output("display_data", {"text/html": '<td width="0.0960">1</td>'})
    assert len(unprinted(chapter("It falls to 0.096.", page))) == 1


def test_a_number_in_the_code_or_in_another_chapter_is_not_printed():
    made = chapter("It falls to 0.096.", "1\n", source="x = 0.0960")
    assert len(unprinted(made)) == 1


def test_captions_and_descriptions_of_figures_are_prose():
    shown = {"figure": {"caption": "Down to 0.5."}, "image": {"alt": "From 0.75 down."}}
    made = chapter("Words.", "0.50\n")
    made.cells[1].metadata.mystnb = shown
    (wrong,) = unprinted(made)
    assert (wrong.text, wrong.place) == ("0.75", "the figure of cell 'a-cell'")


def test_a_sourced_number_needs_a_number_and_a_known_source():
    entries = "@article{radford2019,\n  year = {2019},\n}\n @book{ he2015 , x={}}"
    keys = bibliography_keys(entries)
    assert keys == {"radford2019", "he2015"}
    good = "{sourced}`0.02 <radford2019>` and {sourced}`a width of 768 <he2015>`"
    assert bad_sources(chapter(good), keys) == []
    for bad in ("`0.02 <nobody>`", "`0.02`", "`small <he2015>`", "`<he2015>`"):
        role = "{sourced}" + bad
        assert bad_sources(chapter(role), keys) == [f"{role} in cell 'words'"]


def cells(*parts):
    """Markdown cells from strings, and code cells from pairs of source and output."""
    return [
        text(one) if isinstance(one, str) else code(one[0], outputs=one[1:], count=1)
        for one in parts
    ]


def wrong(*parts, **settings):
    made = notebook(*cells(*parts))
    return [number.text for number in unprinted(made, **settings)]


def test_a_number_is_printed_in_its_own_section():
    printing = ("print(x)", "0.0154\n")
    assert wrong("## Here\n\nIt is 0.0154.", printing) == []
    assert wrong("## Here\n\nIt is 0.0154.", "## There", printing) == ["0.0154"]
    assert wrong("It is 0.0154.\n\n### There\n\nYes.", printing) == ["0.0154"]
    assert wrong("It is 0.0154.\n\n```python\n# a comment\n```\n\nYes.", printing) == []


def test_each_exercise_is_a_section_with_its_solution():
    one, other = (
        f"```{{exercise-start}}\n:label: {name}\n```\nHow much? 0.25"
        for name in ("ex-one", "ex-other")
    )
    printing = ("print(x)", "0.25\n")
    assert wrong("## Exercises", one, printing, other, printing) == []
    assert wrong("## Exercises", one, printing, other, ("print(x)", "1\n")) == ["0.25"]


def test_a_paragraph_may_name_the_section_that_prints_its_number(tmp_path):
    there = ("## What it does, by hand", ("print(x)", "0.0154\n"))
    linked = "## Later\n\nIt was 0.0154 ([by hand](#what-it-does-by-hand))."
    assert wrong(*there, linked) == []
    assert wrong(*there, linked.replace(" (", "\n\n(")) == ["0.0154"]
    assert wrong(*there, linked.replace("#what", "#that")) == ["0.0154"]
    write(tmp_path / "03_other.ipynb", *cells(there[1], *there))
    linked = linked.replace("#what", "03_other.ipynb#what")
    assert wrong(linked, folder=tmp_path) == []
    assert wrong(linked) == ["0.0154"]
    assert wrong(linked.partition("#what")[0] + "))", folder=tmp_path) == ["0.0154"]


@pytest.mark.parametrize(
    "source",
    ["0.25", "'0.25'", "f'{name} 0.25'", "'at 0.25', end=''"],
)
def test_a_literal_is_not_printed_by_a_computation(source):
    assert wrong("It is 0.25.", (f"print({source})", "0.25\n")) == ["0.25"]


@pytest.mark.parametrize(
    "source", ["print(x)", "for x in (0.25, 0.5):\n    print(x)", "print(f'{x:.2f}')"]
)
def test_a_setting_that_is_printed_counts(source):
    assert wrong("It is 0.25.", (source, "0.25\n")) == []


def falsified(number):
    """The number with its last digit three higher."""
    digits, letter, exponent = number.partition("e")
    last = max(place for place, one in enumerate(digits) if one.isdigit())
    changed = str((int(digits[last]) + 3) % 10)
    return digits[:last] + changed + digits[last + 1 :] + letter + exponent


def test_falsified_numbers_are_caught():
    caught, planted = Counter(), Counter()
    for path in chosen([]):
        found = sections(read(path))
        for section in found:
            for place, block in section.blocks:
                printed = section.printed | linked(block, found, path.parent)
                for number in numbers_in(block, place):
                    kind = "decimal" if is_decimal(number.text) else "integer"
                    planted[kind] += 1
                    caught[kind] += not is_printed(falsified(number.text), printed)
    assert caught["decimal"] >= 0.95 * planted["decimal"]
    assert caught.total() >= 0.9 * planted.total()


def is_decimal(number):
    return "." in number or "e" in number
