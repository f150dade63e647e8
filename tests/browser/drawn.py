"""What an explorer has drawn: expressions for the page, and a wait for a frame."""

# A window within a picture has the box of what it holds, not that of what it shows.
OUTSIDE = """root => {
    const box = root.getBoundingClientRect();
    const cut = (part) => part !== root
        && (getComputedStyle(part).overflowX !== "visible" || cut(part.parentElement));
    const holder = (part) => part.matches("svg svg") ? part : part.parentElement;
    const out = ({ left, right }) => left < box.left || right > box.right;
    return [...root.querySelectorAll("*")].filter((part) => {
        const place = part.getBoundingClientRect();
        return place.width && out(place) && !cut(holder(part));
    }).map((part) => part.outerHTML.slice(0, 80));
}"""

FITTED = """root => [...root.querySelectorAll(".mygpt-picture[viewBox]")]
    .filter((one) => one.checkVisibility())
    .every((one) => Math.abs(one.viewBox.baseVal.width - one.clientWidth) <= 1)"""

PATHS = """root => [...root.querySelectorAll("path")]
    .map((path) => path.getAttribute("d")).join()"""


def resize(root, width, height=900):
    """Resize the page, and wait until the figure's pictures fit it."""
    root.page.set_viewport_size({"width": width, "height": height})
    root.page.wait_for_function(FITTED, arg=root.element_handle())


def drawn(page):
    """Wait until a frame is drawn, which tells an explorer how wide its page is."""
    page.evaluate(
        "new Promise((then) => requestAnimationFrame(() => setTimeout(then)))"
    )
