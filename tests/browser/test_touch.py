"""A finger on the explorers of the gallery, at the width of a phone."""

import pytest

STATE = """id => {
  const model = window.bookHost.models.get(id), traits = {};
  for (const place of document.querySelectorAll(`[data-model="${id}"] script`))
    for (const name of Object.keys(JSON.parse(place.textContent).state))
      traits[name] = model.get(name);
  return JSON.stringify(traits);
}"""
WAYS = {"up": (0, -240), "down": (0, 240), "diagonal": (60, -200)}


class Phone:
    """Touches on a page, as the browser itself would make them."""

    def __init__(self, page):
        self.page = page
        self.session = page.context.new_cdp_session(page)

    def send(self, kind, *points):
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches}
        )

    def tap(self, x, y):
        self.send("touchStart", (x, y))
        self.send("touchEnd")

    def drag(self, x, y, across, down, fingers=1, end="touchEnd"):
        starts = [(x, y + 40 * i) for i in range(fingers)]
        self.send("touchStart", *starts)
        for part in range(1, 9):
            moved = [(x + across * part / 8, y + down * part / 8) for x, y in starts]
            self.send("touchMove", *moved)
        self.send(end)
        self.page.wait_for_timeout(50)


@pytest.fixture
def phone(open_page, file_url):
    def open_phone(address):
        page = open_page(f"{file_url}/{address}", width=390, height=844, touch=True)
        page.wait_for_function("performance.getEntriesByName('explorers-ready').length")
        return Phone(page)

    return open_phone


def explorers_on(page):
    places = page.locator(".explorer[data-model]")
    return [(one.get_attribute("data-model"), one) for one in places.all()]


def places_in(page, explorer):
    """A grid of places on an explorer, each with the scrolling that shows it."""
    box = explorer.bounding_box()
    top = box["y"] + page.evaluate("scrollY")
    for y in range(20, int(box["height"]) - 10, 90):
        for x in (50, 195, 340):
            yield x, top + y


@pytest.mark.parametrize("way", WAYS)
def test_a_finger_that_scrolls_past_an_explorer_changes_nothing(phone, way):
    phone = phone("chapters/gallery.html")
    across, down = WAYS[way]
    for name, explorer in explorers_on(phone.page):
        before = phone.page.evaluate(STATE, name)
        trapped = []
        for x, y in places_in(phone.page, explorer):
            phone.page.evaluate("y => scrollTo(0, y)", y - 422)
            start = phone.page.evaluate("scrollY")
            phone.drag(x, y - start, across, down)
            if abs(phone.page.evaluate("scrollY") - start) < 100:
                trapped.append((x, y))
        assert phone.page.evaluate(STATE, name) == before, explorer
        assert trapped == [], explorer
