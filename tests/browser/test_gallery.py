"""Every explorer on the gallery's page: hand, keyboard, both themes, paper."""

import json
from functools import partial

import pytest
from judged import colour_violations, violations

PAGE = "chapters/gallery.html"
NAMES = (
    *("activations", "depth", "layer-norm", "block-walk"),
    *("attention", "sampling", "memory", "tokens", "descent", "train-stack"),
    *("shapes", "scale", "train-gpt"),
)
STATE = """root => {
    const model = bookHost.models.get(root.closest('[data-model]').dataset.model);
    return JSON.stringify(TRAITS.map((trait) => model.get(trait)));
}"""
TRAITS = {  # those that the reader moves
    "activations": ["position", "quantity", "visible"],
    "depth": ["gain", "layer", "quantity", "visible"],
    "layer-norm": ["values", "gamma", "beta", "log10_eps"],
    "block-walk": ["stage", "position"],
    "attention": ["head", "row", "temperature", "causal"],
    "sampling": ["temperature", "top_k", "top_p", "seed", "draws"],
    "memory": ["token", "neuron", "word", "order"],
    "tokens": ["text", "piece", "merges_done"],
    "descent": [
        "view",
        "rule",
        "rate",
        "start",
        "width",
        "activation",
        "seed",
        "steps",
    ],
    "train-stack": ["task", "left", "right", "steps"],
    "train-gpt": ["source", "pieces", "size", "rate", "steps", "seed"],
    "shapes": ["shape", "length", "bars"],
    "scale": ["model", "device", "training", "devices", "spread", "kept"],
}


# What needs no fresh page shares two: on a desk and, in the dark, on a phone.
SHARED = {"desk": {"theme": "light"}, "phone": {"theme": "dark", "width": 390}}


def opened(open_page, address, **settings):
    """The gallery, in which nothing trains by itself."""
    page = open_page(f"{address}/{PAGE}", still=True, **settings)
    page.wait_for_function("performance.getEntriesByName('explorers-ready').length > 0")
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


@pytest.fixture(scope="module")
def untouched(page_opener, file_url):
    """A page for the tests that start from what is shown first, each on an explorer
    that no other of them moves."""
    with page_opener() as open_page:
        yield opened(open_page, file_url)


on_desk = pytest.mark.parametrize("shared", ["desk"], indirect=True, scope="module")
on_both = pytest.mark.parametrize("shared", SHARED, indirect=True, scope="module")


def root_of(page, name):
    root = page.locator(f".mygpt-{name}").first
    root.scroll_into_view_if_needed()
    return root


def state(root, name):
    return json.loads(
        root.evaluate(STATE.replace("TRAITS", json.dumps(TRAITS[name]), 1))
    )


def words(root):
    """All text of the explorer, including its text alternatives."""
    labels = root.evaluate(
        "root => [...root.querySelectorAll('[aria-label], [aria-valuetext]')].map("
        "(e) => e.getAttribute('aria-label') + e.getAttribute('aria-valuetext'))"
    )
    return root.inner_text() + "\n".join(labels)


def test_the_gallery_has_every_explorer_and_loads_nothing_else(gallery, site_url):
    page = gallery(site_url)
    for name in NAMES:
        assert root_of(page, name).is_visible()
    page.watch.check()


@on_desk
@pytest.mark.parametrize("name", NAMES)
def test_the_keyboard_alone_moves_an_explorer_and_leaves_it(page, name):
    root = root_of(page, name)
    focusable = "input, button, select, textarea, [tabindex='0']"
    assert root.evaluate(
        f"root => [...root.querySelectorAll(`{focusable}`)]"
        ".every((part) => part.dataset.lmSuppressShortcuts === 'true')"
    )
    before, said = state(root, name), words(root)
    root.locator(focusable).first.focus()
    inside = "root => root.contains(document.activeElement)"
    stops = 0
    while root.evaluate(inside):
        for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "Tab"):
            page.keyboard.press(key)
        stops += 1
        assert stops < 60, "the keyboard does not leave"
    assert stops > 1
    assert state(root, name) != before
    assert words(root) != said
    page.watch.check()


