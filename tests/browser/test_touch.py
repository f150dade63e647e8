"""A finger on the pages, at the width of a phone: touches as the browser makes them."""

import pytest
from figures import READY, Finger, middle
from helpers.quick import slow_but

# From now on the page notes which explorers change.
NOTE = """() => {
  window.changed = [];
  for (const [id, model] of window.bookHost.models)
    model.on("change", () => window.changed.push(id));
}"""
# Scroll to a height; return how far the page can go on from there.
TO = """([top, down]) => {
  scrollTo({ top, behavior: "instant" });
  const { scrollHeight } = document.documentElement;
  return down > 0 ? scrollY : scrollHeight - innerHeight - scrollY - 1;
}"""
REST = """new Promise((done) => {
  requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 50));
})"""
GALLERY = "chapters/gallery.html"


class Phone(Finger):
    """A page under a finger."""

    def tap(self, x, y):
        self.send("touchStart", (x, y))
        self.send("touchEnd")

    def drag(self, x, y, across=0, down=0, end="touchEnd"):
        self.send("touchStart", (x, y))
        for part in (0.1, 0.4, 0.7, 1):
            self.send("touchMove", (x + across * part, y + down * part))
        self.rest()  # or the page goes on by itself
        self.send(end)

    def swipe(self, x, y, across, down):
        """Scroll as a thumb does; return how far the page went."""
        start = self.page.evaluate("scrollY")
        self.drag(x, y, across, down)
        gone = "start => Math.abs(scrollY - start)"
        for _ in range(10):  # a busy machine scrolls late
            if self.page.evaluate(gone, start) >= 200:
                break
            self.rest()
        return self.page.evaluate(gone, start)

    def pinch(self, x, y):
        """Zoom in with two fingers, and back."""
        self.send("touchStart", (x, y))
        self.send("touchStart", (x, y), (x + 30, y + 30))
        for apart in (50, 80, 30):
            self.send("touchMove", (x, y), (x + apart, y + apart))
        self.send("touchEnd")
        self.rest()
        self.session.send("Emulation.setPageScaleFactor", {"pageScaleFactor": 1})

    def rest(self):
        self.page.evaluate(REST)


@pytest.fixture
def phone(open_page, file_url):
    def open_phone(address=GALLERY):
        size = {"width": 390, "height": 844}
        page = open_page(f"{file_url}/{address}", **size, touch=True, still=True)
        page.wait_for_function(READY)
        return Phone(page)

    return open_phone


def explorer(phone, name):
    """An explorer in the middle of the page's window, and where it is."""
    place = phone.page.locator(f".mygpt-{name}").first
    place.evaluate("one => one.scrollIntoView({ behavior: 'instant' })")
    return place


def middle_of(place):
    place.evaluate(
        "one => one.scrollIntoView({ block: 'center', behavior: 'instant' })"
    )
    return middle(place)


QUICK = [(200, 0, -300)]
EVERY = [(x, *way) for x in (70, 200, 330) for way in ((0, -300), (0, 300), (60, -280))]


@pytest.mark.parametrize(("x", "across", "down"), slow_but(QUICK, EVERY))
def test_a_thumb_that_scrolls_past_the_explorers_changes_none(phone, x, across, down):
    phone = phone()
    page = phone.page
    page.evaluate(NOTE)
    trapped = []
    for place in page.locator(".explorer[data-model]").all():
        box = place.bounding_box()
        top = box["y"] + page.evaluate("scrollY")
        for y in range(30, int(box["height"]), 170):
            for _ in range(2):  # a busy machine may lose one, a trap holds both
                room = page.evaluate(TO, [top + y - 420, down])
                if phone.swipe(x, 420, across, down) >= min(200, room):
                    break
            else:
                trapped.append((place.get_attribute("data-model"), y))
    assert (trapped, page.evaluate("changed")) == ([], [])


