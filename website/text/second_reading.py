"""The second reading, folded: each section after the box "Stop here, or go deeper".

The heading becomes the summary. Its id moves to an empty element inside, so that a link
to it opens the section.
"""

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from website.builders import add_transform, element

BOX = "stop-here"


class further(nodes.General, nodes.Element):
    """A section of the second reading."""


class further_title(nodes.General, nodes.TextElement):
    """Its heading."""


class further_anchor(nodes.General, nodes.Element):
    """Where links to the section lead."""


def fold_second_reading(page: SphinxPostTransform) -> None:
    """Fold the sections that follow the box; no script is needed."""
    for box in list(page.document.findall(nodes.Admonition)):
        if BOX not in box["classes"]:
            continue
        section = box.parent
        while section.parent is not None and not isinstance(section, nodes.section):
            section = section.parent
        for one in section.parent[section.parent.index(section) + 1 :]:
            if isinstance(one, nodes.section):
                section.parent.replace(one, folded(one))


def folded(section: nodes.section) -> further:
    made = further("")
    made += further_title("", "", *section[0].children)
    made += [further_anchor("", ids=[name]) for name in section["ids"]]
    made += section.children[1:]
    return made


def visit_title(self, node: further_title) -> None:
    self.body.append("<summary><h2>")


def depart_title(self, node: further_title) -> None:
    self.body.append("</h2></summary>\n")


def nest_contents(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    """Put the second reading's sections under one entry of the page's contents."""
    anchors = list(doctree.findall(further_anchor)) if doctree else []
    links = {f"#{name}" for anchor in anchors for name in anchor["ids"]}
    contents = BeautifulSoup(context.get("toc", ""), "html.parser")
    entries = [a.parent for a in contents.find_all("a", href=lambda to: to in links)]
    if not entries:
        return
    entry = contents.new_tag("li")
    inner = contents.new_tag("ul", **{"class": "second-reading"})
    link = contents.new_tag("a", href=entries[0].a["href"], **{"class": "reference"})
    link.string = "Second reading"
    entries[0].insert_before(entry)
    entry.extend([link, inner])
    inner.extend(one.extract() for one in entries)
    context["toc"] = str(contents)


def setup(app: Sphinx) -> None:
    app.add_node(further, html=element("details", "\n", CLASS="further"))
    app.add_node(further_title, html=(visit_title, depart_title))
    app.add_node(further_anchor, html=element("div", CLASS="further-anchor"))
    add_transform(app, fold_second_reading, 900)  # after references are resolved
    app.connect("html-page-context", nest_contents)
