"""Coming to an explorer by keyboard, and what keys do in it and its parts are named."""

import pytest
from drawn import drawn
from figures import has_focus, holds_focus
from helpers import examples

ROOM = '<p style="height: 3000px"></p>'
AROUND = {"<main>": f"<button>before</button>{ROOM}<main>"}
AROUND |= {"</main>": f"</main>{ROOM}<button>after</button>"}
TO = "(one, y) => scrollBy(0, one.getBoundingClientRect().top - y)"


@pytest.fixture
def explorer(alone):
    """An explorer between two buttons far from it, on a page to scroll."""

    return lambda made, **settings: alone(made, AROUND, **settings)


def edges(root):
    box = root.bounding_box()
    return box["y"], box["y"] + box["height"]


def press(page, key):
    page.keyboard.press(key)
    drawn(page)


def enter(page, key):
    """Come to the explorer by a key, from the button before or after it."""
    page.get_by_role("button", name="before" if key == "Tab" else "after").focus()
    press(page, key)


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
@pytest.mark.parametrize("name", ["attention", "activations", "sampling"])
def test_an_explorer_that_the_keyboard_enters_is_seen_whole(explorer, name, key):
    root = explorer(getattr(examples, name)(), width=736, height=1000)
    enter(root.page, key)
    assert holds_focus(root)
    top, bottom = edges(root)
    assert 0 <= top < bottom <= 1000


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_of_one_too_tall_as_much_is_seen_as_there_is_room_for(explorer, key):
    root = explorer(examples.activations(), width=736, height=400)
    enter(root.page, key)
    top, bottom = edges(root)
    assert bottom - top > 400
    assert (0 <= top < 20) if key == "Tab" else (top < 0)
    top, bottom = edges(root.page.locator(":focus"))
    assert 0 <= top < bottom <= 400


def test_within_an_explorer_nothing_scrolls_nor_when_the_window_comes_back(explorer):
    root = explorer(examples.attention(), width=736, height=1000)
    page = root.page
    enter(page, "Tab")
    root.evaluate(TO, -20)
    before = page.evaluate("scrollY")
    press(page, "Tab")
    assert has_focus(root.slider("Reading position"))
    page.locator(":focus").evaluate(
        """one => ["focusout", "focusin"].forEach(
          (type) => one.dispatchEvent(new FocusEvent(type, { bubbles: true })))"""
    )
    drawn(page)
    assert page.evaluate("scrollY") == before


def test_a_mouse_in_a_text_field_scrolls_nothing(explorer):
    root = explorer(examples.tokens(), width=736, height=1000)
    field = root.get_by_role("textbox").first
    field.evaluate(TO, 900)
    before = root.page.evaluate("scrollY")
    field.click(position={"x": 20, "y": 10})
    drawn(root.page)
    assert has_focus(field)
    assert root.page.evaluate("scrollY") == before
    assert edges(root)[1] > 1000


def test_alternatives_are_one_stop_of_the_keyboard_and_arrows_choose(explorer):
    root = explorer(examples.activations(), width=736)
    page = root.page
    group = root.get_by_role("toolbar", name="What the curves show")
    value, slope = group.get_by_role("button").all()
    value.focus()
    moves = [("ArrowRight", slope), ("ArrowRight", value), ("ArrowLeft", slope)]
    for key, chosen in (*moves, ("Home", value), ("End", slope)):
        press(page, key)
        assert has_focus(chosen)
        assert chosen.get_attribute("aria-pressed") == "true"
    press(page, "Tab")
    assert not holds_focus(group)
    press(page, "Shift+Tab")
    assert has_focus(slope)


def test_home_and_end_choose_and_scroll_only_to_the_chosen(explorer):
    root = explorer(examples.block_walk(), width=736, height=300)
    page = root.page
    words = root.get_by_role("toolbar", name="Position").get_by_role("button")
    words.nth(2).focus()
    words.nth(2).evaluate(TO, 100)
    before = page.evaluate("scrollY")
    press(page, "Home")
    assert has_focus(words.first)
    assert words.first.get_attribute("aria-pressed") == "true"
    assert page.evaluate("scrollY") == before
    words.first.evaluate(TO, -200)
    press(page, "End")
    assert has_focus(words.nth(2))
    top = words.nth(2).evaluate("one => one.getBoundingClientRect().top")
    assert top >= 0


@pytest.mark.parametrize("touch", [False, True])
def test_the_name_of_a_row_of_attention_chooses_it(explorer, touch):
    root = explorer(examples.attention(), width=390 if touch else 736, touch=touch)
    slider = root.slider("Reading position")
    for row in (1, 3):
        name = root.locator(".mygpt-rows > span").nth(row)
        name.tap() if touch else name.click()
        assert slider.input_value() == str(row)
    assert touch or has_focus(slider)


@pytest.mark.parametrize("width", [320, 390, 736])
def test_the_numbers_of_the_shades_of_attention_are_apart(explorer, width):
    root = explorer(examples.attention(), width=width)
    for shade in root.locator(".mygpt-shade").all():
        room = shade.evaluate(
            """one => {
              const range = document.createRange();
              range.selectNodeContents(one);
              return one.offsetWidth - range.getBoundingClientRect().width;
            }"""
        )
        assert room >= 6
    assert root.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_the_names_of_the_stages_of_a_block_do_not_run_together(explorer):
    root = explorer(examples.block_walk(), width=736)
    names = [one.get_attribute("aria-label") for one in root.get_by_role("radio").all()]
    shown = root.locator(".mygpt-stage:not(.mygpt-absent) .mygpt-number")
    assert len(names) == 3
    for name, number in zip(names, shown.all_inner_texts(), strict=True):
        assert name.endswith(f", {number}")
        assert root.get_by_role("radio", name=name, exact=True).count() == 1
