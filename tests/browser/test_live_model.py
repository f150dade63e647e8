"""The live model on the page that `write_html` makes, with a model of made-up words."""

import numpy as np
import pytest
from figures import LINKED, button, fixed, press, width_of
from helpers.live_models import (
    FACTS,
    LENGTH,
    PROMPT,
    WORDS,
    arrays,
    live,
    triggers,
)

from mygpt.inside.hooks import make_prompts
from mygpt.inside.memory import contributions, promotion, values


@pytest.fixture
def explorer(alone):
    """The explorer on its page; with `linked` as on the site, where links work."""

    def explorer(made=None, linked=True, link="", **settings):
        return alone(made or live(), LINKED if linked else {}, link, **settings)

    return explorer


def field(root, name="Prompt"):
    return root.get_by_role("combobox", name=name, exact=True)


def unfold(root, name=None):
    """Open a fold, unless it is open; or all that is inside."""
    if name is None:
        unfold(root, "Look inside")
        return unfold(root, "Neurons one by one")
    title = root.page.locator("summary", has_text=name)
    fold = root.locator("details").filter(has=title).last
    if fold.get_attribute("open") is None:
        title.click()
    return fold


def own_answer(root):
    """The field for an answer of the reader's own, which the cover folds."""
    unfold(root, "Type another answer")
    return field(root, "New answer")


def silence(root):
    unfold(root)
    root.get_by_role("button", name="Switch off the 5").click()


def barred(python, most):
    """The likeliest words, in the last place the untouched model's if it is not one."""
    rows = expected(python)[:most]
    first = expected(live(prompt=python.prompt))[0][0]
    if first in [word for word, _ in rows]:
        return rows
    shares = dict(python.predictions(len(WORDS)))
    return [*rows[:-1], (first, fixed(shares[first]))]


def likeliest(root):
    texts = root.locator(".mygpt-likeliest li").all_inner_texts()
    return [tuple(text.split()) for text in texts]


def expected(python):
    return [(word, fixed(share)) for word, share in python.predictions(6)]


def promoted(root):
    unfold(root)
    table = root.get_by_role("table").filter(has_text="Promoted words")
    texts = table.locator("tbody tr").all_inner_texts()
    return [tuple(text.split("\t")) for text in texts]


def facts(root):
    """For each fact: prompt, right answer, the model's, its probability, the mark."""
    if root.locator("summary", has_text="All facts").count():
        unfold(root, "All facts")
    parts = (".mygpt-asked", ".mygpt-right bdi", ".mygpt-said bdi")
    parts += (".mygpt-said .mygpt-number", ".mygpt-sign")
    columns = [root.locator(f".mygpt-fact {part}").all_inner_texts() for part in parts]
    return [list(row) for row in zip(*columns, strict=True)]


def choose(root, neuron):
    unfold(root)
    found = root.get_by_role("spinbutton", name="Neuron", exact=True)
    found.fill(str(neuron))
    found.press("Enter")
    return found


def card(root):
    """What is said of the chosen neuron."""
    unfold(root)
    return root.locator(".mygpt-chosen").inner_text()


def edits_of(root):
    return root.page.evaluate("window.model.get('edits')")


def happened(root):
    return " ".join(root.locator(".mygpt-happened").inner_text().split())


def test_the_page_agrees_with_python(explorer):
    python = live()
    root = explorer()
    assert likeliest(root) == expected(python)
    for fact, (prompt, right) in zip(facts(root), FACTS, strict=True):
        python.prompt = prompt
        word, share = python.predictions(1)[0]
        good = "✓ right" if word == right else "✗ wrong"
        assert fact == [prompt.replace(".", " ."), right, word, fixed(share), good]


def test_a_prompt_is_typed_and_completed_with_the_keyboard(explorer):
    python = live()
    root = explorer()
    prompt = field(root)
    prompt.fill("")
    python.prompt = ""
    assert likeliest(root) == expected(python)
    keyboard = root.page.keyboard
    keyboard.type("Lemb")
    options = root.locator("[role=option]")
    assert options.all_inner_texts() == ["lemba"]
    assert prompt.get_attribute("aria-expanded") == "true"
    assert "“lemb…” is not a whole word yet." in root.inner_text()
    assert likeliest(root) == expected(python)  # still those of the last good prompt
    keyboard.press("Enter")
    assert prompt.input_value() == "lemba "
    assert prompt.get_attribute("aria-expanded") == "false"
    python.prompt = "lemba"
    assert likeliest(root) == expected(python)
    keyboard.type("do")
    names = options.all_inner_texts()
    assert names == ["doba", "dodo", "dofu", "doki", "dolem", "don"]
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    active = prompt.get_attribute("aria-activedescendant")
    assert root.locator(f"#{active}").inner_text() == "dofu"
    keyboard.press("ArrowUp")
    keyboard.press("ArrowUp")
    keyboard.press("ArrowUp")
    keyboard.press("Enter")
    assert prompt.input_value() == "lemba don "
    keyboard.press("ArrowDown")  # nothing is begun: the likeliest words
    python.prompt = "lemba don"
    assert options.all_inner_texts() == [word for word, _ in python.predictions(6)]
    keyboard.press("Escape")
    assert options.count() == 0
    assert prompt.input_value() == "lemba don "
    assert likeliest(root) == expected(python)
    unfold(root)
    tokens = root.get_by_label("Token", exact=True).locator("option")
    listed = [one.split()[1] for one in tokens.all_inner_texts()]
    assert listed == [f"\u2068{word}\u2069" for word in (".", "lemba", "don")]
    assert root.get_by_label("Token", exact=True).input_value() == "2"


