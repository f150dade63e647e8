"""Small things in the text: folded solutions, sourced numbers, notes on outputs."""

import re
from textwrap import shorten

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinxcontrib.bibtex.roles import CiteRole

from website.builders import CELL, add_transform

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


def fold_dropdowns(page: SphinxPostTransform) -> None:
    """Fold each block of class `dropdown`; no script is needed."""
    for block in list(page.document.findall(nodes.Admonition)):
        title, *children = block.children
        if "dropdown" not in block["classes"] or not isinstance(title, nodes.title):
            continue
        block["classes"].remove("dropdown")
        folded = fold(
            "",
            ids=block["ids"],
            names=block["names"],
            classes=[*block["classes"], "fold"],
            title=title.astext(),
        )
        for child in children:
            # A section element here would be a heading-less part of the outline.
            folded += child.children if isinstance(child, nodes.section) else [child]
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


def link_sourced_numbers(page: SphinxPostTransform) -> None:
    """Turn a sourced number into the link once its citation is resolved."""
    for holder in list(page.document.findall(nodes.inline)):
        if "number" not in holder.attributes:
            continue
        holder["ids"] += [i for one in holder.findall(nodes.inline) for i in one["ids"]]
        link = next(iter(holder.findall(nodes.reference)), None)
        if link is not None:
            link.children = []
            link += nodes.Text(holder["number"])
            holder.children = [link]
            link.parent = holder


def name_folds(page: SphinxPostTransform) -> None:
    """Name each fold of code by what it holds."""
    numbers = page.env.toc_fignumbers.get(page.env.docname, {}).get("figure", {})
    for cell in page.document.findall(CELL):
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


def drop_labels(app: Sphinx, page: str, _, context: dict, doctree) -> None:
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
    for cell in list(doctree.findall(CELL)):
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
    add_transform(app, fold_dropdowns, 900)  # after their titles are resolved
    add_transform(app, link_sourced_numbers, 900, ())
    add_transform(app, name_folds, 150)  # before myst-nb folds the cells
    app.connect("html-page-context", drop_labels)
    # after the widgets are replaced
    app.connect("doctree-read", mark_cells, priority=410)
