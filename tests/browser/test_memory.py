"""The explorer of memories alone on its page: a question answered by clicking."""

import re

import pytest
import torch
from figures import button, fixed, slider, width_of
from judged import judge

from mygpt import explorers
from mygpt.inside import experiments, hooks, memory
from mygpt.inside.world_models import load_world_model

LAYER = 1


@pytest.fixture(scope="module")
def made():
    return load_world_model("attention-first")


@pytest.fixture(scope="module")
def page_file(made, tmp_path_factory):
    """Network 1 at "the capital of france is", asked about *berlin* first."""
    model, words, asked = made.model, made.words, question(made, "paris")
    end = asked.last.item() + 1
    scores, told = memory.promoted(model, LAYER, count=5)
    promoted = [
        [(words[i], number) for i, number in zip(*lists, strict=True)]
        for lists in zip(told.tolist(), scores.tolist(), strict=True)
    ]
    path = tmp_path_factory.mktemp("memory") / "page.html"
    explorers.Memory(
        memory.coefficients(model, asked.ids)[LAYER][0, :end],
        [words[i] for i in asked.ids[0, :end]],
        token=end - 1,
        word="berlin",
        triggers=experiments.cards(made, made.rows(100, seed=1), LAYER, count=4),
        promoted=promoted,
        words=words,
        values=memory.as_read(model, memory.values(model, LAYER)),
        vectors=model.token.embedding.weight,
        norms=memory.divisor(model, asked.ids)[0, :end],
    ).write_html(path)
    return path


def question(made, word):
    """The prompt about France, with that word as its answer."""
    asked = made.prompts(made.world.facts()[:1])
    answer = torch.tensor([made.words.index(word)])
    return hooks.Prompts(asked.ids, asked.last, answer)


@pytest.fixture
def root(open_page, page_file):
    page = open_page(page_file.as_uri(), width=736)
    root = page.locator(".mygpt-memory")
    root.wait_for()
    return root


def heads(root):
    texts = root.locator(".mygpt-neuron-heads > span").all_inner_texts()
    return [int(text) for text in texts]


def rows(root, name):
    """The cells of a map, a row a list."""
    every = root.locator(f".mygpt-{name} .mygpt-cells > span").all_inner_texts()
    count = len(heads(root))
    return [every[i : i + count] for i in range(0, len(every), count)]


def shown(numbers, limit):
    return [fixed(one, 1) if abs(one) >= 0.3 * limit else "" for one in numbers]


def bars(root):
    return root.locator(".mygpt-adding > span").all_inner_texts()


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
    words = root.locator(".mygpt-keys .mygpt-row-names > button").all_inner_texts()
    assert words == [".", "the", "capital", "of", "france", "is"]
    limit = fires[len(words) - 1].abs().max().item()
    for token, row in enumerate(rows(root, "keys")):
        assert row == shown(fires[token, order].tolist(), limit)

    third = order[2]
    root.locator(".mygpt-neuron-heads > span").nth(2).click()
    said = root.locator(".mygpt-sentence").inner_text()
    assert said.startswith(
        f"Neuron {third} fires {fires[5, third]:.2f} at “is” "
        f"and adds +{added[third]:.2f} to “paris”"
    )
    assert said.endswith("number 3 of 256.")
    unfold(root, "Where it fires most, what it writes")
    promoted = memory.promoted(made.model, LAYER, count=5)[1][third].tolist()
    told = root.locator(".mygpt-pairs").nth(1).locator("tbody th").all_inner_texts()
    assert told == [made.words[i] for i in promoted]
    root.page.watch.check()


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
    chosen = root.locator(".mygpt-neuron-heads .mygpt-chosen")
    assert chosen.inner_text() == str(heads(root)[4])
    lefts = [one.bounding_box()["x"] for one in root.locator(".mygpt-column").all()]
    assert lefts[0] == pytest.approx(lefts[1], abs=0.5)
    unfold(root, "More neurons")
    assert root.get_by_role("spinbutton").input_value() == chosen.inner_text()


def test_a_neuron_is_found_by_its_number_and_by_what_it_writes(root):
    unfold(root, "More neurons")
    number = root.get_by_role("spinbutton", name="Neuron")
    for wrong in ("9999", "-1", "1.5", ""):
        number.fill(wrong)
        root.get_by_text(re.compile(r"^expected 0 to \d+$")).wait_for()
    number.fill("200")
    number.press("Enter")
    assert 200 in heads(root)
    assert root.get_by_text("expected 0").count() == 0
    near = root.get_by_role("button", name="cosine").first
    number = int(near.inner_text().split()[0])
    near.click()
    assert number in heads(root)
    assert f"Neuron {number} fires" in root.locator(".mygpt-sentence").inner_text()


def test_the_neuron_that_is_followed_stays_at_another_word(root):
    followed = root.locator(".mygpt-neuron-heads .mygpt-chosen")
    root.locator(".mygpt-neuron-heads > span").nth(6).click()
    number = followed.inner_text()
    hint = root.get_by_text("← → neuron, ↑ ↓ word")
    assert hint.is_visible()
    root.get_by_role("combobox", name="Word to write").fill("france")
    assert not hint.is_visible()
    slider(root, "Neuron").press("ArrowUp")
    assert followed.inner_text() == number
    assert root.locator(".mygpt-neuron-heads > span").last.inner_text() == number
    said = root.locator(".mygpt-sentence").inner_text()
    assert said.startswith(f"Neuron {number} fires")
    assert "at “france”" in said
    assert "to “france”" in said
    assert root.locator(".mygpt-sum").inner_text().startswith("Neurons 1–11 of 256")
    root.get_by_role("button", name="Back to the first").click()
    assert root.locator(".mygpt-neuron-heads > span").first.inner_text() == (
        followed.inner_text()
    )