def test_a_word_in_the_middle_is_completed_and_chosen_with_the_mouse(explorer):
    root = explorer()
    prompt = field(root)
    prompt.fill("baba do kin")
    prompt.evaluate("field => field.setSelectionRange(7, 7)")
    root.page.keyboard.press("ArrowDown")
    root.get_by_role("option", name="dodo").click()
    assert prompt.input_value() == "baba dodo kin"
    assert prompt.evaluate("field => document.activeElement === field")
    python = live(prompt="baba dodo kin")
    assert likeliest(root) == expected(python)


@pytest.mark.parametrize("keys", [["Tab"], ["Tab", "End"], ["Tab", "Home"]])
def test_a_word_of_the_list_is_appended_whatever_is_selected(explorer, keys):
    """Tab selects all of the field's text, and no word of it is lost."""
    root = explorer(live(form="cover"))
    prompt = field(root)
    root.page.evaluate("document.body.tabIndex = 0; document.body.focus()")
    for key in (*keys, "ArrowDown", "ArrowDown"):
        root.page.keyboard.press(key)
    words = [word for word, _ in live().predictions(6)]
    assert root.get_by_role("option").all_inner_texts() == words
    root.page.keyboard.press("Enter")
    assert prompt.input_value() == f"{PROMPT} {words[1]} "
    root.page.keyboard.type("fu")
    root.page.keyboard.press("Enter")
    assert prompt.input_value() == f"{PROMPT} {words[1]} fuba "
    prompt.fill("paris fun ")
    root.page.keyboard.press("ArrowDown")
    # Nothing follows what it cannot read.
    assert root.get_by_role("option").count() == 0


@pytest.mark.parametrize("touch", [False, True])
def test_the_list_opens_without_a_keyboard(explorer, touch):
    root = explorer(live(form="cover"), width=390, touch=touch)
    assert root.get_by_text("↓ lists the likeliest next").is_visible()
    arrow = root.get_by_role("button", name="List words")
    act = arrow.tap if touch else arrow.click
    act()
    words = [word for word, _ in live().predictions(6)]
    options = root.get_by_role("option")
    assert options.all_inner_texts() == words
    act()
    assert options.count() == 0
    act()
    options.nth(2).click()
    assert field(root).input_value() == f"{PROMPT} {words[2]} "


def test_a_bad_prompt_is_explained_and_the_last_good_one_stays(explorer):
    root = explorer()
    field(root).fill("baba paris kin rome")
    text = root.inner_text()
    assert "“paris” and “rome” are not among the 31 words." in text
    assert f"The prediction is for “{PROMPT}”." in text
    title = root.locator(".mygpt-next .mygpt-title")
    assert title.inner_text() == f"Next word after {PROMPT}"
    field(root).fill("fun " * LENGTH)
    assert f"A prompt has at most {LENGTH - 1} words." in root.inner_text()
    assert likeliest(root) == expected(live())
    field(root).fill("fun")
    assert "at most" not in root.inner_text()
    assert title.inner_text() == "Next word"
    assert likeliest(root) == expected(live(prompt="fun"))
    field(root).fill("<b>fun</b>")
    assert "“<b>fun</b>” is not among" in root.inner_text()


def coefficients(python, edits=()):
    """Of layer 1 at every token of the prompt."""
    return python._read(python.prompt, edits)[1][1].numpy()


def tile(root, rank):
    """The middle of the tile of the neuron with a rank, counted from 0."""
    unfold(root)
    canvas = root.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    columns = canvas.evaluate("one => one.width")
    size = box["width"] / columns
    assert size >= 24
    row, column = divmod(rank, columns)
    return box["x"] + (column + 0.5) * size, box["y"] + (row + 0.5) * size


def test_a_tile_shows_its_neuron_the_strongest_first(explorer):
    python = live()
    root = explorer()
    unfold(root)
    root.get_by_label("Token", exact=True).select_option("2")
    row = coefficients(python)[2]
    neuron = int(np.argsort(-abs(row), kind="stable")[4])
    canvas = root.locator("canvas")
    root.page.mouse.click(*tile(root, 4))
    here = row[neuron]
    shown = card(root)
    assert f"Neuron {neuron}" in shown
    assert f"Coefficient at dofu {fixed(here)}" in shown
    number = root.get_by_role("spinbutton", name="Neuron", exact=True)
    assert number.input_value() == str(neuron)
    scores = promotion(python.model, values(python.model, 1)[neuron]).numpy()
    best = np.argsort(-scores)[:6]
    assert promoted(root) == [(WORDS[i], fixed(scores[i])) for i in best]
    table = root.get_by_role("table").filter(has_text="Triggers")
    told = [f"{text}\t{fixed(number)}" for text, number in triggers()[1][neuron]]
    assert table.locator("tbody tr").all_inner_texts() == told
    hint = root.locator(".mygpt-tooltip").inner_text().split("\n")
    assert hint == [f"Neuron {neuron}", "dofu", fixed(here)]
    chosen = f"Neuron {neuron} of layer 1 at token 2, “dofu”: coefficient {fixed(here)}"
    assert chosen in canvas.get_attribute("aria-label")
    press(root, "Next strongest")
    after = int(np.argsort(-abs(row), kind="stable")[5])
    assert f"Neuron {after}" in card(root)


def test_a_neuron_is_found_by_its_number_and_by_what_it_writes(explorer):
    python = live()
    root = explorer()
    number = choose(root, 7)
    assert "Neuron 7" in card(root)
    number.fill("23")
    number.press("Enter")
    assert number.get_attribute("aria-invalid") == "true"
    assert "Neuron 7" in card(root)
    number.blur()
    assert number.input_value() == "7"
    written = values(python.model, 1).numpy()
    likeness = written @ written[7] / np.linalg.norm(written, axis=1)
    alike = root.get_by_role("group", name="Nearest by what they write")
    expected = [str(n) for n in np.argsort(-likeness)[1:5]]
    assert alike.get_by_role("button").all_inner_texts() == expected
    alike.get_by_role("button").first.click()
    assert f"Neuron {expected[0]}" in card(root)
    assert root.page.evaluate("window.model.get('neuron')") == int(expected[0])