@on_both
def test_all_fit_their_column_in_the_page_s_colours(page):
    inside = """root => {
        const box = root.getBoundingClientRect();
        const parts = "table, button, input, canvas, select, textarea";
        return [...root.querySelectorAll(parts)]
            .map((part) => part.getBoundingClientRect())
            .filter(({ width }) => width > 0)
            .every(({ left, right }) => left >= box.left - 1 && right <= box.right + 1);
    }"""
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        page.wait_for_selector(f"html[data-theme={theme}]")
        for name in NAMES:
            root = root_of(page, name)
            assert root.evaluate(inside), name
            ink = root.evaluate("root => getComputedStyle(root).color")
            brightness = sum(map(int, ink[ink.index("(") + 1 : -1].split(",")[:3])) / 3
            assert (brightness > 128) == (theme == "dark"), name
            heat = root.evaluate(
                "root => getComputedStyle(root).getPropertyValue('--heat-zero')"
            )
            dark = int(heat.strip()[1:3], 16) < 128
            assert dark == (theme == "dark"), name


def test_a_heatmap_is_repainted_in_another_theme_and_on_paper(gallery, http_url):
    page = gallery(http_url)
    canvas = root_of(page, "attention").locator(".mygpt-heat")
    first = "canvas => [...canvas.getContext('2d').getImageData(1, 0, 1, 1).data]"
    light = canvas.evaluate(first)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"([canvas, old]) => String(({first})(canvas)) !== old",
        arg=[canvas.element_handle(), ",".join(map(str, light))],
    )
    page.emulate_media(color_scheme="dark", media="print")
    page.wait_for_function(
        f"([canvas, old]) => String(({first})(canvas)) === old",
        arg=[canvas.element_handle(), ",".join(map(str, light))],
    )


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
    for name in NAMES:
        # evaluate_all, because nothing waits in it: paper has a frame in a second.
        ((ink, controls, text),) = page.locator(f".mygpt-{name}").evaluate_all(ON_PAPER)
        assert ink == "rgb(31, 35, 40)", name
        assert controls == 0, name
        assert text.strip(), name


def test_a_bar_of_layer_norm_is_pulled_and_the_result_follows(untouched):
    page = untouched
    root = root_of(page, "layer-norm")
    grip = root.get_by_role("slider", name="Channel 1", exact=True)
    box = grip.bounding_box()
    x = box["x"] + box["width"] / 2
    page.mouse.move(x, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] / 4)  # a quarter from the top: 5
    page.mouse.up()
    values = state(root, "layer-norm")[0]
    assert values[1] == pytest.approx(5.0, abs=0.2)
    mean = sum(values) / 6
    variance = sum((v - mean) ** 2 for v in values) / 6
    result = [(v - mean) / (variance + 1e-5) ** 0.5 for v in values]
    shown = root.locator("tbody tr td:last-child").all_text_contents()
    assert shown == [f"{y:.4f}".replace("-", "−") for y in result]
    root.get_by_role("button", name="All equal").click()
    shown = root.locator("tbody tr td:last-child").all_text_contents()
    assert set(shown) == {"0.0000"}
    page.watch.check()


def test_the_walk_advances_by_button_and_shows_each_norm(untouched):
    page = untouched
    root = root_of(page, "block-walk")
    norms = root.locator(".mygpt-stage > :last-child").all_inner_texts()
    assert len(norms) == 9
    for stage in range(1, 9):
        root.get_by_role("button", name="Next").click()
        assert state(root, "block-walk")[0] == stage
        said = root.locator(".mygpt-stage-name").inner_text()
        assert f"length {norms[stage]}," in said
    following = root.get_by_role("button", name="Next")
    assert following.get_attribute("aria-disabled") == "true"
    assert following.evaluate("button => button === document.activeElement")


