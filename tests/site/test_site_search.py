"""The search: the words of text, code and formulas, and the parts that it leads to."""

from types import SimpleNamespace

import pytest
import quickjs
from docutils import nodes
from docutils.core import publish_doctree
from sphinx.search import SearchLanguage
from sphinx_exercise.nodes import exercise_node

import website
from make import ROOT
from website import indexes
from website import words as book_words
from website.indexes.book import index_list, marked, shortened
from website.search.parts import parts_of
from website.text.second_reading import further, further_anchor, further_title

WORDS = book_words.BookWords({})
PAGE = """
Title
=====

Before all sections.

By hand
-------

The `scale` of a row, said twice: scale.

In code
-------

The scale, once.
"""


def words(text):
    return {word.lower() for word in WORDS.split(text)}


@pytest.mark.parametrize(
    ("tex", "line"),
    [
        (r"\gamma\hat x + \beta", "γ x + β"),
        (r"W_{\text{out}}", "W_out"),
        (r"\ln V", "ln V"),
        ("8C^2 + 5C", "8C² + 5C"),
        ("10^{-6}", "10⁻⁶"),
        ("312{,}000", "312,000"),
        (r"(\tfrac12, \frac{a}{b})", "(1/2, a/b)"),
        (r"Q K^\top / \sqrt{D}", "Q K / √ D"),
        (r"\varepsilon, \Phi", "ε , Φ"),
    ],
)
def test_a_formula_becomes_a_line_that_can_be_read(tex, line):
    assert book_words.plain(tex) == line


@pytest.fixture(scope="module")
def browser():
    context = quickjs.Context()
    context.eval(WORDS.js_splitter_code)
    return context


@pytest.fixture(scope="module")
def browser_words(browser):
    """The browser's side: the words that the search page makes of a query."""
    split = browser.eval("(query) => splitQuery(query).join(' ')")
    return lambda query: set(split(query).lower().split())


@pytest.mark.parametrize(
    ("typed", "sought"),
    [
        ("why 4x", "why expansion 4C"),
        ("why four times as wide", "why expansion 4C as wide"),
        ("Skip-connections in GPT", "residual connection in GPT"),
        ("BatchNorm vs LayerNorm", "batch norm vs layer norm"),
        ("kv cache at temperature 0", "kv cache at greedy decoding"),
        ("tied embeddings", "tied head"),
        ("nn.LayerNorm", "nn.LayerNorm"),  # a name of code stays
        ("layer_norm_gradient", "layer_norm_gradient"),
        ("14 times", "14 times"),
        ("context.", "context."),
    ],
)
def test_what_is_typed_becomes_the_books_words(browser, typed, sought):
    assert browser.eval("inBookWords")(typed) == sought


@pytest.mark.parametrize(
    ("query", "stands_in"),
    [
        ("fc1.weight", "the rows of `mlp.fc1.weight[i]`"),
        ("mygpt.check.softmax", "mygpt.check.softmax(mine)"),
        ("γ", book_words.plain(r"x\gamma_c")),
        ("gamma", "one γ and one β"),
        (r"\sigma", "divided by σ²"),
        ("ln V", book_words.plain(r"about $\ln V$")),
        ("8C^2 + 5C", book_words.plain("8C^2 + 5C")),
        ("W_Q", book_words.plain(r"x W_{Q}^\top")),
        ("1.823", "a loss of 1.823."),
        ("Αγαπώ", "Αγαπώ σε"),
        ("This is what comes out when eps is forgotten.", "eps is forgotten"),
    ],
)
def test_the_browser_looks_for_words_that_the_index_holds(
    browser_words, query, stands_in
):
    sought = browser_words(query) - WORDS.stopwords
    assert sought
    assert sought <= words(stands_in)


def test_names_keep_their_endings_and_words_do_not():
    assert WORDS.stem("weights") == "weight"
    assert WORDS.stem("fc1.weights") == "fc1.weights"


