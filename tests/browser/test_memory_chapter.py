"""Chapters 10 and 11, and the model that lives in their pages."""

import pytest
from figures import Figure
from live_page import facts, field, happened, likeliest, opened

from mygpt import explorers
from mygpt.inside.world_models import load_world_model

MEMORY, REWRITING = "chapters/10_memory.html", "chapters/11_rewriting.html"
FIRST_LOAD_LIMIT = 1_000_000  # bytes, gzipped
PROMPT = "the capital of france is"
STORY = "mia lamp . leo drum . mia"


@pytest.fixture(scope="module")
def made():
    return load_world_model("attention-first")


@pytest.fixture
def chapter(open_page):
    """The live model of the chapter, on its page; `root.page` is the page."""

    def chapter(address, name=REWRITING, **settings):
        page = open_page(f"{address}/{name}", **settings)
        root = Figure(page.locator(".mygpt-live-model"))
        root.wait_for()
        root.scroll_into_view_if_needed()
        return root

    return chapter


def test_the_page_has_the_weights_of_the_model(chapter, http_url, made):
    found = chapter(http_url).evaluate(
        """root => {
  const id = root.closest("[data-model]").dataset.model;
  const trait = (name) => bookHost.models.get(id).get(name);
  const { buffer, byteOffset, byteLength } = trait("weights");
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return [[...bytes], trait("shapes"), trait("heads"), trait("activation")];
}"""
    )
    heads = made.model.config.num_heads
    own = explorers.LiveModel(made.model.state_dict(), made.words, num_heads=heads)
    setting = [[*map(list, own.shapes)], own.heads, own.activation]
    assert found == [[*own.weights], *setting]


def best(root):
    word, chance = likeliest(root)[0]
    return word, float(chance)


def added(root):
    """What the heads and the network add to the answer, as the drawn block says."""
    texts = root.texts("label.mygpt-stage .mygpt-number")
    return [float(texts[n].replace("−", "-")) for n in (1, 3)]


def panel(root):
    """For each fact in the panel: what is asked, and what the model says."""
    return {asked: said for asked, _, said, *_ in facts(root)}


def all_right(root):
    """What the model says at first, which is right."""
    answers = {asked: right for asked, right, *_ in facts(root)}
    assert panel(root) == answers
    return answers


def test_the_whole_story_of_france(chapter, file_url):
    root = chapter(file_url)
    prompt = field(root)
    assert prompt.input_value() == PROMPT
    assert best(root)[0] == "paris"
    trained = all_right(root)
    assert {"paris", "french", "rome", "lamp"} < set(trained.values())

    root.press("Switch off what holds “paris”")
    assert best(root)[0] != "paris"
    assert "The 6 of 256 neurons" in happened(root)
    root.press("Undo")
    opened(root, "Look inside")
    heads, network = added(root)
    assert abs(heads) < 0.02 * network
    prompt.fill(STORY)
    heads, network = added(root)
    assert network < 0.2 * heads
    prompt.fill(PROMPT)
    root.press("Switch off the 5 that add most to “paris”")
    word, chance = best(root)
    assert word == "paris"  # the answer just survives
    assert chance < 0.5
    root.press("Switch off the 5 that add most to “paris”")
    assert best(root)[0] != "paris"
    root.press("Undo", "Undo")
    assert best(root)[0] == "paris"
    assert panel(root) == trained

    field(root, "New answer").fill("rome")
    root.press("Rewrite")
    assert best(root)[0] == "rome"
    capital = "the capital of germany is"  # it moves too, as the chapter says
    rewritten = [PROMPT, "france is governed from", capital]
    assert panel(root) == trained | dict.fromkeys(rewritten, "rome")
    prompt.fill(capital)
    assert best(root)[0] == "rome"
    opened(root, "Edits")
    root.press("Reset")
    assert best(root)[0] == "berlin"
    assert panel(root) == trained
    root.page.watch.check()


def test_each_half_is_switched_off_in_the_small_model(chapter, file_url):
    """Facts go with the network, stories with the heads that copy."""
    root = chapter(file_url, MEMORY)
    trained = all_right(root)
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