def test_a_finger_on_its_thumb_drags_the_cut_and_not_the_page(phone):
    phone = phone()
    place = explorer(phone, "sampling")
    thumb = place.locator(".mygpt-thumb")
    x, y = middle_of(thumb)
    place_of_cut, scrolled = thumb.get_attribute("cy"), phone.page.evaluate("scrollY")
    phone.drag(x, y, down=-60)
    assert float(thumb.get_attribute("cy")) < float(place_of_cut)
    assert phone.page.evaluate("scrollY") == scrolled


def test_two_fingers_change_no_explorer(phone):
    phone = phone()
    phone.page.evaluate(NOTE)
    for place in phone.page.locator(".explorer[data-model] :is(svg, canvas)").all():
        if place.is_visible():
            phone.pinch(*middle_of(place))
    assert phone.page.evaluate("changed") == []


def reading(place):
    return place.locator(".mygpt-handle").first.input_value()


def test_a_tap_and_a_sideways_drag_move_the_cursor(phone):
    phone = phone()
    place = explorer(phone, "activations")
    x, y = middle_of(place.locator(".mygpt-picture").first)
    seen = {reading(place)}
    phone.tap(x - 60, y)
    seen.add(reading(place))
    phone.drag(x - 60, y, across=120)
    assert len(seen | {reading(place)}) == 3
    phone.page.watch.check()


def test_a_drag_that_the_browser_breaks_off_is_taken_back(phone):
    phone = phone()
    place = explorer(phone, "activations")
    x, y = middle_of(place.locator(".mygpt-picture").first)
    before = reading(place)
    phone.drag(x, y, across=-90, end="touchCancel")
    assert reading(place) == before


def test_a_slider_is_tapped_dragged_and_taken_back(phone):
    phone = phone()
    slider = explorer(phone, "shapes").locator("input[type=range]").first
    x, y = middle_of(slider)
    seen = [slider.input_value()]
    phone.tap(x, y)
    seen.append(slider.input_value())
    phone.drag(x, y, across=-40)
    seen.append(slider.input_value())
    assert len(set(seen)) == 3
    phone.drag(x, y, across=40, end="touchCancel")
    assert slider.input_value() == seen[-1]
    phone.page.watch.check()


def test_a_bar_is_tapped_to_a_height_and_then_dragged(phone):
    phone = phone()
    place = explorer(phone, "layer-norm")
    grip = place.locator(".mygpt-grip").nth(1)
    x, y = middle_of(grip)
    phone.tap(x, y - 40)
    tapped = float(grip.get_attribute("aria-valuenow"))
    start = phone.page.evaluate("scrollY")
    phone.drag(x, y - 40, down=60)
    assert float(grip.get_attribute("aria-valuenow")) < tapped
    assert phone.page.evaluate("scrollY") == start


def test_a_tapped_term_says_what_it_means_and_a_second_tap_follows(phone):
    phone = phone("chapters/08_layer_norm.html")
    page = phone.page
    link = page.locator("a.term[data-meaning]").first
    meaning = link.get_attribute("data-meaning")
    link.tap()
    tip = page.locator("[role=tooltip]")
    assert tip.text_content().startswith(meaning)
    assert "08_layer_norm" in page.url
    page.locator("h1").last.tap()
    assert tip.count() == 0
    link.tap()
    tip.locator("a").tap()
    page.wait_for_url("**/glossary.html#term-*")


@pytest.mark.parametrize(
    "hash_", ["#live=%%%", "#live=abc", "#live=e30", "#live=e30e30", "#stack=nothing"]
)
def test_a_damaged_link_is_refused_where_it_is_seen(phone, hash_):
    page = "11_rewriting" if "live" in hash_ else "07_residual_connections"
    phone = phone(f"chapters/{page}.html{hash_}")
    name = "live-model.mygpt-form-whole" if "live" in hash_ else "train-stack"
    place = phone.page.locator(f".mygpt-{name}").first
    said = place.get_by_text("The link was not used:").first
    said.wait_for()
    assert 0 <= said.bounding_box()["y"] < 300
    phone.page.watch.check()