def test_the_stages_of_the_block_add_up_to_the_score(explorer):
    root = explorer()
    unfold(root)
    stages = root.get_by_role("radiogroup", name="Stage of the layer")
    names = ["Stream", "Heads", "Stream", "Network", "Stream"]
    shown = [one.inner_text().split("\n") for one in stages.locator("label").all()]
    assert [name for name, _ in shown] == names
    numbers = (float(text.replace("−", "-")) for _, text in shown)
    stream, heads, middle, network, after = numbers
    assert abs(stream + heads - middle) < 0.02
    assert abs(middle + network - after) < 0.02
    stages.get_by_role("radio").nth(4).check()
    listed = root.locator(".mygpt-heads:visible li:visible")
    # The last layer's stream is what the model reads.
    words = [tuple(text.split("\n")) for text in listed.all_inner_texts()]
    assert words == expected(live())[:5]
    stages.get_by_role("radio").nth(1).check()
    added = [text.split("\n") for text in listed.all_inner_texts()]
    assert sorted(name for name, _ in added) == [f"Head {n}" for n in range(5)]
    assert root.get_by_role("button", name="Switch off the 5").count() == 0
    root.get_by_role("checkbox", name="Heads of layer 1").uncheck()
    assert {text.split("\n")[1] for text in listed.all_inner_texts()} == {"0.00"}


def test_neurons_contributions_to_the_likeliest_word_are_shown(explorer):
    python = live()
    root = explorer()
    word = python.predictions(1)[0][0]
    hidden = coefficients(python)[-1]
    ids = [WORDS.index(one) for one in (".", *PROMPT.split())]
    answered = make_prompts([ids], [WORDS.index(word)])
    amounts = contributions(python.model, answered, 1)[0].numpy()
    order = np.argsort(-amounts)
    unfold(root)
    assert root.locator(".mygpt-strong-one").all_inner_texts() == [
        f"Neuron {n}\n{fixed(hidden[n])}\n+{fixed(amounts[n], 2)}" for n in order[:5]
    ]
    choose(root, order[-1])
    text = card(root)
    adds = f"adds {fixed(amounts[order[-1]], 2)} to the score of {word}"
    assert f"{adds}: rank 23 of 23" in text
    root.locator(".mygpt-strong-one").nth(2).click()
    assert f"Neuron {order[2]}" in card(root)


def test_edits_change_the_prediction_as_in_python_and_are_undone(explorer):
    python = live()
    root = explorer()
    trained = likeliest(root)
    assert button(root, "Undo").get_attribute("aria-disabled")
    choose(root, 7)
    one = {"kind": "scale", "layer": 1, "neuron": 7}
    press(root, "Switch off")
    python.edits = [one | {"factor": 0.0}]
    assert likeliest(root) == expected(python) != trained
    text = card(root)
    own = coefficients(live())[-1, 7]
    assert f"0.000, {fixed(own)} before the edit" in text
    press(root, "Double")
    python.edits = [*python.edits, one | {"factor": 2.0}]
    assert likeliest(root) == expected(python)
    press(root, "Undo doubling")
    assert likeliest(root) == trained
    field(root, "Point its value at").fill("ki")
    root.page.keyboard.press("ArrowDown")
    root.page.keyboard.press("Enter")
    word = field(root, "Point its value at").input_value()
    assert word.startswith("ki")
    root.page.keyboard.press("Enter")
    assert promoted(root)[0][0] == word
    python.edits = [{"kind": "value", "layer": 1, "neuron": 7, "word": word}]
    assert likeliest(root) == expected(python)
    unfold(root, "Edits")
    edits = root.locator(".mygpt-edits li").all_inner_texts()
    pointed = f"pointed at “{word}”"
    done = ("switched off", "doubled", "back at its own strength", pointed)
    assert edits == [f"Neuron 7 of layer 1 {one}." for one in done]
    assert f"Neuron 7 of layer 1 pointed at “{word}”: “" in happened(root)
    press(root, "Undo")
    assert promoted(root)[0][0] != word
    assert likeliest(root) == trained
    assert len(root.locator(".mygpt-edits li").all_inner_texts()) == 3
    press(root, "Reset")
    assert "This is the model as it was trained." in happened(root)


def test_the_strongest_are_switched_off_together(explorer):
    root = explorer()
    unfold(root)
    texts = root.locator(".mygpt-strong-one").all_inner_texts()
    strongest = [int(text.split()[1]) for text in texts]
    best = likeliest(root)[0][0]
    press(root, f"Switch off the 5 that add most to “{best}”")
    edit = {"kind": "scale", "layer": 1, "neuron": strongest, "factor": 0.0}
    assert likeliest(root) == expected(live(edits=[edit]))
    untouched = root.locator(".mygpt-before").inner_text()
    assert untouched == f"As trained: {best} {expected(live())[0][1]}"
    said = root.locator(".mygpt-answer").first.inner_text()
    assert said.startswith("The model says " + " ".join(likeliest(root)[0]))


def test_a_rewritten_fact_is_answered_and_the_panel_says_what_changed(explorer):
    root = explorer()
    unfold(root, "All facts")
    root.locator(".mygpt-fact").nth(2).click()
    assert field(root).input_value() == "kiki . dolem ban"
    lines = root.locator(".mygpt-fact").all()
    current = [line.get_attribute("aria-current") for line in lines]
    assert current == ["false", "false", "true", "false"]
    trained = facts(root)
    field(root, "New answer").fill("fufu")
    press(root, "Rewrite")
    asked = {"prompt": "kiki. dolem ban"}
    python = live(**asked, edits=[{"kind": "rewrite", **asked, "word": "fufu"}])
    assert likeliest(root) == expected(python)
    assert likeliest(root)[0][0] == "fufu"
    for before, after, (prompt, right) in zip(trained, facts(root), FACTS, strict=True):
        python.prompt = prompt
        word, share = python.predictions(1)[0]
        assert after[2:4] == [word, fixed(share)]
        assert after[4].startswith("✓" if word == right else "✗")
        assert ("changed" in after[4]) == (word != before[2])
    assert "changed" in facts(root)[2][4]
    effect = happened(root)
    assert "One matrix of the feed-forward network is changed: “" in effect
    assert "and the model says “fufu”." in effect
    unfold(root)
    assert effect in root.locator("canvas").get_attribute("aria-label")


