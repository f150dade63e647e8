"""The indexes of the back matter, made from the book's own sources.

{book-index} with one argument stands for a list:

explorers    each class of `mygpt.explorers`, and where it is shown.
experiments  of each chapter, what is numbered "Experiment 7.1", what it asks under
             "Predict first", and the figures that a cell draws.
slips        of each chapter, the paragraphs of "What usually goes wrong" that begin
             with a name in bold, with their symptom.
mistakes     those that `mygpt.check` names, by task.

A chapter is a page with the box of class `stop-here`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from website.builders import CELL, add_transform
from website.indexes.book import (
    Book,
    bullets,
    entry,
    index_list,
    line_of,
    linked,
    marked,
    paragraph,
    sentence,
    shortened,
)
from website.text.second_reading import BOX
from website.widgets import explorer

CLASS = re.compile(r"\bexplorers\.([A-Z]\w+)")
NUMBERED = re.compile(r"Experiment\s+(\d+\.\d+)")
GALLERY = "chapters/gallery"
ASKS = "Predict first"
WRONG = "What usually goes wrong"


# The id where it stands, the words of the link, and what follows them.
Found = tuple[str, str, str]


class book_index(nodes.General, nodes.Element):
    """The place of a list; `kind` names it."""


class BookIndex(SphinxDirective):
    """{book-index} and the name of a list."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        kind = directives.choice(self.arguments[0], tuple(LISTS))
        self.env.metadata[self.env.docname]["book_index"] = True
        return [book_index(kind=kind)]


def fill_indexes(page: SphinxPostTransform) -> None:
    """Put the lists in their places, once every page has been read."""
    places = list(page.document.findall(book_index))
    book = Book(page.env, page.app.builder) if places else None
    for place in places:
        place.replace_self(index_list("", *LISTS[place["kind"]](book)))


def explorers(book: Book) -> Iterator[nodes.Node]:
    from mygpt import explorers as package

    shown: dict[str, dict] = {name: {} for name in package.__all__}
    for page, tree in book.pages():
        for name, anchor in explorers_of(tree):
            shown[name].setdefault(_where(book, page, anchor), (page, anchor))
    listing = nodes.definition_list(classes=["explorers"])
    for name, places in shown.items():
        line = getattr(package, name).__doc__.partition("\n")[0]
        links = [book.link(*place, words) for words, place in places.items()]
        listing += nodes.definition_list_item(
            "",
            nodes.term("", "", nodes.literal(name, name)),
            nodes.definition("", paragraph(*marked(line)), linked(links)),
        )
    yield listing


def explorers_of(tree: nodes.document) -> Iterator[tuple[str, str]]:
    """(class, id of its figure or else of its section) of each explorer of a page."""
    for cell in tree.findall(CELL):
        found = next(cell.findall(explorer), None)
        named = CLASS.findall(cell[0].astext())
        if found is not None and named:
            yield named[-1], _anchor(found)


def _anchor(node: nodes.Node) -> str:
    """The id of the nearest figure or section around a node."""
    while not (isinstance(node, nodes.figure | nodes.section) and node["ids"]):
        node = node.parent
    return node["ids"][0]


def _where(book: Book, page: str, anchor: str) -> str:
    if page == GALLERY:
        return "gallery"
    number = book.figure(page, anchor)
    return f"{book.short(page)}, Fig. {number}" if number else book.short(page)


def by_chapter(
    found: Callable[[Book, str, nodes.document], Iterator[Found]], book: Book
) -> Iterator[nodes.Node]:
    """List what is found in each chapter, which is a page with the box."""
    for page, tree in book.pages():
        if not any(BOX in one["classes"] for one in tree.findall(nodes.Admonition)):
            continue
        items = [
            entry(book.link(page, anchor, words), nodes.Text(f" {rest}"))
            for anchor, words, rest in found(book, page, tree)
        ]
        if items:
            yield nodes.rubric("", "", book.link(page, "", book.title(page)))
            yield bullets(items)


