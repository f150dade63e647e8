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
from figures import fixed, significant
from helpers import live_models

from mygpt.distributed.cost import memory_per_device
from mygpt.explorers.train_gpt.widget import TOKENIZERS

MAKE = """
import json

import numpy as np
from IPython.display import display
from helpers.live_models import live

from mygpt import explorers
from mygpt.tokenizers import BPETokenizer

draw = np.random.default_rng(4)
x = np.linspace(-4, 4, 161)
words = ["the", "cat", "sat", "down", "again"]
sixteen = [(f"in {n}", 2.0) for n in range(16)], [(f"out {n}", 1.0) for n in range(16)]
bpe = BPETokenizer.train("low lower lowest slow slower slowest " * 5, 280)
made = {
    "activations": explorers.Activations(
        x,
        {"tanh": np.tanh(x), "half": x / 2},
        {"tanh": 1 - np.tanh(x) ** 2, "half": 0 * x + 0.5},
    ),
    "depth": explorers.Depth(
        *draw.uniform(-1, 1, (2, 2, 2, 1, 1, 1, 9)),
        kinds=("plain", "pre-norm"),
        gains=(1.0, 2.0),
        widths=(16,),
        biases=(False,),
        depths=(8,),
    ),
    "layer-norm": explorers.LayerNorm([0.5, -0.5, 1.0, 0.0, -1.0, 8.0]),
    "block-walk": explorers.BlockWalk(
        {f"stage {i}": draw.normal(0, 1, (5, 12)) for i in range(5)}, words
    ),
    "attention": explorers.Attention(draw.normal(0, 2, (2, 5, 5)), words),
    "sampling": explorers.Sampling(draw.normal(0, 2, 5), words, prompt="and"),
    "memory": explorers.Memory(
        draw.normal(0, 1, (5, 16)),
        words,
        triggers=[[pair] for pair in sixteen[0]],
        promoted=[[pair] for pair in sixteen[1]],
        order="number",
    ),
    "tokens": explorers.Tokens(bpe, "slow and slower"),
    "descent": explorers.Descent("two", rate=0.2),
    "train-stack": explorers.TrainStack(depth=3, rate=0.01, steps=5),
    "train-gpt": explorers.TrainGPT("one sees a sea, the sea sees one. " * 60),
    "shapes": explorers.Shapes("small"),
    "scale": explorers.Scale(),
    "live-model": live(),
}
"""
STACK = {"wiring": "pre-norm", "depth": 7, "activation": "relu"}
STACK |= {"gain": 1.7, "rate": 0.003, "seed": 5}
SHAPE = {"vocab_size": 1009, "max_seq_len": 64, "embed_dim": 96}
SHAPE |= {"num_heads": 3, "num_layers": 5}
TRAINING = {"tokens": 10**9, "batch_tokens": 2048 * 100, "at_once": 1, "share": 0.5}
SET = {  # what a cell sets
    "activations": {"position": 1.5, "visible": ["tanh"]},
    "depth": {"layer": 3, "gain": 2.0},
    "layer-norm": {"values": [1.0, 2.0, 3.0, 4.0, 5.0, -6.0], "gamma": 2.0},
    "block-walk": {"stage": 1, "position": 3},
    "attention": {"row": 3, "temperature": 2.0, "head": 1},
    "sampling": {"temperature": 1.5, "top_k": 3},
    "memory": {"token": 2, "neuron": 5},
    "tokens": {"text": "lowest of the slow", "piece": 3},
    "descent": {"view": "network", "rule": "adam", "rate": 0.03, "steps": 40},
    "train-stack": {"task": "long", "left": STACK, "right": {}, "steps": 11},
    "train-gpt": {"pieces": "words", "steps": 30},
    "shapes": {"shape": SHAPE, "length": 16, "bars": "shares"},
    "scale": {"devices": 7, "spread": "copies", "training": TRAINING},
    "live-model": {
        "prompt": "fun",
        "neuron": 3,
        "edits": [{"kind": "rewrite", "prompt": "fun", "word": "ban"}],
    },
}


def activations(view):
    at = abs(view.x - view.position).argmin()
    rows = [(view.values[n][at], view.slopes[n][at]) for n in view.names]
    return [fixed(one, 4) for row in rows for one in row]


def depth(view):
    curves = [view.curves(quantity) for quantity in ("activations", "gradients")]
    rows = [[10 ** curve[kind][view.layer] for curve in curves] for kind in view.kinds]
    return [f"{one:#.3g}" for row in rows for one in row]


