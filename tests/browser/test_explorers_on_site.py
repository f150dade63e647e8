"""The explorers of chapters 6 and 7 on the site: drag, keys, touch, themes, paper."""

import pytest
import torch
from figures import Finger, fixed, significant
from torch.nn import functional as F

from mygpt.inside.depth import sweep

PAGES = {
    "activations": "chapters/06_activations.html",
    "depth": "chapters/07_residual_connections.html",
}
FORMS = {
    "relu": F.relu,
    "tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu": F.gelu,
    "silu": F.silu,
}
THUMB = 24  # px: the handle's track is wider than the x axis by half of it on each side


class Explorer:
    """One explorer on an open page."""

    def __init__(self, page, name):
        self.page, self.name = page, name
        self.root = page.locator(f".mygpt-{name}").first
        self.root.wait_for()
        self.root.scroll_into_view_if_needed()
        self.handle = self.root.locator(".mygpt-handle")
        self.picture = self.root.locator(".mygpt-picture").first

    def get(self, trait):
        return self.root.evaluate(
            "(root, trait) => bookHost.models"
            ".get(root.closest('[data-model]').dataset.model).get(trait)",
            trait,
        )

    def text(self, selector):
        return self.root.locator(selector).first.inner_text()

    def rows(self):
        """The read-outs: for each row its name and the text of its cells."""
        rows = self.root.locator("tbody tr").all()
        return {
            row.locator("th").inner_text().strip(): row.locator("td").all_inner_texts()
            for row in rows
        }

    def curves(self):
        paths = self.root.locator(".mygpt-curves").first.locator("path")
        return [path.get_attribute("d") for path in paths.all()]

    def cursor(self):
        return self.root.locator(".mygpt-crosshair").first.get_attribute("d")

    def at(self, share):
        """The point in the picture at a share of the x axis, in page coordinates."""
        track = self.handle.bounding_box()
        picture = self.picture.bounding_box()
        x = track["x"] + THUMB / 2 + share * (track["width"] - THUMB)
        return x, picture["y"] + 0.4 * picture["height"]

    def drag(self, start, end):
        self.page.mouse.move(*self.at(start))
        self.page.mouse.down()
        self.page.mouse.move(*self.at((start + end) / 2))
        self.page.mouse.move(*self.at(end))
        self.page.mouse.up()


@pytest.fixture
def explorer(open_page):
    def explorer(address, name, **settings):
        page = open_page(f"{address}/{PAGES[name]}", **settings)
        return Explorer(page, name)

    return explorer


@pytest.fixture(scope="module")
def shared(request, page_opener, http_url):
    """An explorer and a width, opened once for the tests that need no fresh page."""
    name, width = request.param
    with page_opener() as open_page:
        page = open_page(f"{http_url}/{PAGES[name]}", width=width)
        yield Explorer(page, name)


@pytest.fixture
def view(shared):
    """The shared explorer, standing where earlier tests have left it."""
    shared.root.scroll_into_view_if_needed()
    yield shared
    shared.page.mouse.move(0, 0)
    shared.page.emulate_media(color_scheme="light", media="screen")
    shared.page.wait_for_selector("html[data-theme=light]")


def sharing(*widths, names=tuple(PAGES)):
    """The decorator of a test that takes `view`."""
    both = [(name, width) for width in widths for name in names]
    ids = [f"{name}-{width}" for name, width in both]
    return pytest.mark.parametrize(
        "shared", both, ids=ids, indirect=True, scope="module"
    )


def form_of(name):
    return next(form for part, form in FORMS.items() if part in name.lower())


def activation_rows(names, x):
    rows = {}
    for name in names:
        point = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        value = form_of(name)(point)
        (slope,) = torch.autograd.grad(value, point)
        rows[name] = [fixed(value.item(), 4), fixed(slope.item(), 4)]
    return rows


def depth_rows(view, layer):
    """What the package computes for the setting that the explorer shows."""
    result = sweep(
        kinds=view.get("kinds"),
        gains=[float(view.get("gain"))],
        widths=[view.get("width")],
        biases=[view.get("bias")],
        depths=[view.get("depth")],
    )
    both = (result.log_std, result.log_grad)
    return {
        kind: [
            "–"
            if layer == 0 and q == 1
            else significant(10 ** log[k, 0, 0, 0, 0, layer].item())
            for q, log in enumerate(both)
        ]
        for k, kind in enumerate(view.get("kinds"))
    }


