"""The live model on the page that `write_html` makes, with a model of made-up words."""

import numpy as np
import pytest
from figures import LINKED, Figure, bottom, fits, fixed, has_focus, middle, width_of
from helpers.live_models import FACTS, LENGTH, PROMPT, WORDS, arrays, live, triggers
from judged import judge
from live_page import facts, field, happened, inside, likeliest, opened

from mygpt.inside.hooks import make_prompts
from mygpt.inside.memory import contributions, promotion, values


@pytest.fixture
def explorer(alone):
    """The explorer on its page as on the site, where links work; and its twin."""

    def explorer(
        linked=True,
        link="",
        width=1280,
        height=900,
        touch=False,
        theme="light",
        **settings,
    ):
        look = {"width": width, "height": height, "touch": touch, "theme": theme}
        root = alone(live(**settings), LINKED if linked else {}, link, **look)
        root.python = live(**settings)
        return root

    return explorer


def token(root):
    return root.get_by_label("Token", exact=True)


def own_answer(root):
    """The field for an answer of the reader's own, which the cover folds."""
    opened(root, "Type another answer")
    return field(root, "New answer")


def rewrite(root, word):
    field(root, "New answer").fill(word)
    root.press("Rewrite")


def silence(root):
    inside(root)
    root.get_by_role("button", name="Switch off the 5").click()


def expected(python):
    return [(word, fixed(share)) for word, share in python.predictions(6)]


def answers(root, most=6, **changes):
    """The likeliest words are Python's, after these changes of its traits."""
    for trait, value in changes.items():
        setattr(root.python, trait, value)
    assert likeliest(root) == expected(root.python)[:most]


def best(root):
    """The word that is likeliest in Python, with its probability."""
    return root.python.predictions(1)[0]


def barred(root, edits):
    """The three words of the cover, in the last place the untouched model's."""
    python = root.python
    python.edits = edits
    rows = expected(python)[:3]
    first = expected(live(prompt=python.prompt))[0][0]
    if first not in [word for word, _ in rows]:
        shares = dict(python.predictions(len(WORDS)))
        rows[2] = (first, fixed(shares[first]))
    assert likeliest(root) == rows


def rows(root, title):
    """The rows of the table with that title."""
    table = root.get_by_role("table").filter(has_text=title)
    texts = table.locator("tbody tr").all_inner_texts()
    return [tuple(text.split("\t")) for text in texts]


def promoted(root):
    inside(root)
    return rows(root, "Promoted words")


def choose(root, neuron):
    inside(root)
    return root.type_in("Neuron", neuron)


def card(root):
    """What is said of the chosen neuron."""
    inside(root)
    return root.text(".mygpt-chosen")


def strong(root):
    """The neurons that add most, as they are listed."""
    return root.locator(".mygpt-strong-one")


def listed_edits(root):
    return root.texts(".mygpt-edits li")


def switched_off(root):
    """The list of what is switched off."""
    return Figure(root.get_by_role("group", name="Switched off"))


def test_the_page_agrees_with_python(explorer):
    root = explorer()
    answers(root)
    for fact, (prompt, right) in zip(facts(root), FACTS, strict=True):
        root.python.prompt = prompt
        word, share = best(root)
        good = "✓ right" if word == right else "✗ wrong"
        assert fact == [prompt.replace(".", " ."), right, word, fixed(share), good]


def test_a_prompt_is_typed_and_completed_with_the_keyboard(explorer):
    root = explorer()
    prompt, keyboard = field(root), root.page.keyboard
    prompt.fill("")
    answers(root, prompt="")
    keyboard.type("Lemb")
    options = root.locator("[role=option]")
    assert options.all_inner_texts() == ["lemba"]
    assert prompt.get_attribute("aria-expanded") == "true"
    assert "“lemb…” is not a whole word yet." in root.inner_text()
    answers(root)  # still those of the last good prompt
    keyboard.press("Enter")
    assert prompt.input_value() == "lemba "
    assert prompt.get_attribute("aria-expanded") == "false"
    answers(root, prompt="lemba")
    keyboard.type("do")
    names = options.all_inner_texts()
    assert names == ["doba", "dodo", "dofu", "doki", "dolem", "don"]
    root.keys("ArrowDown", "ArrowDown")
    active = prompt.get_attribute("aria-activedescendant")
    assert root.text(f"#{active}") == "dofu"
    root.keys(*["ArrowUp"] * 3, "Enter")
    assert prompt.input_value() == "lemba don "
    keyboard.press("ArrowDown")  # nothing is begun: the likeliest words
    answers(root, prompt="lemba don")
    assert options.all_inner_texts() == [word for word, _ in expected(root.python)]
    keyboard.press("Escape")
    assert options.count() == 0
    assert prompt.input_value() == "lemba don "
    answers(root)
    inside(root)
    tokens = token(root).locator("option").all_inner_texts()
    listed = [one.split()[1] for one in tokens]
    assert listed == [f"\u2068{word}\u2069" for word in (".", "lemba", "don")]
    assert token(root).input_value() == "2"


