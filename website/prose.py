"""Small things in the text: folded solutions, sourced numbers, notes on outputs."""

import re
from textwrap import shorten

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import NodeMatcher
from sphinxcontrib.bibtex.roles import CiteRole

from website.builders import SCREENS

SOURCED = re.compile(r"(?P<number>.+?)\s*<(?P<key>[^<>\s]+)>")
ERROR_LINE = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt)\b")
SETUP_LABEL = "Setup: finds the book's package"
DEFINED = re.compile(r"^(?:class|def) (\w+)|^(\w+)(?:, \w+)* = ", re.M)
LONGEST = 40  # letters of a fold's name


class fold(nodes.General, nodes.Element):
    """A block that folds; `title` is its one-line label."""


def visit_fold(self, node: fold) -> None:
    self.body.append(self.starttag(node, "details"))
    self.body.append(f"<summary>{self.encode(node['title'])}</summary>\n")


def depart_fold(self, node: fold) -> None:
    self.body.append("</details>\n")


class FoldDropdowns(SphinxPostTransform):
    """Folds each block of class `dropdown`; no script is needed."""

    default_priority = 900  # after its title is resolved
    builders = SCREENS

    def run(self, **kwargs) -> None:
        for block in list(self.document.findall(nodes.Admonition)):
            if "dropdown" not in block["classes"] or not isinstance(
                block[0], nodes.title
            ):
                continue
            classes = [name for name in block["classes"] if name != "dropdown"]
            folded = fold(
                "",
                ids=block["ids"],
                names=block["names"],
                classes=[*classes, "fold"],
                title=block[0].astext(),
            )
            for child in block.children[1:]:
                # A section element here would be a heading-less part of the outline.
                folded += (
                    child.children if isinstance(child, nodes.section) else [child]
                )
            block.replace_self(folded)


def sourced(name, rawtext, text, lineno, inliner, options=None, content=()):
    """{sourced}`0.02 <radford2019>`: another work's number, linked to its reference."""
    found = SOURCED.fullmatch(text.strip())
    if not found:
        message = inliner.reporter.error(
            f"sourced: expected `number <BibTeX key>`, got {text!r}", line=lineno
        )
        return [nodes.problematic(rawtext, rawtext)], [message]
    cited, messages = CiteRole()("cite:p", rawtext, found["key"], lineno, inliner)
    return [
        nodes.inline(rawtext, "", *cited, classes=["sourced"], number=found["number"])
    ], messages


class LinkSourcedNumbers(SphinxPostTransform):
    """Turns a sourced number into the link once its citation is resolved."""

    default_priority = 900

    def run(self, **kwargs) -> None:
        for holder in list(self.document.findall(nodes.inline)):
            if "number" not in holder.attributes:
                continue
            holder["ids"] += [
                i for part in holder.findall(nodes.inline) for i in part["ids"]
            ]
            link = next(iter(holder.findall(nodes.reference)), None)
            if link is not None:
                link.children = []
                link += nodes.Text(holder["number"])
                holder.children = [link]
                link.parent = holder


class NameFolds(SphinxPostTransform):
    """Names each fold of code by what it holds."""

    default_priority = 150  # before myst-nb folds the cells
    builders = SCREENS

    def run(self, **kwargs) -> None:
        numbers = self.env.toc_fignumbers.get(self.env.docname, {}).get("figure", {})
        cells = NodeMatcher(nodes.container, nb_element="cell_code")
        for cell in self.document.findall(cells):
            if cell.get("hide_mode") and cell["prompt_show"] != SETUP_LABEL:
                name = name_of_code(cell, numbers)
                cell.attributes.update(prompt_show=name, prompt_hide=name)


def name_of_code(cell: nodes.container, numbers: dict) -> str:
    """Name a fold by its figure, the first line of its output, or what it defines."""
    for figure in cell.findall(nodes.figure):
        if number := numbers.get(figure["ids"][0]):
            return f"Code of Figure {'.'.join(map(str, number))}"
    outputs = (block.astext() for block in cell.findall(nodes.literal_block))
    code, *printed = filter(str.strip, outputs)
    if printed:
        return f"Code that prints: {cut(printed[0])}"
    found = DEFINED.findall(code)
    names = dict.fromkeys(function or variable for function, variable in found)
    return f"Code: {cut(', '.join(names) or code)}"


def cut(text: str) -> str:
    """Return the first line, or as many words of it as fit."""
    return shorten(text.strip().splitlines()[0], LONGEST, placeholder=" …")


def drop_labels(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree
) -> None:
    """A fold is called by its name, not by the one label that myst-nb has for all."""
    if "body" in context:
        label = ' aria-label="Toggle hidden content"'
        context["body"] = context["body"].replace(label, "")


def last_words(traceback: str) -> str:
    """The last message of a traceback; its frames name one machine's files."""
    lines = traceback.rstrip().splitlines()
    said = [number for number, line in enumerate(lines) if ERROR_LINE.match(line)]
    return "\n".join(lines[said[-1] :]) if said else lines[-1]


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the setup cell; shorten tracebacks; say which outputs vary by machine."""
    for cell in list(
        doctree.findall(NodeMatcher(nodes.container, nb_element="cell_code"))
    ):
        tags = cell["cell_metadata"].get("tags", [])
        if "setup" in tags:
            cell.attributes.update(
                hide_mode="all", prompt_show=SETUP_LABEL, prompt_hide=SETUP_LABEL
            )
        for block in cell.findall(nodes.literal_block):
            if "traceback" in block["classes"]:
                block.rawsource = last_words(block.astext())
                block.children = []
                block += nodes.Text(block.rawsource)
        last = cell.children[-1] if cell.children else cell  # one that is removed
        if "varies" in tags and last.get("nb_element") == "cell_code_output":
            last += nodes.paragraph("", "varies by machine", classes=["output-note"])


def setup(app: Sphinx) -> None:
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.add_role("sourced", sourced)
    app.add_post_transform(FoldDropdowns)
    app.add_post_transform(LinkSourcedNumbers)
    app.add_post_transform(NameFolds)
    app.connect("html-page-context", drop_labels)
    app.connect(
        "doctree-read", mark_cells, priority=410
    )  # after the widgets are replaced