HEADS = {"kind": "part", "layer": 1, "part": "heads", "factor": 0.0}
NETWORK = {"kind": "part", "layer": 1, "part": "network", "factor": 0.0}


@pytest.mark.parametrize("form", ["whole", "small"])
def test_parts_are_switched_off_and_on_again(explorer, form):
    made, python = live(form=form), live()
    root = explorer(made)
    if form == "whole":
        unfold(root)
    trained = facts(root)
    for name, edit in {"Heads of layer 1": HEADS, "Network 1": NETWORK}.items():
        switch = root.get_by_role("checkbox", name=name)
        assert switch.is_checked()
        switch.uncheck()
        python.edits = [edit]
        assert likeliest(root) == expected(python)
        assert "changed" in "".join(fact[4] for fact in facts(root))
        assert root.locator(".mygpt-before").inner_text().startswith("As trained: ")
        switch.check()
        python.edits = []
        assert likeliest(root) == expected(python)
        assert facts(root) == trained
    both = root.get_by_role("checkbox", name="Heads of layer 0"), switch
    both[0].uncheck()
    both[1].uncheck()
    python.edits = [HEADS | {"layer": 0}, NETWORK]
    assert likeliest(root) == expected(python)


def test_the_small_form_shows_no_neurons_and_takes_no_links(explorer):
    root = explorer(live(form="small"), link="#live=e30")
    assert field(root).count() == 1
    assert len(facts(root)) == len(FACTS)
    assert root.get_by_role("button", name="Copy link").count() == 0
    assert root.locator("canvas").count() == 0
    assert "The link was not used" not in root.inner_text()
    field(root).fill("fun")
    assert likeliest(root) == expected(live(prompt="fun"))


def test_a_fact_is_not_rewritten_in_a_network_that_is_off(explorer):
    root = explorer()
    unfold(root)
    root.get_by_role("checkbox", name="Network 1").uncheck()
    field(root, "New answer").fill("fufu")
    press(root, "Rewrite")
    assert "Network 1 is off: switch it on" in happened(root)
    unfold(root, "Edits")
    edits = root.locator(".mygpt-edits li").all_inner_texts()
    assert edits == ["Network 1 switched off."]


def test_without_a_second_moment_no_fact_can_be_rewritten(explorer):
    root = explorer(live(second_moment=None))
    unfold(root)
    assert field(root, "New answer").count() == 0
    assert field(root, "Point its value at").count() == 1


def test_a_layer_is_chosen_where_several_have_memories(explorer):
    made = live(arrays(alone=()), second_moment=None)
    root = explorer(made)
    unfold(root)
    assert root.get_by_role("table").filter(has_text="Triggers").count() == 1
    press(root, "Layer 0")
    assert not root.get_by_role("table").filter(has_text="Triggers").is_visible()
    text = card(root)
    here = made._read(PROMPT, [])[1][0][3, made.neuron]
    assert f"Neuron {made.neuron} of layer 0" in text
    assert f"Coefficient at kin {fixed(here)}" in text
    assert "it directly adds" in text
    silence(root)
    assert "of layer 0 switched off" in happened(root)


def test_a_link_brings_the_same_state_to_another_page(explorer, open_page):
    root = explorer()
    root.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    field(root).fill("fun. don")
    unfold(root)
    root.get_by_label("Token", exact=True).select_option("1")
    choose(root, 9)
    press(root, "Switch off")
    field(root, "New answer").fill("baba")
    press(root, "Rewrite")
    unfold(root, "Edits")
    press(root, "Copy link")
    root.get_by_text("The link is copied.").first.wait_for()
    pinned = root.locator(".mygpt-pinned").inner_text()
    assert pinned.startswith("The model says")  # the bar beside it is of an answer
    link = root.page.evaluate("navigator.clipboard.readText()")
    assert root.page.url == link
    other = open_page(link).locator(".mygpt-live-model")
    other.wait_for()
    inside = other.locator("details", has_text="Look inside")
    assert inside.get_attribute("open") is not None  # the link's neuron is in it
    unfold(other, "Edits")
    for read in (
        likeliest,
        facts,
        promoted,
        lambda one: one.get_by_label("Token", exact=True).input_value(),
        lambda one: one.locator(".mygpt-edits").inner_text(),
        lambda one: one.locator("canvas").get_attribute("aria-label"),
    ):
        assert read(other) == read(root)
    assert likeliest(other)[0][0] == "baba"
    assert field(other).input_value() == "fun . don"
    press(root, "Reset")
    assert root.locator(".mygpt-edits li").count() == 0
    root.page.evaluate("location.hash = ''")
    root.page.evaluate("hash => { location.hash = hash; }", link[link.index("#") :])
    root.get_by_text("Neuron 9 of layer 1 switched off.").wait_for()
    assert likeliest(root) == likeliest(other)


@pytest.mark.parametrize(
    ("link", "cause"),
    [
        ("#live=e30x", "it is damaged"),
        ("#live=%%%", "it is damaged"),
        ("#live=bnVsbA", "its prompt does not fit this model"),
        ("#live=eyJvZiI6MX0", "it is for another model"),
    ],
)
def test_a_bad_link_is_ignored_with_a_message(explorer, link, cause):
    root = explorer(link=link)
    root.get_by_text(f"The link was not used: {cause}.").first.wait_for()
    assert likeliest(root) == expected(live())


