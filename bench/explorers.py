"""How soon the explorers of the built site start, and how fast they follow the hand.

    python bench/explorers.py [SITE]      default: _build/html

Start: from navigation to the last explorer drawn, median of five cold loads. Response:
from an input event to the finished layout, over 120 inputs, median of five rounds.
"""

import shutil
import statistics
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

CHAPTERS = {"activations": "06_activations", "depth": "07_residual_connections"}
ROUNDS = 5
RESPONSE = """root => {
  const handle = root.querySelector(".mygpt-handle");
  const times = [];
  for (let i = 0; i < 120; i += 1) {
    const before = performance.now();
    handle.value = (i * 7) % Number(handle.max);
    handle.dispatchEvent(new Event("input"));
    root.getBoundingClientRect();
    times.push(performance.now() - before);
  }
  times.sort((a, b) => a - b);
  return [times[60], times[114]];
}"""
START = "performance.getEntriesByName('explorers-ready')[0].startTime"


def measure(browser, address: str, name: str) -> list[float]:
    """Start, and the response's median and 95th percentile, in milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    root = page.locator(f".mygpt-{name}")
    root.wait_for()
    figures = [page.evaluate(START), *root.evaluate(RESPONSE)]
    context.close()
    return figures


def main() -> None:
    default = Path(__file__).parents[1] / "_build" / "html"
    site = Path(sys.argv[1] if len(sys.argv) > 1 else default).resolve()
    print(f"{'explorer':12s} {'start':>9s} {'response':>9s} {'95th pc':>9s}")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=flags
        )
        for name, chapter in CHAPTERS.items():
            address = (site / "chapters" / f"{chapter}.html").as_uri()
            rounds = [measure(browser, address, name) for _ in range(ROUNDS)]
            medians = map(statistics.median, zip(*rounds, strict=True))
            print(f"{name:12s}" + "".join(f" {value:6.1f} ms" for value in medians))
        browser.close()


if __name__ == "__main__":
    main()
