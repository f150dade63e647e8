"""A figure under a reader's hands: parts by name, presses, touches, what is shown."""

READY = "performance.getEntriesByName('explorers-ready').length > 0"
# As a page of the site has it, where links work.
LINKED = {"<head>": "<head><script>window.bookHost = {};</script>"}


def button(root, name):
    return root.get_by_role("button", name=name, exact=True)


def press(root, name):
    button(root, name).click()


def slider(root, name):
    return root.get_by_role("slider", name=name, exact=True)


def move(root, name, *keys):
    slider(root, name).focus()
    for key in keys:
        root.page.keyboard.press(key)


def type_in(root, name, number):
    """Put a number in a field and press Enter, so that it counts at once."""
    field = root.get_by_role("spinbutton", name=name, exact=True)
    field.fill(str(number))
    field.press("Enter")
    return field


def has_focus(part):
    return part.evaluate("one => one === document.activeElement")


def width_of(page):
    """How wide the page is with what overflows it."""
    return page.evaluate("document.documentElement.scrollWidth")


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
