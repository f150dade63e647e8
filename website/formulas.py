"""Mathematics typeset by KaTeX while the book is built: no script on the page."""

import re
from functools import lru_cache
from html import escape
from pathlib import Path

import quickjs
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from website.builders import PAPER, add_transform, element

KATEX = Path(__file__).parent / "katex"
LOGGER = logging.getLogger(__name__)
# In TeX these environments number equations; here Sphinx does, so use the inner forms.
INNER_FORM = {
    "align": r"\{}{{aligned}}",
    "gather": r"\{}{{gathered}}",
    "alignat": r"\{}{{alignedat}}",
    "equation": "",
}
NUMBERING = re.compile(r"\\(begin|end)\{(align|gather|alignat|equation)\*?\}")

# KaTeX applies a function to nothing where its name ends an index, as in p_{\max}: the
# index would have two parts, which is one too many for its parent.
IDLE = re.compile("<mo>\u2061</mo>(?=</m(?:sub|sup|subsup|under|over)>)")

# What is not parted from a formula before it or behind it.
OPENING = re.compile(r"[(\[“‘±−-]+$")
CLOSING = re.compile(r"^[)\].,:;!?”’%-]+")

# quickjs cannot return a rope string; joining makes it flat.
RENDER = """
(tex, display, output) => [katex.renderToString(tex, {
  displayMode: display, output, throwOnError: true, strict: "error", trust: false,
})].join("")
"""


class TexError(ValueError):
    """A formula that KaTeX cannot read, with its message in one line."""


@lru_cache(maxsize=1)
def _katex():
    context = quickjs.Context()
    context.eval((KATEX / "katex.min.js").read_text(encoding="utf-8"))
    return context, context.eval(RENDER)


@lru_cache(maxsize=4096)
def typeset(tex: str, display: bool, output: str = "htmlAndMathml") -> str:
    """HTML and MathML of one formula, or one of the two."""
    try:
        return IDLE.sub("", _katex()[1](tex, display, output))
    except quickjs.JSException as cause:
        raise TexError(str(cause).splitlines()[0]) from None


def display_tex(source: str) -> str:
    """Display TeX in the form KaTeX accepts; blank lines and `\\\\` make it aligned."""
    source = NUMBERING.sub(lambda end: INNER_FORM[end[2]].format(end[1]), source)
    parts = [part.strip() for part in source.split("\n\n") if part.strip()]
    if len(parts) > 1 or ("\\\\" in source and "\\begin" not in source):
        return "\\begin{aligned}" + r" \\ ".join(parts) + "\\end{aligned}"
    return "".join(parts)


def _typeset_or_warn(
    self: HTML5Translator, node: nodes.Node, tex: str, display: bool
) -> str:
    output = "mathml" if self.builder.name == PAPER else "htmlAndMathml"
    try:
        return typeset(tex, display, output)
    except TexError as cause:
        LOGGER.warning("%s in the formula %r", cause, tex, location=node, type="katex")
        return f"<code>{escape(tex)}</code>"


# All parts of a formula but the last: a line may break behind each of them. (A browser
# asks what stands around the part before a break.)
BREAKS = re.compile(r'(<span class="katex-base">.*)(?=<span class="katex-base">)', re.S)


class beside_formula(nodes.General, nodes.TextElement):
    """A formula with the signs around it, from which no line break parts it."""


def keep_punctuation(page: SphinxPostTransform) -> None:
    """Keep a full stop, comma or bracket on the line of the formula beside it."""
    for formula in list(page.document.findall(nodes.math)):
        place = formula.parent.index(formula)
        opened = take_signs(formula.parent, place - 1, OPENING)
        closed = take_signs(formula.parent, place + 1, CLOSING)
        if opened or closed:
            kept = beside_formula("", opened, formula.deepcopy(), nodes.Text(closed))
            formula.replace_self(kept)


def take_signs(parent: nodes.Element, place: int, pattern: re.Pattern) -> str:
    """Take the signs that a child's text has at the formula's side."""
    text = parent[place] if 0 <= place < len(parent) else None
    found = pattern.search(text) if isinstance(text, nodes.Text) else None
    if not found:
        return ""
    parent[place] = nodes.Text(text[: found.start()] + text[found.end() :])
    return found[0]


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    formula = _typeset_or_warn(self, node, node.astext(), display=False)
    if isinstance(node.parent, beside_formula):
        formula = BREAKS.sub(r'<span class="breaks">\1</span>', formula)
    self.body.append(formula)
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    number = get_node_equation_number(self, node) if node["number"] else ""
    name = f"Equation {number}" if number else "Formula"
    in_text = isinstance(node.parent, nodes.TextElement)
    tag = "span" if in_text else "div"  # a <p> holds no div
    self.body.append(self.starttag(node, tag, "", CLASS="equation"))
    formula = _typeset_or_warn(self, node, display_tex(node.astext()), display=True)
    self.body.append(f'<{tag} class="scrolls" data-name="{name}">{formula}</{tag}>')
    if number:
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(f"</{tag}>")
    raise nodes.SkipNode


def add_styles(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    """Add KaTeX's style sheet to the pages that have a formula."""
    if app.env.get_domain("math").has_equations(page):
        app.add_css_file("katex/katex.min.css")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_block, None))
    app.add_node(beside_formula, html=element("span", CLASS="beside-formula"))
    add_transform(app, keep_punctuation, 900)
    app.connect("html-page-context", add_styles)