def test_a_word_in_the_middle_is_completed_and_chosen_with_the_mouse(explorer):
    root = explorer()
    prompt = field(root)
    prompt.fill("baba do kin")
    prompt.evaluate("field => field.setSelectionRange(7, 7)")
    root.keys("ArrowDown")
    root.get_by_role("option", name="dodo").click()
    assert prompt.input_value() == "baba dodo kin"
    assert has_focus(prompt)
    answers(root, prompt="baba dodo kin")


@pytest.mark.parametrize("keys", [["Tab"], ["Tab", "End"], ["Tab", "Home"]])
def test_a_word_of_the_list_is_appended_whatever_is_selected(explorer, keys):
    """Tab selects all of the field's text, and no word of it is lost."""
    root = explorer(form="cover")
    prompt, options = field(root), root.get_by_role("option")
    root.page.evaluate("document.body.tabIndex = 0; document.body.focus()")
    root.keys(*keys, "ArrowDown", "ArrowDown")
    words = [word for word, _ in expected(root.python)]
    assert options.all_inner_texts() == words
    root.keys("Enter")
    assert prompt.input_value() == f"{PROMPT} {words[1]} "
    root.page.keyboard.type("fu")
    root.keys("Enter")
    assert prompt.input_value() == f"{PROMPT} {words[1]} fuba "
    prompt.fill("paris fun ")
    root.keys("ArrowDown")
    assert options.count() == 0  # nothing follows what it cannot read


@pytest.mark.parametrize("touch", [False, True])
def test_the_list_opens_without_a_keyboard(explorer, touch):
    root = explorer(form="cover", width=390, touch=touch)
    assert root.sees("↓ lists the likeliest next")
    arrow = root.get_by_role("button", name="List words")
    act = arrow.tap if touch else arrow.click
    act()
    words = [word for word, _ in expected(root.python)]
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
    answers(root)
    field(root).fill("fun")
    assert "at most" not in root.inner_text()
    assert title.inner_text() == "Next word"
    answers(root, prompt="fun")
    field(root).fill("<b>fun</b>")
    assert "“<b>fun</b>” is not among" in root.inner_text()


def coefficients(python, edits=()):
    """Of layer 1 at every token of the prompt."""
    return python._read(python.prompt, edits)[1][1].numpy()


def by_size(row):
    """The neurons, the strongest first."""
    return np.argsort(-abs(row), kind="stable").tolist()


def tile(root, rank):
    """The middle of the tile of the neuron with a rank, counted from 0."""
    inside(root)
    canvas = root.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    columns = canvas.evaluate("one => one.width")
    size = box["width"] / columns
    assert size >= 24
    row, column = divmod(rank, columns)
    return box["x"] + (column + 0.5) * size, box["y"] + (row + 0.5) * size


def test_a_tile_shows_its_neuron_the_strongest_first(explorer):
    root = explorer()
    inside(root)
    token(root).select_option("2")
    row = coefficients(root.python)[2]
    neuron, after = by_size(row)[4:6]
    root.page.mouse.click(*tile(root, 4))
    here = fixed(row[neuron])
    shown = card(root)
    assert f"Neuron {neuron}" in shown
    assert f"Coefficient at dofu {here}" in shown
    assert root.field("Neuron").input_value() == str(neuron)
    model = root.python.model
    scores = promotion(model, values(model, 1)[neuron]).numpy()
    top = np.argsort(-scores)[:6]
    assert promoted(root) == [(WORDS[i], fixed(scores[i])) for i in top]
    told = [(text, fixed(number)) for text, number in triggers()[1][neuron]]
    assert rows(root, "Triggers") == told
    hint = root.text(".mygpt-tooltip").split("\n")
    assert hint == [f"Neuron {neuron}", "dofu", here]
    chosen = f"Neuron {neuron} of layer 1 at token 2, “dofu”: coefficient {here}"
    assert chosen in root.label("canvas")
    root.press("Next strongest")
    assert f"Neuron {after}" in card(root)


def test_a_neuron_is_found_by_its_number_and_by_what_it_writes(explorer):
    root = explorer()
    number = choose(root, 7)
    assert "Neuron 7" in card(root)
    root.type_in("Neuron", 23)
    assert number.get_attribute("aria-invalid") == "true"
    assert "Neuron 7" in card(root)
    number.blur()
    assert number.input_value() == "7"
    written = values(root.python.model, 1).numpy()
    likeness = written @ written[7] / np.linalg.norm(written, axis=1)
    alike = root.get_by_role("group", name="Nearest by what they write")
    nearest = [str(n) for n in np.argsort(-likeness)[1:5]]
    assert alike.get_by_role("button").all_inner_texts() == nearest
    alike.get_by_role("button").first.click()
    assert f"Neuron {nearest[0]}" in card(root)
    assert root.get("neuron") == int(nearest[0])