def test_both_spellings_of_a_word_are_found():
    pairs = "tokenizer tokeniser, normalizing normalising, optimization optimisation"
    for pair in pairs.split(", "):
        assert len(set(map(WORDS.stem, pair.split()))) == 1
    assert {"pre", "norm", "prenorm"} <= words("a pre-norm block")


def test_common_words_and_whole_numbers_are_not_indexed():
    assert WORDS.split("This is the first of them") == []
    assert [one for one in ("12", "4C", "1.5") if WORDS.word_filter(one)] == [
        "4C",
        "1.5",
    ]


def test_each_section_is_a_part_with_its_own_words():
    first, by_hand, in_code = parts_of(
        "page",
        "Title",
        publish_doctree(PAGE, settings_overrides={"doctitle_xform": False}),
    )
    assert (first.name, by_hand.name, in_code.name) == (
        "page",
        "page#by-hand",
        "page#in-code",
    )
    assert "Before" in " ".join(first.text)
    assert "once" not in " ".join(by_hand.text)


def test_an_exercise_and_the_second_reading_weigh_half_of_a_section():
    title = nodes.title("", "One")
    section = nodes.section("", title, ids=["one"])
    exercise = exercise_node("", nodes.title("", "Try"), ids=["try"])
    later = further("", further_title("", "Later"), further_anchor(ids=["later"]))
    section += [exercise, later]
    page = nodes.document(None, None)
    page += nodes.section("", nodes.title("", "Page"), section, ids=["page"])
    weights = {part.name: part.weight for part in parts_of("page", "Page", page)}
    assert weights["page#one"] == 1
    assert weights["page#try"] == weights["page#later"] == 0.5


def score_of(page, title, query=""):
    """The score of a part of a page, as the browser's side counts it for a query."""
    context = quickjs.Context()
    context.eval(f"""
        var Stemmer = function () {{}}, Documentation = {{TRANSLATIONS: {{}}}};
        var Scorer = {{title: 15, partialTitle: 7, term: 5, partialTerm: 2}};
        var docnames = ["{page}", "{page}#a"], titles = ["One", "{title}"];
        var Search = {{
            _index: {{docnames, titles, terms: {{}}, titleterms: {{}}}},
            _performSearch: () => [1],
        }};
    """)
    context.eval(
        (ROOT / "website" / "search" / "search.js").read_text(encoding="utf-8")
    )
    context.eval(f"Search._performSearch('{query}', new Set())")
    return context.eval(f"Scorer.score(['{page}#a', '', '', null, 100, 'a.md:0'])")


@pytest.mark.parametrize(
    ("page", "less"), [("chapters/05", 0), ("chapters/claims", 12)]
)
def test_a_claim_is_put_back_behind_the_section_that_explains_it(page, less):
    """By the score of two parts that differ in their page alone."""
    assert score_of(page, "A") == pytest.approx(100 - less, abs=0.01)


@pytest.mark.parametrize(
    ("query", "share"), [("layer norm", 0.5), ("Layer", 0.25), ("batch norm", 0)]
)
def test_a_phrase_counts_by_its_share_of_a_title(query, share):
    found = score_of("chapters/08", "Layer norm backwards", query)
    assert found == pytest.approx(100 + 40 * share, abs=0.01)


@pytest.fixture
def index(monkeypatch):
    """An empty index of sections, on an environment with nothing else."""
    monkeypatch.setitem(
        website.search.sphinx.search.languages, "en", book_words.BookWords
    )
    tables = "titles filenames mapping title_mapping all_titles index_entries objtypes"
    kept = {f"_search_index_{name}": {} for name in (*tables.split(), "objnames")}
    env = SimpleNamespace(**kept, version=1, domains={})
    return website.search.SectionIndex(env, "en", {}, "")


