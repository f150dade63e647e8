#!/usr/bin/env bash
# EbookLib 0.20, lxml 6.1.3, Python 3.11.
# Guess: EbookLib writes a chapter's inline SVG as it is given, and the manifest names
#   it (properties="svg"), as EPUB asks for.
# Seen: the chapter goes through a parser of HTML that lowercases the names: viewBox
#   becomes viewbox and linearGradient lineargradient, which XHTML does not know, so the
#   picture loses its scale and its gradient. The manifest does not name it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet ebooklib==0.20 lxml==6.1.3
"$folder/environment/bin/python" - <<'PYTHON'
import pathlib
import tempfile
import zipfile

from ebooklib import epub

picture = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'
    '<linearGradient id="g"/><rect width="9" height="9" fill="url(#g)"/></svg>'
)
book = epub.EpubBook()
book.set_identifier("book")
book.set_title("Book")
chapter = epub.EpubHtml(title="One", file_name="one.xhtml")
chapter.content = f"<html><body><p>Text</p>{picture}</body></html>"
book.add_item(chapter)
book.add_item(epub.EpubNav())
book.spine = ["nav", chapter]
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "book.epub"
    epub.write_epub(path, book)
    with zipfile.ZipFile(path) as archive:
        written = archive.read("EPUB/one.xhtml").decode()
        manifest = archive.read("EPUB/content.opf").decode()
print(written[written.index("<svg") : written.index("</svg>")])
assert "viewbox" in written and "viewBox" not in written
assert "lineargradient" in written and "linearGradient" not in written
assert "svg" not in manifest
PYTHON
