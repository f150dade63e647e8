"""Chapters 10 and 11, and the model that lives in their pages."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from mygpt import explorers
from mygpt.inside.world_models import load_world_model
from mygpt.world.corpus import World

MEMORY, REWRITING = "chapters/10_memory.html", "chapters/11_rewriting.html"
FIRST_LOAD_LIMIT = 1_000_000  # bytes, gzipped
PROMPT = "the capital of france is"
STORY = "mia lamp . leo drum . mia"
LONGEST = 32  # positions


@pytest.fixture(scope="module")
def made():
    return load_world_model("attention-first")


@pytest.fixture
def chapter(open_page):
    """The live model of the chapter, on its page; `root.page` is the page."""

    def chapter(address, name=REWRITING, **settings):
        page = open_page(f"{address}/{name}", **settings)
        root = page.locator(".mygpt-live-model")
        root.wait_for()
        root.scroll_into_view_if_needed()
        return root

    return chapter


def texts(made):
    """100 rows of the training text cut at all lengths, and 100 facts."""
    rows = made.rows(100, seed=8).tolist()
    cut = [row[: 1 + i % LONGEST] for i, row in enumerate(rows)]
    facts = World(0).facts()[::6][:100]
    return cut + [made.encode(fact.prompt) for fact in facts]


def test_the_weights_of_the_page_give_pytorchs_logits_on_200_prompts(
    chapter, http_url, made
):
    folder = Path(explorers.__file__).parent
    names = ("kit/numbers", "kit/activations", "live_model/gpt")
    text = "".join((folder / f"{name}.mjs").read_text("utf-8") for name in names)
    module = re.sub(r"^(export |import .*$)", "", text, flags=re.MULTILINE)
    lists = texts(made)
    assert len(lists) == 200
    assert max(map(len, lists)) == LONGEST
    found = chapter(http_url).evaluate(
        f"""(root, lists) => {{
  {module}
  const id = root.closest("[data-model]").dataset.model;
  const trait = (name) => bookHost.models.get(id).get(name);
  const model = loadModel({{
    layout: trait("shapes"), bytes: trait("weights"), heads: trait("heads"),
    activation: trait("activation"),
  }});
  return lists.map((ids) => Array.from(forward(model, ids).logits));
}}""",
        lists,
    )
    for ids, logits in zip(lists, found, strict=True):
        with torch.no_grad():
            expected = made.model(torch.tensor([ids]))[0][0, -1]
        np.testing.assert_allclose(logits, expected, atol=1e-4, rtol=0)


def press(root, name):
    root.get_by_role("button", name=name).click()


def best(root):
    word, chance = root.locator(".mygpt-likeliest li").first.inner_text().split()
    return word, float(chance)


def unfold(root, name):
    """Open a fold, unless it is open."""
    title = root.page.locator("summary", has_text=name)
    fold = root.locator("details").filter(has=title).last
    if fold.get_attribute("open") is None:
        fold.locator("> summary").click()


def added(root):
    """What the heads and the network add to the answer, as the drawn block says."""
    texts = root.locator("label.mygpt-stage .mygpt-number").all_inner_texts()
    return [float(texts[n].replace("−", "-")) for n in (1, 3)]


def panel(root):
    """For each fact in the panel: what is asked, and what the model says."""
    if root.locator("details").count():
        unfold(root, "All facts")
    asked = root.locator(".mygpt-fact .mygpt-asked").all_inner_texts()
    said = root.locator(".mygpt-fact .mygpt-said bdi").all_inner_texts()
    return dict(zip(asked, said, strict=True))


def test_the_whole_story_of_france(chapter, file_url):
    root = chapter(file_url)
    assert root.get_by_role("combobox", name="Prompt").input_value() == PROMPT
    assert best(root)[0] == "paris"
    trained = panel(root)
    right = root.locator(".mygpt-fact .mygpt-right bdi").all_inner_texts()
    assert list(trained.values()) == right
    assert {"paris", "french", "rome", "lamp"} < set(right)

    press(root, "Switch off what holds “paris”")
    assert best(root)[0] != "paris"
    assert "The 6 of 256 neurons" in root.locator(".mygpt-happened").inner_text()
    press(root, "Undo")
    unfold(root, "Look inside")
    heads, network = added(root)
    assert abs(heads) < 0.02 * network
    root.get_by_role("combobox", name="Prompt").fill(STORY)
    heads, network = added(root)
    assert network < 0.2 * heads
    root.get_by_role("combobox", name="Prompt").fill(PROMPT)
    press(root, "Switch off the 5 that add most to “paris”")
    word, chance = best(root)
    assert word == "paris"  # the answer just survives
    assert chance < 0.5
    press(root, "Switch off the 5 that add most to “paris”")
    assert best(root)[0] != "paris"
    press(root, "Undo")
    press(root, "Undo")
    assert best(root)[0] == "paris"
    assert panel(root) == trained

    root.get_by_role("combobox", name="New answer").fill("rome")
    press(root, "Rewrite")
    assert best(root)[0] == "rome"
    capital = "the capital of germany is"  # it moves too, as the chapter says
    rewritten = {"the capital of france is", "france is governed from", capital}
    after = panel(root)
    for asked, said in trained.items():
        assert after[asked] == ("rome" if asked in rewritten else said), asked
    field = root.get_by_role("combobox", name="Prompt")
    field.fill(capital)
    assert best(root)[0] == "rome"
    unfold(root, "Edits")
    press(root, "Reset")
    assert best(root)[0] == "berlin"
    assert panel(root) == trained
    root.page.watch.check()


def test_each_half_is_switched_off_in_the_small_model(chapter, file_url):
    """Facts go with the network, stories with the heads that copy."""
    root = chapter(file_url, MEMORY)
    trained = panel(root)
    right = root.locator(".mygpt-fact .mygpt-right bdi").all_inner_texts()
    assert list(trained.values()) == right
    stories = {asked for asked in trained if " . " in asked}
    assert 2 <= len(stories) <= len(trained) - 3
    for name, lost in {
        "Network 1": set(trained) - stories,
        "Heads of layer 1": stories,
    }.items():
        switch = root.get_by_role("checkbox", name=name)
        switch.uncheck()
        after = panel(root)
        assert {asked for asked in trained if after[asked] != trained[asked]} == lost
        switch.check()
        assert panel(root) == trained
    root.page.watch.check()


@pytest.mark.parametrize("name", [MEMORY, REWRITING])
def test_the_first_load_of_the_chapter_is_light(chapter, http_url, server, name):
    server.sent.clear()
    root = chapter(http_url, name)
    root.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    root.page.wait_for_timeout(300)
    sizes = sorted(server.sent, key=lambda item: -item[1])
    assert sum(size for _, size in sizes) <= FIRST_LOAD_LIMIT, sizes