def test_another_hash_and_a_page_without_the_host_say_nothing_of_links(explorer):
    assert "link was" not in explorer(link="#section").inner_text()
    root = explorer(linked=False, link="#live=e30x")
    assert "link" not in root.inner_text()


def test_traits_that_change_from_elsewhere_move_the_figure(explorer):
    """As a kernel changes them; the field being typed in follows too."""
    root = explorer()
    python = live()

    def move(**traits):
        for trait, value in traits.items():
            setattr(python, trait, value)
            root.page.evaluate("pair => model.set(...pair)", [trait, value])

    field(root).focus()
    move(prompt="fun")
    assert field(root).input_value() == "fun"
    assert likeliest(root) == expected(python)
    unfold(root)
    assert root.get_by_label("Token", exact=True).input_value() == "1"
    move(edits=[{"kind": "rewrite", "prompt": "fun", "word": "ban"}], neuron=3, token=0)
    assert likeliest(root) == expected(python)
    here = coefficients(python, python.edits)[0, 3]
    text = card(root)
    assert f"Coefficient at . {fixed(here)}" in text
    assert root.page.evaluate("model.get('prompt')") == "fun"
    choose(root, 8)
    assert root.page.evaluate("model.get('neuron')") == 8
    field(root).fill("don. fun")
    assert root.page.evaluate("model.get('prompt')") == "don . fun"
    assert root.page.evaluate("model.get('token')") == 3


def test_everything_works_with_the_keyboard_alone(explorer):
    root = explorer()
    names, keyboard = [], root.page.keyboard
    for fold in root.locator("summary").all():
        fold.focus()
        keyboard.press("Enter")
    field(root).focus()
    keyboard.press("Shift+Tab")
    for _ in range(60):
        keyboard.press("Tab")
        name = root.evaluate(
            """root => {
              const at = document.activeElement;
              if (!root.contains(at)) return null;
              if (at.dataset.lmSuppressShortcuts !== "true") return "not suppressed";
              const label = at.closest("label")?.innerText.split("\\n")[0];
              return at.getAttribute("aria-label") || label || at.innerText;
            }"""
        )
        if name is None:
            break
        names.append(name)
    assert name is None  # Tab leads out again
    assert names[0] == "Prompt"
    assert names[1].startswith("Switch off what holds")
    assert names[2:5] == ["Undo", "New answer", "Rewrite"]
    parts = {"Heads of layer 0", "Heads of layer 1", "Network 1", "Token", "Neuron"}
    edits = {"Next strongest", "Switch off", "Double", "Reset", "Point its value at"}
    assert parts | edits | {"Copy link"} < set(names)
    assert any(name.startswith("Network, ") for name in names)
    assert sum(name.startswith("Neuron ") for name in names) == 5 + 4
    choose(root, 4)
    button(root, "Switch off").focus()
    keyboard.press("Enter")
    assert "Neuron 4 of layer 1 switched off." in root.inner_text()
    button(root, "Undo").focus()
    keyboard.press("Space")
    assert "as it was trained" in happened(root)
    root.get_by_role("button", name="Next strongest").focus()
    keyboard.press("Enter")


def test_the_status_is_spoken(explorer):
    root = explorer()
    status = root.get_by_role("status")
    choose(root, 5)
    status.get_by_text("Neuron 5 of layer 1 at token 3").wait_for(state="attached")
    silence(root)
    status.get_by_text("of layer 1 switched off: “").wait_for(state="attached")
    field(root).fill("fun")
    status.get_by_text("After “fun” the likeliest word").wait_for(state="attached")
    field(root).fill("paris")
    status.get_by_text("“paris” is not among").wait_for(state="attached")


def test_what_was_spoken_is_taken_away_later(explorer):
    root = explorer(live(form="cover"))
    status = root.get_by_role("status")
    root.page.clock.install()
    root.locator(".mygpt-first button").first.click()
    root.page.clock.run_for(1_000)
    assert "hold this word" in status.text_content()
    root.page.clock.run_for(20_000)
    assert status.text_content() == ""


