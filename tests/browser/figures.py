"""A figure under a reader's hands: parts by name, presses, touches, what is shown."""

import re

from drawn import OUTSIDE, PATHS, drawn, resize

READY = "performance.getEntriesByName('explorers-ready').length > 0"
# As a page of the site has it, where links work.
LINKED = {"<head>": "<head><script>window.bookHost = {};</script>"}


class Figure:
    """An explorer on a page: its parts by name, a reader's hands, and what it shows.

    It is a locator of Playwright besides.
    """

    def __init__(self, root):
        self.root = root

    def __getattr__(self, name):
        return getattr(self.root, name)

    def button(self, name):
        return self.get_by_role("button", name=name, exact=True)

    def slider(self, name):
        return self.get_by_role("slider", name=name, exact=True)

    def field(self, name):
        """A field for a number."""
        return self.get_by_role("spinbutton", name=name, exact=True)

    def press(self, *names):
        """Press buttons, one after the other."""
        for name in names:
            self.button(name).click()

    def keys(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def move(self, name, *keys):
        """Press keys on a slider."""
        self.slider(name).focus()
        self.keys(*keys)

    def type_in(self, name, number):
        """Put a number in a field and press Enter, so that it counts at once."""
        field = self.field(name)
        field.fill(str(number))
        field.press("Enter")
        return field

    def get(self, *traits):
        """Traits of the model of a figure alone on its page: one, or a list."""
        found = self.page.evaluate("all => all.map((one) => model.get(one))", traits)
        return found if len(traits) > 1 else found[0]

    def set(self, **changes):
        """Set traits as a phrase of the text or a kernel does."""
        self.page.evaluate("changes => model.set(changes)", changes)

    def unfold(self):
        """Open all that is folded."""
        opened = "all => all.forEach((one) => { one.open = true; })"
        self.locator("details").evaluate_all(opened)
        drawn(self.page)
        return self

    def text(self, selector):
        return self.locator(selector).inner_text()

    def texts(self, selector):
        return self.locator(selector).all_inner_texts()

    def value(self, name):
        """The value of a slider, as it is spoken."""
        return self.slider(name).get_attribute("aria-valuetext")

    def label(self, selector):
        """The text alternative of a picture."""
        return self.locator(selector).get_attribute("aria-label")

    def sees(self, text):
        """Whether a text is in sight."""
        return self.get_by_text(text).is_visible()

    def spoken(self, text):
        """Wait until a text is told to those who listen."""
        status = self.get_by_role("status").filter(has_text=text)
        status.wait_for(state="attached")
        return status

    def becomes(self, read, wanted):
        """Wait until a reading of the figure is what it must be."""
        for _ in range(100):
            found = read(self)
            if found == wanted:
                break
            self.page.wait_for_timeout(50)
        assert found == wanted

    def stays(self, read, wait=300):
        """A reading of the figure, which is the same a while later."""
        found = read(self)
        self.page.wait_for_timeout(wait)
        assert read(self) == found
        return found

    def copied_link(self):
        """Press Copy link; the link, which is the page's address as well."""
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.press("Copy link")
        self.get_by_text("The link is copied.").first.wait_for()
        link = self.page.evaluate("navigator.clipboard.readText()")
        assert self.page.url == link
        return link

    def cut(self, selector):
        """The texts of parts in sight that are wider than their room."""
        return self.locator(selector).evaluate_all(CUT)


# A text that stands in a line has no room of its own.
CUT = """all => all.filter((one) => one.checkVisibility()
    && one.scrollWidth > one.clientWidth && !one.matches(".mygpt-unseen")
    && getComputedStyle(one).display !== "inline").map((one) => one.textContent)"""


def reaches(part, step):
    """Wait until a part that shows a step shows this one or a later."""
    reached = "([part, step]) => part.textContent >= step"
    part.page.wait_for_function(reached, arg=[part.element_handle(), step])


PAINTED = """canvas => [...canvas.getContext("2d")
    .getImageData(0, 0, canvas.width, canvas.height).data]"""


def repaints(canvas):
    """A canvas follows the theme, and on paper it is light again."""
    page, painted = canvas.page, f"String(({PAINTED})(canvas))"
    given = [canvas.element_handle(), canvas.evaluate(f"canvas => {painted}")]
    for dark, media in ((1, "screen"), (0, "screen"), (1, "screen"), (1, "print")):
        page.emulate_media(color_scheme="dark" if dark else "light", media=media)
        same = "!==" if dark and media == "screen" else "==="
        page.wait_for_function(
            f"([canvas, light]) => {painted} {same} light", arg=given
        )


def middle(part):
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def top(part):
    return part.bounding_box()["y"]


def bottom(part):
    box = part.bounding_box()
    return box["y"] + box["height"]


def drag(page, start, *points):
    """Pull with the mouse."""
    page.mouse.move(*start)
    page.mouse.down()
    for point in points:
        page.mouse.move(*point)
    page.mouse.up()


def has_focus(part):
    return part.evaluate("one => one === document.activeElement")


def holds_focus(part):
    return part.evaluate("one => one.contains(document.activeElement)")


def width_of(page):
    """How wide the page is with what overflows it."""
    return page.evaluate("document.documentElement.scrollWidth")


def fits(root, *widths):
    """Nothing goes over the edges of a page as narrow as that."""
    for width in widths:
        resize(root, width)
        assert root.bounding_box()["width"] <= width - 24
        assert root.evaluate(OUTSIDE) == []
        assert width_of(root.page) <= width


# All text of a figure, and what its pictures and sliders are read as.
SAID = """root => [root.textContent,
    ...[...root.querySelectorAll("[aria-label], [aria-valuetext]")].flatMap((one) =>
        [one.ariaLabel, one.ariaValueText])].join()"""


def drawn_without_holes(root):
    """Whatever became of the numbers, each line has places, and each text a number."""
    paths, text = root.evaluate(PATHS), root.evaluate(SAID)
    for word in ("NaN", "Infinity", "undefined"):
        assert word not in paths + text
    assert max(map(float, re.findall(r"[\d.]+(?:e\+?\d+)?", paths))) < 20_000


def far_below(page):
    """Let the page be scrolled until its figure is out of view."""
    page.evaluate("document.body.append(document.createElement('hr'))")
    page.evaluate("document.body.lastChild.style.marginTop = '3000px'")


def brightness(part):
    """Of its ink, from 0 to 255."""
    ink = part.evaluate("one => getComputedStyle(one).color")
    return sum(map(int, ink[ink.index("(") + 1 : -1].split(",")[:3])) / 3


def fixed(value, decimals=3):
    text = f"{abs(value):.{decimals}f}"
    return f"−{text}" if value < 0 and float(text) else text


def significant(value):
    """Three significant digits, as the explorers write them."""
    mantissa, power = f"{value:.2e}".split("e")
    power = int(power)
    if -3 <= power <= 3:
        return f"{float(f'{value:.2e}'):.{max(0, 2 - power)}f}"
    digits = str(abs(power)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{'⁻' if power < 0 else ''}{digits}"


class Finger:
    """Touches as the browser makes them."""

    def __init__(self, page):
        self.page = page
        self.session = page.context.new_cdp_session(page)
        touch = {"enabled": True, "maxTouchPoints": 2}
        self.session.send("Emulation.setTouchEmulationEnabled", touch)

    def send(self, kind, *points):
        touches = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        event = {"type": kind, "touchPoints": touches}
        self.session.send("Input.dispatchTouchEvent", event)

    def follow(self, start, *points):
        self.send("touchStart", start)
        for point in points:
            self.send("touchMove", point)
        self.send("touchEnd")