def layer_norm(view):
    return [fixed(one, 4) for one in view.result()]


def block_walk(view):
    return [fixed(one) for one in view.norms().values()]


def attention(view):
    weights = [fixed(one, 3) for one in view.weights()[view.row]]
    return [*weights[: view.row + 1], *["masked"] * (4 - view.row)]


def sampling(view):
    now = view.probabilities()
    order = (-view.logits).argsort()
    return [fixed(now[i], 3) if now[i] else "cut" for i in order]


def descent(view):
    losses = view.losses()
    weights = [] if view.view == "network" else view.weights()
    return [str(len(losses) - 1), *(fixed(one, 4) for one in [*weights, losses[-1]])]


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
    counts = view.parameters(), view.flops()
    whole = [f"{sum(parts.values()):,}" for parts in counts]
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


def memory(view):
    fires = fixed(view.activations[view.token, view.neuron], 2)
    number = f"number {view.neuron + 1} of 16"
    said = f"Neuron {view.neuron} fires {fires} at “{view.tokens[view.token]}”"
    return [f"{said}: {number}."]


def live_model(view):
    before, after = (view._read(view.prompt, one)[1] for one in ([], view.edits))
    at = view.token, view.neuron
    own, here = (fixed(found[view.layer][at], 3) for found in (before, after))
    token = [".", *view.prompt.split()][view.token]
    before = f", {own} before the edit" if own != here else ""
    words = [f"{word}\n{fixed(share)}" for word, share in view.predictions(6)]
    return [*words, f"Neuron {view.neuron}", f"Coefficient at {token} {here}{before}"]


READ = {  # where a figure's read-out is, and what the package computes for it
    "activations": ("tbody td", activations),
    "depth": ("tbody td", depth),
    "layer-norm": ("tbody td:last-child", layer_norm),
    "block-walk": (".mygpt-stage > :last-child", block_walk),
    "attention": (".mygpt-weight", attention),
    "sampling": (".mygpt-now", sampling),
    "memory": (".mygpt-sentence", memory),
    "tokens": (".mygpt-chip-id", lambda view: [*map(str, view.ids())]),
    "descent": (".mygpt-numbers b", descent),
    "train-stack": (
        ".mygpt-actions b, .mygpt-side:not([hidden]) .mygpt-numbers b",
        train_stack,
    ),
    "train-gpt": (".mygpt-text-line", train_gpt),
    "shapes": (
        ".mygpt-bars > :nth-child(2) b, .mygpt-bytes tr:first-child td:nth-child(2)",
        shapes,
    ),
    "scale": (".mygpt-memory-of-one tr:not(:nth-child(4)) td:nth-child(2)", scale),
    "live-model": (
        ".mygpt-likeliest li, .mygpt-chosen > p:nth-of-type(-n + 2)",
        live_model,
    ),
}


def click(figure, selector, across, down=0.5):
    """Press the mouse on an element, at fractions of its width and height."""
    part = figure.locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    place = {"x": across * box["width"], "y": down * box["height"]}
    part.click(position=place)


def append(field, text):
    field.click()
    field.press("End")
    field.press_sequentially(text)


def move_activations(figure):
    width = figure.locator(".mygpt-picture").first.bounding_box()["width"]
    click(figure, ".mygpt-picture", (38 + 0.25 * (width - 52)) / width)
    return "ArrowRight", {"position": -1.95}


def move_depth(figure):
    click(figure, ".mygpt-picture", 0.99)
    return "ArrowLeft", {"layer": 7}


def move_layer_norm(figure):
    click(figure, ".mygpt-grip >> nth=1", 0.5, 0.25)  # a quarter from the top: 5
    return "ArrowUp", {"values": [1.0, 5.1, 3.0, 4.0, 5.0, -6.0]}


def move_block_walk(figure):
    figure.get_by_role("button", name="Next").click()
    return "Enter", {"stage": 3}


def move_attention(figure):
    click(figure, ".mygpt-heat", 0.1, 0.5)
    return "ArrowLeft", {"row": 1}


def move_sampling(figure):
    figure.get_by_role("button", name="Draw 100").click()
    return "Enter", {"draws": 200}


def move_memory(figure):
    click(figure, ".mygpt-neuron-heads > span >> nth=2", 0.5)
    return "ArrowRight", {"neuron": 3}


