"""What moves while a page loads, and what a narrow page cuts."""

import json

import pytest
from conftest import pages_of
from figures import READY, Figure
from helpers.quick import slow_but

import website.widgets
from tools.heights import HEIGHTS, WIDTHS

# Of each width a page whose explorer is in sight at once, and others with several.
QUICK = [(w, "intro.html") for w in WIDTHS] + [(820, "chapters/10_memory.html")]
SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 300);
})"""
EVERY = [(width, page) for width in WIDTHS for page in pages_of()]


@pytest.mark.parametrize(("width", "address"), slow_but(QUICK, EVERY))
def test_nothing_jumps_while_a_page_loads(open_page, http_url, width, address):
    page = open_page(f"{http_url}/{address}", width=width)
    if page.locator(".explorer[data-model]").count():
        page.wait_for_function(READY)
    assert page.evaluate(SHIFTS) <= 0.02


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_room_kept_for_an_explorer_is_its_height(open_page, http_url, place):
    """Else run python -m tools.heights."""
    stored = json.loads(website.widgets.HEIGHTS.read_text(encoding="utf-8"))
    for name in ("intro", "chapters/07_residual_connections", "chapters/11_rewriting"):
        page = open_page(f"{http_url}/{name}.html", width=WIDTHS[place])
        page.wait_for_function(READY)
        expected = [heights[place] for heights in stored[name]]
        assert page.evaluate(HEIGHTS) == pytest.approx(expected, abs=12)


# The formulas whose sign behind them is on another line than their last part.
PARTED = """[...document.querySelectorAll(".beside-formula")].filter((one) => {
  const [part, sign] = [[...one.querySelectorAll(".katex-base")].at(-1), one.lastChild];
  if (!part || sign.nodeType !== Node.TEXT_NODE || !one.checkVisibility()) return false;
  const range = document.createRange();
  range.selectNode(sign);
  return range.getBoundingClientRect().top > part.getBoundingClientRect().bottom;
}).length"""


@pytest.mark.parametrize("name", ["02_embeddings", "16_after_gpt2"])
def test_no_sign_falls_off_its_formula(open_page, http_url, name):
    page = open_page(f"{http_url}/chapters/{name}.html", width=390)
    Figure(page.locator("html")).unfold()
    assert page.locator(".beside-formula").count() > 20
    assert page.evaluate(PARTED) == 0


def test_a_long_line_of_code_goes_on_below_deeper_than_it_begins(open_page, http_url):
    page = open_page(f"{http_url}/chapters/07_residual_connections.html", width=390)
    code = page.locator(".cell_input pre:visible")
    fits = "all => all.every((one) => one.scrollWidth <= one.clientWidth + 1)"
    assert code.evaluate_all(fits)
    lines = page.locator(".cell_input pre:visible .line").all()
    broken = next(one for one in lines if "torch.autograd.grad(" in one.inner_text())
    first, second = broken.evaluate(
        """(line) => {
          const range = document.createRange();
          range.selectNodeContents(line);
          const rows = Map.groupBy(range.getClientRects(), (box) => box.bottom);
          return [...rows.values()].map((row) => Math.min(...row.map((b) => b.x)));
        }"""
    )[:2]
    indent = broken.evaluate("one => one.textContent.search(/\\S/)")
    assert indent > 0
    assert second > first + 6 * indent
    assert code.first.evaluate("one => one.textContent").startswith("import copy\n")


def test_a_cut_output_fades_until_its_end_is_seen(open_page, http_url):
    page = open_page(f"{http_url}/chapters/07_residual_connections.html", width=390)
    cut = page.locator(".cell_output pre.goes-on:visible").first
    assert "gradient" in cut.evaluate("one => getComputedStyle(one).maskImage")
    cut.evaluate("one => { one.dataset.seen = 1; one.scrollLeft = one.scrollWidth; }")
    page.locator("pre[data-seen]:not(.goes-on)").wait_for()


def test_no_line_of_a_phone_is_left_empty_for_the_copy_button(open_page, http_url):
    address = f"{http_url}/chapters/07_residual_connections.html"
    page = open_page(address, width=390, touch=True)
    block = page.locator(".cell_input .highlight").first
    button = block.locator(".copybtn")
    code = block.locator("pre")
    padding = code.evaluate("one => parseFloat(getComputedStyle(one).paddingTop)")
    assert padding < 16
    assert button.bounding_box()["y"] < code.bounding_box()["y"]
