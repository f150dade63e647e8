"""Every explorer on the gallery's page: hand, keyboard, both themes, paper."""

import json
from functools import partial

import pytest
from figures import (
    READY,
    SAID,
    Figure,
    brightness,
    drag,
    fixed,
    holds_focus,
    middle,
    repaints,
)
from judged import colour_violations, violations

PAGE = "chapters/gallery.html"
STATE = """root => {
    const model = bookHost.models.get(root.closest('[data-model]').dataset.model);
    return JSON.stringify(TRAITS.map((trait) => model.get(trait)));
}"""
TRAITS = {  # those that the reader moves, of each explorer
    "activations": "position quantity visible",
    "depth": "gain layer quantity visible",
    "layer-norm": "values gamma beta log10_eps",
    "block-walk": "stage position",
    "attention": "head row temperature causal",
    "sampling": "temperature top_k top_p seed draws",
    "memory": "token neuron word order",
    "tokens": "text piece merges_done",
    "descent": "view rule rate start width activation seed steps",
    "train-stack": "task left right steps",
    "train-gpt": "source pieces size rate steps seed",
    "shapes": "shape length bars",
    "scale": "model device training devices spread kept",
}


# What needs no fresh page shares two: on a desk and, in the dark, on a phone.
SHARED = {"desk": {"theme": "light"}, "phone": {"theme": "dark", "width": 390}}


def opened(open_page, address, **settings):
    """The gallery, in which nothing trains by itself."""
    page = open_page(f"{address}/{PAGE}", still=True, **settings)
    page.wait_for_function(READY)
    return page


@pytest.fixture
def gallery(open_page):
    return partial(opened, open_page)


@pytest.fixture(scope="module")
def shared(request, page_opener, http_url):
    settings = SHARED[request.param]
    with page_opener() as open_page:
        page = opened(open_page, http_url, **settings)
        page.theme = settings["theme"]
        yield page


@pytest.fixture
def page(shared):
    """A shared page, whose explorers stand where earlier tests have left them."""
    yield shared
    shared.emulate_media(color_scheme=shared.theme, media="screen")
    shared.wait_for_selector(f"html[data-theme={shared.theme}]")


on_desk = pytest.mark.parametrize("shared", ["desk"], indirect=True, scope="module")
on_both = pytest.mark.parametrize("shared", SHARED, indirect=True, scope="module")


def root_of(page, name):
    root = Figure(page.locator(f".mygpt-{name}").first)
    root.scroll_into_view_if_needed()
    return root


def state(root, name):
    return json.loads(
        root.evaluate(STATE.replace("TRAITS", json.dumps(TRAITS[name].split()), 1))
    )


def test_the_gallery_has_every_explorer_and_loads_nothing_else(gallery, site_url):
    page = gallery(site_url)
    for name in TRAITS:
        assert root_of(page, name).is_visible()
    page.watch.check()


@on_desk
@pytest.mark.parametrize("name", TRAITS)
def test_the_keyboard_alone_moves_an_explorer_and_leaves_it(page, name):
    root = root_of(page, name)
    focusable = "input, button, select, textarea, [tabindex='0']"
    assert root.evaluate(
        f"root => [...root.querySelectorAll(`{focusable}`)]"
        ".every((part) => part.dataset.lmSuppressShortcuts === 'true')"
    )
    before, said = state(root, name), root.evaluate(SAID)
    root.locator(focusable).first.focus()
    stops = 0
    while holds_focus(root):
        for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Tab"):
            page.keyboard.press(key)
        stops += 1
        assert stops < 60, "the keyboard does not leave"
    assert stops > 1
    assert state(root, name) != before
    assert root.evaluate(SAID) != said
    page.watch.check()


@on_both
def test_all_fit_their_column_in_the_page_s_colours(page):
    inside = """root => {
        const box = root.getBoundingClientRect();
        const parts =
            "table, td, button, input, canvas, select, textarea, .mygpt-picture";
        return [...root.querySelectorAll(parts)]
            .map((part) => part.getBoundingClientRect())
            .filter(({ width }) => width > 0)
            .every(({ left, right }) => left >= box.left - 1 && right <= box.right + 1);
    }"""
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_selector(f"html[data-theme={theme}]")
        for name in TRAITS:
            root = root_of(page, name)
            assert root.evaluate(inside), name
            assert root.bounding_box()["width"] <= page.viewport_size["width"], name
            assert (brightness(root) > 128) == (theme == "dark"), name
            heat = root.evaluate(
                "root => getComputedStyle(root).getPropertyValue('--heat-zero')"
            )
            dark = int(heat.strip()[1:3], 16) < 128
            assert dark == (theme == "dark"), name