def move_tokens(figure):
    append(figure.get_by_role("textbox"), " dd")
    return "Shift+Enter", {"text": "lowest of the slow dd\n"}


def move_descent(figure):
    figure.get_by_role("button", name="ReLU").click()
    figure.get_by_role("button", name="Step", exact=True).click()
    return "Enter", {"activation": "relu", "steps": 42}


def move_train_gpt(figure):
    """Train in a worker, which a notebook must allow; then choose another size."""
    figure.get_by_role("button", name="Train", exact=True).click()
    figure.get_by_text("step 30 of 30").wait_for()
    figure.get_by_role("button", name="Reset").click()
    said = figure.locator(".mygpt-unseen").last
    said.filter(has_text=re.compile("^$")).wait_for(state="attached")
    figure.page.wait_for_timeout(700)  # a sentence waits for that long
    figure.get_by_role("button", name="4 blocks").click()
    return "Enter", {"size": "large"}


def move_train_stack(figure):
    compare = figure.get_by_role("checkbox", name="Compare two")
    if not compare.is_visible():
        figure.get_by_text("More settings").click()
    compare.click()
    figure.get_by_role("button", name="SiLU").first.click()
    figure.get_by_role("button", name="Step", exact=True).click()
    left, right = STACK | {"activation": "silu"}, STACK | {"wiring": "plain"}
    return "Enter", {"left": left, "right": right, "steps": 2}


def move_shapes(figure):
    figure.evaluate(UNFOLD)
    append(figure.get_by_role("spinbutton", name="Layers L"), "0")
    return "ArrowUp", {"shape": SHAPE | {"num_layers": 51}, "length": 16}


def move_scale(figure):
    append(figure.get_by_role("spinbutton", name="Devices n"), "0")
    return "ArrowUp", {"devices": 71, "spread": "copies", "training": TRAINING}


def move_live_model(figure):
    click(figure, "canvas", 0.5 / 23)
    figure.get_by_role("combobox", name="Prompt").fill("fun kin don")
    figure.get_by_role("button", name="Switch off", exact=True).click()
    fun = live_models.live(prompt="fun")
    strongest = int(abs(fun._read("fun", [])[1][1][fun.token]).argmax())
    off = {"kind": "scale", "layer": 1, "neuron": strongest, "factor": 0.0}
    rewrite = SET["live-model"]["edits"]
    edits = [*rewrite, off, off | {"factor": 1.0}]
    traits = {"prompt": "fun kin don", "token": 3, "neuron": strongest}
    return "Enter", traits | {"edits": edits}


