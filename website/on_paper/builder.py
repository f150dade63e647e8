"""The builder of the e-book: Sphinx's own, with parts, numbers and a plain package.

A point is what Sphinx makes the table of contents of: a level, an address and a text.
"""

from html import escape
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.epub3 import Epub3Builder
from sphinx.util.osutil import ensuredir

from website.on_paper.edition import COVER, COVER_ALT, draw_cover, edition

OPF = "http://www.idpf.org/2007/opf"
# What a page may hold, and the property by which the package has to announce it.
ANNOUNCED = {"mathml": "<math", "svg": "<svg"}
DEPRECATED = ' role="doc-biblioentry"'


class Book(Epub3Builder):
    """An e-book with nothing of the site's scripts and style sheets."""

    def prepare_writing(self, docnames: set[str]) -> None:
        super().prepare_writing(docnames)
        self.domain_indices = []  # a list of theorems would want a page of its own

    def copy_static_files(self) -> None:
        ensuredir(self.outdir / "_static")
        self.create_pygments_style_file()
        self.copy_theme_static_files(self.globalcontext.copy())
        draw_cover(self.outdir / COVER, self.config.html_title, self.config.author)

    def handle_page(self, pagename, addctx, *args, **kwargs) -> None:
        addctx["body"] = addctx.get("body", "").replace(DEPRECATED, "")
        super().handle_page(pagename, addctx, *args, **kwargs)

    def get_toc(self) -> None:
        """Collect the parts, their chapters and the sections of these."""
        cover = f'<figure><img src="{COVER}" alt="{escape(COVER_ALT)}" /></figure>'
        self.refnodes = [
            self.page("cover", "Cover", "cover", cover),
            self.page("edition", "This edition", "edition", edition(self.config)),
            *self.points(self.config.root_doc, 1),
        ]
        root = self.env.get_doctree(self.config.root_doc)
        for number, tree in enumerate(root.findall(addnodes.toctree), 1):
            chapters = [self.points(name, 2) for name in tree["includefiles"]]
            title = tree.get("caption") or self.config.html_title
            self.refnodes.append(
                self.page(f"part-{number}", title, "part", part(title, chapters))
            )
            self.refnodes += [point for points in chapters for point in points]

    def page(self, name: str, title: str, kind: str, body: str) -> dict:
        """Write a page that no document gives, and return its point."""
        self.handle_page(name, {"title": title, "kind": kind, "body": body})
        return {"level": 1, "refuri": name + self.out_suffix, "text": escape(title)}

    def points(self, docname: str, level: int) -> list[dict]:
        """A document and its sections; a chapter has its number."""
        number = self.env.titles[docname].get("secnumber")
        own, *sections = self.env.tocs[docname].findall(nodes.reference)
        page = self.get_target_uri(docname)
        title = (f"{number[0]}. " if number else "") + own.astext()
        points = [{"level": level, "refuri": page, "text": escape(title)}]
        for one in sections if level > 1 else ():
            if depth(one) == 2:
                link, text = page + one["anchorname"], escape(one.astext())
                points.append({"level": level + 1, "refuri": link, "text": text})
        return points

    def toc_metadata(self, level: int, navpoints: list) -> dict:
        # Sphinx gives the identifier's name here, where its value has to stand.
        identifier = escape(self.config.epub_identifier)
        return {**super().toc_metadata(level, navpoints), "uid": identifier}

    def build_content(self) -> None:
        super().build_content()
        path = self.outdir / "content.opf"
        path.write_bytes(announced(path.read_bytes(), self.outdir))


def depth(reference: nodes.reference) -> int:
    """In how many lists an entry of a document's contents stands."""
    lists, node = 0, reference
    while node is not None:
        lists += isinstance(node, nodes.bullet_list)
        node = node.parent
    return lists


def part(title: str, chapters: list[list[dict]]) -> str:
    """The first page of a part, with the titles of its chapters."""
    links = "\n".join(
        f'<li><a href="{points[0]["refuri"]}">{points[0]["text"]}</a></li>'
        for points in chapters
    )
    return f"<section><h1>{escape(title)}</h1>\n<ul>\n{links}\n</ul></section>"


def announced(package: bytes, folder: Path) -> bytes:
    """The package with the properties of its cover and of pages with formulas."""
    ElementTree.register_namespace("", OPF)
    tree = ElementTree.fromstring(package)
    for item in tree.iter(f"{{{OPF}}}item"):
        name = item.get("href")
        found = ["cover-image"] if name == COVER else []
        if name.endswith(".xhtml") and name != "nav.xhtml":
            text = (folder / name).read_text(encoding="utf-8")
            found += [key for key, tag in ANNOUNCED.items() if tag in text]
        if found:
            item.set("properties", " ".join(found))
    return ElementTree.tostring(tree, encoding="utf-8", xml_declaration=True)