def test_a_heatmap_is_repainted_in_another_theme_and_on_paper(gallery, http_url):
    page = gallery(http_url)
    repaints(root_of(page, "attention").locator(".mygpt-heat"))


READ_OUTS = {
    "activations": [".mygpt-picture", "table"],
    "depth": [".mygpt-picture", "table", ".mygpt-setting"],
}
ON_PAPER = """([root]) => {
    const ranges = root.querySelectorAll("input[type=range], input[type=checkbox]");
    const seen = (one) => one.checkVisibility({ visibilityProperty: true })
        && one.getBoundingClientRect().width > 0;
    return [[getComputedStyle(root).color, [...ranges].filter(seen).length,
        root.innerText]];
}"""


@on_desk
def test_paper_has_the_figures_and_their_settings_without_controls(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    page.emulate_media(color_scheme="dark", media="print")
    for name in TRAITS:
        # evaluate_all, because nothing waits in it: paper has a frame in a second.
        ((ink, controls, text),) = page.locator(f".mygpt-{name}").evaluate_all(ON_PAPER)
        assert ink == "rgb(31, 35, 40)", name
        assert controls == 0, name
        assert text.strip(), name
    for name, parts in READ_OUTS.items():
        for part in parts:
            assert page.locator(f".mygpt-{name} {part}").first.is_visible(), part


def test_a_bar_of_layer_norm_is_pulled_and_the_result_follows(gallery, file_url):
    page = gallery(file_url)
    root = root_of(page, "layer-norm")
    grip = root.slider("Channel 1")
    x, y = middle(grip)
    drag(page, (x, y), (x, y - grip.bounding_box()["height"] / 4))  # to 5 of 10
    values = state(root, "layer-norm")[0]
    assert values[1] == pytest.approx(5.0, abs=0.2)
    mean = sum(values) / 6
    variance = sum((v - mean) ** 2 for v in values) / 6
    result = [(v - mean) / (variance + 1e-5) ** 0.5 for v in values]
    shown = root.locator("tbody tr td:last-child").all_text_contents()
    assert shown == [fixed(y, 4) for y in result]
    page.watch.check()


def test_the_cut_is_dragged_by_the_middle_of_its_thumb(gallery, http_url):
    """Where the line ends on it: on the site, tables are drawn above what follows."""
    page = gallery(http_url)
    root = root_of(page, "sampling")
    thumb = root.locator(".mygpt-thumb")
    thumb.scroll_into_view_if_needed()
    x, y = middle(thumb)
    held = "([x, y]) => document.elementFromPoint(x, y).closest('.mygpt-rail') !== null"
    for below in (-1, 0, 1):
        assert page.evaluate(held, [x - 2, y + below]), below


def test_a_new_number_does_not_restyle_the_page(gallery, http_url):
    """Counted, not timed: a rule with :has once cost 15 ms at every move."""
    page = gallery(http_url)
    handle = root_of(page, "activations").locator(".mygpt-handle")
    session = page.context.new_cdp_session(page)
    events = []
    session.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    ended = []
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    handle.focus()
    page.wait_for_timeout(300)
    categories = {"includedCategories": ["devtools.timeline"]}
    session.send("Tracing.start", {"traceConfig": categories})
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    restyled = [
        event["args"]["elementCount"]
        for event in events
        if event["name"] == "UpdateLayoutTree"
    ]
    assert restyled
    assert max(restyled) < 300  # of the page's 3,000 elements


MOVE_ALL = """text => {
    for (const root of document.querySelectorAll(".mygpt-explorer")) {
        const pressed = root.querySelectorAll("button, input[type=checkbox]");
        pressed.forEach((one) => one.click());
        for (const range of root.querySelectorAll("input[type=range]")) {
            range.value = text ? range.max : range.min;
            range.dispatchEvent(new Event("input", { bubbles: true }));
        }
        for (const field of root.querySelectorAll("textarea")) {
            field.value = text;
            field.dispatchEvent(new Event("input", { bubbles: true }));
        }
    }
}"""
# Axe places every element of the page, and code is not what it judges here.
PLAIN_CODE = """() => document.querySelectorAll("pre").forEach(
    (block) => block.replaceChildren(block.textContent))"""


@pytest.mark.parametrize(
    "shared",
    ["phone", pytest.param("desk", marks=pytest.mark.slow)],
    indirect=True,
    scope="module",
)
def test_axe_finds_no_violation_at_the_ends_of_every_control(page):
    page.evaluate(PLAIN_CODE)
    before = state(root_of(page, "tokens"), "tokens")
    for text in ("<b>שלום</b> 日本 🙂 " * 20, ""):
        page.evaluate(MOVE_ALL, text)
        assert violations(page, include=".mygpt-explorer") == []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert colour_violations(page, include=".mygpt-explorer") == []
    assert state(root_of(page, "tokens"), "tokens") != before
