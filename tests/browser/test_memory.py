"""The explorer of memories alone on its page: a question answered by clicking."""

import re

import pytest
import torch
from figures import bottom, fixed, width_of
from helpers import examples
from judged import judge

from mygpt.inside import experiments, hooks, memory
from mygpt.inside.world_models import load_world_model

LAYER = 1


@pytest.fixture(scope="module")
def made():
    return load_world_model("attention-first")


@pytest.fixture(scope="module")
def explorer(made):
    """Network 1 at "the capital of france is", asked about *berlin* first."""
    triggers = experiments.cards(made, made.rows(100, seed=1), LAYER, count=4)
    return examples.france(word="berlin", triggers=triggers)[-1]


def question(made, word):
    """The prompt about France, with that word as its answer."""
    asked = made.prompts(made.world.facts()[:1])
    answer = torch.tensor([made.words.index(word)])
    return hooks.Prompts(asked.ids, asked.last, answer)


@pytest.fixture
def root(alone, explorer):
    return alone(explorer, width=736)


def heads(root):
    texts = root.texts(".mygpt-neuron-heads > span")
    return [int(text) for text in texts]


def rows(root, name):
    """The cells of a map, a row a list."""
    every = root.texts(f".mygpt-{name} .mygpt-cells > span")
    count = len(heads(root))
    return [every[i : i + count] for i in range(0, len(every), count)]


def shown(numbers, limit):
    return [fixed(one, 1) if abs(one) >= 0.3 * limit else "" for one in numbers]


def bars(root):
    return root.texts(".mygpt-adding > span")


def sentence(root):
    return root.text(".mygpt-sentence")


def chosen(root):
    return root.text(".mygpt-neuron-heads .mygpt-chosen")


def choose(root, place):
    """The neuron at a place of those in view."""
    root.locator(".mygpt-neuron-heads > span").nth(place).click()


def unfold(root, title):
    root.get_by_text(title, exact=True).click()


def focused(root):
    """What has the focus: its label or its text."""
    return root.page.evaluate(
        "document.activeElement.ariaLabel ?? document.activeElement.innerText"
    )


def test_which_neurons_write_paris_and_on_which_word_do_they_fire(root, made):
    """Asked by clicking alone, and compared with the package's own numbers."""
    unfold(root, "Other words")
    root.get_by_role("group", name="Word to write").get_by_text("paris").click()
    field = root.get_by_role("combobox", name="Word to write")
    assert field.input_value() == "paris"

    asked = question(made, "paris")
    added = memory.contributions(made.model, asked, LAYER)[0]
    order = added.argsort(descending=True)[: len(heads(root))].tolist()
    assert heads(root) == order
    assert bars(root) == [fixed(one, 1) for one in added[order].tolist()]

    fires = memory.coefficients(made.model, asked.ids)[LAYER][0]
    words = root.texts(".mygpt-keys .mygpt-row-names > button")
    assert words == [".", "the", "capital", "of", "france", "is"]
    limit = fires[len(words) - 1].abs().max().item()
    for token, row in enumerate(rows(root, "keys")):
        assert row == shown(fires[token, order].tolist(), limit)

    third = order[2]
    choose(root, 2)
    fired = f"Neuron {third} fires {fires[5, third]:.2f} at “is” "
    said = sentence(root)
    assert said.startswith(f"{fired}and adds +{added[third]:.2f} to “paris”")
    assert said.endswith("number 3 of 256.")
    unfold(root, "Where it fires most, what it writes")
    promoted = memory.promoted(made.model, LAYER, count=5)[1][third].tolist()
    told = root.locator(".mygpt-pairs").nth(1).locator("tbody th").all_inner_texts()
    assert told == [made.words[i] for i in promoted]


def test_the_neurons_that_fire_most_come_first_on_request(root, made):
    unfold(root, "More neurons")
    root.get_by_role("button", name="firing").click()
    asked = question(made, "paris")
    fires = memory.coefficients(made.model, asked.ids)[LAYER][0, 5].abs()
    order = fires.argsort(descending=True, stable=True)
    assert heads(root) == order[: len(heads(root))].tolist()


def test_a_neuron_chosen_in_one_map_is_lit_in_the_other(root):
    box = root.locator(".mygpt-keys .mygpt-cell-box")
    width = box.bounding_box()["width"] / len(heads(root))
    box.click(position={"x": 4.5 * width, "y": 10})
    assert chosen(root) == str(heads(root)[4])
    lefts = [one.bounding_box()["x"] for one in root.locator(".mygpt-column").all()]
    assert lefts[0] == pytest.approx(lefts[1], abs=0.5)
    unfold(root, "More neurons")
    assert root.get_by_role("spinbutton").input_value() == chosen(root)


def test_a_neuron_is_found_by_its_number_and_by_what_it_writes(root):
    unfold(root, "More neurons")
    number = root.field("Neuron")
    for wrong in ("9999", "-1", "1.5", ""):
        number.fill(wrong)
        root.get_by_text(re.compile(r"^expected 0 to \d+$")).wait_for()
    root.type_in("Neuron", 200)
    assert 200 in heads(root)
    assert root.get_by_text("expected 0").count() == 0
    near = root.get_by_role("button", name="cosine").first
    number = int(near.inner_text().split()[0])
    near.click()
    assert number in heads(root)
    assert f"Neuron {number} fires" in sentence(root)


def test_the_neuron_that_is_followed_stays_at_another_word(root):
    choose(root, 6)
    number = chosen(root)
    hint = root.get_by_text("← → neuron, ↑ ↓ word")
    assert hint.is_visible()
    root.get_by_role("combobox", name="Word to write").fill("france")
    assert not hint.is_visible()
    root.slider("Neuron").press("ArrowUp")
    assert chosen(root) == number == str(heads(root)[-1])
    assert re.match(f"Neuron {number} fires .*at “france”.*to “france”", sentence(root))
    assert root.text(".mygpt-sum").startswith("Neurons 1–11 of 256")
    root.get_by_role("button", name="Back to the first").click()
    assert str(heads(root)[0]) == chosen(root)


