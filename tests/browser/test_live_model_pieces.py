"""The live model of a GPT of characters, as a page that trained one shows it."""

import json

import pytest
import torch
from figures import press, width_of
from helpers.page_models import engine_config
from judged import judge

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
const made = %s;
for (const name in made.tensors) {
  made.tensors[name] = Float32Array.from(made.tensors[name].flat());
}
Object.assign(made, await studyText({ ...made, rewriting: true }));
window.model = liveModelOf(made);
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
    def explorer(model=None, settings=None, **changes):
        path = tmp_path / "page.html"
        write(path, model or built(), **changes)
        page = open_page(path.as_uri(), **(settings or {}))
        root = page.locator(".mygpt-live-model")
        root.wait_for()
        return root

    return explorer


def expected(model, text, most=6):
    ids = torch.tensor([[TOKENS.index(one) for one in text]])
    shares = model(ids)[0][0, -1].softmax(-1)
    order = shares.argsort(descending=True)[:most].tolist()
    signs = {"\n": "⏎", " ": "␣", "\t": "⇥"}
    return [
        (signs.get(TOKENS[i], TOKENS[i]), format(shares[i].item(), ".3f"))
        for i in order
    ]


def likeliest(root):
    rows = root.locator(".mygpt-likeliest li")
    names = rows.locator("bdi").all_inner_texts()
    return list(
        zip(names, rows.locator(".mygpt-number").all_inner_texts(), strict=True)
    )


def field(root):
    return root.get_by_role("textbox", name="Prompt", exact=True)


def test_a_prompt_of_characters_is_typed_and_answered_as_in_python(explorer):
    model = built()
    root = explorer(model)
    keyboard = root.page.keyboard
    assert field(root).input_value() == "The tide⏎was"
    assert likeliest(root) == expected(model, PROMPT)
    assert root.locator(".mygpt-next .mygpt-title").inner_text() == "Next character"
    assert f"It knows {len(TOKENS)} characters; ␣ is a space" in root.inner_text()
    field(root).fill("")
    assert "A prompt has at least one character." in root.inner_text()
    assert likeliest(root) == expected(model, PROMPT)  # still of the last good one
    keyboard.type("The boat")
    assert likeliest(root) == expected(model, "The boat")
    keyboard.press("Enter")
    assert field(root).input_value() == "The boat⏎"
    assert likeliest(root) == expected(model, "The boat\n")
    for _ in range(3):
        keyboard.press("ArrowLeft")
    keyboard.insert_text("😀 ")
    assert likeliest(root) == expected(model, "The bo😀 at\n")
    assert root.page.evaluate("model.get('token')") == 10
    field(root).fill("The Xylophone")
    assert "“X”, “y”, “l” and “p” are not among" in root.inner_text()
    field(root).fill("in " * 6)
    assert "A prompt has at most 16 characters." in root.inner_text()
    assert root.get_by_role("listbox").count() == 0  # no list completes them
    root.page.watch.check()


def test_a_neuron_is_switched_off_and_a_character_rewritten(explorer):
    model = built()
    root = explorer(model)
    root.get_by_text("Neurons one by one").click()
    trained = likeliest(root)
    root.locator(".mygpt-strong-one").first.click()
    card = root.locator(".mygpt-chosen")
    neuron = int(card.inner_text().split()[1])
    press(card, "Switch off")
    with torch.no_grad():
        model.blocks[1].mlp.fc2.weight[:, neuron] = 0
    assert likeliest(root)[:4] == expected(model, PROMPT)[:4] != trained[:4]
    table = root.get_by_role("table").filter(has_text="Triggers")
    assert table.is_visible()
    assert root.get_by_role("table").filter(has_text="Promoted characters").count()
    press(root, "Undo")
    assert likeliest(root) == trained
    other = trained[3][0]
    root.get_by_label("New answer", exact=True).select_option(other)
    press(root, "Rewrite")
    assert likeliest(root)[0][0] == other
    root.page.watch.check()


def test_it_says_how_many_networks_have_neurons(explorer):
    said = explorer().locator(".mygpt-happened").inner_text()
    assert "Each of its two feed-forward networks has 64 neurons, small" in said


def test_the_constants_of_rewriting_are_those_of_python(explorer):
    sent = explorer().page.evaluate("model.get('rewriting')")
    constants = (editing.STEP, editing.ENOUGH, editing.MOST_STEPS)
    assert tuple(sent[name] for name in ("step", "enough", "steps")) == constants


def test_all_traits_of_the_widget_are_there(explorer):
    traits = sorted(LiveModel.class_traits(sync=True).keys() - {"comm"})
    own = [name for name in traits if not name.startswith("_")]
    page = explorer().page
    missing = "names => names.filter((one) => model.get(one) === undefined)"
    assert page.evaluate(missing, own) in ([], ["layout", "tabbable", "tooltip"])


def test_words_of_the_page_keep_their_case_and_are_completed(explorer, open_page):
    model = built()
    words = [f"Word{i}" if i % 2 else f"word{i}" for i in range(len(TOKENS))]
    tokenizer = {"kind": "words", "tokens": words}
    facts = [["Word1 word2", "Word3"], ["word4 Word5", "word6"]]
    text = " ".join(words * 20)
    made = {"tokenizer": tokenizer, "prompt": "word0 Word1", "text": text}
    root = explorer(model, facts=facts, **made)
    prompt = root.get_by_role("combobox", name="Prompt", exact=True)
    prompt.fill("word0 word1")
    options = root.get_by_role("option")
    assert "Word1" in options.all_inner_texts()
    root.page.keyboard.press("Enter")
    assert root.page.evaluate("model.get('prompt')") == "word0 word10"
    prompt.fill("word0 Word1")
    with torch.no_grad():
        shares = model(torch.tensor([[0, 1]]))[0][0, -1].softmax(-1)
    best = words[int(shares.argmax())]
    assert likeliest(root)[0] == (best, format(shares.max().item(), ".3f"))
    root.get_by_text("All facts").click()
    assert root.locator(".mygpt-fact").count() == 2
    root.get_by_role("combobox", name="New answer").fill("Word7")
    press(root, "Rewrite")
    assert likeliest(root)[0][0] == "Word7"
    root.page.watch.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390])
def test_axe_finds_nothing_and_nothing_overflows(explorer, theme, width):
    root = explorer(settings={"theme": theme, "width": width})
    root.get_by_text("Neurons one by one").click()
    root.get_by_role("button", name="Switch off what holds").click()
    page = root.page
    judge(page)
    assert width_of(page) <= width
    page.watch.check()