def test_the_stages_of_the_block_add_up_to_the_score(explorer):
    root = explorer()
    inside(root)
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
    assert words == expected(root.python)[:5]
    stages.get_by_role("radio").nth(1).check()
    added = [text.split("\n") for text in listed.all_inner_texts()]
    assert sorted(name for name, _ in added) == [f"Head {n}" for n in range(5)]
    assert root.get_by_role("button", name="Switch off the 5").count() == 0
    root.get_by_role("checkbox", name="Heads of layer 1").uncheck()
    assert {text.split("\n")[1] for text in listed.all_inner_texts()} == {"0.00"}


def added_to(python, word):
    """What each neuron adds to a word's score."""
    ids = [WORDS.index(one) for one in (".", *python.prompt.split())]
    prompts = make_prompts([ids], [WORDS.index(word)])
    return contributions(python.model, prompts, python.layer)[0].numpy()


def test_neurons_contributions_to_the_likeliest_word_are_shown(explorer):
    root = explorer()
    word, _ = best(root)
    hidden = coefficients(root.python)[-1]
    amounts = added_to(root.python, word)
    order = np.argsort(-amounts)
    inside(root)
    assert strong(root).all_inner_texts() == [
        f"Neuron {n}\n{fixed(hidden[n])}\n+{fixed(amounts[n], 2)}" for n in order[:5]
    ]
    choose(root, order[-1])
    adds = f"adds {fixed(amounts[order[-1]], 2)} to the score of {word}"
    assert f"{adds}: rank 23 of 23" in card(root)
    strong(root).nth(2).click()
    assert f"Neuron {order[2]}" in card(root)


OFF = {"kind": "scale", "layer": 1, "factor": 0.0}


def test_edits_change_the_prediction_as_in_python_and_are_undone(explorer):
    root = explorer()
    trained = likeliest(root)
    assert root.button("Undo").get_attribute("aria-disabled")
    choose(root, 7)
    root.press("Switch off")
    off = OFF | {"neuron": 7}
    answers(root, edits=[off])
    assert likeliest(root) != trained
    own = coefficients(live())[-1, 7]
    assert f"0.000, {fixed(own)} before the edit" in card(root)
    root.press("Double")
    answers(root, edits=[off, off | {"factor": 2.0}])
    root.press("Undo doubling")
    assert likeliest(root) == trained
    field(root, "Point its value at").fill("ki")
    root.keys("ArrowDown", "Enter")
    word = field(root, "Point its value at").input_value()
    assert word.startswith("ki")
    root.keys("Enter")
    assert promoted(root)[0][0] == word
    answers(root, edits=[{"kind": "value", "layer": 1, "neuron": 7, "word": word}])
    opened(root, "Edits")
    pointed = f"pointed at “{word}”"
    done = ("switched off", "doubled", "back at its own strength", pointed)
    assert listed_edits(root) == [f"Neuron 7 of layer 1 {one}." for one in done]
    assert f"Neuron 7 of layer 1 {pointed}: “" in happened(root)
    root.press("Undo")
    assert promoted(root)[0][0] != word
    assert likeliest(root) == trained
    assert len(listed_edits(root)) == 3
    root.press("Reset")
    assert "This is the model as it was trained." in happened(root)


def test_the_strongest_are_switched_off_together(explorer):
    root = explorer()
    inside(root)
    strongest = [int(text.split()[1]) for text in strong(root).all_inner_texts()]
    word, share = likeliest(root)[0]
    root.press(f"Switch off the 5 that add most to “{word}”")
    answers(root, edits=[OFF | {"neuron": strongest}])
    assert root.text(".mygpt-before") == f"As trained: {word} {share}"
    said = root.locator(".mygpt-answer").first.inner_text()
    assert said.startswith("The model says " + " ".join(likeliest(root)[0]))