MOVE = {  # by mouse; then a key, without another click, and what both lead to
    "activations": move_activations,
    "depth": move_depth,
    "layer-norm": move_layer_norm,
    "block-walk": move_block_walk,
    "attention": move_attention,
    "sampling": move_sampling,
    "memory": move_memory,
    "tokens": move_tokens,
    "descent": move_descent,
    "train-stack": move_train_stack,
    "train-gpt": move_train_gpt,
    "shapes": move_shapes,
    "scale": move_scale,
    "live-model": move_live_model,
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
SAID = """root => [root.innerText, ...[...root.querySelectorAll("*")].flatMap((one) =>
    [one.getAttribute("aria-label"), one.getAttribute("aria-valuetext"), one.value])
].filter(Boolean).join("\\n")"""
# The place of the first control of each kind, the field for text last.
KINDS = """root => {
    const parts = [...root.querySelectorAll("[data-lm-suppress-shortcuts]")];
    const kinds = parts.map((part) => part.tagName + part.type + part.className);
    return parts.map((_, i) => i)
        .filter((i) => !parts[i].disabled && kinds.indexOf(kinds[i]) === i)
        .sort((i) => (parts[i].matches("textarea") ? 1 : -1));
}"""
UNFOLD = "root => root.querySelectorAll('details').forEach((d) => { d.open = true; })"
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


class Lab:
    """The notebook, open on a page, and its kernel."""

    def __init__(self, page):
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
        figures = self.page.locator(f".mygpt-{name}")
        figures.nth(1).wait_for(state="attached")
        figures.first.scroll_into_view_if_needed()
        return [figures.nth(0), figures.nth(1)]

    def set(self, name, traits):
        lines = [f"made[{name!r}].{one} = {value!r}" for one, value in traits.items()]
        self.run("\n".join(lines))

    def become(self, name, traits):
        """Wait until the kernel has these traits; a widget sends while it is idle."""
        ask = f"print(json.dumps([getattr(made[{name!r}], t) for t in {[*traits]}]))"
        for _ in range(20):
            got = json.loads(self.run(ask))
            if got == [*traits.values()]:
                break
            self.page.wait_for_timeout(100)
        assert got == [*traits.values()]

    def state(self):
        """Mode, active cell and every cell's source, to see that no key got there."""
        return self.page.evaluate(NOTEBOOK)


@pytest.fixture
def address(tmp_path):
    """The address of a JupyterLab of its own; it and its kernels end with the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cells = [MAKE, *(f"display(made[{name!r}], made[{name!r}])" for name in SET), ""]
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
    end = time.monotonic() + 30
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
        for name in SET:
            page.locator(f".mygpt-{name}").nth(1).wait_for(
                state="attached", timeout=60_000
            )
    except Exception as error:
        cells = page.locator(".jp-OutputArea-output").all_inner_texts()
        log = (tmp_path / "log").read_text()
        pytest.fail(f"{error}\n{cells}\n{page.watch}\nThe server's log:\n{log}")
    return lab


def change(twin, traits):
    for trait, value in traits.items():
        setattr(twin, trait, value)


def reads(figures, name, twin):
    """Both figures show what the package computes for the traits of `twin`."""
    selector, computed = READ[name]
    expected = computed(twin)
    for figure in figures:
        figure.scroll_into_view_if_needed()  # Lab does not lay out what is far away
        figure.evaluate(UNFOLD)
        for _ in range(50):
            parts = figure.locator(selector).all_inner_texts()
            shown = [part.strip() for part in parts]
            if shown == expected:
                break
            figure.page.wait_for_timeout(100)
        assert shown == expected


def same(figures):
    """Both figures agree in every text, label and field."""
    for _ in range(50):
        said = []
        for figure in figures:
            figure.scroll_into_view_if_needed()
            said.append(figure.evaluate(SAID))
        if said[0] == said[1]:
            break
        figures[0].page.wait_for_timeout(100)
    assert said[0] == said[1]


def both_ways(lab, name, twin):
    """Python moves both figures; a hand on one moves the other and sets Python."""
    figures = lab.figures(name)
    reads(figures, name, twin)
    lab.set(name, SET[name])
    change(twin, SET[name])
    reads(figures, name, twin)

    key, traits = MOVE[name](lab.figures(name)[0])
    before = lab.state()
    lab.page.keyboard.press(key)
    assert lab.state() == before
    change(twin, traits)
    reads(figures, name, twin)  # with the mouse still on the first
    lab.page.mouse.move(0, 0)
    lab.page.evaluate("document.activeElement.blur()")  # keys are named to who has them
    if name != "train-gpt":  # what a figure has trained, it alone can bring back
        same(figures)
    lab.become(name, traits)


def keeps_its_keys(lab, name):
    """No shortcut of the notebook runs while a control of the figure has the focus."""
    figure, _ = lab.figures(name)
    figure.evaluate(UNFOLD)  # what is folded takes no focus
    kinds = figure.evaluate(KINDS)
    assert len(kinds) > 1
    for place in kinds:
        figure.locator("[data-lm-suppress-shortcuts]").nth(place).focus()
        before = lab.state()
        for key in KEYS:
            lab.page.keyboard.press(key)
        assert lab.state() == before


def keys_reach_the_notebook(lab):
    """Elsewhere the same keys do run shortcuts: insert a cell, delete it."""
    lab.page.locator(".jp-InputPrompt").last.click()
    before = lab.state()
    lab.page.keyboard.press("b")
    assert lab.state() != before
    lab.page.keyboard.press("d")
    lab.page.keyboard.press("d")
    assert lab.state() == before


def choose_each_for_itself(lab):
    """Two explorers of tokens in one notebook are not one group of radio buttons."""
    lab.run("display(*[explorers.Tokens(bpe, one) for one in ('slow', 'lower low')])")
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
        pytest.param(tuple(SET), id="all", marks=pytest.mark.slow),
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
        for name in SET:
            with subtests.test("the Lab's colours", theme=theme, name=name):
                follows(lab, name, theme)
    with subtests.test("two of a kind"):
        choose_each_for_itself(lab)
    with subtests.test("nothing went wrong on the page"):
        lab.page.watch.check()
