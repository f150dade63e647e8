"""Every explorer live in JupyterLab: Python moves the figure, the figure sets Python.

One test with subtests, because a server, a kernel and an open notebook take longer than
all that is done with them; everything is in the test's own folder. The notebook's first
cell makes the explorers; the same lines run in the test, so that what a figure shows is
compared with what the package computes. Each explorer is displayed twice. The server's
log is printed under a test that fails.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import psutil
import pytest
from figures import Figure, fixed, significant
from helpers import examples, live_models

from mygpt.distributed.cost import memory_per_device
from mygpt.explorers.train_gpt.widget import TOKENIZERS

MAKE = """
import json

from IPython.display import display
from helpers import examples

made = {name: make() for name, make in examples.EVERY.items()}
"""
STACK = {"wiring": "pre-norm", "depth": 7, "activation": "relu"}
STACK |= {"gain": 1.7, "rate": 0.003, "seed": 5}
SHAPE = {"vocab_size": 1009, "max_seq_len": 64, "embed_dim": 96}
SHAPE |= {"num_heads": 3, "num_layers": 5}
TRAINING = {"tokens": 10**9, "batch_tokens": 2048 * 100, "at_once": 1, "share": 0.5}
REWRITE = {"kind": "rewrite", "prompt": "fun", "word": "ban"}


# What the package computes for what a figure shows.


def rounded(numbers, places):
    return [fixed(one, places) for one in numbers]


def activations(view):
    at = abs(view.x - view.position).argmin()
    rows = [(view.values[n][at], view.slopes[n][at]) for n in view.names]
    return rounded(sum(rows, ()), 4)


def depth(view):
    curves = [view.curves(quantity) for quantity in ("activations", "gradients")]
    rows = [[10 ** curve[kind][view.layer] for curve in curves] for kind in view.kinds]
    return [significant(one) for row in rows for one in row]


def attention(view):
    weights = rounded(view.weights()[view.row], 3)
    return [*weights[: view.row + 1], *["masked"] * (4 - view.row)]


def sampling(view):
    now = view.probabilities()
    order = (-view.logits).argsort()
    return [fixed(now[i], 3) if now[i] else "cut" for i in order]


def memory(view):
    fires = fixed(view.activations[view.token, view.neuron], 2)
    said = f"Neuron {view.neuron} fires {fires} at “{view.tokens[view.token]}”"
    if view.order == "number":
        return [f"{said}: number {view.neuron + 1} of 5."]
    sizes = abs(view.activations[view.token])
    rank = 1 + (sizes > sizes[view.neuron]).sum()
    return [f"{said}: number {rank} of 5 by size."]


def descent(view):
    losses = view.losses()
    return [str(len(losses) - 1), fixed(losses[-1], 4)]


def train_gpt(view):
    pieces = TOKENIZERS[view.pieces].pieces(view.text)
    line = f"{len(pieces):,} {view.pieces}, {len(set(pieces)):,} different; "
    return [f"{line}the last tenth is held out."]


def train_stack(view):
    texts = [str(view.steps)]
    for course in view.trained():
        right = int(100 * course.right + 0.5)
        texts += [significant(course.losses[-1]), f"{right} %"]
    return texts


def shapes(view):
    whole = [f"{sum(parts.values()):,}" for parts in (view.parameters(), view.flops())]
    return [*whole, f"{view.memory()['weights']:,}"]


def scale(view):
    """The bytes of all parts but the whole layer, which only a sharded model has."""
    parts = memory_per_device(view.run)
    sizes = [size for part, size in parts.items() if part != "one layer, whole"]
    return [in_bytes(size) for size in sizes]


def in_bytes(size):
    unit, name = next(one for one in UNITS if size >= one[0])
    return f"{size / unit:#.3g}".rstrip(".") + f" {name}"


UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"))


def live_model(view):
    before, after = (view._read(view.prompt, one)[1] for one in ([], view.edits))
    at = view.token, view.neuron
    own, here = (fixed(found[view.layer][at], 3) for found in (before, after))
    token = [".", *view.prompt.split()][view.token]
    before = f", {own} before the edit" if own != here else ""
    words = [f"{word}\n{fixed(share)}" for word, share in view.predictions(6)]
    return [*words, f"Neuron {view.neuron}", f"Coefficient at {token} {here}{before}"]


def click(figure, selector, across, down=0.5):
    """Press the mouse on an element, at fractions of its width and height."""
    part = figure.locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    part.click(position={"x": across * box["width"], "y": down * box["height"]})


def append(field, text):
    field.click()
    field.press("End")
    field.press_sequentially(text)


def train_a_gpt(figure):
    """Train in a worker, which a notebook must allow; then choose another size."""
    figure.press("Train")
    figure.get_by_text("step 30 of 30").wait_for()
    figure.press("Reset")
    said = figure.locator(".mygpt-unseen").last
    said.filter(has_text=re.compile("^$")).wait_for(state="attached")
    figure.page.wait_for_timeout(700)  # a sentence waits for that long
    figure.get_by_role("button", name="4 blocks").click()


def compare_two(figure):
    compare = figure.get_by_role("checkbox", name="Compare two")
    if not compare.is_visible():
        figure.get_by_text("More settings").click()
    compare.click()
    figure.get_by_role("button", name="SiLU").first.click()
    figure.press("Step")


def switch_off_the_strongest(figure):
    click(figure, "canvas", 0.5 / 23)
    facts = figure.unfold().get_by_label("A fact a line")
    append(facts, "\n")  # JupyterLab ends a new line wherever a key was pressed
    assert facts.input_value().endswith("\n")
    facts.press("Backspace")
    figure.get_by_role("combobox", name="Prompt").fill("fun kin don")
    figure.press("Switch off")


FUN = live_models.live(prompt="fun")
STRONGEST = int(abs(FUN._read("fun", [])[1][1][FUN.token]).argmax())
OFF = {"kind": "scale", "layer": 1, "neuron": STRONGEST, "factor": 0.0}


GIVEN = {  # what a cell sets
    "activations": {"position": 1.5, "visible": ["SiLU"]},
    "depth": {"layer": 3, "gain": 3.0},
    "layer-norm": {"values": [1.0, 2.0, 3.0, 4.0, -6.0], "gamma": 2.0},
    "block-walk": {"stage": 0, "position": 1},
    "attention": {"row": 3, "temperature": 2.0, "head": 1},
    "sampling": {"temperature": 1.5, "top_k": 4},
    "memory": {"token": 2, "neuron": 4, "order": "number"},
    "tokens": {"text": "lowest of the slow", "piece": 3},
    "descent": {"rule": "momentum", "rate": 0.01, "steps": 40},
    "train-stack": {"task": "short", "left": STACK, "right": {}, "steps": 11},
    "train-gpt": {"pieces": "words", "steps": 30},
    "shapes": {"shape": SHAPE, "length": 16, "bars": "shares"},
    "scale": {"devices": 7, "spread": "copies", "training": TRAINING},
    "live-model": {"prompt": "fun", "neuron": 3, "edits": [REWRITE]},
}
# Read-outs of several parts.
STACKS = ".mygpt-actions b, .mygpt-side:not([hidden]) .mygpt-numbers b"
COUNTS = ".mygpt-bars > :nth-child(2) b, "
COUNTS += ".mygpt-bytes tr:first-child td:nth-child(2)"
BYTES = ".mygpt-memory-of-one tr:not(:nth-child(4)) td:nth-child(2)"
WORDS = ".mygpt-likeliest li, .mygpt-chosen > p:nth-of-type(-n + 2)"
SHOWN = {  # where a read-out is, and what the package computes for it
    "activations": ("tbody td", activations),
    "depth": ("tbody td", depth),
    "layer-norm": ("tbody td:last-child", lambda view: rounded(view.result(), 4)),
    "block-walk": (
        ".mygpt-stage > :last-child:not(:first-child)",
        lambda view: rounded(view.norms().values(), 3),
    ),
    "attention": (".mygpt-weight", attention),
    "sampling": (".mygpt-now", sampling),
    "memory": (".mygpt-sentence", memory),
    "tokens": (".mygpt-chip-id", lambda view: [*map(str, view.ids())]),
    "descent": (".mygpt-numbers b", descent),
    "train-stack": (STACKS, train_stack),
    "train-gpt": (".mygpt-text-line", train_gpt),
    "shapes": (COUNTS, shapes),
    "scale": (BYTES, scale),
    "live-model": (WORDS, live_model),
}
HANDS = {  # what a hand does, with the figure's parts
    "activations": lambda root: click(root, ".mygpt-picture", 0.99),
    "depth": lambda root: click(root, ".mygpt-picture", 0.99),
    "layer-norm": lambda root: click(root, ".mygpt-grip >> nth=1", 0.5, 0.25),  # 5
    "block-walk": lambda root: root.press("Next"),
    "attention": lambda root: click(root, ".mygpt-heat", 0.1, 0.5),
    "sampling": lambda root: root.press("Draw 100"),
    "memory": lambda root: click(root, ".mygpt-neuron-heads > span >> nth=2", 0.5),
    "tokens": lambda root: append(root.get_by_role("textbox"), " dd"),
    "descent": lambda root: root.press("ReLU", "Step"),
    "train-stack": compare_two,
    "train-gpt": train_a_gpt,
    "shapes": lambda root: append(root.unfold().field("Layers L"), "0"),
    "scale": lambda root: append(root.field("Devices n"), "0"),
    "live-model": switch_off_the_strongest,
}
COMPARED = {
    "left": STACK | {"activation": "silu"},
    "right": examples.train_stack().right,  # brought back as it was at first
}
EDITS = [REWRITE, OFF, OFF | {"factor": 1.0}]
MOVED = {  # the key that it presses last, and what the traits are then
    "activations": ("ArrowLeft", {"position": 1.99}),
    "depth": ("ArrowLeft", {"layer": 6}),
    "layer-norm": ("ArrowUp", {"values": [1.0, 5.1, 3.0, 4.0, -6.0]}),
    "block-walk": ("Enter", {"stage": 2}),
    "attention": ("ArrowLeft", {"row": 1}),
    "sampling": ("Enter", {"draws": 200}),
    "memory": ("ArrowRight", {"neuron": 3}),
    "tokens": ("Shift+Enter", {"text": "lowest of the slow dd\n"}),
    "descent": ("Enter", {"activation": "relu", "steps": 42}),
    "train-stack": ("Enter", COMPARED | {"steps": 2}),
    "train-gpt": ("Enter", {"size": "large"}),
    "shapes": ("ArrowUp", {"shape": SHAPE | {"num_layers": 51}, "length": 16}),
    "scale": ("ArrowUp", GIVEN["scale"] | {"devices": 71}),
    "live-model": (
        "Enter",
        {"prompt": "fun kin don", "token": 3, "neuron": STRONGEST, "edits": EDITS},
    ),
}
CONFIG = {
    "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "fetchNews": "false"  # or Lab asks at its first start
    },
    "config/jupyter_server_config.json": {
        "LanguageServerManager": {"autodetect": False}  # or it asks npm for servers
    },
}
RUN = """async (source) => {
    const { content } = jupyterapp.shell.currentWidget;
    const last = content.widgets.length - 1;
    content.activeCellIndex = last;
    content.activeCell.model.sharedModel.setSource(source);
    const late = new Promise((_, reject) =>
        setTimeout(() => reject(new Error(`no answer: ${source}`)), 20000));
    await Promise.race([jupyterapp.commands.execute("notebook:run-cell"), late]);
    return content.widgets[last].model.outputs.toJSON();
}"""
NOTEBOOK = """() => {
    const { content } = jupyterapp.shell.currentWidget;
    return JSON.stringify([content.mode, content.activeCellIndex,
        ...content.widgets.map(({ model }) => [model.type, model.sharedModel.source])]);
}"""
EVERYTHING = """root => [root.innerText, ...[...root.querySelectorAll("*")].flatMap(
    (one) => [one.ariaLabel, one.getAttribute("aria-valuetext"), one.value])
].filter(Boolean).join("\\n")"""
# The place of the first control of each kind, the field for text last.
KINDS = """root => {
    const parts = [...root.querySelectorAll("[data-lm-suppress-shortcuts]")];
    const kinds = parts.map((part) => part.tagName + part.type + part.className);
    return parts.map((_, i) => i)
        .filter((i) => !parts[i].disabled && kinds.indexOf(kinds[i]) === i)
        .sort((i) => (parts[i].matches("textarea") ? 1 : -1));
}"""
# Ink and paper are the Lab's; what heatmaps start from is as dark, and so is their 0.
FOLLOWS = """([root, dark]) => {
    const resolved = (name) => {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.color = `var(${name})`;
        const { color } = getComputedStyle(probe);
        probe.remove();
        return color;
    };
    const style = getComputedStyle(root);
    const zero = style.getPropertyValue("--heat-zero").trim();
    const [canvas] = root.querySelectorAll(":scope.mygpt-attention .mygpt-heat");
    const masked = canvas?.getContext("2d").getImageData(4, 0, 1, 1).data;
    return document.body.dataset.jpThemeLight === String(!dark)
        && style.color === resolved("--jp-ui-font-color1")
        && style.backgroundColor === resolved("--jp-layout-color0")
        && parseInt(zero.slice(1, 3), 16) < 128 === dark
        && (!masked || masked[0] < 128 === dark);
}"""
# Move, insert, cut, change to text, delete, leave, run.
KEYS = (
    *("ArrowDown", "j", "a", "b", "x", "m", "d", "d"),
    *("Escape", "Shift+Enter", "Control+Enter", "Enter"),
)


class Lab(Figure):
    """The notebook, open on a page, and its kernel."""

    def __init__(self, page):
        super().__init__(page)
        self.page = page

    def run(self, source):
        """Run some lines in the last cell; what they print."""
        outputs = self.page.evaluate(RUN, source)
        failed = [one for one in outputs if one["output_type"] == "error"]
        assert not failed, "\n".join(failed[0]["traceback"])
        return "".join(one.get("text", "") for one in outputs)

    def command(self, name, **settings):
        execute = "given => jupyterapp.commands.execute(...given).then(() => {})"
        self.page.evaluate(execute, [name, settings])

    def figures(self, name):
        """The two figures of an explorer, the first in view."""
        found = self.page.locator(f".mygpt-{name}")
        found.nth(1).wait_for(state="attached")
        found.first.scroll_into_view_if_needed()
        return [Figure(found.nth(0)), Figure(found.nth(1))]

    def assign(self, name, traits):
        lines = [f"made[{name!r}].{one} = {value!r}" for one, value in traits.items()]
        self.run("\n".join(lines))

    def become(self, name, traits):
        """Wait until the kernel has these traits; a widget sends while it is idle."""
        ask = f"print(json.dumps([getattr(made[{name!r}], t) for t in {[*traits]}]))"
        self.becomes(lambda lab: json.loads(lab.run(ask)), [*traits.values()])

    def state(self):
        """Mode, active cell and every cell's source, to see that no key got there."""
        return self.page.evaluate(NOTEBOOK)