def test_a_rewritten_fact_is_answered_and_the_panel_says_what_changed(explorer):
    root = explorer()
    opened(root, "All facts")
    lines = root.locator(".mygpt-fact")
    lines.nth(2).click()
    assert field(root).input_value() == "kiki . dolem ban"
    current = [line.get_attribute("aria-current") for line in lines.all()]
    assert current == ["false", "false", "true", "false"]
    trained = facts(root)
    rewrite(root, "fufu")
    asked = {"prompt": "kiki. dolem ban"}
    answers(root, **asked, edits=[{"kind": "rewrite", **asked, "word": "fufu"}])
    assert likeliest(root)[0][0] == "fufu"
    for before, after, (prompt, right) in zip(trained, facts(root), FACTS, strict=True):
        root.python.prompt = prompt
        word, share = best(root)
        assert after[2:4] == [word, fixed(share)]
        assert after[4].startswith("✓" if word == right else "✗")
        assert ("changed" in after[4]) == (word != before[2])
    assert "changed" in facts(root)[2][4]
    effect = happened(root)
    assert "One matrix of the feed-forward network is changed: “" in effect
    assert "and the model says “fufu”." in effect
    inside(root)
    assert effect in root.label("canvas")


HEADS = {"kind": "part", "layer": 1, "part": "heads", "factor": 0.0}
NETWORK = HEADS | {"part": "network"}


@pytest.mark.parametrize("form", ["whole", "small"])
def test_parts_are_switched_off_and_on_again(explorer, form):
    root = explorer(form=form)
    if form == "whole":
        inside(root)
    trained = facts(root)
    for name, edit in {"Heads of layer 1": HEADS, "Network 1": NETWORK}.items():
        switch = root.get_by_role("checkbox", name=name)
        assert switch.is_checked()
        switch.uncheck()
        answers(root, edits=[edit])
        assert "changed" in "".join(fact[4] for fact in facts(root))
        assert root.text(".mygpt-before").startswith("As trained: ")
        switch.check()
        answers(root, edits=[])
        assert facts(root) == trained
    root.get_by_role("checkbox", name="Heads of layer 0").uncheck()
    switch.uncheck()
    answers(root, edits=[HEADS | {"layer": 0}, NETWORK])


def test_the_small_form_shows_no_neurons_and_takes_no_links(explorer):
    root = explorer(form="small", link="#live=e30")
    assert field(root).count() == 1
    assert len(facts(root)) == len(FACTS)
    assert root.get_by_role("button", name="Copy link").count() == 0
    assert root.locator("canvas").count() == 0
    assert "The link was not used" not in root.inner_text()
    field(root).fill("fun")
    answers(root, prompt="fun")


def test_a_fact_is_not_rewritten_in_a_network_that_is_off(explorer):
    root = explorer()
    inside(root)
    root.get_by_role("checkbox", name="Network 1").uncheck()
    rewrite(root, "fufu")
    assert "Network 1 is off: switch it on" in happened(root)
    opened(root, "Edits")
    assert listed_edits(root) == ["Network 1 switched off."]


def test_without_a_second_moment_no_fact_can_be_rewritten(explorer):
    root = explorer(second_moment=None)
    inside(root)
    assert field(root, "New answer").count() == 0
    assert field(root, "Point its value at").count() == 1


def test_a_layer_is_chosen_where_several_have_memories(explorer):
    root = explorer(state=arrays(alone=()), second_moment=None)
    inside(root)
    table = root.get_by_role("table").filter(has_text="Triggers")
    assert table.count() == 1
    root.press("Layer 0")
    assert not table.is_visible()
    text, made = card(root), root.python
    here = made._read(PROMPT, [])[1][0][3, made.neuron]
    assert f"Neuron {made.neuron} of layer 0" in text
    assert f"Coefficient at kin {fixed(here)}" in text
    assert "it directly adds" in text
    silence(root)
    assert "of layer 0 switched off" in happened(root)


def test_a_link_brings_the_same_state_to_another_page(explorer, open_page):
    root = explorer()
    field(root).fill("fun. don")
    inside(root)
    token(root).select_option("1")
    choose(root, 9)
    root.press("Switch off")
    rewrite(root, "baba")
    opened(root, "Edits")
    link = root.copied_link()
    pinned = root.text(".mygpt-pinned")
    assert pinned.startswith("The model says")  # the bar beside it is of an answer
    other = Figure(open_page(link).locator(".mygpt-live-model"))
    other.wait_for()
    look = other.locator("details", has_text="Look inside")
    assert look.get_attribute("open") is not None  # the link's neuron is in it
    opened(other, "Edits")
    for read in (
        likeliest,
        facts,
        promoted,
        lambda one: token(one).input_value(),
        lambda one: one.text(".mygpt-edits"),
        lambda one: one.label("canvas"),
    ):
        assert read(other) == read(root)
    assert likeliest(other)[0][0] == "baba"
    assert field(other).input_value() == "fun . don"
    root.press("Reset")
    assert listed_edits(root) == []
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
    answers(root)


def test_another_hash_and_a_page_without_the_host_say_nothing_of_links(explorer):
    assert "link was" not in explorer(link="#section").inner_text()
    assert "link" not in explorer(linked=False, link="#live=e30x").inner_text()