@pytest.mark.parametrize("width", [736, 390, 320])
def test_the_lists_of_a_neuron_stay_folded_until_the_reader_opens_them(
    open_page, page_file, width
):
    root = open_page(page_file.as_uri(), width=width).locator(".mygpt-memory")
    lists = root.locator(".mygpt-lists")
    assert not root.get_by_text("Fires most in training").is_visible()
    root.page.emulate_media(media="print")
    assert root.get_by_text("Fires most in training").is_visible()
    root.page.emulate_media(media="screen")
    tall = root.bounding_box()["height"]
    root.locator(".mygpt-neuron-heads > span").nth(1).click()
    assert not root.get_by_text("Fires most in training").is_visible()
    assert root.bounding_box()["height"] == tall
    lists.locator("summary").click()
    assert root.get_by_text("Fires most in training").is_visible()
    cut = root.evaluate(
        """root => [...root.querySelectorAll(
          "thead th, summary, .mygpt-sum, .mygpt-map-title")]
          .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
          .map((one) => one.textContent)"""
    )
    assert cut == []
    root.locator(".mygpt-neuron-heads > span").nth(2).click()
    assert lists.get_attribute("open") is not None  # as the reader left them


@pytest.mark.parametrize("width", [360, 320])
def test_the_title_of_the_keys_is_whole_beside_the_longest_legend(
    open_page, page_file, width
):
    root = open_page(page_file.as_uri(), width=width).locator(".mygpt-memory")
    button(root, "capital").first.click()
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
    assert "to “french”" in root.locator(".mygpt-sentence").inner_text()
    field.fill("xyz")
    assert field.get_attribute("aria-invalid") == "true"
    assert "to “french”" in root.locator(".mygpt-sentence").inner_text()
    field.blur()
    assert field.input_value() == "french"


def test_a_keyboard_walks_through_the_neurons(root):
    first = heads(root)
    slider(root, "Neuron").focus()
    for _ in range(len(first)):
        root.page.keyboard.press("ArrowRight")
    assert not set(heads(root)) & set(first[:-1])  # the next page


def test_few_neurons_are_in_view_at_first_and_the_rest_is_folded(root):
    assert len(heads(root)) == 12
    assert root.locator("input:visible, select:visible").count() == 2  # word, neuron
    assert not root.get_by_role("button", name="Next neurons").is_visible()
    unfold(root, "More neurons")
    assert root.get_by_role("button", name="Next neurons").is_visible()


def test_the_numbers_of_the_product_are_named(root):
    texts = root.locator(".mygpt-product > span").all_inner_texts()
    names = [text.split("\n")[1] for text in texts]
    assert names == [
        "it fires at “is”",
        "it writes on “berlin”",
        "the last norm divides by",
        "it adds to “berlin”",
    ]
    table = root.locator(".mygpt-pairs thead").first.text_content()
    assert "in training" in table  # not in the text above


def test_the_names_of_rows_are_reached_and_chosen_by_keys(root):
    keys = root.page.keyboard
    button(root, "is").focus()
    keys.press("ArrowUp")
    assert focused(root) == "france"
    keys.press("Enter")
    assert "at “france”" in root.locator(".mygpt-sentence").inner_text()
    assert focused(root) == "france"
    unfold(root, "Other words")
    names = root.get_by_role("group", name="Word to write").get_by_role("button")
    second = names.nth(1).inner_text()
    names.first.focus()
    keys.press("ArrowDown")
    assert focused(root) == second
    keys.press("Enter")
    assert f"to “{second}”" in root.locator(".mygpt-sentence").inner_text()
    assert root.page.evaluate("document.activeElement !== document.body")


def test_the_cells_are_walked_by_arrows_in_both_directions(root):
    place = slider(root, "Neuron")
    place.press("ArrowRight")
    assert root.locator(".mygpt-neuron-heads .mygpt-chosen").inner_text() == str(
        heads(root)[1]
    )
    place.press("ArrowUp")
    assert "at “france”" in root.locator(".mygpt-sentence").inner_text()
    place.press("ArrowDown")
    assert "at “is”" in root.locator(".mygpt-sentence").inner_text()


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
    assert root.locator(".mygpt-neuron-heads .mygpt-chosen").inner_text() == str(
        first[0]
    )
    assert focused(root) == "Neuron"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390, 320])
def test_the_whole_picture_is_on_one_screen(open_page, page_file, theme, width):
    page = open_page(page_file.as_uri(), width=width, theme=theme)
    root = page.locator(".mygpt-memory")
    root.wait_for()
    top = root.bounding_box()["y"]
    end = root.locator(".mygpt-product").bounding_box()
    assert end["y"] + end["height"] - top <= 720
    if width > 420:
        assert root.bounding_box()["height"] <= 780
    least = root.locator(".mygpt-cells > span").first.bounding_box()
    assert least["width"] >= 28
    assert least["height"] >= 24
    assert width_of(page) <= width
    judge(page, ".mygpt-memory")
    page.watch.check()
