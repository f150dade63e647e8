"""The pages of the e-book as one page, whose links stay inside it.

Ids are prefixed with the page's, since each page has its own `exercises`.
"""

import posixpath
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from website.formulas import typeset

XHTML, MATH = "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"
OPF, DC = "{http://www.idpf.org/2007/opf}", "{http://purl.org/dc/elements/1.1/}"
H, M = f"{{{XHTML}}}", f"{{{MATH}}}"
TEX = f".//{M}annotation"
HEADINGS = {f"{H}h{level}": f"{H}h{min(level + 1, 6)}" for level in range(1, 7)}
# On paper the cover has no pixels.
DRAWN_COVER = ("cover.png", "cover.svg")


def spine(folder: Path) -> list[str]:
    """The names of the pages, in the order of reading."""
    package = ElementTree.parse(folder / "content.opf")
    names = {item.get("id"): item.get("href") for item in package.iter(f"{OPF}item")}
    return [names[ref.get("idref")] for ref in package.iter(f"{OPF}itemref")]


def name_of(page: str) -> str:
    """`chapters/05_feed_forward.xhtml` is `p-05_feed_forward` in the joined page."""
    return "p-" + posixpath.basename(page).removesuffix(".xhtml")


def target(link: str, page: str, pages: list[str]) -> str:
    """The link of a page as one inside the joined page; others stay as they are."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return link
    there = page
    if parts.path:
        folder = posixpath.dirname(page)
        there = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
    if there not in pages:
        return link
    return "#" + name_of(there) + (f"--{parts.fragment}" if parts.fragment else "")


def article(folder: Path, page: str, pages: list[str], in_part: bool) -> Element:
    """What a page shows, with the ids, links and pictures of the joined page."""
    body = ElementTree.parse(folder / page).getroot().find(f"{H}body")
    kind, name = body.get("class"), name_of(page)
    body.tag, body.attrib = f"{H}article", {"class": kind, "id": name}
    for element in body.iter():
        if element is not body and "id" in element.attrib:
            element.set("id", f"{name}--{element.get('id')}")
        if "href" in element.attrib:
            element.set("href", target(element.get("href"), page, pages))
        if "src" in element.attrib:
            picture = posixpath.join(posixpath.dirname(page), element.get("src"))
            element.set("src", posixpath.normpath(picture).replace(*DRAWN_COVER))
        if in_part and kind == "chapter":
            element.tag = HEADINGS.get(element.tag, element.tag)  # below its part's
    with_drawn_formulas(body)
    return body


def with_drawn_formulas(body: Element) -> None:
    """Replace MathML with what KaTeX draws: it needs no mathematical font."""
    for holder in body.iter(f"{H}span"):
        formula = holder.find(f"{M}math")
        if formula is None:
            continue
        tex, display = formula.find(TEX).text, formula.get("display") == "block"
        drawn = ElementTree.fromstring(typeset(tex, display, "html"))
        del drawn.attrib["class"]
        for element in drawn.iter():
            element.attrib.pop("aria-hidden", None)
            if not element.tag.startswith("{"):
                element.tag = H + element.tag
        holder.set("class", "katex display" if display else "katex")
        holder[:] = [drawn]


def contents(folder: Path, pages: list[str]) -> Element:
    """The table of contents as an article, with a place for each page number."""
    nav = ElementTree.parse(folder / "nav.xhtml").getroot().find(f".//{H}nav")
    nav.attrib = {}
    nav.find(f"{H}h1").text = "Contents"
    entries = nav.find(f"{H}ol")
    for entry in list(entries):
        if entry.find(f"{H}a").get("href") in ("cover.xhtml", "edition.xhtml"):
            entries.remove(entry)
    for link in nav.iter(f"{H}a"):
        link.set("href", target(link.get("href"), "nav.xhtml", pages))
        words = Element(f"{H}span")
        words.text, link.text = link.text, None
        number = Element(f"{H}span")
        number.text = "000"  # as wide as those that take its place
        link[:] = [words, number]
    holder = Element(f"{H}article", {"class": "contents", "id": "p-contents"})
    holder.append(nav)
    return holder


def joined(folder: Path, sheets: list[str], styles: str, title: str) -> Element:
    """The whole book as one page; `sheets` are addresses, `styles` is CSS."""
    pages = spine(folder)
    html = Element(f"{H}html", {"lang": "en"})
    head, body = (ElementTree.SubElement(html, H + part) for part in ("head", "body"))
    ElementTree.SubElement(head, f"{H}meta", {"charset": "utf-8"})
    ElementTree.SubElement(head, f"{H}title").text = title
    for sheet in sheets:
        link = {"rel": "stylesheet", "href": sheet}
        ElementTree.SubElement(head, f"{H}link", link)
    ElementTree.SubElement(head, f"{H}style").text = styles
    in_part = False
    for page in pages:
        body.append(article(folder, page, pages, in_part))
        in_part = in_part or body[-1].get("class") == "part"
    body.insert(2, contents(folder, pages))
    return html