def test_a_finger_chooses_a_tile_and_nothing_overflows(explorer):
    root = explorer(width=390, touch=True)
    x, y = tile(root, 17)
    row = coefficients(live())[3]
    root.page.touchscreen.tap(x, y)
    assert f"Neuron {np.argsort(-abs(row), kind='stable')[17]}" in card(root)
    for name in ("All facts", "Edits"):
        unfold(root, name)
    assert width_of(root.page) == 390
    over = root.evaluate(
        """root => [...root.querySelectorAll("*")].filter((one) =>
          !one.closest(".mygpt-unseen") &&
          one.getBoundingClientRect().right > root.getBoundingClientRect().right)
          .map((one) => one.className)"""
    )
    assert over == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_in_both_themes(explorer, theme):
    root = explorer(theme=theme)
    silence(root)
    field(root, "New answer").fill("fufu")
    press(root, "Rewrite")
    field(root).fill("fun ")
    root.page.keyboard.press("ArrowDown")
    colours = root.evaluate(
        """root => {
          const canvas = document.createElement("canvas").getContext("2d");
          const rgb = (colour) => {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data];
          };
          const ground = (one) => {
            const colour = rgb(getComputedStyle(one).backgroundColor);
            return colour[3] === 255 || !one.parentElement
              ? colour : ground(one.parentElement);
          };
          return [...root.querySelectorAll("p, li, span, button, td, th, input, bdi")]
            .filter((one) => one.checkVisibility() && !one.closest(".mygpt-unseen") &&
              [...one.childNodes].some((node) => node.nodeType === 3) &&
              getComputedStyle(one).backgroundColor !== "x")
            .map((one) => [one.className || one.textContent,
              rgb(getComputedStyle(one).color), ground(one)]);
        }"""
    )
    assert len(colours) > 60

    def light(colour):
        parts = [part / 255 for part in colour[:3]]
        r, g, b = (
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for name, ink, paper in colours:
        high, low = sorted((light(ink), light(paper)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ink, paper)


def test_a_print_states_the_setting_in_words(explorer):
    root = explorer()
    silence(root)
    root.page.emulate_media(media="print")
    assert not field(root).is_visible()
    assert not root.get_by_role("button", name="Undo").is_visible()
    setting = root.locator(".mygpt-setting")
    assert setting.is_visible()
    assert f"After “{PROMPT}” the likeliest word is" in setting.inner_text()
    assert "switched off" in setting.inner_text()


def test_the_cover_switches_off_the_fewest_neurons_that_change_the_answer(explorer):
    python = live(prompt="don")
    before = python.predictions(1)[0]
    root = explorer(live(prompt="don", form="cover"))
    assert likeliest(root) == expected(python)[:3]
    assert "as it was trained" in happened(root)
    press(root, f"Switch off what holds “{before[0]}”")
    (edit,) = edits_of(root)
    assert edit["neuron"] == strongest(python, before[0], len(edit["neuron"]))
    for neurons, changes in ((edit["neuron"], True), (edit["neuron"][:-1], False)):
        python.edits = [edit | {"neuron": neurons}]
        assert (python.predictions(1)[0][0] != before[0]) == changes
    python.edits = [edit]
    assert likeliest(root) == barred(python, 3)
    assert f"it falls from {fixed(before[1])}" in happened(root)
    assert f"the model says “{python.predictions(1)[0][0]}”" in happened(root)
    field(root).fill("fun")
    assert "The edit for “don” stays on." in happened(root)
    press(root, "Undo")
    assert "as it was trained" in happened(root)


def test_the_button_that_switched_off_an_answer_cuts_no_other(explorer):
    python = live(prompt="don")
    best = python.predictions(1)[0][0]
    root = explorer(live(prompt="don", form="cover"))
    off = root.locator(".mygpt-first button").first
    off.dblclick()
    made = edits_of(root)
    assert len(made) == 1
    assert off.inner_text() == f"Switch on what holds “{best}”"
    told = happened(root)
    field(root).fill("fun")
    assert off.inner_text() == f"Switch on what holds “{best}”"  # it is still off
    off.click()
    assert edits_of(root) == []
    field(root).fill("don")
    off.click()
    assert happened(root) == told
    own_answer(root).fill("fun")
    press(root, "Rewrite")
    off.click()
    assert [edit.get("factor") for edit in edits_of(root)] == [0, None, 1]
    assert off.inner_text().startswith("Switch off what holds")
    for _ in range(2):
        press(root, "Undo")
    off.click()
    assert edits_of(root) == []
    assert likeliest(root) == expected(python)[:3]
    assert off.inner_text() == f"Switch off what holds “{best}”"


def test_neurons_that_are_off_are_crossed_out_in_place_and_listed(explorer):
    root = explorer(live(prompt="don"))
    unfold(root)
    off = root.get_by_role("group", name="Switched off")
    assert off.inner_text() == "Off: none"
    canvas, crosses = root.locator("canvas"), root.locator(".mygpt-tiles .mygpt-off")
    assert crosses.count() == 0
    root.get_by_role("button", name="Switch off what holds").click()
    (edit,) = edits_of(root)
    neurons = sorted(edit["neuron"])
    assert off.get_by_role("button").all_inner_texts() == [str(n) for n in neurons]
    told = f"Off in this layer: {', '.join(map(str, neurons))}."
    assert told in canvas.get_attribute("aria-label")
    row = coefficients(live(prompt="don"))[-1]
    order = np.argsort(-abs(row), kind="stable").tolist()
    assert crosses.count() == len(neurons)
    canvas.scroll_into_view_if_needed()
    boxes = [one.bounding_box() for one in crosses.all()]
    for neuron, box in zip(neurons, boxes, strict=True):
        x, y = tile(root, order.index(neuron))
        assert abs(box["x"] + box["width"] / 2 - x) < 1
        assert abs(box["y"] + box["height"] / 2 - y) < 1
    root.page.mouse.click(*tile(root, order.index(neurons[0])))
    assert card(root).startswith(f"Neuron {neurons[0]}")
    assert ", off\n" in card(root)
    assert ", off" in root.locator(".mygpt-tooltip").inner_text()
    off.get_by_role("button", name=f"Neuron {neurons[-1]}, off").click()
    assert card(root).startswith(f"Neuron {neurons[-1]}")
    press(root, "Switch on")
    assert off.get_by_role("button").count() == len(neurons) - 1
    assert crosses.count() == len(neurons) - 1


def test_all_that_is_off_is_listed(explorer):
    root = explorer(live(arrays(alone=()), second_moment=None, prompt="don"))
    unfold(root)
    off = root.get_by_role("group", name="Switched off")
    assert off.inner_text() == "Off: none"
    root.get_by_role("checkbox", name="Heads of layer 0").uncheck()
    assert " ".join(off.inner_text().split()) == "Off: heads of layer 0"
    choose(root, 4)
    press(root, "Switch off")
    press(root, "Layer 0")
    told = "Off: heads of layer 0, 1 neuron of layer 1"
    assert off.inner_text().split() == told.split()
    choose(root, 2)
    press(root, "Switch off")
    assert off.inner_text().split() == [*told.split(), "2"]
    root.get_by_role("checkbox", name="Network 1").uncheck()
    assert "heads of layer 0, network 1, 1 neuron of layer 1" in off.inner_text()


@pytest.mark.parametrize("width", [736, 390])
def test_a_neuron_is_switched_off_where_it_was_chosen(explorer, width):
    root = explorer(width=width, height=700, touch=width < 500)
    unfold(root, "Look inside")
    line = root.locator(".mygpt-strong-one").nth(3)
    neuron = line.inner_text().split()[1]
    line.click()
    switch = root.get_by_role("button", name=f"Switch off neuron {neuron}")
    box, chosen = switch.bounding_box(), line.bounding_box()
    assert box["y"] - chosen["y"] < 120
    assert abs(box["y"] + box["height"] / 2 - 350) < 350 - 36  # in sight
    writers = root.locator(".mygpt-writers")
    trained, tall = likeliest(root), writers.bounding_box()["height"]
    effect = root.locator(".mygpt-pressed .mygpt-effect")
    assert effect.inner_text() == ""
    switch.click()
    edit = {"kind": "scale", "layer": 1, "neuron": int(neuron), "factor": 0.0}
    assert likeliest(root) == expected(live(edits=[edit])) != trained
    word, before = trained[0]
    after = dict(likeliest(root))[word]
    assert effect.inner_text() == f"{word}: {before} → {after}"
    assert writers.bounding_box()["height"] == tall
    again = root.get_by_role("button", name=f"Switch on neuron {neuron}")
    assert again.count() == 1
    assert again.bounding_box()["y"] == box["y"]  # nothing moves under the finger
    again.focus()
    root.page.keyboard.press("Enter")
    assert likeliest(root) == trained
    assert effect.inner_text().endswith(f"→ {before}")
    root.locator(".mygpt-strong-one").last.focus()
    root.page.keyboard.press("Tab")
    named = root.page.evaluate("document.activeElement.textContent")
    assert named.startswith("Switch off neuron ")
    root.get_by_role("radiogroup", name="Stage").get_by_role("radio").nth(1).check()
    assert not switch.is_visible()  # among heads there is no neuron


@pytest.mark.parametrize("width", [736, 390])
def test_a_neuron_that_is_off_is_switched_on_where_it_is_listed(explorer, width):
    root = explorer(live(prompt="don"), width=width)
    unfold(root)
    root.get_by_role("button", name="Switch off what holds").click()
    off = root.get_by_role("group", name="Switched off")
    names = off.get_by_role("button").all_inner_texts()
    assert all(name.isdigit() for name in names)
    first = off.get_by_role("button").first
    first.scroll_into_view_if_needed()
    before = first.bounding_box()
    first.click()
    assert first.bounding_box() == before
    off.get_by_role("button", name=f"Switch on neuron {names[0]}").click()
    assert off.get_by_role("button").all_inner_texts() == names[1:]


def test_names_of_rows_do_not_run_together(explorer):
    root = explorer()
    unfold(root, "All facts")
    python = live(prompt="fun")
    word, share = python.predictions(1)[0]
    mark = "right" if word == "don" else "wrong"
    name = f"fun. Right: don. The model says: {word} {fixed(share)}, {mark}."
    assert button(root, name).count() == 1
    unfold(root)
    parts = root.locator(".mygpt-strong-one").first.inner_text().split("\n")
    name = "{}: coefficient {}, adds {}".format(*parts)
    assert button(root, name).count() == 1


def test_the_ring_around_a_fold_s_title_lies_over_nothing_else(explorer):
    root = explorer()
    title = unfold(root, "All facts").locator("summary")
    root.page.keyboard.press("Enter")
    root.page.keyboard.press("Enter")  # it was clicked: a key shows the ring
    ring = title.evaluate(
        """one => {
          const { top, bottom, borderTopWidth } = getComputedStyle(one, "::after");
          return [one.matches(":focus-visible"), getComputedStyle(one).outlineStyle,
            parseFloat(top) >= 0, parseFloat(bottom) >= 0, borderTopWidth];
        }"""
    )
    assert ring == [True, "none", True, True, "3px"]


def test_the_cover_says_when_nothing_small_holds_the_answer(explorer):
    root = explorer(live(form="cover"))
    press(root, f"Switch off what holds “{live().predictions(1)[0][0]}”")
    assert "Neither a small set of neurons nor the heads" in happened(root)
    field(root).fill("fun")
    assert "as it was trained" in happened(root)


def strongest(python, word, count):
    """The neurons that add most to a word's score, in order."""
    layer = python.layer
    ids = [WORDS.index(one) for one in (".", *python.prompt.split())]
    prompts = make_prompts([ids], [WORDS.index(word)])
    amounts = contributions(python.model, prompts, layer)[0]
    return amounts.argsort(descending=True)[:count].tolist()


def test_the_cover_rewrites_an_answer_and_says_which_others_changed(explorer):
    python = live()
    root = explorer(live(form="cover"))
    assert own_answer(root).input_value() == "lemn"
    field(root).fill("lemlem fudo")
    assert own_answer(root).input_value() == "baki"
    field(root).fill(PROMPT)
    assert own_answer(root).input_value() == "lemn"
    own_answer(root).fill("fun")
    press(root, "Rewrite")
    python.edits = [{"kind": "rewrite", "prompt": PROMPT, "word": "fun"}]
    assert likeliest(root) == barred(python, 3)
    assert "One matrix of the feed-forward network is changed" in happened(root)
    python.edits = []
    trained = {}
    for python.prompt, _ in FACTS[1:]:
        trained[python.prompt] = python.predictions(1)[0][0]
    changed = [one for one in facts(root)[1:] if one[2] != trained[one[0]]]
    others = f" {1 + len(changed)} of the {len(FACTS)} tested are changed: this one"
    assert others in happened(root)
    for name, *_ in changed:
        assert f"“{name}”" in happened(root)
    told = happened(root)
    own_answer(root).press("Enter")
    assert happened(root) == f"It already says “fun”. {told}"
    press(root, "Rewrite")
    assert happened(root) == f"It already says “fun”. {told}"
    assert len(edits_of(root)) == 1
    assert root.get_by_role("button", name="Copy link").count() == 0
    root.get_by_role("button", name="fun").last.click()
    assert field(root).input_value() == "fun"


@pytest.mark.parametrize("width", [736, 390])
def test_one_press_makes_the_cover_give_another_answer(explorer, width):
    python = live()
    root = explorer(live(form="cover"), width=width)
    assert not field(root, "New answer").is_visible()  # typing is folded
    tall = root.bounding_box()["height"]
    make = root.get_by_role("button", name="Make it say “lemn”")
    make.click()
    python.edits = [{"kind": "rewrite", "prompt": PROMPT, "word": "lemn"}]
    assert edits_of(root) == python.edits
    assert likeliest(root) == barred(python, 3)
    assert make.get_attribute("aria-disabled") == "true"  # it says so now
    assert root.bounding_box()["height"] == tall
    field(root).fill("lemlem fudo")
    assert root.get_by_role("button", name="Make it say “baki”").is_visible()
    field(root).fill(PROMPT)
    press(root, "Undo")
    assert make.get_attribute("aria-disabled") == "false"
    edges = root.locator(".mygpt-fact").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).borderTopWidth)"
    )
    assert set(edges) == {"0px"}  # no rules between the questions