def test_attention_weights_sum_to_one_with_and_without_the_mask(untouched):
    page = untouched
    root = root_of(page, "attention")
    row = root.get_by_role("slider", name="Reading position")
    row.focus()
    page.keyboard.press("Home")
    weights = root.locator(".mygpt-weight")
    assert weights.all_inner_texts()[:2] == ["1.000", "masked"]
    root.get_by_role("checkbox", name="Causal mask").uncheck()
    free = weights.all_inner_texts()
    assert "masked" not in free
    assert sum(map(float, free)) == pytest.approx(1, abs=0.003)


def test_the_cut_is_dragged_by_the_middle_of_its_thumb(untouched):
    """Where the line ends on it: on the site, tables are drawn above what follows."""
    root = root_of(untouched, "sampling")
    thumb = root.locator(".mygpt-thumb")
    thumb.scroll_into_view_if_needed()
    box = thumb.bounding_box()
    held = "([x, y]) => document.elementFromPoint(x, y).closest('.mygpt-rail') !== null"
    for below in (-1, 0, 1):
        middle = [box["x"] + box["width"] / 2 - 2, box["y"] + box["height"] / 2 + below]
        assert untouched.evaluate(held, middle), below


def test_sampling_draws_only_what_is_left_and_repeatably(untouched):
    page = untouched
    root = root_of(page, "sampling")
    root.get_by_role("button", name="Draw 100").click()
    assert state(root, "sampling")[4] == 100
    drawn = root.locator("tbody tr").all_inner_texts()
    root.get_by_role("button", name="Reset").click()
    root.get_by_role("button", name="Draw 100").click()
    assert root.locator("tbody tr").all_inner_texts() == drawn


def test_memory_goes_from_a_word_to_its_strongest_neuron(untouched):
    page = untouched
    root = root_of(page, "memory")
    root.get_by_text("More neurons").click()
    root.get_by_role("button", name="firing").click()
    root.get_by_role("group", name="Token").get_by_role("button").nth(1).click()
    assert state(root, "memory")[0] == 1
    second = root.locator(".mygpt-neuron-heads > span").nth(1)
    number = int(second.inner_text())
    second.click()
    assert state(root, "memory")[1] == number
    assert f"Neuron {number} fires" in root.inner_text()


def test_tokens_are_those_of_the_package_and_markup_is_text(untouched):
    page = untouched
    root = root_of(page, "tokens")
    field = root.get_by_role("textbox")
    field.fill("<script>alert(1)</script> שלום 日本 🙂")
    assert "35 characters, 46 bytes" in root.inner_text()
    assert root.locator("script").count() == 0
    field.fill("people in kenya")
    assert "15 characters, 15 bytes" in root.inner_text()
    page.watch.check()


def test_a_shape_is_chosen_and_typed_and_the_counts_follow(untouched):
    page = untouched
    root = root_of(page, "shapes")
    root.get_by_role("button", name="XL").click()
    assert "GPT-2 XL: 1.56 billion parameters" in root.inner_text()
    assert "Parameters: 1,557,611,200" in root.inner_text()
    root.get_by_text("Own shape").click()
    field = root.get_by_role("spinbutton", name="Layers L")
    field.fill("1")
    field.press("Enter")
    shape = {"embed_dim": 1600, "num_layers": 1}
    assert state(root, "shapes")[0].items() >= shape.items()
    total = 50257 * 1600 + 1024 * 1600 + 12 * 1600**2 + 13 * 1600 + 2 * 1600
    assert f"Parameters: {total:,}" in root.inner_text()
    page.watch.check()


def test_a_run_is_chosen_and_typed_and_the_figures_follow(untouched):
    page = untouched
    root = root_of(page, "scale")
    root.get_by_role("combobox", name="Model").select_option("GPT-2 XL")
    root.get_by_role("combobox", name="What every device holds").select_option("copies")
    field = root.get_by_role("spinbutton", name="Devices n")
    field.fill("16")
    field.press("Enter")
    assert state(root, "scale")[3:5] == [16, "copies"]
    root.get_by_text("Figures, formulas").click()
    assert f"{12 * 1_557_611_200 / 1e9:.1f} GB" in root.inner_text()
    root.get_by_role("combobox", name="Network between").select_option("home")
    assert "The network limits this run" in root.inner_text()
    page.watch.check()


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
