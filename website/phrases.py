"""Phrases of the text that set a figure.

{show}`four blocks learn <fig-train-stack left.depth=4 steps=300>` is a phrase that, on
the site, gives the explorer in that figure the state behind its name: a trait and its
value, in JSON or as a bare word, or one entry of a trait that holds several. Elsewhere
the phrase is its words alone. `phrases.mjs` follows it.
"""

import base64
import importlib
import json
import re
import shlex
from html import escape

import traitlets
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from mygpt.explorers.kit.base import Explorer
from website.builders import SCREENS
from website.widgets import explorer

LOGGER = logging.getLogger(__name__)
SHOWN = re.compile(r"(?P<words>.+?)\s*<(?P<figure>[\w-]+)\s+(?P<state>[^<>]+)>", re.S)


class phrase(nodes.Inline, nodes.TextElement):
    """Words that set an explorer: its `figure`, and its `state` by trait."""


class StateError(ValueError):
    """A state that an explorer does not have, with the cause."""


def show(name, rawtext, text, lineno, inliner, options=None, content=()):
    """{show}`words <figure trait=value …>`."""
    found = SHOWN.fullmatch(text)
    state = {}
    for part in shlex.split(found["state"]) if found else ():
        trait, equals, value = part.partition("=")
        if equals:
            state[trait] = read(value)
    if not state:
        message = inliner.reporter.error(
            f"expected {{show}}`words <figure trait=value …>`, got {rawtext}",
            line=lineno,
        )
        return [inliner.problematic(rawtext, rawtext, message)], [message]
    return [phrase(rawtext, found["words"], figure=found["figure"], state=state)], []


def read(value: str):
    """A value in JSON, or a bare word."""
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def check_phrases(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each phrase whose figure or state does not exist."""
    figures = {
        name: figure
        for figure in doctree.findall(nodes.figure)
        for name in figure["names"]
    }
    for one in doctree.findall(phrase):
        try:
            if len(one.astext().split()) < 2:
                raise StateError("one word does not say what the figure then shows")
            found = figures.get(one["figure"])
            within = list(found.findall(explorer)) if found else []
            if not within:
                raise StateError(f"no explorer of this page is in {one['figure']!r}")
            check_state(within[0], one["state"])
        except StateError as cause:
            words = one.astext()
            LOGGER.warning("the phrase %r: %s", words, cause, location=one)


def check_state(shown: explorer, changes: dict) -> None:
    """Refuse what the explorer would refuse in a notebook."""
    kept = json.loads(shown["model"])
    one = copy_of(shown["kind"], kept["state"], kept["buffers"])
    for name, value in changes.items():
        trait, _, entry = name.partition(".")
        if trait not in one.keys or trait not in kept["state"]:
            raise StateError(f"the explorer has no trait {trait!r}")
        old = getattr(one, trait)
        if entry and (not isinstance(old, dict) or entry not in old):
            raise StateError(f"{trait!r} has no entry {entry!r}")
        try:
            setattr(one, trait, {**old, entry: value} if entry else value)
        except (traitlets.TraitError, ValueError) as cause:
            raise StateError(" ".join(str(cause).split())) from None
        except AttributeError as cause:
            raise StateError(f"its saved state does not say enough: {cause}") from None


def copy_of(kind: str, state: dict, buffers: list) -> Explorer:
    """An explorer of a kind in a saved state, with no page to be shown on."""
    module, _, name = kind.rpartition(".")
    made = getattr(importlib.import_module(module), name)
    one = made.__new__(made)
    data = {
        name: base64.b64decode(buffer["data"])
        for buffer in buffers
        for name in buffer["path"]  # of one trait: none holds bytes within another
    }
    one.set_state(state | data)
    return one


def visit_phrase(self: HTML5Translator, node: phrase) -> None:
    if self.builder.name not in SCREENS:
        return
    state = escape(json.dumps(node["state"]), quote=True)
    self.body.append(f'<a class="shows" href="#{node["figure"]}" data-state="{state}">')


def depart_phrase(self: HTML5Translator, node: phrase) -> None:
    if self.builder.name in SCREENS:
        self.body.append("</a>")


def setup(app: Sphinx) -> None:
    app.add_role("show", show)
    app.add_node(phrase, html=(visit_phrase, depart_phrase))
    # when the explorers stand in their figures
    app.connect("doctree-read", check_phrases, priority=450)