def tried(book: Book, page: str, tree: nodes.document) -> Iterator[Found]:
    """What a chapter tries out, in its order."""
    made_in = places_of_experiments(book, page, tree)
    for node in tree.findall():
        if isinstance(node, nodes.section):
            title = re.sub(NUMBERED.pattern + r":\s*", "", line_of(node[0]))
            for number in (one for one, place in made_in.items() if place is node):
                yield node["ids"][0], f"Experiment {number}.", sentence(title)
        elif isinstance(node, nodes.Admonition) and node[0].astext() == ASKS:
            question = shortened(line_of(node[1]))
            yield section_of(node)["ids"][0], f"{ASKS}.", question
        elif isinstance(node, nodes.figure) and _is_drawn(node):
            number = book.figure(page, node["ids"][0])
            caption = next(node.findall(nodes.caption))
            yield node["ids"][0], f"Fig. {number}.", shortened(line_of(caption))


def places_of_experiments(
    book: Book, page: str, tree: nodes.document
) -> dict[str, nodes.section]:
    """Where each is made: where its number is bold or in a heading, or else first."""
    first, bold = {}, {}
    for text in tree.findall(nodes.Text):
        for number in NUMBERED.findall(text.astext()):
            if book.owns(page, number):
                first.setdefault(number, section_of(text))
                if isinstance(text.parent, nodes.strong | nodes.title):
                    bold.setdefault(number, section_of(text))
    return first | bold


def _is_drawn(figure: nodes.figure) -> bool:
    """Whether a cell drew it; explorers have a list of their own."""
    return figure.parent.get("nb_element") == "cell_code_output" and not any(
        figure.findall(explorer)
    )


def section_of(node: nodes.Node) -> nodes.section:
    """The section around a node that has a place in the contents."""
    while not (
        isinstance(node, nodes.section) and isinstance(node.parent, nodes.section)
    ):
        node = node.parent
    return node


def slips(book: Book, page: str, tree: nodes.document) -> Iterator[Found]:
    """The slips that a chapter warns of, with their symptoms."""
    for section in tree.findall(nodes.section):
        if not isinstance(section[0], nodes.title) or section[0].astext() != WRONG:
            continue
        for one in section.findall(nodes.paragraph):
            name = line_of(next(one.findall(nodes.strong), nodes.Text("")))
            said, _, symptom = line_of(one).partition(" Symptom: ")
            if name and said == name:
                symptom = symptom.partition("Cause")[0].strip()
                yield section["ids"][0], name, shortened(sentence(symptom))


def mistakes(book: Book) -> Iterator[nodes.Node]:
    from mygpt.check import TASKS

    for task in TASKS.values():
        place = book.section(f"chapters/{task.chapter}", task.label)
        where = book.link(*place, book.where(*place))
        items = [
            entry(*marked(f"… {text}."), leads_to="#".join(place))
            for text in dict.fromkeys(one.text for one in task.mistakes)
        ]
        yield nodes.admonition(
            "",
            nodes.title("", f"{task.name}: {len(items)} mistakes"),
            nodes.paragraph("", "Explained in ", where, nodes.Text(".")),
            paragraph(nodes.Text("This is what comes out when")),
            bullets(items),
            classes=["dropdown", "mistakes"],
            ids=[f"mistakes-{nodes.make_id(task.name)}"],
        )


LISTS: dict[str, Callable[[Book], Iterator[nodes.Node]]] = {
    "explorers": explorers,
    "experiments": partial(by_chapter, tried),
    "slips": partial(by_chapter, slips),
    "mistakes": mistakes,
}


def always_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages with a list depend on all others."""
    return [page for page, data in env.metadata.items() if "book_index" in data]


def setup(app: Sphinx) -> None:
    app.add_node(book_index)
    app.add_directive("book-index", BookIndex)
    add_transform(app, fill_indexes, 5, ())  # before dropdowns are folded
    app.connect("env-updated", always_write)
