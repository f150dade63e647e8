"""The explorers of chapters 6 and 7 on the site: drag, keys, touch, themes, paper."""

import pytest
import torch
from figures import Figure, Finger, drag, fixed, holds_focus, significant
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


class Curves(Figure):
    """One of the explorers on an open page: a handle moves over its curves."""

    def __init__(self, page, name):
        super().__init__(page.locator(f".mygpt-{name}").first)
        self.name = name
        self.wait_for()
        self.scroll_into_view_if_needed()
        self.handle = self.locator(".mygpt-handle")
        self.picture = self.locator(".mygpt-picture").first
        self.expected, self.trait = EXPECTED[name]

    def get(self, trait):
        return self.evaluate(
            "(root, trait) => bookHost.models"
            ".get(root.closest('[data-model]').dataset.model).get(trait)",
            trait,
        )

    def rows(self):
        """The read-outs: for each row its name and the text of its cells."""
        rows = self.locator("tbody tr").all()
        return {
            row.locator("th").inner_text().strip(): row.locator("td").all_inner_texts()
            for row in rows
        }

    def agrees(self):
        """The read-outs are what the package computes for where the handle is."""
        assert self.rows() == self.expected(self, self.get(self.trait))

    def curves(self):
        paths = self.locator(".mygpt-curves").first.locator("path")
        return [path.get_attribute("d") for path in paths.all()]

    def cursor(self):
        return self.locator(".mygpt-crosshair").first.get_attribute("d")

    def at(self, share):
        """The point in the picture at a share of the x axis, in page coordinates."""
        track = self.handle.bounding_box()
        picture = self.picture.bounding_box()
        x = track["x"] + THUMB / 2 + share * (track["width"] - THUMB)
        return x, picture["y"] + 0.4 * picture["height"]

    def drag(self, start, end):
        drag(self.page, *map(self.at, (start, (start + end) / 2, end)))


@pytest.fixture
def explorer(open_page):
    def explorer(address, name, **settings):
        page = open_page(f"{address}/{PAGES[name]}", **settings)
        return Curves(page, name)

    return explorer


@pytest.fixture(scope="module")
def shared(request, page_opener, http_url):
    """An explorer and a width, opened once for the tests that need no fresh page."""
    name, width = request.param
    with page_opener() as open_page:
        page = open_page(f"{http_url}/{PAGES[name]}", width=width)
        yield Curves(page, name)


@pytest.fixture
def view(shared):
    """The shared explorer, standing where earlier tests have left it."""
    shared.scroll_into_view_if_needed()
    yield shared
    shared.page.mouse.move(0, 0)


def sharing(*widths, names=tuple(PAGES)):
    """The decorator of a test that takes `view`."""
    both = [(name, width) for width in widths for name in names]
    ids = [f"{name}-{width}" for name, width in both]
    return pytest.mark.parametrize(
        "shared", both, ids=ids, indirect=True, scope="module"
    )


def form_of(name):
    return next(form for part, form in FORMS.items() if part in name.lower())


def activation_rows(view, x):
    rows = {}
    for name in view.get("names"):
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
    logs = [log[:, 0, 0, 0, 0, int(layer)] for log in (result.log_std, result.log_grad)]
    known = logs if layer else logs[:1]  # the input has no gradient
    none = [] if layer else ["–"]
    return {
        kind: [*(significant(10 ** log[k].item()) for log in known), *none]
        for k, kind in enumerate(view.get("kinds"))
    }


EXPECTED = {
    "activations": (activation_rows, "position"),
    "depth": (depth_rows, "layer"),
}