def test_traits_that_change_from_elsewhere_move_the_figure(explorer):
    """As a kernel changes them; the field being typed in follows too."""
    root = explorer()
    field(root).focus()
    root.set(prompt="fun")
    assert field(root).input_value() == "fun"
    answers(root, prompt="fun")
    inside(root)
    assert token(root).input_value() == "1"
    edits = [{"kind": "rewrite", "prompt": "fun", "word": "ban"}]
    root.set(edits=edits, neuron=3, token=0)
    answers(root, edits=edits)
    here = coefficients(root.python, edits)[0, 3]
    assert f"Coefficient at . {fixed(here)}" in card(root)
    assert root.get("prompt") == "fun"
    choose(root, 8)
    assert root.get("neuron") == 8
    field(root).fill("don. fun")
    assert root.get("prompt", "token") == ["don . fun", 3]


def test_facts_of_the_readers_own_are_written_and_taken_back(explorer):
    """What Python refuses is refused in words; a link brings what was written."""
    root = explorer(unfolded=["written"])
    lines = root.get_by_label("A fact a line")
    problem, told = map(root.locator, (".mygpt-wrong-line", ".mygpt-written-sum"))
    assert lines.input_value() == "fun has ban\ndofu is kiki"
    for text, why in (("fun has bam", "“bam” is not one"), ("fun", "two words and a")):
        lines.fill(text)
        root.press("Write 1")
        assert why in problem.inner_text()
        assert root.get("edits") == []
    lines.fill("fun has lemn\ndofu is kiki")
    assert problem.inner_text() == ""
    root.press("Write 2")
    edits = [
        {"kind": "write", "facts": [["fun", "has", "lemn"], ["dofu", "is", "kiki"]]}
    ]
    root.python.edits = edits
    assert likeliest(root)[:5] == expected(root.python)[:5]
    assert told.inner_text().startswith("2 written, from neuron 23 on")
    assert told.inner_text().endswith("gives 2 of 2 new answers.")
    root.press("Write 2")
    assert problem.inner_text() == "These facts are written."
    row = root.get_by_role("button", name="kin fun. New: lemn.")
    row.click()
    assert has_focus(row)
    assert likeliest(root)[0][0] == "lemn"
    root.press("Switch off what holds “lemn”")
    assert "A neuron that was written holds “lemn”." in happened(root)
    root.press("Undo")
    answers(root, prompt="kin fun", edits=[])
    assert told.inner_text() == ""


NAME_OF_FOCUSED = """root => {
  const at = document.activeElement;
  if (!root.contains(at)) return null;
  if (at.dataset.lmSuppressShortcuts !== "true") return "not suppressed";
  const label = at.closest("label")?.innerText.split("\\n")[0];
  return at.getAttribute("aria-label") || label || at.innerText;
}"""


def test_everything_works_with_the_keyboard_alone(explorer):
    root = explorer()
    for fold in root.locator("summary").all():
        fold.press("Enter")
    field(root).focus()
    names = []
    while (name := root.evaluate(NAME_OF_FOCUSED)) is not None:  # Tab leads out again
        names.append(name)
        assert len(names) < 60
        root.keys("Tab")
    assert names[0] == "Prompt"
    assert names[1].startswith("Switch off what holds")
    assert names[2:5] == ["Undo", "New answer", "Rewrite"]
    parts = {"Heads of layer 0", "Heads of layer 1", "Network 1", "Token", "Neuron"}
    edits = {"Next strongest", "Switch off", "Double", "Reset", "Point its value at"}
    assert parts | edits | {"Copy link"} < set(names)
    assert any(name.startswith("Network, ") for name in names)
    assert sum(name.startswith("Neuron ") for name in names) == 5 + 4
    choose(root, 4)
    root.button("Switch off").press("Enter")
    assert "Neuron 4 of layer 1 switched off." in root.inner_text()
    root.button("Undo").press("Space")
    assert "as it was trained" in happened(root)
    root.get_by_role("button", name="Next strongest").press("Enter")


def test_the_status_is_spoken(explorer):
    root = explorer()
    choose(root, 5)
    root.spoken("Neuron 5 of layer 1 at token 3")
    silence(root)
    root.spoken("of layer 1 switched off: “")
    field(root).fill("fun")
    root.spoken("After “fun” the likeliest word")
    field(root).fill("paris")
    root.spoken("“paris” is not among")