@pytest.fixture
def address(tmp_path):
    """The address of a JupyterLab of its own; it and its kernels end with the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cells = [MAKE, *(f"display(made[{name!r}], made[{name!r}])" for name in GIVEN), ""]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks" / "explorers.ipynb")
    for path, settings in CONFIG.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps(settings))
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env = os.environ | {name: str(tmp_path / one) for name, one in folders.items()}
    env.pop("JUPYTER_PATH", None)
    paths = str(Path(live_models.__file__).parents[1]), env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    flags = [
        "--no-browser",
        "--expose-app-in-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={tmp_path / 'notebooks'}",
        "--ServerApp.terminals_enabled=False",
        "--IdentityProvider.token=",
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *flags],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(process, url, tmp_path / "log")
        yield url
    finally:
        ended = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        _, alive = psutil.wait_procs([process, *ended], timeout=15)
        for one in alive:
            one.kill()
        print((tmp_path / "log").read_text())  # seen where the test fails
    assert not alive, f"JupyterLab and its kernels do not end: {alive}"


def wait_for(process, url, log):
    """Wait until the server answers."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/api", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")


@pytest.fixture
def lab(address, open_page, tmp_path):
    """The notebook with all its cells run."""
    page = open_page(f"{address}/lab/tree/explorers.ipynb")
    lab = Lab(page)
    try:
        page.wait_for_function(
            "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel",
            timeout=60_000,
        )
        lab.command("notebook:run-all-cells")
        for name in GIVEN:
            page.locator(f".mygpt-{name}").nth(1).wait_for(
                state="attached", timeout=60_000
            )
    except Exception as error:
        cells = page.locator(".jp-OutputArea-output").all_inner_texts()
        log = (tmp_path / "log").read_text()
        pytest.fail(f"{error}\n{cells}\n{page.watch.wrong}\nThe server's log:\n{log}")
    return lab


