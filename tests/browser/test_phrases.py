"""Phrases of the text that set a figure, worked by mouse, touch and keyboard."""

import json

import pytest
from figures import READY, Figure, has_focus, holds_focus

CHAPTER = "chapters/06_activations.html"
FIGURE = "#fig-explorer-activations .explorer"
DIPS = "GELU dips below zero"
# A training takes a moment to reach its step.
HELD = """([phrase, state]) => {
  const place = document.querySelector(phrase.hash).querySelector(".explorer");
  const model = bookHost.models.get(place.dataset.model);
  return Object.entries(state).every(([name, wanted]) => {
    const [trait, entry] = name.split(".");
    const held = entry ? model.get(trait)[entry] : model.get(trait);
    return JSON.stringify(held) === JSON.stringify(wanted);
  });
}"""


@pytest.fixture
def chapter(open_page, http_url):
    """Chapter 6 on a desk, or on a phone with touch."""

    def chapter(touch=False, width=1280):
        width = 390 if touch else width
        page = open_page(f"{http_url}/{CHAPTER}", width=width, touch=touch)
        page.locator("#fig-explorer-activations .explorer-ready").wait_for()
        return page

    return chapter


def phrase(page, words):
    return page.get_by_role("button", name=words)


def model_of(page):
    return page.locator(FIGURE).evaluate_handle(
        "place => bookHost.models.get(place.dataset.model)"
    )


def traits(page, *names):
    found = "(model, names) => names.map((name) => model.get(name))"
    return model_of(page).evaluate(found, names)


def in_view(page, locator):
    return 0 <= locator.bounding_box()["y"] < page.viewport_size["height"] * 0.5


def line_height(page):
    return page.locator(".shown-now").bounding_box()["height"]


@pytest.mark.parametrize("way", ["mouse", "touch", "Enter", "Space"])
def test_a_phrase_sets_its_figure_and_brings_it_into_view(chapter, way):
    page = chapter(touch=way == "touch")
    act = phrase(page, "its lowest value")
    act.scroll_into_view_if_needed()
    figure = page.locator(FIGURE)
    assert not in_view(page, figure)
    before = traits(page, "position", "quantity")
    if way == "mouse":
        act.click()
    elif way == "touch":
        act.tap()
    else:
        act.focus()
        page.keyboard.press(way)
    assert traits(page, "position", "quantity") == [-0.75, "value"]
    assert in_view(page, figure)
    line = page.locator(".shown-now")
    assert "6.1 now shows: its lowest value." in line.inner_text()
    top = figure.bounding_box()["y"]
    line.get_by_role("button", name="Undo this phrase").click()
    assert traits(page, "position", "quantity") == before
    assert "6.1 no longer shows: its lowest value." in line.inner_text()
    assert figure.bounding_box()["y"] == top  # what is restored is seen
    line.get_by_role("button", name="Redo this phrase").click()
    assert traits(page, "position", "quantity") == [-0.75, "value"]
    assert "6.1 now shows: its lowest value." in line.inner_text()
    page.watch.check()


def test_the_way_back_keeps_the_state_the_reader_s_place_and_undo(chapter):
    page = chapter()
    act = phrase(page, "above 1")
    act.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the focus is on "Back to the text"
    assert has_focus(act)
    assert traits(page, "quantity") == ["slope"]
    assert act.bounding_box()["y"] > 0
    height = act.bounding_box()["y"]
    page.keyboard.press("Tab")
    beside = act.locator("xpath=following-sibling::*[1]")
    assert has_focus(beside)
    for name, quantity in [("Undo", "value"), ("Redo", "slope"), ("Undo", "value")]:
        assert beside.inner_text() == f"{name} this phrase"
        page.keyboard.press("Enter")
        assert traits(page, "quantity") == [quantity]
        assert act.bounding_box()["y"] == height
    line = page.locator(".shown-now")
    assert "no longer shows" in line.inner_text()
    line.get_by_role("button", name="Close").click()
    assert page.locator(".shown-beside").count() == 0


def test_a_phrase_pressed_twice_is_undone_at_once(chapter):
    page = chapter()
    act = phrase(page, "above 1")
    before = traits(page, "position", "quantity")
    for _ in range(2):
        act.click()
    page.locator(".shown-now").get_by_role("button", name="Undo this phrase").click()
    assert traits(page, "position", "quantity") == before


