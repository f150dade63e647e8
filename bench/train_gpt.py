"""What a minute in the page gives: TrainGPT trained at several seeds in Chromium.

    python -m bench.train_gpt [--seeds 5] [--seconds 60]

For each seed an explorer on a page of its own, from the disk, trains 2 x 64 on the
stories at its own settings, and is stopped after so many seconds if it has not ended.
Printed: steps and seconds, the held-out loss beside the bigram model's, the share of
the newest text's words that the stories have, and the longest task that Chromium
reports meanwhile (it reports those above 50 ms). Bars: a loss below the bigram model's
and 80 % of the words at every seed; no task above 50 ms.
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.machine import browser_path, print_machine
from mygpt import load_corpus
from mygpt.explorers import TrainGPT

WATCH = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      window.longest = Math.max(window.longest, duration);
  }).observe({ entryTypes: ["longtask"] });
}"""


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def train(page: Page, seconds: float) -> dict[str, float]:
    """Press Train, wait, and return what is measured."""
    root = page.locator(".mygpt-train-gpt").first
    run = root.locator(".mygpt-run")
    run.wait_for()
    page.wait_for_timeout(500)
    page.evaluate(f"({WATCH})()")
    before = time.monotonic()
    run.click()
    try:
        run.filter(has_text="Train on").wait_for(timeout=1000 * seconds)
    except Exception:
        root.get_by_role("button", name="Stop", exact=True).click()
        run.filter(has_text="Train on").wait_for()
    took = time.monotonic() - before
    longest = page.evaluate("window.longest")
    driving = root.locator(".mygpt-driving").inner_text()
    losses = re.findall(r"\d\.\d\d", root.locator(".mygpt-verdict").inner_text())
    known = set(words_of(load_corpus("stories")))
    root.get_by_text("All its texts").click()
    words = words_of(root.locator(".mygpt-samples details p").last.inner_text())
    return {
        "steps": int(re.findall(r"step ([\d,]+)", driving)[0].replace(",", "")),
        "seconds": took,
        "loss": float(losses[0]),
        "bigram": float(losses[1]),
        "words": sum(word in known for word in words) / len(words),
        "longest": longest,
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.train_gpt")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args(arguments)
    print_machine()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox"]
        )
        for seed in range(asked.seeds):
            path = Path(folder) / f"{seed}.html"
            TrainGPT(seed=seed).write_html(path)
            page = browser.new_page(viewport={"width": 800, "height": 900})
            page.goto(path.as_uri())
            seen = train(page, asked.seconds)
            page.close()
            print(
                f"seed {seed}: {seen['steps']:,.0f} steps in {seen['seconds']:.0f} s, "
                f"held-out {seen['loss']:.2f}, bigram {seen['bigram']:.2f}, "
                f"{seen['words']:.0%} words, longest task {seen['longest']:.0f} ms",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
