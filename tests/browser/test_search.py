"""The search leads to sections, from a file too: symbols, names, mistakes, terms."""

import re

import pytest

from website import synonyms

# What is typed, and where the first result leads.
FIRST = {
    "fc1.weight": "chapters/05_feed_forward.html#the-network-as-a-memory",
    "γ": (
        "chapters/08_layer_norm.html"
        "#the-idea-brightness-and-contrast-one-photo-at-a-time"
    ),
    "W_Q": "chapters/03_attention.html#by-hand",
    "8C² + 5C": "chapters/05_feed_forward.html#in-code",
    "ln V": "chapters/12_gpt.html#the-first-loss-lies-a-little-above-ln-v",
    "divides by C - 1": "chapters/08_layer_norm.html#in-code",
    "This is what comes out when eps is squared before it is added to the variance.": (
        "chapters/08_layer_norm.html#in-code"
    ),
    "KV cache": "glossary.html#term-key-value-cache",
    "how do I stop after the full stop": (
        "chapters/14_generation.html#three-ways-to-choose"
    ),
    "why 4x": (
        "chapters/05_feed_forward.html#the-idea-the-same-handbook-on-every-desk"
    ),
    "skip connections": "glossary.html#term-residual-connection",
    "layernorm": "glossary.html#term-layer-normalisation",
    "temperature 0": "glossary.html#term-greedy-decoding",
    "weight tying": "glossary.html#term-tied-head",
    "attention mask": "glossary.html#term-causal-mask",
    "how to install": "using.html#install-the-package",
    "tokeniser": "glossary.html#term-tokenizer",
    "top p": "glossary.html#term-top-p",
}
# Words of others for what the book explains: each finds a place.
FOUND = """
batchnorm vs layernorm|prenorm|multihead attention|feedforward|fp16|flash attention
mps|cuda|colab|jupyter|loss nan|numerical stability|quantization|chinchilla|oov|eos
finetune|mechanistic interpretability|learning rate scheduler|out of memory|d_model
how do I fix exploding gradients in keras|initialization|perplexity|bpe|rope|4 times
"""
FIRST_RESULT = "#search-results li:first-child a"


def first_result(page, query):
    return page.evaluate(
        """(query) => {
          const results = Search._performSearch(...Search._parseQuery(query));
          const [name, , anchor] = results.at(-1) ?? ["nothing", "", ""];
          return `${name}.html${anchor}`;
        }""",
        query,
    )


@pytest.fixture
def search(open_page, site):
    def open_search(query, **options):
        page = open_page(f"{site.as_uri()}/search.html?q={query}", **options)
        page.wait_for_selector(FIRST_RESULT)
        return page

    return open_search


def test_the_first_result_is_the_section_that_explains(search):
    page = search("loss")
    assert {query: first_result(page, query) for query in FIRST} == FIRST
    page.watch.check()


def test_what_others_call_it_is_found(search):
    page = search("loss")
    queries = [*FOUND.strip().replace("\n", "|").split("|"), *synonyms.TYPED]
    nothing = [one for one in queries if first_result(page, one) == "nothing.html"]
    assert nothing == []


def test_where_nothing_is_found_the_glossary_is_near(open_page, site):
    page = open_page(f"{site.as_uri()}/search.html?q=zebra")
    page.locator(".search-summary a", has_text="glossary").click()
    page.wait_for_url("**/glossary.html")


def test_a_result_in_a_folded_section_opens_it(search):
    page = search("little above ln V", width=390)
    page.click(FIRST_RESULT)
    folded = "details.further[open] #the-first-loss-lies-a-little-above-ln-v"
    page.wait_for_selector(folded, state="attached")
    lone = page.locator("mark, .highlighted", has_text="V")
    assert lone.count() == 0  # of a letter
    page.watch.check()


def test_words_that_no_section_has_together_lead_to_their_page(search):
    page = search("brightness invariance epsilon spirals")
    page.get_by_text("no place has all the words").wait_for()
    found = first_result(page, "photo BatchNorm1d")
    assert found.startswith("chapters/08_layer_norm.html")


@pytest.fixture
def excerpt(open_page, http_url):
    """The first excerpt of a search from a server."""

    def excerpt(query):
        page = open_page(f"{http_url}/search.html?q={query}")
        first = page.locator("#search-results li:first-child .context")
        first.wait_for()
        page.watch.check()
        return first

    return excerpt


def test_an_excerpt_shows_the_words_of_a_folded_section(excerpt):
    assert "loss" in excerpt("little above ln V").inner_text()


def test_the_excerpt_of_a_term_is_its_definition(excerpt):
    text = excerpt("residual stream").inner_text()
    assert text.startswith("The running vector of a position")


def test_no_two_results_show_the_same_excerpt(excerpt):
    page = excerpt("layer norm").page
    page.wait_for_timeout(500)
    texts = page.locator("#search-results .context").all_inner_texts()[:12]
    assert len(set(texts)) == len(texts)
    run_together = [one for one in texts if re.search(r"[a-z](The|A|It|In)\b", one)]
    assert run_together == []


def test_how_many_places_are_left_out_is_said(excerpt):
    page = excerpt("the model").page
    page.get_by_text(re.compile(r"The best 50 of \d+ places")).wait_for()
