"""A phrase of the text that sets a figure: what it may say, and where it is refused."""

import json
import logging

import pytest
from docutils import nodes
from docutils.utils import new_document
from helpers.examples import activations, train_stack
from helpers.live_models import live
from ipywidgets.embed import embed_data

from make import ROOT
from publish.plain.labels import Labels
from publish.plain.sources import Sources
from publish.plain.words import Words
from website import phrases
from website.widgets import explorer, page_model

HEADS_OFF = '{"kind": "part", "layer": 1, "part": "heads", "factor": 0.0}'


def shown(made):
    """The node of an explorer on a page, from what a notebook stores of it."""
    data = embed_data(views=[made], drop_defaults=False)
    stored = data["manager_state"]["state"][made.model_id]
    kept, _ = page_model(stored)
    kind = f"{type(made).__module__}.{type(made).__qualname__}"
    return explorer("", model=json.dumps(kept), kind=kind)


def refusals(made, text, caplog):
    """What a build says of a page with one explorer, in fig-a, and one phrase."""
    document = new_document("chapters/06_activations")
    figure = nodes.figure("", shown(made), names=["fig-a"])
    (phrase,), _ = phrases.show("show", text, text, 1, None)
    document += [figure, nodes.paragraph("", "", phrase)]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        phrases.check_phrases(None, document)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (activations, "GELU dips <fig-a position=-0.75 quantity=value>"),
        (activations, """two curves <fig-a visible='["ReLU", "SiLU"]'>"""),
        (train_stack, "four blocks <fig-a left.depth=4 steps=300>"),
        (live, "ask again <fig-a prompt='lemlem fudo' token=1>"),
        (live, f"no heads <fig-a edits='[{HEADS_OFF}]'>"),
    ],
)
def test_a_state_that_the_explorer_takes_is_not_refused(make, text, caplog):
    assert refusals(make(), text, caplog) == []


@pytest.mark.parametrize(
    ("make", "text", "cause"),
    [
        (activations, "it dips <fig-b position=1>", "no explorer of this page is in"),
        (activations, "it dips <fig-a place=1>", "has no trait 'place'"),
        (activations, "it dips <fig-a quantity=height>", "'height'"),
        (activations, """it dips <fig-a visible='["Mish"]'>""", "'Mish'"),
        (activations, "it dips <fig-a position=left>", "left"),
        (train_stack, "it dips <fig-a left.blocks=4>", "'left' has no entry 'blocks'"),
        (train_stack, "it dips <fig-a left.depth=4000>", "4000"),
        (
            live,
            "it dips <fig-a prompt='paris'>",
            "of the 31 words that the model knows",
        ),
        (live, "it dips <fig-a layer=0>", "among [1]"),
        (live, "it dips <fig-a edits='[{}]'>", "must have the keys"),
    ],
)
def test_a_state_that_does_not_exist_is_refused_with_its_words(
    make, text, cause, caplog
):
    (refusal,) = refusals(make(), text, caplog)
    assert refusal.startswith("the phrase 'it dips':")
    assert cause in refusal


def test_a_phrase_of_one_word_is_refused(caplog):
    """The line above the figure says the phrase alone."""
    (refusal,) = refusals(activations(), "dips <fig-a position=1>", caplog)
    assert "one word does not say what the figure then shows" in refusal


def test_without_scripts_a_phrase_is_its_words():
    words = Words(
        "06_activations", Labels(), Sources(ROOT / "pages" / "references.bib")
    )
    text = "See how {show}`GELU dips <fig-a position=-0.75>` there."
    assert words.plain(text) == "See how GELU dips there."
