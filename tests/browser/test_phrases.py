"""Phrases of the text that set a figure, worked by mouse, touch and keyboard."""

import json

import pytest

CHAPTER = "chapters/06_activations.html"
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

    def chapter(touch=False, **settings):
        width = 390 if touch else 1280
        page = open_page(f"{http_url}/{CHAPTER}", width=width, touch=touch, **settings)
        page.locator("#fig-explorer-activations .explorer-ready").wait_for()
        return page

    return chapter


def phrase(page, words):
    return page.get_by_role("button", name=words)


def traits(page, *names):
    return page.evaluate(
        """names => {
          const place = document.querySelector("#fig-explorer-activations .explorer");
          const model = bookHost.models.get(place.dataset.model);
          return names.map((name) => model.get(name));
        }""",
        names,
    )


def in_view(page, locator):
    box = locator.bounding_box()
    return box["y"] >= 0 and box["y"] < page.viewport_size["height"] * 0.5


@pytest.mark.parametrize("way", ["mouse", "touch", "Enter", "Space"])
def test_a_phrase_sets_its_figure_and_brings_it_into_view(chapter, way):
    page = chapter(touch=way == "touch")
    act = phrase(page, "its lowest value")
    act.scroll_into_view_if_needed()
    figure = page.locator("#fig-explorer-activations .explorer")
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
    line.get_by_role("button", name="Undo").click()
    assert traits(page, "position", "quantity") == before
    assert not line.is_visible()
    box = act.bounding_box()
    assert 0 < box["y"] < page.viewport_size["height"]
    page.watch.check()


def test_the_way_back_keeps_the_state_and_the_reader_s_place(chapter):
    page = chapter()
    act = phrase(page, "above 1")
    act.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the focus is on "Back to the text"
    assert act.evaluate("one => one === document.activeElement")
    assert traits(page, "quantity") == ["slope"]
    assert act.bounding_box()["y"] > 0
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert act.evaluate("one => one === document.activeElement")


def test_every_phrase_of_the_book_sets_what_it_says(open_page, http_url, site):
    pages = sorted(site.glob("chapters/*.html"))
    names = [one.name for one in pages if 'class="shows"' in one.read_text("utf-8")]
    assert len(names) > 2
    for name in names:
        page = open_page(f"{http_url}/chapters/{name}", still=True)
        page.wait_for_function("performance.getEntriesByName('explorers-ready').length")
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
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
