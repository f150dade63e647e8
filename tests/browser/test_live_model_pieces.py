"""The live model of a GPT of characters, as a page that trained one shows it."""

import json

import pytest
import torch
from figures import Figure, width_of
from helpers.page_models import engine_config
from judged import judge
from live_page import field, happened, likeliest

from mygpt.explorers.kit import base
from mygpt.explorers.live_model.widget import LiveModel
from mygpt.gpt import GPT, GPTConfig
from mygpt.inside import editing

TEXT = "The tide was in.\n\tThe boats, too – 😀!\n"
TOKENS = sorted(set(TEXT))
PROMPT = "The tide\nwas"
FOLDER = base.MODEL.parents[1] / "live_model"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A live model</title><style>
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 780px; padding: 12px; font-family: sans-serif; }
html[theme="dark"] body { background: #14181e; }
%s</style></head><body><main></main><script type="module">
%s
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.setAttribute("theme", dark ? "dark" : "light");
const trained = %s;
const numbers = ([name, values]) => [name, Float32Array.from(values.flat())];
trained.tensors = new Map(Object.entries(trained.tensors).map(numbers));
Object.assign(trained, await studyText({ ...trained, rewriting: true }));
window.model = liveModelOf(trained);
renderLive({ model, el: document.querySelector("main") });
</script></body></html>"""


def built(positions=16):
    torch.manual_seed(3)
    config = GPTConfig(len(TOKENS), positions, 16, 2, 2, bias=True)
    model = GPT(config).eval().requires_grad_(False)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight *= 8
    return model


def write(path, model, **changes):
    """A page that makes a live model of this one, in JavaScript alone."""
    made = {
        "config": engine_config(model.config),
        "tensors": {name: p.tolist() for name, p in model.named_parameters()},
        "tokenizer": {"kind": "characters", "tokens": TOKENS},
        "prompt": PROMPT,
        "text": TEXT * 20,
    } | changes
    files = [FOLDER / f"{name}.mjs" for name in ("from_page", "study", "widget")]
    script = base.joined(base._in_order(files))
    page = PAGE % (base.stylesheet("live_model"), script, json.dumps(made))
    path.write_text(page, encoding="utf-8")


@pytest.fixture
def explorer(open_page, tmp_path):
    pages = []

    def explorer(model=None, theme="light", width=1280, **changes):
        path = tmp_path / "page.html"
        write(path, model or built(), **changes)
        pages.append(open_page(path.as_uri(), theme=theme, width=width))
        root = Figure(pages[-1].locator(".mygpt-live-model"))
        root.wait_for()
        return root

    yield explorer
    for page in pages:
        page.watch.check()


def expected(model, text, most=6):
    ids = torch.tensor([[TOKENS.index(one) for one in text]])
    shares = model(ids)[0][0, -1].softmax(-1)
    order = shares.argsort(descending=True)[:most].tolist()
    signs = {"\n": "⏎", " ": "␣", "\t": "⇥"}
    return [
        (signs.get(TOKENS[i], TOKENS[i]), format(shares[i].item(), ".3f"))
        for i in order
    ]


def test_a_prompt_of_characters_is_typed_and_answered_as_in_python(explorer):
    model = built()
    root = explorer(model)
    keyboard = root.page.keyboard
    prompt = root.get_by_role("textbox", name="Prompt", exact=True)
    assert prompt.input_value() == "The tide⏎was"
    assert likeliest(root) == expected(model, PROMPT)
    assert root.text(".mygpt-next .mygpt-title") == "Next character"
    assert f"It knows {len(TOKENS)} characters; ␣ is a space" in root.inner_text()
    prompt.fill("")
    assert "A prompt has at least one character." in root.inner_text()
    assert likeliest(root) == expected(model, PROMPT)  # still of the last good one
    keyboard.type("The boat")
    assert likeliest(root) == expected(model, "The boat")
    keyboard.press("Enter")
    assert prompt.input_value() == "The boat⏎"
    assert likeliest(root) == expected(model, "The boat\n")
    root.keys(*["ArrowLeft"] * 3)
    keyboard.insert_text("😀 ")
    assert likeliest(root) == expected(model, "The bo😀 at\n")
    assert root.get("token") == 10
    prompt.fill("The Xylophone")
    assert "“X”, “y”, “l” and “p” are not among" in root.inner_text()
    prompt.fill("in " * 6)
    assert "A prompt has at most 16 characters." in root.inner_text()
    assert root.get_by_role("listbox").count() == 0  # no list completes them


def test_a_neuron_is_switched_off_and_a_character_rewritten(explorer):
    model = built()
    root = explorer(model)
    root.get_by_text("Neurons one by one").click()
    trained = likeliest(root)
    root.locator(".mygpt-strong-one").first.click()
    neuron = int(root.text(".mygpt-chosen").split()[1])
    Figure(root.locator(".mygpt-chosen")).press("Switch off")
    with torch.no_grad():
        model.blocks[1].mlp.fc2.weight[:, neuron] = 0
    assert likeliest(root)[:4] == expected(model, PROMPT)[:4] != trained[:4]
    table = root.get_by_role("table").filter(has_text="Triggers")
    assert table.is_visible()
    assert root.get_by_role("table").filter(has_text="Promoted characters").count()
    root.press("Undo")
    assert likeliest(root) == trained
    other = trained[3][0]
    root.get_by_label("New answer", exact=True).select_option(other)
    root.press("Rewrite")
    assert likeliest(root)[0][0] == other


def test_it_has_all_traits_of_the_widget_and_the_constants_of_python(explorer):
    root = explorer()
    said = "Each of its two feed-forward networks has 64 neurons, small"
    assert said in happened(root)
    constants = {"step": editing.STEP, "enough": editing.ENOUGH}
    assert root.get("rewriting") == constants | {"steps": editing.MOST_STEPS}
    traits = sorted(LiveModel.class_traits(sync=True).keys() - {"comm"})
    own = [name for name in traits if not name.startswith("_")]
    missing = "names => names.filter((one) => model.get(one) === undefined)"
    found = root.page.evaluate(missing, own)
    assert found in ([], ["layout", "tabbable", "tooltip"])


def test_words_of_the_page_keep_their_case_and_are_completed(explorer):
    model = built()
    words = [f"Word{i}" if i % 2 else f"word{i}" for i in range(len(TOKENS))]
    tokenizer = {"kind": "words", "tokens": words}
    facts = [["Word1 word2", "Word3"], ["word4 Word5", "word6"]]
    text = " ".join(words * 20)
    made = {"tokenizer": tokenizer, "prompt": "word0 Word1", "text": text}
    root = explorer(model, facts=facts, **made)
    prompt = field(root)
    prompt.fill("word0 word1")
    assert "Word1" in root.get_by_role("option").all_inner_texts()
    root.keys("Enter")
    assert root.get("prompt") == "word0 word10"
    prompt.fill("word0 Word1")
    with torch.no_grad():
        shares = model(torch.tensor([[0, 1]]))[0][0, -1].softmax(-1)
    best = words[int(shares.argmax())]
    assert likeliest(root)[0] == (best, format(shares.max().item(), ".3f"))
    root.get_by_text("All facts").click()
    assert root.locator(".mygpt-fact").count() == 2
    field(root, "New answer").fill("Word7")
    root.press("Rewrite")
    assert likeliest(root)[0][0] == "Word7"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390])
def test_axe_finds_nothing_and_nothing_overflows(explorer, theme, width):
    root = explorer(theme=theme, width=width)
    root.get_by_text("Neurons one by one").click()
    root.get_by_role("button", name="Switch off what holds").click()
    judge(root.page)
    assert width_of(root.page) <= width