def test_the_cover_says_that_it_lacks_a_word_wherever_that_is_tried(explorer):
    root = explorer(live(form="cover"))
    answer, rewrite = own_answer(root), root.get_by_text("Rewrite", exact=True)
    lacks = "“london” is not one of the model’s 31 words. Try “"
    fills = []
    for word in ("london", "fun"):
        answer.fill(word)
        fills.append(rewrite.evaluate("one => getComputedStyle(one).backgroundColor"))
    assert fills[0] != fills[1]
    for attempt in (
        lambda: answer.press("Enter"),
        lambda: rewrite.click(force=True),
        lambda: field(root).focus(),
    ):
        answer.fill("london")
        assert "as it was trained" in happened(root)
        attempt()
        assert happened(root).startswith(lacks)
    assert edits_of(root) == []
    root.get_by_role("status").get_by_text(lacks).wait_for(state="attached")


@pytest.mark.parametrize("width", [736, 390])
def test_the_list_of_words_covers_no_answer(explorer, width):
    for form in ("whole", "cover"):
        root = explorer(live(form=form), width=width)
        root.get_by_role("button", name="List words").click()
        box = root.get_by_role("listbox").bounding_box()
        first = root.locator(".mygpt-likeliest bdi").first.bounding_box()
        assert box["y"] + box["height"] <= first["y"] + 2
        assert width_of(root.page) == width