def feed(index, source, page="page"):
    doctree = publish_doctree(source, settings_overrides={"doctitle_xform": False})
    index.feed(page, f"{page}.md", '<span class="n">7. </span>Title', doctree)
    return index.freeze()


def test_a_word_leads_to_its_section(index):
    frozen = feed(index, PAGE)
    name = frozen["docnames"][frozen["terms"]["onc"]]
    assert name == "page#in-code"
    assert frozen["titles"][frozen["docnames"].index("page")] == "7. Title"


def test_the_section_that_says_a_word_most_is_about_it(index):
    frozen = feed(index, PAGE)
    assert frozen["docnames"][frozen["titleterms"]["scale"]] == "page#by-hand"


def test_a_page_that_is_read_again_leaves_no_old_section(index):
    feed(index, PAGE)
    feed(index, PAGE, "other")
    index.prune(["other"])  # as Sphinx does before it reads a page again
    frozen = feed(index, PAGE.replace("In code", "In full"))
    assert "page#in-code" not in frozen["docnames"]
    assert {"page#in-full", "other#in-code"} <= set(frozen["docnames"])
    index.prune(["page"])
    assert [one for one in index.freeze()["docnames"] if "other" in one] == []


def test_what_leads_elsewhere_is_found_under_its_own_words(index):
    doctree = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    item = nodes.list_item("", nodes.paragraph("", "… eps is forgotten."))
    item["leads_to"] = "chapters/08#in-code"
    other = nodes.list_item("", nodes.paragraph("", "Seldom"))
    doctree += index_list("", nodes.bullet_list("", item, other))
    index.feed("page", "page.md", "Title", doctree)
    frozen = index.freeze()
    name = frozen["docnames"][frozen["titleterms"]["ep"]]
    assert name.startswith("page##chapters/08#in-code##")
    assert frozen["titles"][frozen["docnames"].index(name)] == "eps is forgotten."
    assert "onc" in frozen["terms"]
    assert "seldom" not in frozen["terms"]  # an index is not found by what it lists


def test_sphinx_uses_the_index_of_sections():
    assert issubclass(website.search.SectionIndex, website.search.IndexBuilder)
    assert isinstance(WORDS, SearchLanguage)


# The indexes


def test_a_slip_is_a_name_in_bold_with_its_symptom():
    tree = publish_doctree(
        "Page\n====\n\nWhat usually goes wrong\n-----------------------\n\n"
        "**No mask.** *Symptom:* the loss is low. *Cause:* it reads ahead.\n\n"
        "**Bold alone** is no slip.\n\nKey points\n----------\n\n"
        "**No root.** *Symptom:* none. *Cause:* none.\n",
        settings_overrides={"doctitle_xform": False},
    )
    assert list(indexes.slips(None, "page", tree)) == [
        ("what-usually-goes-wrong", "No mask.", "The loss is low.")
    ]


def test_an_experiment_stands_where_its_number_is_bold():
    tree = publish_doctree(
        "Page\n====\n\nFirst\n-----\n\nExperiment 7.1 will show it, not 8.1.\n\n"
        "Second\n------\n\n**Experiment 7.1.** Here.\n\n"
        ".. admonition:: Predict first\n\n   Which?\n",
        settings_overrides={"doctitle_xform": False},
    )
    book = SimpleNamespace(owns=lambda page, number: number.startswith("7."))
    assert list(indexes.tried(book, "page", tree)) == [
        ("second", "Experiment 7.1.", "Second"),
        ("second", "Predict first.", "Which?"),
    ]


def test_a_long_text_is_cut_between_words():
    assert shortened("one two, three", most=9) == "one two …"
    assert shortened("one", most=9) == "one"
    assert shortened("Is it? Or not? Who knows", most=14) == "Is it? Or not?"
    assert shortened("Is it? Or not? Who knows", most=13) == "Is it?"


def test_code_between_backticks_is_marked():
    assert [type(one) for one in marked("`x` is")][1:] == [nodes.literal, nodes.Text]
