"""Make `_build/mygpt.pdf`, the book on paper, by Chromium's print.

    python -m publish.paper.pdf

It needs no network. The pages are those of the e-book, joined to one. They are printed
twice: the numbers in the table of contents come from the first print.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib
import pikepdf

from make import NO_BROWSER, browser
from publish.paper.epub import BUILD, PAGES, write_pages
from publish.paper.joined import DC, OPF, H, joined, name_of
from website.formulas import KATEX
from website.on_paper.edition import draw_cover

BOOK = BUILD / "mygpt.pdf"
COVER = "_static/cover.svg"
SHEETS = ("_static/pygments.css", "_static/paper.css")
STYLES = Path(__file__).with_name("print.css")
MISSING = f"The PDF is printed by Chromium, and {NO_BROWSER}"
# Fonts that come with matplotlib, so that the book looks the same wherever it is made.
FONTS = {
    ("STIX", "normal", 400): "STIXGeneral.ttf",
    ("STIX", "italic", 400): "STIXGeneralItalic.ttf",
    ("STIX", "normal", 700): "STIXGeneralBol.ttf",
    ("STIX", "italic", 700): "STIXGeneralBolIta.ttf",
    ("Mono", "normal", 400): "DejaVuSansMono.ttf",
    ("Mono", "normal", 700): "DejaVuSansMono-Bold.ttf",
}


def styles(folder: Path) -> str:
    """The style sheet, the fonts, and a line above each page that names its chapter."""
    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    rules = [STYLES.read_text(encoding="utf-8")]
    for (family, style, weight), name in FONTS.items():
        rules.append(
            f"@font-face {{ font-family: Book{family}; font-style: {style}; "
            f"font-weight: {weight}; src: url({(fonts / name).as_uri()}); }}"
        )
    for point in ElementTree.parse(folder / "nav.xhtml").iter(f"{H}a"):
        page, mark, _ = point.get("href").partition("#")
        if not mark and not page.startswith(("cover", "edition", "part-")):
            rules.append(running_head(name_of(page), point.text))
    return "\n".join(rules)


def running_head(name: str, title: str) -> str:
    quoted = title.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f"#{name} {{ page: {name}; }}\n"
        f'@page {name} {{ @top-left {{ content: "{quoted}"; }} }}'
    )


def print_page(program: str, page: Path, target: Path) -> None:
    """Print a page to a PDF, with tags and an outline of its headings."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            "--generate-pdf-document-outline",
            f"--print-to-pdf={target}",
            page.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if not target.exists():
        raise SystemExit(f"Chromium printed nothing: {done.stderr.strip()[-300:]}")


def page_numbers(printed: pikepdf.Pdf) -> dict[str, int]:
    """The page on which each target of a link stands, by the target's name."""
    number = {page.objgen: at for at, page in enumerate(printed.pages, 1)}
    places = printed.Root.Dests.items()
    return {name[1:]: number[place[0].objgen] for name, place in places}


def numbered(html: Element, numbers: dict[str, int]) -> None:
    """Write the page numbers of a print into the table of contents."""
    nav = next(one for one in html.iter() if one.tag in ("nav", f"{H}nav"))
    for link in nav.iter():
        if link.get("href"):
            link[-1].text = str(numbers[link.get("href").removeprefix("#")])


def write(html: Element, page: Path) -> None:
    for element in html.iter():
        element.tag = element.tag.rpartition("}")[2]  # HTML knows by the names alone
    text = ElementTree.tostring(html, encoding="unicode", method="html")
    page.write_text("<!DOCTYPE html>\n" + text, encoding="utf-8")


def mend_titles(items: list[pikepdf.OutlineItem]) -> None:
    """Halve the titles that Chromium wrote twice, where a page begins."""
    for item in items:
        half = item.title[: len(item.title) // 2]
        if item.title == 2 * half:
            item.title = half
        mend_titles(item.children)


def finish(printed: pikepdf.Pdf, target: Path, package: Element) -> None:
    """Add what Chromium does not know of the book, and pack its 100,000 tags."""
    version = package.findtext(f".//{OPF}meta[@property='ibooks:version']")
    printed.docinfo["/Author"] = package.findtext(f".//{DC}creator")
    printed.docinfo["/Subject"] = f"Version {version}"
    with printed.open_outline() as outline:
        mend_titles(outline.root)
    printed.Root.PageMode = pikepdf.Name.UseOutlines
    packed = pikepdf.ObjectStreamMode.generate
    printed.save(target, object_stream_mode=packed, linearize=True)


def make(folder: Path, target: Path) -> int:
    """Print the e-book's pages until the numbers in the contents are right."""
    package = ElementTree.parse(folder / "content.opf").getroot()
    title, author = (package.findtext(f".//{DC}{one}") for one in ("title", "creator"))
    draw_cover(folder / COVER, title.partition(":")[0], author)
    sheets = [(KATEX / "katex.min.css").as_uri(), *SHEETS]
    html = joined(folder, sheets, styles(folder), title)
    page, printed = folder / "book.html", folder / "book.pdf"
    numbers = {}
    for _ in range(3):  # the second print has the numbers of the first, as a rule
        write(html, page)
        print_page(browser(), page, printed)
        with pikepdf.open(printed) as found:
            before, numbers = numbers, page_numbers(found)
        if numbers == before:
            break
        numbered(html, numbers)
    with pikepdf.open(printed) as found:
        finish(found, target, package)
        print(f"{target.name}: {len(found.pages)} pages")
    return 0


def main() -> int:
    if browser() is None:
        print(MISSING)
        return 1
    write_pages()
    return make(PAGES, BOOK)


if __name__ == "__main__":
    sys.exit(main())
