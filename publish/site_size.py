"""Fail when the built site has lost pages, or a fifth of its text.

    python -m publish.site_size                 compare _build/html with the counts
    python -m publish.site_size --store REASON  store what _build/html has, and why

A site that shrinks by accident is not published. A commit that means to shrink it
stores the new counts, with its reason.
"""

import argparse
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
SITE = HERE.parent / "_build" / "html"
STORED = HERE / "site_size.json"
SHARE = 0.8  # of the stored text
SILENT = {"script", "style", "template"}


class VisibleText(HTMLParser):
    """The text of a page's article, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.silent = 0, 0
        self.letters = 0

    def handle_starttag(self, tag, attributes):
        self.inside += tag == "article"
        self.silent += tag in SILENT

    def handle_endtag(self, tag):
        self.inside -= tag == "article"
        self.silent -= tag in SILENT

    def handle_data(self, data):
        if self.inside > 0 and self.silent <= 0:
            self.letters += sum(map(len, data.split()))


def size_of(site: Path) -> dict[str, int]:
    """Count the pages of a site, and the letters of their articles."""
    pages = sorted(site.rglob("*.html"))
    return {"pages": len(pages), "letters": sum(map(letters_of, pages))}


def letters_of(page: Path) -> int:
    parser = VisibleText()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.letters


def losses(found: dict[str, int], stored: dict[str, int]) -> list[str]:
    """Return what the site has lost; nothing if it may be published."""
    said = []
    if found["pages"] < stored["pages"]:
        said.append(f"{found['pages']} pages where there were {stored['pages']}")
    if found["letters"] < SHARE * stored["letters"]:
        share = found["letters"] / stored["letters"]
        said.append(f"{share:.0%} of the text; {SHARE:.0%} is asked for")
    return said


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", metavar="REASON")
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--counts", type=Path, default=STORED)
    options = parser.parse_args(arguments)
    found = size_of(options.site)
    if options.store:
        content = {**found, "reason": options.store}
        options.counts.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        return 0
    stored = json.loads(options.counts.read_text(encoding="utf-8"))
    print(f"{found['pages']} pages, {found['letters']:,} letters", flush=True)
    if lost := losses(found, stored):
        print(
            f"ERROR: the site has {' and '.join(lost)}. If it is meant to, run "
            'python -m publish.site_size --store "the reason"',
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