def test_what_was_spoken_is_taken_away_later(explorer):
    root = explorer(form="cover")
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
    root.page.touchscreen.tap(x, y)
    assert f"Neuron {by_size(coefficients(root.python)[3])[17]}" in card(root)
    opened(root, "All facts", "Edits")
    fits(root, 390)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_after_edits_and_beside_a_list(explorer, theme):
    root = explorer(theme=theme)
    silence(root)
    rewrite(root, "fufu")
    field(root).fill("fun ")
    root.keys("ArrowDown")
    judge(root.page)


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
    root = explorer(form="cover", prompt="don")
    word, share = best(root)
    answers(root, most=3)
    assert "as it was trained" in happened(root)
    root.press(f"Switch off what holds “{word}”")
    (edit,) = root.get("edits")
    neurons = edit["neuron"]
    order = np.argsort(-added_to(root.python, word))
    assert neurons == order[: len(neurons)].tolist()
    for some, changes in ((neurons, True), (neurons[:-1], False)):
        root.python.edits = [edit | {"neuron": some}]
        assert (best(root)[0] != word) == changes
    barred(root, [edit])
    assert f"it falls from {fixed(share)}" in happened(root)
    assert f"the model says “{best(root)[0]}”" in happened(root)
    field(root).fill("fun")
    assert "The edit for “don” stays on." in happened(root)
    root.press("Undo")
    assert "as it was trained" in happened(root)


def test_the_button_that_switched_off_an_answer_cuts_no_other(explorer):
    root = explorer(form="cover", prompt="don")
    word, _ = best(root)
    off = root.locator(".mygpt-first button").first
    off.dblclick()
    assert len(root.get("edits")) == 1
    assert off.inner_text() == f"Switch on what holds “{word}”"
    told = happened(root)
    field(root).fill("fun")
    assert off.inner_text() == f"Switch on what holds “{word}”"  # it is still off
    off.click()
    assert root.get("edits") == []
    field(root).fill("don")
    off.click()
    assert happened(root) == told
    own_answer(root).fill("fun")
    root.press("Rewrite")
    off.click()
    assert [edit.get("factor") for edit in root.get("edits")] == [0, None, 1]
    assert off.inner_text().startswith("Switch off what holds")
    root.press("Undo", "Undo")
    off.click()
    assert root.get("edits") == []
    answers(root, most=3)
    assert off.inner_text() == f"Switch off what holds “{word}”"


def test_neurons_that_are_off_are_crossed_out_in_place_and_listed(explorer):
    root = explorer(prompt="don")
    inside(root)
    off = switched_off(root)
    assert off.inner_text() == "Off: none"
    canvas, crosses = root.locator("canvas"), root.locator(".mygpt-tiles .mygpt-off")
    assert crosses.count() == 0
    root.get_by_role("button", name="Switch off what holds").click()
    (edit,) = root.get("edits")
    neurons = sorted(edit["neuron"])
    assert off.get_by_role("button").all_inner_texts() == [str(n) for n in neurons]
    told = f"Off in this layer: {', '.join(map(str, neurons))}."
    assert told in root.label("canvas")
    order = by_size(coefficients(root.python)[-1])
    assert crosses.count() == len(neurons)
    canvas.scroll_into_view_if_needed()
    for neuron, cross in zip(neurons, crosses.all(), strict=True):
        assert middle(cross) == pytest.approx(tile(root, order.index(neuron)), abs=1)
    root.page.mouse.click(*tile(root, order.index(neurons[0])))
    assert card(root).startswith(f"Neuron {neurons[0]}")
    assert ", off\n" in card(root)
    assert ", off" in root.text(".mygpt-tooltip")
    off.press(f"Neuron {neurons[-1]}, off")
    assert card(root).startswith(f"Neuron {neurons[-1]}")
    root.press("Switch on")
    assert off.get_by_role("button").count() == len(neurons) - 1
    assert crosses.count() == len(neurons) - 1


def test_all_that_is_off_is_listed(explorer):
    root = explorer(state=arrays(alone=()), second_moment=None, prompt="don")
    inside(root)
    off = switched_off(root)
    assert off.inner_text() == "Off: none"
    root.get_by_role("checkbox", name="Heads of layer 0").uncheck()
    assert " ".join(off.inner_text().split()) == "Off: heads of layer 0"
    choose(root, 4)
    root.press("Switch off", "Layer 0")
    told = "Off: heads of layer 0, 1 neuron of layer 1"
    assert off.inner_text().split() == told.split()
    choose(root, 2)
    root.press("Switch off")
    assert off.inner_text().split() == [*told.split(), "2"]
    root.get_by_role("checkbox", name="Network 1").uncheck()
    assert "heads of layer 0, network 1, 1 neuron of layer 1" in off.inner_text()


