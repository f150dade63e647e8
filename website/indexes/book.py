"""The book as the indexes read it, and the few kinds of nodes that they are made of."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from website.words import plain

LOG = logging.getLogger(__name__)
SENTENCES = re.compile(r".*[.?!](?= [A-Z“(])")


class index_list(nodes.container):
    """One of the lists; its page is not found by what it lists."""


class Book:
    """All pages as they were read, in the order of the contents."""

    def __init__(self, env: BuildEnvironment, builder: Builder):
        self.env, self.builder = env, builder
        self.from_page = env.docname
        self.trees: dict[str, nodes.document] = {}

    def pages(self) -> Iterator[tuple[str, nodes.document]]:
        yield from ((page, self.tree(page)) for page in self._order())

    def _order(self) -> Iterator[str]:
        waiting = [self.env.config.root_doc]
        while waiting:
            page = waiting.pop(0)
            yield page
            waiting = [*self.env.toctree_includes.get(page, []), *waiting]

    def tree(self, page: str) -> nodes.document:
        if page not in self.trees:
            self.trees[page] = self.env.get_doctree(page)
        return self.trees[page]

    def number(self, page: str) -> tuple[str, ...]:
        return self.env.titles[page].get("secnumber") or ()

    def title(self, page: str) -> str:
        """ "7. Residual connections"."""
        number = "".join(f"{one}. " for one in self.number(page))
        return number + line_of(self.env.titles[page])

    def short(self, page: str) -> str:
        """ "chapter 7", or the title of a page without a number."""
        number = self.number(page)
        return f"chapter {number[0]}" if number else line_of(self.env.titles[page])

    def owns(self, page: str, number: str) -> bool:
        """Whether "7.1" is a number of this page's."""
        return [number.partition(".")[0]] == list(map(str, self.number(page)))

    def figure(self, page: str, anchor: str) -> str:
        numbers = self.env.toc_fignumbers.get(page, {}).get("figure", {})
        return ".".join(map(str, numbers.get(anchor, ())))

    def section(self, page: str, label: str) -> tuple[str, str]:
        """The page, and the id of the section that a label stands before or in."""
        found = self.tree(page).ids.get(label)
        while found is not None and not isinstance(found, nodes.section):
            found = found.parent
        return page, found["ids"][0] if found is not None else label

    def where(self, page: str, anchor: str) -> str:
        """ "7. Residual connections › By hand"."""
        heading = self.tree(page).ids[anchor][0]
        return f"{self.title(page)} › {line_of(heading)}"

    def link(self, page: str, anchor: str, words: str) -> nodes.reference:
        """A link; with -W, an anchor that is not there stops the build."""
        if anchor and anchor not in self.tree(page).ids:
            LOG.warning("the indexes: %s has no %r", page, anchor, type="indexes")
        address = self.builder.get_relative_uri(self.from_page, page)
        target = f"{address}#{anchor}" if anchor else address
        return nodes.reference("", words, refuri=target, internal=True)


def line_of(node: nodes.Node) -> str:
    """The words of a node in one line."""
    return " ".join(words_of(node).split())


def words_of(node: nodes.Node) -> str:
    """The text of a node, its formulas in Unicode."""
    if isinstance(node, nodes.math | nodes.math_block):
        return plain(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(map(words_of, node.children))


def shortened(text: str, most: int = 160) -> str:
    """As many sentences of a text as fit, or else as many words."""
    if len(text) <= most:
        return text
    if whole := SENTENCES.match(text[: most + 2]):
        return whole[0]
    return text[:most].rpartition(" ")[0].rstrip(" ,;:") + " …"


def sentence(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


def marked(text: str) -> Iterator[nodes.Node]:
    """A text, with `code` between backticks."""
    for number, piece in enumerate(text.split("`")):
        yield nodes.literal(piece, piece) if number % 2 else nodes.Text(piece)


def paragraph(*content: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *content)


def linked(links: list[nodes.reference]) -> nodes.paragraph:
    """Links with commas between them."""
    made = nodes.paragraph()
    for number, link in enumerate(links):
        made += [nodes.Text(", "), link] if number else [link]
    return made


def entry(*content: nodes.Node, **attributes: str) -> nodes.list_item:
    return nodes.list_item("", paragraph(*content), **attributes)


def bullets(items: list[nodes.list_item]) -> nodes.bullet_list:
    return nodes.bullet_list("", *items)