def test_a_dragged_depth_shows_what_the_package_computes(explorer, file_url):
    view = explorer(file_url, "depth")
    depth = view.get("depth")
    before, cursor = view.rows(), view.cursor()
    goal = depth // 5
    view.drag(0.9, goal / depth)
    assert view.get("layer") == goal
    assert view.text(".mygpt-at") == f"Layer {goal} of {depth}"
    assert view.cursor() != cursor
    assert view.rows() != before
    assert view.rows() == depth_rows(view, goal)
    view.page.watch.check()


def test_depth_moves_with_the_arrow_keys(explorer, file_url):
    view = explorer(file_url, "depth")
    layer, cursor = view.get("layer"), view.cursor()
    view.handle.focus()
    view.page.keyboard.press("ArrowRight")
    view.page.keyboard.press("ArrowRight")
    assert view.get("layer") == layer + 2
    assert view.cursor() != cursor
    assert view.rows() == depth_rows(view, layer + 2)
    view.page.keyboard.press("Home")
    assert view.text(".mygpt-at") == "Input"
    assert view.rows() == depth_rows(view, 0)
    view.page.watch.check()


def test_depth_draws_different_curves_at_different_settings(explorer, file_url):
    view = explorer(file_url, "depth")
    controls = view.root.locator(".mygpt-controls input[type=range]").all()
    choices = view.root.locator(".mygpt-controls .mygpt-choice").all()
    assert controls or choices
    for choice in choices:
        curves = view.curves()
        choice.locator("button[aria-pressed=false]").first.click()
        assert view.curves() != curves
    for control in controls:
        curves = view.curves()
        last = control.get_attribute("aria-valuetext")
        control.focus()
        view.page.keyboard.press("End")
        if control.get_attribute("aria-valuetext") == last:
            view.page.keyboard.press("Home")
        assert view.curves() != curves
    biases = view.root.get_by_role("checkbox", name="Biases")
    if biases.count():
        curves = view.curves()
        biases.uncheck()
        assert view.curves() != curves
        assert view.get("bias") is False
    layer = min(view.get("layer"), view.get("depth"))
    assert view.rows() == depth_rows(view, layer)
    curves = view.curves()
    view.root.get_by_role("button", name="Length of gradient").click()
    assert view.get("quantity") == "gradients"
    assert view.curves() != curves
    view.page.watch.check()


@sharing(1280, names=["depth"])
def test_depth_shows_what_is_drawn_under_a_hovering_mouse(view):
    layer, depth = view.get("layer"), view.get("depth")
    goal = depth - 3
    view.page.mouse.move(*view.at(goal / depth))
    hint = view.root.locator(".mygpt-tooltip")
    expected = depth_rows(view, goal)
    for kind in view.get("visible"):
        assert f"{kind}{expected[kind][0]}" in hint.inner_text().replace("\n", "")
    assert hint.locator("strong").inner_text() == f"Layer {goal}"
    assert view.get("layer") == layer
    assert view.text(".mygpt-at") == f"Layer {layer} of {depth}"
    assert view.rows() == depth_rows(view, layer)
    view.page.mouse.move(0, 0)
    assert hint.is_hidden()


@sharing(1280, names=["activations"])
def test_activations_show_what_is_drawn_under_a_hovering_mouse(view):
    x, rows, cursor = view.get("position"), view.rows(), view.cursor()
    view.page.mouse.move(*view.at(0.25))
    hint = view.root.locator(".mygpt-tooltip").inner_text().split("\n")
    under = float(hint[0].removeprefix("x = ").replace("−", "-"))
    expected = activation_rows(view.get("names"), under)
    seen = view.get("visible")
    assert hint[1:] == [part for n in seen for part in (n, expected[n][0])]
    assert (view.get("position"), view.rows(), view.cursor()) == (x, rows, cursor)


