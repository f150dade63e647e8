"""The search leads to sections, from a file too: symbols, names, mistakes, terms."""

import re

import pytest

# What is typed, and where the first result leads.
FIRST = {
    "fc1.weight": "chapters/05_feed_forward.html#the-network-as-a-memory",
    "γ": (
        "chapters/08_layer_norm.html"
        "#the-idea-brightness-and-contrast-one-photo-at-a-time"
    ),
    "W_Q": "chapters/03_attention.html#in-code",
    "8C² + 5C": "chapters/05_feed_forward.html#in-code",
    "ln V": "chapters/12_gpt.html#the-first-loss-lies-a-little-above-ln-v",
    "divides by C - 1": "chapters/08_layer_norm.html#in-code",
    "This is what comes out when eps is squared before it is added to the variance.": (
        "chapters/08_layer_norm.html#in-code"
    ),
    "KV cache": "glossary.html#term-key-value-cache",
    "how do I stop after the full stop": "chapters/14_generation.html#ex-gen-stop",
}
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


def test_a_result_in_a_folded_section_opens_it(search):
    page = search("little above ln V", width=390)
    page.click(FIRST_RESULT)
    folded = "details.further[open] #the-first-loss-lies-a-little-above-ln-v"
    page.wait_for_selector(folded, state="attached")
    assert not page.locator(
        "mark, .highlighted", has_text="V"
    ).count()  # no lone letter
    page.watch.check()


def test_words_that_no_section_has_together_lead_to_their_page(search):
    page = search("loss")
    found = first_result(page, "brightness invariance epsilon spirals")
    assert found == "nothing.html"
    found = first_result(page, "photo BatchNorm1d")
    assert found.startswith("chapters/08_layer_norm.html")


def test_an_excerpt_shows_the_words_of_a_folded_section_once(open_page, http_url):
    page = open_page(f"{http_url}/search.html?q=little above ln V")
    excerpt = page.locator("#search-results li:first-child .context")
    excerpt.wait_for()
    assert "loss" in excerpt.inner_text()
    page.watch.check()


def excerpt_of(open_page, http_url, query):
    page = open_page(f"{http_url}/search.html?q={query}")
    first = page.locator("#search-results li:first-child .context")
    first.wait_for()
    page.watch.check()
    return page, first.inner_text()


def test_the_excerpt_of_a_term_is_its_definition(open_page, http_url):
    _, text = excerpt_of(open_page, http_url, "residual stream")
    assert text.startswith("The running vector of a position")


def test_no_two_results_show_the_same_excerpt(open_page, http_url):
    page, _ = excerpt_of(open_page, http_url, "layer norm")
    page.wait_for_timeout(500)
    texts = page.locator("#search-results .context").all_inner_texts()[:12]
    assert len(set(texts)) == len(texts)
    run_together = [one for one in texts if re.search(r"[a-z](The|A|It|In)\b", one)]
    assert run_together == []


def test_how_many_places_are_left_out_is_said(open_page, http_url):
    page, _ = excerpt_of(open_page, http_url, "the model")
    page.get_by_text(re.compile(r"The best 50 of \d+ places")).wait_for()