def change(twin, traits):
    for trait, value in traits.items():
        setattr(twin, trait, value)


def reads(figures, name, twin):
    """Both figures show what the package computes for the traits of `twin`."""
    place, computed = SHOWN[name]

    def shown(figure):
        return [text.strip() for text in figure.texts(place)]

    for figure in figures:
        figure.scroll_into_view_if_needed()  # Lab does not lay out what is far away
        figure.unfold()
        figure.becomes(shown, computed(twin))


def everything(figure):
    """Every text, label and field of a figure."""
    figure.scroll_into_view_if_needed()
    return figure.evaluate(EVERYTHING)


def differences(figures):
    """All of two figures where they do not agree."""
    said = [everything(figure) for figure in figures]
    return [] if said[0] == said[1] else said


def both_ways(lab, name, twin):
    """Python moves both figures; a hand on one moves the other and sets Python."""
    figures, (key, traits) = lab.figures(name), MOVED[name]
    reads(figures, name, twin)
    lab.assign(name, GIVEN[name])
    change(twin, GIVEN[name])
    reads(figures, name, twin)

    HANDS[name](lab.figures(name)[0])
    before = lab.state()
    lab.keys(key)
    assert lab.state() == before
    change(twin, traits)
    reads(figures, name, twin)  # with the mouse still on the first
    lab.page.mouse.move(0, 0)
    lab.page.evaluate("document.activeElement.blur()")  # keys are named to who has them
    if name != "train-gpt":  # what a figure has trained, it alone can bring back
        lab.becomes(lambda _: differences(figures), [])
    lab.become(name, traits)