@pytest.mark.parametrize("width", [736, 390])
def test_a_neuron_is_switched_off_where_it_was_chosen(explorer, width):
    root = explorer(width=width, height=700, touch=width < 500)
    opened(root, "Look inside")
    line = strong(root).nth(3)
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
    answers(root, edits=[OFF | {"neuron": int(neuron)}])
    word, before = trained[0]
    after = dict(likeliest(root))[word]
    assert likeliest(root) != trained
    assert effect.inner_text() == f"{word}: {before} → {after}"
    assert writers.bounding_box()["height"] == tall
    again = root.get_by_role("button", name=f"Switch on neuron {neuron}")
    assert again.count() == 1
    assert again.bounding_box()["y"] == box["y"]  # nothing moves under the finger
    again.press("Enter")
    assert likeliest(root) == trained
    assert effect.inner_text().endswith(f"→ {before}")
    strong(root).last.press("Tab")
    named = root.page.evaluate("document.activeElement.textContent")
    assert named.startswith("Switch off neuron ")
    root.get_by_role("radiogroup", name="Stage").get_by_role("radio").nth(1).check()
    assert not switch.is_visible()  # among heads there is no neuron


@pytest.mark.parametrize("width", [736, 390])
def test_a_neuron_that_is_off_is_switched_on_where_it_is_listed(explorer, width):
    root = explorer(prompt="don", width=width)
    inside(root)
    root.get_by_role("button", name="Switch off what holds").click()
    off = switched_off(root)
    buttons = off.get_by_role("button")
    names = buttons.all_inner_texts()
    assert all(name.isdigit() for name in names)
    buttons.first.scroll_into_view_if_needed()
    before = buttons.first.bounding_box()
    buttons.first.click()
    assert buttons.first.bounding_box() == before
    off.get_by_role("button", name=f"Switch on neuron {names[0]}").click()
    assert buttons.all_inner_texts() == names[1:]


def test_names_of_rows_do_not_run_together(explorer):
    root = explorer(prompt="fun")
    opened(root, "All facts")
    word, share = best(root)
    mark = "right" if word == "don" else "wrong"
    name = f"fun. Right: don. The model says: {word} {fixed(share)}, {mark}."
    assert root.button(name).count() == 1
    inside(root)
    parts = strong(root).first.inner_text().split("\n")
    assert root.button("{}: coefficient {}, adds {}".format(*parts)).count() == 1


def test_the_ring_around_a_fold_s_title_lies_over_nothing_else(explorer):
    root = explorer()
    title = opened(root, "All facts").locator("summary")
    root.keys("Enter", "Enter")  # it was clicked: a key shows the ring
    ring = title.evaluate(
        """one => {
          const { top, bottom, borderTopWidth } = getComputedStyle(one, "::after");
          return [one.matches(":focus-visible"), getComputedStyle(one).outlineStyle,
            parseFloat(top) >= 0, parseFloat(bottom) >= 0, borderTopWidth];
        }"""
    )
    assert ring == [True, "none", True, True, "3px"]


def test_the_cover_says_when_nothing_small_holds_the_answer(explorer):
    root = explorer(form="cover")
    root.press(f"Switch off what holds “{best(root)[0]}”")
    assert "Neither a small set of neurons nor the heads" in happened(root)
    field(root).fill("fun")
    assert "as it was trained" in happened(root)


def test_the_cover_rewrites_an_answer_and_says_which_others_changed(explorer):
    root = explorer(form="cover")
    for prompt, word in ((PROMPT, "lemn"), ("lemlem fudo", "baki"), (PROMPT, "lemn")):
        field(root).fill(prompt)
        assert own_answer(root).input_value() == word
    own_answer(root).fill("fun")
    root.press("Rewrite")
    barred(root, [{"kind": "rewrite", "prompt": PROMPT, "word": "fun"}])
    assert "One matrix of the feed-forward network is changed" in happened(root)
    twins = [live(prompt=prompt) for prompt, _ in FACTS]
    trained = {one.prompt: one.predictions(1)[0][0] for one in twins}
    changed = [one for one in facts(root)[1:] if one[2] != trained[one[0]]]
    others = f" {1 + len(changed)} of the {len(FACTS)} tested are changed: this one"
    assert others in happened(root)
    for name, *_ in changed:
        assert f"“{name}”" in happened(root)
    told = happened(root)
    own_answer(root).press("Enter")
    assert happened(root) == f"It already says “fun”. {told}"
    root.press("Rewrite")
    assert happened(root) == f"It already says “fun”. {told}"
    assert len(root.get("edits")) == 1
    assert root.get_by_role("button", name="Copy link").count() == 0
    root.get_by_role("button", name="fun").last.click()
    assert field(root).input_value() == "fun"


