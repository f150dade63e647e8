"""How soon the explorers of the built site start, and how fast they respond.

    python -m bench.explorers [SITE]      default: _build/html

On the gallery, which has every explorer, median of five cold loads. Start: from
navigation to the last explorer drawn. Draw: from an input event to the finished layout,
one input in each of 120 frames, median and 95th percentile. Frame: the longest time
between two frames meanwhile. Bars: draw 8 ms at the 95th percentile, frame 34 ms.

Then the network that trains in the page, at its greatest width and with GELU: the
script of a frame while it runs, 95th percentile of 120 frames (bar 8 ms), and a step
alone under node, median of 1,000 (bar 4 ms).
"""

import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.machine import browser_path, print_machine

EXPLORERS = (
    *("activations", "depth", "layer-norm", "block-walk"),
    *("attention", "sampling", "memory", "tokens", "descent"),
)
ROUNDS = 5
FRAMES = """root => new Promise((done) => {
  const range = root.querySelector(".mygpt-handle") ||
    root.querySelector("input[type=range]:not(:disabled)");
  const slider = root.querySelector("[role=slider]");
  const text = root.querySelector("textarea");
  const full = "people in kenya speak swahili, and so on, and so on";
  const change = (i) => {
    if (text) {
      text.value = full.slice(0, 5 + (i % 40));
      text.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (slider) {
      const key = i % 40 < 20 ? "ArrowUp" : "ArrowDown";
      slider.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    } else {
      const [min, max] = [Number(range.min), Number(range.max)];
      range.value = min + ((i * Number(range.step || 1)) % (max - min + 1e-9));
      range.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  const draws = [];
  const frames = [];
  let last = null;
  const frame = (now) => {
    if (last !== null) frames.push(now - last);
    last = now;
    const before = performance.now();
    change(draws.length);
    root.getBoundingClientRect();
    draws.push(performance.now() - before);
    if (draws.length < 120) { requestAnimationFrame(frame); return; }
    draws.sort((a, b) => a - b);
    done([draws[60], draws[114], Math.max(...frames)]);
  };
  root.scrollIntoView({ block: "center" });
  setTimeout(() => requestAnimationFrame(frame), 200);
})"""
START = "performance.getEntriesByName('explorers-ready')[0].startTime"


TRAIN = """root => new Promise((done) => {
  const press = (name) => [...root.querySelectorAll("button")]
    .find((one) => one.textContent === name).click();
  const slide = (label, place) => {
    const text = [...root.querySelectorAll(".mygpt-slider")]
      .find((one) => one.textContent.startsWith(label));
    const range = text.querySelector("input");
    range.value = place;
    range.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const spent = [];
  const later = window.requestAnimationFrame;
  window.requestAnimationFrame = (call) => later((time) => {
    const before = performance.now();
    call(time);
    spent.push(performance.now() - before);
    if (spent.length !== 120) return;
    window.requestAnimationFrame = later;
    press("Pause");
    spent.sort((a, b) => a - b);
    done([spent[114]]);
  });
  root.scrollIntoView({ block: "center" });
  for (const name of ["Network", "Adam", "GELU"]) press(name);
  slide("Width", 31);
  slide("Learning rate", 15);
  press("Run");
})"""
STEP = """
const [net, steps] = await Promise.all(
  ["network", "steps"].map((name) => import(`${process.argv[1]}/${name}.mjs`)));
const setting = { rule: "adam", rate: 0.03 };
const now = steps.descent(net.network(32, "gelu"), net.initialWeights(32, 0), setting);
const spent = Array.from({ length: 1000 }, () => {
  const before = performance.now();
  steps.takeStep(now);
  return performance.now() - before;
});
console.log(spent.sort((a, b) => a - b)[500]);
"""


def step_under_node() -> float:
    """Milliseconds of a training step of the widest network."""
    folder = (Path(__file__).parents[1] / "mygpt" / "explorers" / "descent").as_uri()
    command = ["node", "--input-type=module", "-e", STEP, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(browser, address: str) -> dict[str, list[float]]:
    """Milliseconds on one load of the page: start, and per explorer draw and frame."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_function("performance.getEntriesByName('explorers-ready').length")
    times = {"start": [page.evaluate(START)]}
    for name in EXPLORERS:
        times[name] = page.locator(f".mygpt-{name}").first.evaluate(FRAMES)
    times["training"] = page.locator(".mygpt-descent").first.evaluate(TRAIN)
    context.close()
    return times


def main() -> None:
    print_machine()
    default = Path(__file__).parents[1] / "_build" / "html"
    site = Path(sys.argv[1] if len(sys.argv) > 1 else default).resolve()
    address = (site / "chapters" / "gallery.html").as_uri()
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=browser_path(), args=flags)
        rounds = [measure(browser, address) for _ in range(ROUNDS)]
        browser.close()
    start = statistics.median(times["start"][0] for times in rounds)
    print(f"start of all {len(EXPLORERS)}: {start:.0f} ms")
    print(f"{'explorer':12s} {'draw':>9s} {'95th pc':>9s} {'frame':>9s}")
    for name in EXPLORERS:
        medians = map(
            statistics.median, zip(*(times[name] for times in rounds), strict=True)
        )
        print(f"{name:12s}" + "".join(f" {value:6.1f} ms" for value in medians))
    training = statistics.median(times["training"][0] for times in rounds)
    print(f"script of a frame of training: {training:.1f} ms")
    if shutil.which("node"):
        print(f"a step of training: {step_under_node():.2f} ms")


if __name__ == "__main__":
    main()
