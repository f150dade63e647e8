"""How high each explorer of the built site is, so that its page can keep the room.

    python -m tools.heights [SITE]    default: _build/html; writes website/heights.json

An explorer is drawn once its script has run, and text below it would jump. The page
therefore keeps its height at three widths, each for the widths up to the next. Needs
Chromium on the PATH. Run it when an explorer, or where it stands, has changed.
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import make

WIDTHS = (390, 820, 1280)
STORED = make.ROOT / "website" / "heights.json"
READY = "performance.getEntriesByName('explorers-ready').length > 0"
HEIGHTS = """[...document.querySelectorAll(".explorer[data-model]")].map(
  (one) => Math.round(one.getBoundingClientRect().height))"""


def measured(page: Page, address: str) -> list[int]:
    """Return the heights of a page's explorers, in their order."""
    page.goto(address)
    page.wait_for_function(READY)
    page.evaluate("document.fonts.ready.then(() => true)")
    page.wait_for_timeout(300)
    return page.evaluate(HEIGHTS)


def main(site: Path) -> None:
    pages = [
        path
        for path in sorted(site.rglob("*.html"))
        if 'class="explorer" ' in path.read_text(encoding="utf-8")
    ]
    found: dict[str, list[list[int]]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=make.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        for path in pages:
            heights = []
            for width in WIDTHS:
                view = {"width": width, "height": 900}
                page = browser.new_page(viewport=view)
                heights.append(measured(page, path.as_uri()))
                page.close()
            name = path.relative_to(site).with_suffix("").as_posix()
            found[name] = [list(one) for one in zip(*heights, strict=True)]
            print(name, *found[name])
        browser.close()
    rows = (f'  "{name}": {json.dumps(heights)}' for name, heights in found.items())
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else make.SITE).resolve())