def test_the_line_says_that_the_reader_changed_the_figure_since(chapter):
    """Then it has nothing to undo: what the reader did since would go with it."""
    page = chapter()
    act = phrase(page, "its lowest value")
    act.click()
    line, height = page.locator(".shown-now"), line_height(page)
    undo = line.get_by_role("button", name="Undo this phrase")
    assert undo.is_visible()
    slider = page.locator(FIGURE).get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert traits(page, "position") == [-0.74]
    since = "6.1 showed: its lowest value. You have changed it since."
    assert since in line.inner_text()
    page.keyboard.press("ArrowLeft")
    assert since in line.inner_text()
    assert line.get_by_role("button").all_inner_texts() == ["×", "Back to the text"]
    assert line_height(page) == height
    line.get_by_role("button", name="Back to the text").click()
    assert page.locator(".shown-beside:visible").count() == 0
    act.click()
    assert "6.1 now shows: its lowest value." in line.inner_text()
    undo.click()
    assert "6.1 now shows" in line.inner_text()  # it was there before


def test_the_line_does_not_say_that_a_figure_shows_what_it_refuses(chapter):
    page = chapter()
    refuse = "model => model.on('change:position', () => model.set('position', 1))"
    model_of(page).evaluate(refuse)
    phrase(page, "its lowest value").click()
    line = page.locator(".shown-now").inner_text()
    assert "6.1 was asked for: its lowest value." in line


@pytest.mark.parametrize("width", [1280, 820, 390])
def test_the_line_has_one_layout(chapter, width):
    page = chapter(width=width)
    phrase(page, "cannot be told apart").click()
    line = page.locator(".shown-now")
    words = line.locator("p").bounding_box()
    close, back, undo = [one.bounding_box() for one in line.get_by_role("button").all()]
    assert close["x"] >= words["x"] + words["width"]
    assert close["y"] < words["y"] + words["height"]
    assert back["y"] == undo["y"] >= close["y"] + close["height"]
    assert back["x"] == words["x"]


@pytest.mark.parametrize("touch", [False, True])
def test_the_line_covers_nothing_and_goes_with_its_figure(chapter, touch):
    page = chapter(touch=touch)
    act = phrase(page, "its lowest value")
    act.tap() if touch else act.click()
    line, figure = page.locator(".shown-now"), page.locator(FIGURE)
    box = line.bounding_box()
    header = page.locator(".bd-header-article").bounding_box()
    assert box["y"] >= header["y"] + header["height"]
    assert box["y"] + box["height"] <= figure.bounding_box()["y"]
    page.mouse.wheel(0, 1500)
    page.wait_for_function(
        "() => document.querySelector('.shown').getBoundingClientRect().bottom < 0"
    )
    act.scroll_into_view_if_needed()
    y = page.evaluate("scrollY")
    page.keyboard.press("Escape")  # it is not on the screen
    assert page.evaluate("scrollY") == y
    assert line.is_visible()


def test_a_phrase_beside_its_figure_stays_where_it_is(chapter):
    page = chapter()
    page.locator(FIGURE).evaluate(
        "one => scrollBy(0, one.getBoundingClientRect().top - 140)"
    )
    act = phrase(page, "large numbers")
    height = act.bounding_box()["y"]
    assert height < 880
    act.click()
    assert page.locator(".shown-now").is_visible()
    assert abs(act.bounding_box()["y"] - height) < 1


@pytest.mark.parametrize("way", ["×", "Escape", "Escape in the figure"])
def test_closing_the_line_leaves_the_focus_and_the_figure_in_place(chapter, way):
    page = chapter()
    phrase(page, "its lowest value").click()
    figure = page.locator(FIGURE)
    inside = figure.get_by_role("slider")
    if way == "Escape in the figure":
        inside.focus()
    top = figure.bounding_box()["y"]
    if way == "×":
        page.get_by_role("button", name="Close").click()
    else:
        page.keyboard.press("Escape")
    assert not page.locator(".shown").is_visible()
    assert abs(figure.bounding_box()["y"] - top) < 1
    assert has_focus(inside if way == "Escape in the figure" else figure)
    assert traits(page, "position") == [-0.75]
    if way != "Escape in the figure":
        page.keyboard.press("Tab")
        assert holds_focus(figure)
        assert figure.get_attribute("tabindex") is None


def test_every_phrase_of_the_book_sets_what_it_says(open_page, http_url, site):
    pages = sorted(site.glob("chapters/*.html"))
    names = [one.name for one in pages if 'class="shows"' in one.read_text("utf-8")]
    assert len(names) > 2
    for name in names:
        page = open_page(f"{http_url}/chapters/{name}", still=True)
        page.wait_for_function(READY)
        Figure(page.locator("html")).unfold()
        for act in page.locator("a.shows").all():
            assert act.get_attribute("role") == "button", act.inner_text()
            act.focus()
            page.keyboard.press("Enter")
            state = json.loads(act.get_attribute("data-state"))
            page.wait_for_function(HELD, arg=[act.element_handle(), state])
        page.watch.check()


def test_a_reader_without_scripts_follows_a_phrase_to_the_figure(open_page, http_url):
    page = open_page(f"{http_url}/{CHAPTER}", javascript=False)
    page.locator("a.shows", has_text=DIPS).click()
    assert page.url.endswith("#fig-explorer-activations")