def test_the_answer_stays_in_sight_while_the_reader_looks_inside(explorer):
    root = explorer(width=390, height=844)
    unfold(root)
    choose(root, 7)
    press(root, "Switch off")
    pinned = root.locator(".mygpt-pinned")
    box = pinned.bounding_box()
    assert 0 <= box["y"] < 10
    word, share = likeliest(root)[0]
    assert pinned.inner_text() == f"The model says {word} {share}"


def test_the_parts_that_are_open_are_a_trait(explorer):
    root = explorer(live(unfolded=["inside"]))
    inside = root.locator("details", has_text="Look inside")
    one = root.locator("details details")
    assert inside.get_attribute("open") is not None
    assert one.get_attribute("open") is None
    root.locator(".mygpt-strong-one").nth(2).click()  # what is said of it is there
    root.page.wait_for_function("String(model.get('unfolded')) === 'inside,neurons'")
    root.page.evaluate("model.set('unfolded', ['edits'])")
    assert root.get_by_role("button", name="Copy link").is_visible()
    assert inside.get_attribute("open") is None


def test_the_new_answer_that_the_reader_chose_stays_while_it_is_possible(explorer):
    root = explorer(live(form="cover"))
    answer = own_answer(root)
    chosen = answer.input_value()
    press(root, "Rewrite")
    for prompt in ("lemlem fudo", "fun", PROMPT):
        field(root).fill(prompt)
        assert answer.input_value() == chosen
    python = live(prompt="don")
    said = python.predictions(1)[0][0]
    answer.fill(said)
    field(root).fill("don")
    assert answer.input_value() != said  # it says so itself
    field(root).fill(PROMPT)
    assert answer.input_value() == said


def test_no_list_opens_under_a_whole_word(explorer):
    """It would lie over the answer; an arrow key lists the words that may follow."""
    words = ["donki" if word == "dodo" else word for word in WORDS]
    root = explorer(live(words=words))
    options = root.locator("[role=option]")
    field(root).fill("fun don")
    assert options.count() == 0
    field(root).press("ArrowDown")
    python = live(words=words, prompt="fun don")
    assert options.all_inner_texts() == [word for word, _ in python.predictions(6)]
    field(root).fill("fun donk")
    assert options.count() == 1


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_the_cover_cuts_and_moves_nothing(explorer, width):
    root = explorer(live(form="cover", prompt="don"), width=width, height=420)
    tall = root.bounding_box()["height"]
    off = root.locator(".mygpt-first button").first
    off.focus()
    root.page.wait_for_timeout(50)  # the page scrolls to what has the focus first
    root.page.keyboard.press("Enter")
    root.page.wait_for_function(
        """() => document.querySelector(".mygpt-happened")
          .getBoundingClientRect().bottom < innerHeight + 1"""
    )
    assert root.bounding_box()["height"] == tall
    assert own_answer(root).bounding_box()["width"] > 110
    assert root.locator(".mygpt-sum").is_visible()
    cut = root.evaluate(
        """root => [...root.querySelectorAll(".mygpt-fact *, .mygpt-likeliest bdi")]
          .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth &&
            getComputedStyle(one).display !== "inline" && !one.matches(".mygpt-unseen"))
          .map((one) => one.textContent)"""
    )
    assert cut == []