@pytest.mark.parametrize("name", PAGES)
def test_what_is_dragged_or_moved_by_keys_shows_what_the_package_computes(
    explorer, file_url, name
):
    view = explorer(file_url, name)
    before, cursor = view.rows(), view.cursor()
    view.drag(0.9, 0.2)
    assert view.cursor() != cursor
    assert view.rows() != before
    view.agrees()
    start, said = view.get(view.trait), view.text(".mygpt-at")
    if name == "depth":
        assert start == round(0.2 * view.get("depth"))
        assert said == f"Layer {start} of {view.get('depth')}"
    else:
        assert said.startswith(f"x = {fixed(start, view.get('places'))}")
        if view.get("has_phi"):
            phi = torch.special.ndtr(torch.tensor(start, dtype=torch.float64)).item()
            assert said.endswith(f"Φ(x) = {fixed(phi, 4)}")
    cursor = view.cursor()
    for _ in range(7):
        view.handle.press("ArrowLeft" if start > 7 else "ArrowRight")
    place = view.get(view.trait)
    assert view.cursor() != cursor
    view.agrees()
    if name == "depth":
        assert abs(place - start) == 7
        view.keys("Home")
        assert view.text(".mygpt-at") == "Input"
        view.agrees()
    else:
        assert place > start
        assert round(place, view.get("places")) == place
    if name == "activations" and view.get("compare"):
        point = torch.tensor(place, dtype=torch.float64)
        one, two = (form_of(each)(point).item() for each in view.get("compare"))
        assert view.text(".mygpt-difference") == f"{fixed(1e4 * (one - two), 2)} × 10⁻⁴"
    view.page.watch.check()


def test_depth_draws_different_curves_at_different_settings(explorer, file_url):
    view = explorer(file_url, "depth")

    def changes(act):
        curves = view.curves()
        act()
        assert view.curves() != curves

    controls = view.locator(".mygpt-controls input[type=range]").all()
    choices = view.locator(".mygpt-controls .mygpt-choice").all()
    assert controls or choices
    for choice in choices:
        changes(choice.locator("button[aria-pressed=false]").first.click)
    for control in controls:
        last = control.get_attribute("aria-valuetext")
        curves = view.curves()
        control.press("End")
        if control.get_attribute("aria-valuetext") == last:
            control.press("Home")
        assert view.curves() != curves
    biases = view.get_by_role("checkbox", name="Biases")
    if biases.count():
        changes(biases.uncheck)
        assert view.get("bias") is False
    rows = depth_rows(view, min(view.get("layer"), view.get("depth")))
    assert view.rows() == rows
    changes(view.button("Length of gradient").click)
    assert view.get("quantity") == "gradients"
    view.page.watch.check()


@sharing(1280)
def test_a_hovering_mouse_shows_what_is_drawn_under_it(view):
    before = view.get(view.trait), view.rows(), view.cursor(), view.text(".mygpt-at")
    view.page.mouse.move(*view.at(0.2))
    hint = view.locator(".mygpt-tooltip")
    where, *shown = hint.inner_text().split("\n")
    under = float(where.split()[-1].replace("−", "-"))
    assert view.name != "depth" or under == round(0.2 * view.get("depth"))
    rows = view.expected(view, under)
    seen = {name: rows[name][0] for name in view.get("visible")}
    assert dict(zip(shown[::2], shown[1::2], strict=True)) == seen
    after = view.get(view.trait), view.rows(), view.cursor(), view.text(".mygpt-at")
    assert after == before
    view.page.mouse.move(0, 0)
    assert hint.is_hidden()


@sharing(1280)
def test_curves_are_hidden_and_shown(view):
    count = len(view.curves())
    box = view.locator("tbody input[type=checkbox]").first
    box.uncheck()
    assert len(view.curves()) == count - 1
    assert len(view.get("visible")) == count - 1
    box.check()
    assert len(view.curves()) == count


def test_slopes_are_drawn_instead_of_values(explorer, http_url):
    view = explorer(http_url, "activations")
    curves = view.curves()
    view.get_by_role("button", name="Slope").click()
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
    stops = "input, button:not([tabindex='-1'])"  # of alternatives one
    controls = view.locator(stops)
    controls.first.focus()
    for _ in range(controls.count() - 1):
        view.page.keyboard.press("Tab")
        assert holds_focus(view)
    view.page.keyboard.press("Tab")
    assert not holds_focus(view)


@pytest.mark.parametrize("name", PAGES)
def test_the_text_alternative_follows_and_is_spoken_after_a_rest(
    explorer, http_url, name
):
    view = explorer(http_url, name)
    label = view.picture.get_attribute("aria-label")
    assert label.startswith(view.get("description"))
    assert view.get_by_role("status").inner_text() == ""
    view.handle.press("ArrowRight")
    assert view.picture.get_attribute("aria-label") != label
    view.spoken(next(iter(view.rows())))
