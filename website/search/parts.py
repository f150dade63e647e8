"""The parts of a page that the search leads to, each with its words.

They are named `page#id`. A node with `leads_to`, a place `page#id`, is a part that is
found under its own words and leads there: `page of the node##place`.
"""

import re
from dataclasses import dataclass, field

from docutils import nodes
from sphinx import addnodes
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node

from website.indexes.book import index_list, words_of
from website.text.glossary import defined_term
from website.text.prose import fold
from website.text.second_reading import further
from website.widgets import explorer

EXERCISES = (exercise_node, exercise_enumerable_node)
LATER = (further, *EXERCISES)
DEFINITION = re.compile(r"^(?:class|def) (\w+)", re.M)
TAG = re.compile(r"<(style|script).*?</\1>|<[^<]+?>", re.S | re.I)
# A number that stands alone in code or output; those of prose can be found.
LONE_NUMBER = re.compile(r"(?<![\w.])[\d.]+\w*")
IMPORT = re.compile(r"^from ([\w.]+) import (\w+(?:, \w+)*)", re.M)


@dataclass
class SearchEntry:
    """What one result of a search leads to."""

    name: str
    title: str
    text: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
    entries: list[addnodes.index] = field(default_factory=list)
    weight: float = 1  # of an exercise and of the second reading a half


def parts_of(page: str, title: str, doctree: nodes.document) -> list[SearchEntry]:
    """The page before its first section, then its sections and what they hold."""
    first = SearchEntry(page, title)
    found = [first]
    _collect(doctree, first, found, page)
    return found


def _collect(
    node: nodes.Node, part: SearchEntry, found: list[SearchEntry], page: str
) -> None:
    for child in node.children:
        if begun := _begins(child, page):
            begun.weight = 0.5 if isinstance(child, LATER) else part.weight
            found.append(begun)
            _collect(child, begun, found, page)
            if isinstance(child, EXERCISES):
                part = begun  # its hint and its solution follow it
        elif isinstance(child, index_list):  # what it lists stands elsewhere too
            _collect(child, SearchEntry("", ""), found, page)
        elif not _read(child, part):
            _collect(child, part, found, page)


def _begins(node: nodes.Node, page: str) -> SearchEntry | None:
    """The part that a node is, if it is one."""
    if not isinstance(node, nodes.Element):
        return None
    if name := node.get("leads_to"):
        return SearchEntry(f"{page}##{name}", words_of(node).lstrip("… "))
    if _is_section(node):
        return SearchEntry(f"{page}#{node['ids'][0]}", words_of(node[0]))
    if isinstance(node, further):
        anchor = next(one for one in node.children if one.get("ids"))
        return SearchEntry(f"{page}#{anchor['ids'][0]}", words_of(node[0]))
    if isinstance(node, EXERCISES) and node["ids"]:
        title = words_of(node[0]).strip(" ()")
        return SearchEntry(f"{page}#{node['ids'][0]}", f"Exercise: {title}")
    if isinstance(node, nodes.definition_list_item) and node[0]["ids"]:
        return SearchEntry(f"{page}#{node[0]['ids'][0]}", words_of(node[0]))
    return None


def _is_section(node: nodes.Element) -> bool:
    """Whether it is below the page's own section, and no piece of an exercise."""
    return (
        isinstance(node, nodes.section)
        and isinstance(node.parent, nodes.section | further)
        and isinstance(node[0], nodes.title)
    )


def _read(node: nodes.Node, part: SearchEntry) -> bool:
    """Take the words of a node into a part; whether its children are done with."""
    if isinstance(node, addnodes.index):
        part.entries.append(node)
    elif isinstance(node, nodes.math | nodes.math_block | nodes.Text):
        part.text.append(words_of(node))
    elif isinstance(node, nodes.raw):
        if "html" in node.get("format", "").split():
            part.text.append(TAG.sub(" ", node.astext()))
    elif isinstance(node, nodes.literal_block):
        _read_code(node, part)
    elif isinstance(node, defined_term):
        part.about.append(words_of(node))
        return False
    elif isinstance(node, fold):
        part.text.append(node["title"])
        return False
    else:
        return isinstance(node, nodes.comment | explorer)
    return True


def _read_code(node: nodes.literal_block, part: SearchEntry) -> None:
    """The words of code, of its errors, and not of its other output."""
    code = node.astext()
    if "output" in node["classes"] and "traceback" not in node["classes"]:
        return
    part.about += DEFINITION.findall(code)
    part.text.append(LONE_NUMBER.sub(" ", code))
    for package, names in IMPORT.findall(code):
        part.text += [f"{package}.{name}" for name in names.split(", ")]
