"""The glossary: a term is defined once, and a link to it shows what it means.

{define}`loss` marks the place in a chapter where a term is explained; {term}`loss` is a
link to the glossary, whose first sentence shows when the link is pointed at. The entry
links back to the place.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from website.builders import element

ENTRY = re.compile(
    r'(?P<terms>(?:<dt id="term-[^"]*">.*?</dt>\s*)+)<dd>(?P<text>.*?)</dd>', re.S
)
TERM = re.compile(r'<dt id="(term-[^"]*)">')
LINK = re.compile(
    r'<a class="reference internal" href="(?P<page>[^"#]*)#(?P<id>term-[^"]*)">'
    r'<span class="xref std std-term">(?P<text>.*?)</span></a>',
    re.S,
)
FIRST = re.compile(r'(?:</dd>|glossary">)\s*<dt id="(term-[^"]*)">([^\W\d_])')
LIST = '<dl class="simple glossary">'
DEFINED = re.compile(r'<dfn id="define-([^"]*)">')
TITLE = re.compile(r'<h1>((?:(?!</h1>).)*)<a class="headerlink"', re.S)
SENTENCE = re.compile(r"(.+?[.!?])(?=\s|$)", re.S)


class defined_term(nodes.Inline, nodes.TextElement):
    """The place where a term is explained."""


def define(name, rawtext, text, lineno, inliner, options=None, content=()):
    """{define}`loss`, or {define}`losses <loss>`: the term in the glossary's form."""
    shown, _, term = text.removesuffix(">").rpartition("<")
    place = f"define-{nodes.make_id(term)}"
    return [defined_term(rawtext, shown.strip() or term, ids=[place])], []


def definitions(page: str) -> dict[str, str]:
    """The first sentence of each entry, by the id of its term."""
    found = {}
    for entry in ENTRY.finditer(page):
        text = html.unescape(re.sub(r"<[^>]*>", "", entry["text"]))
        text = " ".join(text.split())
        first = SENTENCE.match(text)
        for term in TERM.findall(entry["terms"]):
            found[term] = first[1] if first else text
    return found


def with_definitions(page: str, known: dict[str, str]) -> str:
    def link(match: re.Match) -> str:
        meaning = html.escape(known.get(match["id"], ""), quote=True)
        return (
            f'<a class="reference internal term" href="{match["page"]}#{match["id"]}" '
            f'data-meaning="{meaning}">{match["text"]}</a>'
        )

    return LINK.sub(link, page)


def with_places(page: str, places: dict[str, tuple[str, str]]) -> str:
    """The glossary's page with a link from each entry to where it is explained."""

    def entry(match: re.Match) -> str:
        for term in TERM.findall(match["terms"]):
            name = nodes.make_id(term.removeprefix("term-"))
            if name in places:
                address, title = places[name]
                link = (
                    f'<p class="explained"><a href="{address}#define-{name}">'
                    f"{title}</a></p>"
                )
                return match[0].removesuffix("</dd>") + link + "</dd>"
        return match[0]

    return ENTRY.sub(entry, page)


def with_letters(page: str) -> str:
    """The glossary's page with a row of letters, each a link to its first term."""
    first: dict[str, str] = {}
    for place, letter in FIRST.findall(page):
        first.setdefault(letter.upper(), place)
    links = "".join(
        f'<a href="#{place}">{letter}</a>' for letter, place in first.items()
    )
    row = f'<nav class="letters" aria-label="Terms by letter">{links}</nav>\n'
    return page.replace(LIST, row + LIST, 1)


def title_of(page: str) -> str:
    found = TITLE.search(page)
    return " ".join(re.sub(r"<[^>]*>", "", found[1]).split()) if found else ""


def finish(app: Sphinx, exception: Exception | None) -> None:
    glossary = Path(app.outdir, "glossary.html")
    if exception or app.builder.name != "html" or not glossary.exists():
        return
    known = definitions(glossary.read_text(encoding="utf-8"))
    places = {}
    for page in sorted(Path(app.outdir).rglob("*.html")):
        if "_static" in page.parts:
            continue
        text = page.read_text(encoding="utf-8")
        address = page.relative_to(app.outdir).as_posix()
        places |= {name: (address, title_of(text)) for name in DEFINED.findall(text)}
        if (linked := with_definitions(text, known)) != text:
            page.write_text(linked, encoding="utf-8")
    text = glossary.read_text(encoding="utf-8")
    if 'class="explained"' not in text:  # an incremental build may leave it as it was
        text = with_letters(with_places(text, places))
        glossary.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_node(defined_term, html=element("dfn"))
    app.add_role("define", define)
    app.connect("build-finished", finish, priority=850)  # before the pages' policy
