"""Draw the picture of README.md: the live model of the built book, one fact rewritten.

    make book
    .venv/bin/python -m publish.readme_picture    writes live_model_….png

It needs Playwright (in requirements/dev.txt) and Chromium on the PATH.
"""

import sys
from io import BytesIO

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from make import ROOT, browser

PAGE = ROOT / "_build" / "html" / "chapters" / "11_rewriting.html"
ANSWER = "rome"  # in place of paris
# A picture of one screen leaves out what stays folded.
SHORTER = """
.mygpt-live-model :is(details:not([open]), .mygpt-message) { display: none !important; }
.mygpt-explorer.mygpt-live-model { background: var(--mygpt-paper); padding: 20px 24px; }
"""
TALL = {"width": 1280, "height": 2400}  # the page's header would lie over a part
COLOURS = 64


def draw(page: Page, theme: str) -> bytes:
    """Rewrite the fact in the page, and take the explorer's picture."""
    page.add_init_script(f"localStorage.setItem('mode', '{theme}')")
    page.goto(PAGE.as_uri())
    model = page.locator(".mygpt-live-model").first
    model.wait_for()
    model.get_by_label("New answer").fill(ANSWER)
    model.get_by_role("button", name="Rewrite", exact=True).click()
    model.locator("summary", has_text="All facts").click()
    model.get_by_text("✗ changed").first.wait_for()
    page.add_style_tag(content=SHORTER)
    page.mouse.move(0, 0)  # or the row under it is shaded
    return model.screenshot()


def main() -> int:
    found = browser()
    if found is None or not PAGE.exists():
        missing = "the built book (run `make book`)" if found else "Chromium"
        print(f"expected {missing}, found none", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"]
        )
        for theme in ("light", "dark"):
            page = started.new_page(
                viewport=TALL, color_scheme=theme, device_scale_factor=2
            )
            picture = Image.open(BytesIO(draw(page, theme))).convert("RGB")
            path = ROOT / "chapters" / "schematics" / f"live_model_{theme}.png"
            picture.quantize(COLOURS).save(path, optimize=True)
            print(f"{path.name}: {path.stat().st_size:,} bytes, {picture.size}")
        started.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
