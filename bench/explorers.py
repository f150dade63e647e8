"""How soon the explorers of the built site start, and how long each control keeps them.

    python -m bench.explorers [SITE]      default: _build/html

On the gallery, which has every explorer, median of three cold loads. Start: from
navigation to the last explorer drawn, and the longest task until then. Then every
control of every explorer is worked, a slider at four places: the time from the event to
the finished layout (median of all events, and the longest with its control), and the
longest task that Chromium reports meanwhile (it reports those above 50 ms).
Bars: 200 ms for the longest task at the start of an explorer's own page, 50 ms for that
of a control.

Then the network that trains in the page, at its greatest width and with GELU: the
script of a frame while it runs, 95th percentile of 120 frames (bar 8 ms), and a step
alone under node, median of 1,000 (bar 4 ms).
"""

import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench.machine import browser_path, print_machine

ROUNDS = 3
WATCH = """
window.tasks_ = [];
const kept = (list) => tasks_.push(...list.getEntries().map((one) => one.duration));
new PerformanceObserver(kept)
  .observe({ type: "longtask", buffered: true });
"""
# Works the controls one after another; each event has 120 ms to itself.
WORK = """async (root) => {
  const wait = (time) => new Promise((after) => setTimeout(after, time));
  const seen = (node) => node.checkVisibility() && !node.disabled;
  const nameOf = (node) =>
    [node.getAttribute("aria-label"), node.closest("label")?.textContent,
      node.textContent, node.className].find((name) => name?.trim()).trim();
  const found = [];
  async function measured(node, act) {
    tasks_.length = 0;
    const before = performance.now();
    act();
    root.getBoundingClientRect();
    const spent = performance.now() - before;
    await wait(120);
    const name = nameOf(node).slice(0, 40);
    found.push({ name, spent, task: Math.max(0, ...tasks_) });
  }
  const told = (node, type) => node.dispatchEvent(new Event(type, { bubbles: true }));
  const press = (node, key) =>
    node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  async function work(node) {
    if (node.matches("input[type=range]")) {
      const [min, max, step] = [node.min, node.max, node.step].map(Number);
      for (const share of [0.2, 0.9, 0.5, 0.6]) {
        const stops = Math.round((share * (max - min)) / (step || 1));
        await measured(node, () => {
          node.value = min + stops * (step || 1);
          told(node, "input");
        });
      }
    } else if (node.matches("select")) {
      const place = (node.selectedIndex + 1) % node.options.length;
      await measured(node, () => { node.selectedIndex = place; told(node, "change"); });
    } else if (node.matches("textarea")) {
      await measured(node, () => {
        node.value += " and so";
        told(node, "input");
      });
    } else if (node.matches("input")) {
      await measured(node, () => ["input", "change"].forEach((one) => told(node, one)));
    } else if (node.matches("[role=slider], [role=grid], [role=radio]")) {
      for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"])
        await measured(node, () => press(node, key));
    } else {
      await measured(node, () => node.click());
    }
  }
  root.scrollIntoView({ block: "center" });
  await wait(400);
  for (const fold of root.querySelectorAll("details")) {
    await measured(fold, () => { fold.open = true; });
  }
  const roles = ["slider", "grid", "radio"].map((role) => `[role=${role}]`);
  const kinds = ["input", "select", "textarea", "button", ...roles].join(", ");
  const keyOf = (node) => `${node.tagName} ${nameOf(node)} ${node.className}`;
  const done = new Set();
  const isNew = (node) => seen(node) && !done.has(keyOf(node));
  for (let next; (next = [...root.querySelectorAll(kinds)].find(isNew)); ) {
    done.add(keyOf(next));
    await work(next);
  }
  return found;
}"""
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
    done(spent[114]);
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


def loaded(browser: Browser, address: str) -> Page:
    """The page, its explorers drawn, in a context of its own."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_function("performance.getEntriesByName('explorers-ready').length")
    page.wait_for_timeout(500)
    return page


def worked(page: Page) -> Iterator[tuple[str, list[dict]]]:
    """Each explorer's name, and what its controls took, on one load of the gallery."""
    names = page.evaluate(
        "[...document.querySelectorAll('.mygpt-explorer')].map((e) => e.classList[1])"
    )
    for name in dict.fromkeys(names):
        yield name, page.locator(f".{name}").first.evaluate(WORK)


def main() -> None:
    print_machine()
    default = Path(__file__).parents[1] / "_build" / "html"
    site = Path(sys.argv[1] if len(sys.argv) > 1 else default).resolve()
    address = (site / "chapters" / "gallery.html").as_uri()
    starts, tasks, found, training = [], [], {}, []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=browser_path(), args=flags)
        for _ in range(ROUNDS):
            page = loaded(browser, address)
            starts.append(page.evaluate(START))
            tasks.append(max(page.evaluate("tasks_"), default=0))
            for name, events in worked(page):
                found.setdefault(name, []).append(events)
            page.close()
            page = loaded(browser, address)
            training.append(page.locator(".mygpt-descent").first.evaluate(TRAIN))
            page.close()
        browser.close()
    print(
        f"start of all {len(found)}: {statistics.median(starts):.0f} ms, "
        f"longest task {statistics.median(tasks):.0f} ms"
    )
    for name, rounds in found.items():
        controls = [
            (
                statistics.median(event["spent"] for event in same),
                statistics.median(event["task"] for event in same),
                same[0]["name"],
            )
            for same in zip(*rounds, strict=False)
        ]
        slowest, task = max(controls), max(controls, key=lambda one: one[1])
        median = statistics.median(spent for spent, _, _ in controls)
        long = f"task of {task[1]:.0f} ms at {task[2]!r}" if task[1] else "no long task"
        print(
            f"{name:20} {len(controls):3} events: {median:5.1f} ms, "
            f"longest {slowest[0]:5.1f} ms at {slowest[2]!r}; {long}"
        )
    print(f"script of a frame of training: {statistics.median(training):.1f} ms")
    if shutil.which("node"):
        print(f"a step of training: {step_under_node():.2f} ms")


if __name__ == "__main__":
    main()