def test_dragged_activations_show_what_the_package_computes(explorer, file_url):
    view = explorer(file_url, "activations")
    before, cursor = view.rows(), view.cursor()
    view.drag(0.5, 0.31)
    x = view.get("position")
    assert view.cursor() != cursor
    assert view.rows() != before
    assert view.rows() == activation_rows(view.get("names"), x)
    assert view.text(".mygpt-at").startswith(f"x = {fixed(x, view.get('places'))}")
    if view.get("has_phi"):
        phi = torch.special.ndtr(torch.tensor(x, dtype=torch.float64)).item()
        assert view.text(".mygpt-at").endswith(f"Φ(x) = {fixed(phi, 4)}")
    view.page.watch.check()


def test_activations_move_with_the_arrow_keys_along_the_grid(explorer, file_url):
    view = explorer(file_url, "activations")
    start = view.get("position")
    view.handle.focus()
    for _ in range(7):
        view.page.keyboard.press("ArrowLeft")
    x = view.get("position")
    assert x < start
    assert round(x, view.get("places")) == x
    assert view.rows() == activation_rows(view.get("names"), x)
    pair = view.get("compare")
    if pair:
        point = torch.tensor(x, dtype=torch.float64)
        first, second = (form_of(name)(point).item() for name in pair)
        assert (
            view.text(".mygpt-difference")
            == f"{fixed(1e4 * (first - second), 2)} × 10⁻⁴"
        )
    view.page.watch.check()


@sharing(1280)
def test_curves_are_hidden_and_shown(view):
    count = len(view.curves())
    box = view.root.locator("tbody input[type=checkbox]").first
    box.uncheck()
    assert len(view.curves()) == count - 1
    assert len(view.get("visible")) == count - 1
    box.check()
    assert len(view.curves()) == count


def test_slopes_are_drawn_instead_of_values(explorer, http_url):
    view = explorer(http_url, "activations")
    curves = view.curves()
    view.root.get_by_role("button", name="Slope").click()
    assert view.curves() != curves
    relu = next(i for i, name in enumerate(view.get("names")) if "relu" in name.lower())
    assert view.curves()[relu].count("M") == 2, (
        "the jump of ReLU's slope is drawn as a line"
    )


@sharing(390)
def test_a_touch_drags(view):
    before = view.rows()
    Finger(view.page).follow(*map(view.at, (0.7, 0.65, 0.5, 0.35, 0.2)))
    assert view.rows() != before
    if view.name == "depth":
        assert view.get("layer") == round(0.2 * view.get("depth"))
    view.page.watch.check()


@sharing(1280)
def test_the_keyboard_reaches_every_control_and_leaves_again(view):
    assert view.root.evaluate(
        "root => [...root.querySelectorAll('input, button')]"
        ".every((part) => part.dataset.lmSuppressShortcuts === 'true')"
    )
    stops = "input, button:not([tabindex='-1'])"  # of alternatives one
    controls = view.root.locator(stops)
    controls.first.focus()
    inside = "root => root.contains(document.activeElement)"
    for _ in range(controls.count() - 1):
        view.page.keyboard.press("Tab")
        assert view.root.evaluate(inside)
    view.page.keyboard.press("Tab")
    assert not view.root.evaluate(inside)


@pytest.mark.parametrize("name", PAGES)
def test_the_text_alternative_follows_and_is_spoken_after_a_rest(
    explorer, http_url, name
):
    view = explorer(http_url, name)
    label = view.picture.get_attribute("aria-label")
    assert label.startswith(view.get("description"))
    status = view.root.get_by_role("status")
    assert status.inner_text() == ""
    view.handle.focus()
    view.page.keyboard.press("ArrowRight")
    assert view.picture.get_attribute("aria-label") != label
    status.filter(has_text=next(iter(view.rows()))).wait_for(state="attached")


@sharing(1280)
def test_a_print_has_the_figure_and_the_read_outs_only(view):
    view.page.emulate_media(color_scheme="dark")
    view.page.wait_for_selector("html[data-theme=dark]")
    view.page.emulate_media(color_scheme="dark", media="print")
    assert view.picture.is_visible()
    assert view.root.locator("table").is_visible()
    assert not any(part.is_visible() for part in view.root.locator("input").all())
    assert (
        view.root.evaluate("root => getComputedStyle(root).color") == "rgb(31, 35, 40)"
    )
    if view.name == "depth":
        assert view.root.locator(".mygpt-setting").is_visible()