@pytest.mark.parametrize("width", [736, 390, 320])
def test_the_lists_of_a_neuron_stay_folded_until_the_reader_opens_them(
    alone, explorer, width
):
    root = alone(explorer, width=width)
    lists = root.locator(".mygpt-lists")
    told = root.get_by_text("Fires most in training")
    assert not told.is_visible()
    root.page.emulate_media(media="print")
    assert told.is_visible()
    root.page.emulate_media(media="screen")
    tall = root.bounding_box()["height"]
    choose(root, 1)
    assert not told.is_visible()
    assert root.bounding_box()["height"] == tall
    lists.locator("summary").click()
    assert told.is_visible()
    assert root.cut("thead th, summary, .mygpt-sum, .mygpt-map-title") == []
    choose(root, 2)
    assert lists.get_attribute("open") is not None  # as the reader left them


@pytest.mark.parametrize("width", [360, 320])
def test_the_title_of_the_keys_is_whole_beside_the_longest_legend(
    alone, explorer, width
):
    root = alone(explorer, width=width)
    root.button("capital").first.click()
    title, legend = (
        root.locator(f".mygpt-keys {part}")
        for part in (".mygpt-map-title", ".mygpt-legend")
    )
    assert "or more" in legend.text_content()
    assert title.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert root.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_other_words_unfold_below_what_is_said_of_the_neuron(root):
    place = root.locator(".mygpt-sentence").bounding_box()
    unfold(root, "Other words")
    assert root.locator(".mygpt-sentence").bounding_box() == place


def test_every_neuron_is_reached_by_turning_pages(root):
    unfold(root, "More neurons")
    seen = set(heads(root))
    further = root.get_by_role("button", name="Next neurons")
    while further.get_attribute("aria-disabled") == "false":
        further.click()
        seen |= set(heads(root))
    assert seen == set(range(256))


def test_a_word_is_typed_and_an_unknown_one_changes_nothing(root):
    field = root.get_by_role("combobox", name="Word to write")
    field.fill("fre")
    root.get_by_role("option", name="french").click()
    assert "to “french”" in sentence(root)
    field.fill("xyz")
    assert field.get_attribute("aria-invalid") == "true"
    assert "to “french”" in sentence(root)
    field.blur()
    assert field.input_value() == "french"


def test_a_keyboard_walks_through_the_neurons(root):
    first = heads(root)
    root.slider("Neuron").focus()
    for _ in range(len(first)):
        root.keys("ArrowRight")
    assert not set(heads(root)) & set(first[:-1])  # the next page


def test_few_neurons_are_in_view_at_first_and_the_rest_is_folded(root):
    assert len(heads(root)) == 12
    assert root.locator("input:visible, select:visible").count() == 2  # word, neuron
    assert not root.get_by_role("button", name="Next neurons").is_visible()
    unfold(root, "More neurons")
    assert root.get_by_role("button", name="Next neurons").is_visible()


def test_the_numbers_of_the_product_are_named(root):
    texts = root.texts(".mygpt-product > span")
    fires, *others = [text.split("\n")[1] for text in texts]
    assert fires == "it fires at “is”"
    writes, adds = "it writes on “berlin”", "it adds to “berlin”"
    assert others == [writes, "the last norm divides by", adds]
    table = root.locator(".mygpt-pairs thead").first.text_content()
    assert "in training" in table  # not in the text above


def test_the_names_of_rows_are_reached_and_chosen_by_keys(root):
    keys = root.page.keyboard
    root.button("is").focus()
    keys.press("ArrowUp")
    assert focused(root) == "france"
    keys.press("Enter")
    assert "at “france”" in sentence(root)
    assert focused(root) == "france"
    unfold(root, "Other words")
    names = root.get_by_role("group", name="Word to write").get_by_role("button")
    second = names.nth(1).inner_text()
    names.first.focus()
    keys.press("ArrowDown")
    assert focused(root) == second
    keys.press("Enter")
    assert f"to “{second}”" in sentence(root)
    assert root.page.evaluate("document.activeElement !== document.body")


def test_the_cells_are_walked_by_arrows_in_both_directions(root):
    place = root.slider("Neuron")
    place.press("ArrowRight")
    assert chosen(root) == str(heads(root)[1])
    place.press("ArrowUp")
    assert "at “france”" in sentence(root)
    place.press("ArrowDown")
    assert "at “is”" in sentence(root)


def test_a_near_neuron_hands_its_focus_on_and_there_is_a_way_back(root):
    first = heads(root)
    back = root.get_by_role("button", name="Back to the first")
    assert not back.is_visible()
    unfold(root, "More neurons")
    near = root.get_by_role("button", name="cosine").nth(2)
    near.focus()
    near.press("Enter")
    assert "cosine" in focused(root)
    assert heads(root) != first
    back.focus()
    back.press("Enter")
    assert heads(root) == first
    assert chosen(root) == str(first[0])
    assert focused(root) == "Neuron"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390, 320])
def test_the_whole_picture_is_on_one_screen(alone, explorer, theme, width):
    root = alone(explorer, width=width, theme=theme)
    top = root.bounding_box()["y"]
    assert bottom(root.locator(".mygpt-product")) - top <= 720
    if width > 420:
        assert root.bounding_box()["height"] <= 780
    least = root.locator(".mygpt-cells > span").first.bounding_box()
    assert least["width"] >= 28
    assert least["height"] >= 24
    assert width_of(root.page) <= width
    judge(root.page)