def keeps_its_keys(lab, name):
    """No shortcut of the notebook runs while a control of the figure has the focus."""
    figure, _ = lab.figures(name)
    figure.unfold()  # what is folded takes no focus
    kinds = figure.evaluate(KINDS)
    assert len(kinds) > 1
    for place in kinds:
        figure.locator("[data-lm-suppress-shortcuts]").nth(place).focus()
        before = lab.state()
        lab.keys(*KEYS)
        assert lab.state() == before


def keys_reach_the_notebook(lab):
    """Elsewhere the same keys do run shortcuts: insert a cell, delete it."""
    lab.page.locator(".jp-InputPrompt").last.click()
    before = lab.state()
    lab.keys("b")
    assert lab.state() != before
    lab.keys("d", "d")
    assert lab.state() == before


def choose_each_for_itself(lab):
    """Two explorers of tokens in one notebook are not one group of radio buttons."""
    lab.run("display(*[examples.tokens(text=one) for one in ('cat', 'the mat')])")
    figures = lab.page.locator(".mygpt-tokens")
    figures.nth(3).wait_for()
    for number in (2, 3):
        assert figures.nth(number).get_by_role("radio", checked=True).count() == 1


def follows(lab, name, theme):
    """The figure has the Lab's colours."""
    figure, _ = lab.figures(name)
    settled = [figure.element_handle(), theme == "Dark"]
    lab.page.wait_for_function(FOLLOWS, arg=settled)


# Keys are kept by code that all explorers share: of buttons and fields, of sliders and
# a heatmap, and of all kinds at once.
SHARED_CODE = ("tokens", "attention", "live-model")


@pytest.mark.parametrize(
    "shared",
    [
        pytest.param(SHARED_CODE, id="some"),
        pytest.param(tuple(GIVEN), id="all", marks=pytest.mark.slow),
    ],
)
def test_every_explorer_is_live_in_jupyterlab(lab, subtests, shared):
    names = {}
    exec(MAKE, names)
    for name, twin in names["made"].items():
        with subtests.test("Python and the figure move each other", name=name):
            both_ways(lab, name, twin)
    for name in shared:
        with subtests.test("no key reaches the notebook", name=name):
            keeps_its_keys(lab, name)
    with subtests.test("elsewhere keys do reach the notebook"):
        keys_reach_the_notebook(lab)
    for theme in ("Dark", "Light"):
        lab.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        for name in GIVEN:
            with subtests.test("the Lab's colours", theme=theme, name=name):
                follows(lab, name, theme)
    with subtests.test("two of a kind"):
        choose_each_for_itself(lab)
    with subtests.test("nothing went wrong on the page"):
        lab.page.watch.check()