@pytest.mark.parametrize("width", [736, 390])
def test_one_press_makes_the_cover_give_another_answer(explorer, width):
    root = explorer(form="cover", width=width)
    assert not field(root, "New answer").is_visible()  # typing is folded
    tall = root.bounding_box()["height"]
    make = root.get_by_role("button", name="Make it say “lemn”")
    make.click()
    edits = [{"kind": "rewrite", "prompt": PROMPT, "word": "lemn"}]
    assert root.get("edits") == edits
    barred(root, edits)
    assert make.get_attribute("aria-disabled") == "true"  # it says so now
    assert root.bounding_box()["height"] == tall
    field(root).fill("lemlem fudo")
    assert root.get_by_role("button", name="Make it say “baki”").is_visible()
    field(root).fill(PROMPT)
    root.press("Undo")
    assert make.get_attribute("aria-disabled") == "false"
    edges = root.locator(".mygpt-fact").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).borderTopWidth)"
    )
    assert set(edges) == {"0px"}  # no rules between the questions


def test_the_cover_says_that_it_lacks_a_word_wherever_that_is_tried(explorer):
    root = explorer(form="cover")
    answer, button = own_answer(root), root.get_by_text("Rewrite", exact=True)
    lacks = "“london” is not one of the model’s 31 words. Try “"
    fills = []
    for word in ("london", "fun"):
        answer.fill(word)
        fills.append(button.evaluate("one => getComputedStyle(one).backgroundColor"))
    assert fills[0] != fills[1]
    for attempt in (
        lambda: answer.press("Enter"),
        lambda: button.click(force=True),
        lambda: field(root).focus(),
    ):
        answer.fill("london")
        assert "as it was trained" in happened(root)
        attempt()
        assert happened(root).startswith(lacks)
    assert root.get("edits") == []
    root.spoken(lacks)


@pytest.mark.parametrize("width", [736, 390])
def test_the_list_of_words_covers_no_answer(explorer, width):
    for form in ("whole", "cover"):
        root = explorer(form=form, width=width)
        root.get_by_role("button", name="List words").click()
        first = root.locator(".mygpt-likeliest bdi").first.bounding_box()
        assert bottom(root.get_by_role("listbox")) <= first["y"] + 2
        assert width_of(root.page) == width


def test_the_answer_stays_in_sight_while_the_reader_looks_inside(explorer):
    root = explorer(width=390, height=844)
    choose(root, 7)
    root.press("Switch off")
    pinned = root.locator(".mygpt-pinned")
    assert 0 <= pinned.bounding_box()["y"] < 10
    word, share = likeliest(root)[0]
    assert pinned.inner_text() == f"The model says {word} {share}"


def test_the_parts_that_are_open_are_a_trait(explorer):
    root = explorer(unfolded=["inside"])
    look = root.locator("details", has_text="Look inside")
    one = root.locator("details details")
    assert look.get_attribute("open") is not None
    assert one.get_attribute("open") is None
    strong(root).nth(2).click()  # what is said of it is there
    root.becomes(lambda root: root.get("unfolded"), ["inside", "neurons"])
    root.set(unfolded=["edits"])
    assert root.get_by_role("button", name="Copy link").is_visible()
    assert look.get_attribute("open") is None


def test_the_new_answer_that_the_reader_chose_stays_while_it_is_possible(explorer):
    root = explorer(form="cover")
    answer = own_answer(root)
    chosen = answer.input_value()
    root.press("Rewrite")
    for prompt in ("lemlem fudo", "fun", PROMPT):
        field(root).fill(prompt)
        assert answer.input_value() == chosen
    said, _ = live(prompt="don").predictions(1)[0]
    answer.fill(said)
    field(root).fill("don")
    assert answer.input_value() != said  # it says so itself
    field(root).fill(PROMPT)
    assert answer.input_value() == said


def test_no_list_opens_under_a_whole_word(explorer):
    """It would lie over the answer; an arrow key lists the words that may follow."""
    root = explorer(words=["donki" if word == "dodo" else word for word in WORDS])
    options = root.locator("[role=option]")
    field(root).fill("fun don")
    assert options.count() == 0
    field(root).press("ArrowDown")
    root.python.prompt = "fun don"
    assert options.all_inner_texts() == [word for word, _ in expected(root.python)]
    field(root).fill("fun donk")
    assert options.count() == 1


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_the_cover_cuts_and_moves_nothing(explorer, width):
    root = explorer(form="cover", prompt="don", width=width, height=420)
    tall = root.bounding_box()["height"]
    off = root.locator(".mygpt-first button").first
    off.focus()
    root.page.wait_for_timeout(50)  # the page scrolls to what has the focus first
    root.keys("Enter")
    root.page.wait_for_function(
        """() => document.querySelector(".mygpt-happened")
          .getBoundingClientRect().bottom < innerHeight + 1"""
    )
    assert root.bounding_box()["height"] == tall
    assert own_answer(root).bounding_box()["width"] > 110
    assert root.locator(".mygpt-sum").is_visible()
    assert root.cut(".mygpt-fact *, .mygpt-likeliest bdi") == []
