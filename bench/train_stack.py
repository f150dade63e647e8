"""How fast TrainStack trains in Chromium, and how long the page is kept busy by it.

    python -m bench.train_stack [--seconds 2] [--rounds 3]

For one stack of 32 blocks and for two: the median steps a second over some rounds, the
script in a frame besides training (median and longest), and the longest task. Bars, on
two quiet cores: one stack 150 steps a second, two 70 each; no task above 50 ms; 8 ms of
script in a frame.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.machine import browser_path, print_machine
from mygpt.explorers import TrainStack

BEGUN = 1500  # steps taken before the measurement
PLAIN, RESIDUAL = {"wiring": "plain"}, {"wiring": "residual"}
CASES = {
    "long spirals, one": lambda: TrainStack("residual", depth=32, task="long"),
    "long spirals, two": lambda: TrainStack(
        "plain", depth=32, task="long", beside=RESIDUAL
    ),
    "long spirals, two with norms": lambda: TrainStack(
        "pre-norm", depth=32, task="long", beside={"wiring": "post-norm"}
    ),
    "long spirals, two, GELU": lambda: TrainStack(
        "residual", depth=32, task="long", activation="gelu", beside=PLAIN
    ),
    "short spirals, one": lambda: TrainStack("residual", depth=32),
    "short spirals, two": lambda: TrainStack("residual", depth=32, beside=PLAIN),
}
WATCH = """
window.frames_ = [];
window.tasks_ = [];
const later = requestAnimationFrame;
window.requestAnimationFrame = (call) => later((time) => {
  const before = performance.now();
  call(time);
  frames_.push(performance.now() - before);
});
const kept = (list) => tasks_.push(...list.getEntries().map((one) => one.duration));
new PerformanceObserver(kept)
  .observe({ type: "longtask", buffered: true });
"""
MEASURE = """async (seconds) => {
  const step = () => Number(document.querySelector(".mygpt-actions b").textContent);
  frames_.length = 0;
  tasks_.length = 0;
  const [first, began] = [step(), performance.now()];
  await new Promise((after) => setTimeout(after, 1000 * seconds));
  const rate = (1000 * (step() - first)) / (performance.now() - began);
  return { rate, frames: frames_, tasks: tasks_ };
}"""


def measured(page: Page, seconds: float, rounds: int) -> list[dict]:
    """Some stretches of one run, which begins where the loading of the page ended."""
    page.get_by_role("button", name="Train to 5,000", exact=True).click()
    page.wait_for_timeout(500)
    return [page.evaluate(MEASURE, seconds) for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print_machine()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, make in CASES.items():
            path = Path(folder, "page.html")
            made = make()
            made.steps = BEGUN
            made.write_html(path)
            page = browser.new_page(viewport={"width": 900, "height": 1200})
            page.add_init_script(WATCH)
            page.goto(path.as_uri())
            page.locator(".mygpt-train-stack").wait_for()
            page.get_by_text(f"step {BEGUN}", exact=True).wait_for(timeout=60_000)
            rounds = measured(page, options.seconds, options.rounds)
            rate = statistics.median(one["rate"] for one in rounds)
            frames = sorted(time for one in rounds for time in one["frames"])
            tasks = [time for one in rounds for time in one["tasks"]]
            print(
                f"{name:30} {rate:4.0f} steps/s; script in a frame: median "
                f"{statistics.median(frames):.1f} ms, longest {frames[-1]:.1f} ms; "
                f"tasks above 50 ms: {len(tasks)}"
            )
            page.close()


if __name__ == "__main__":
    main()
