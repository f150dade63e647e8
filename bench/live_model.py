"""How fast the two small world models answer, in the page and in Python.

    python -m bench.live_model [--site SITE] [--threads 1] [--rounds 5]

Medians of the rounds. A pass: 32 positions through gpt.mjs in Chromium, one of 200
after 20 that warm it up, median and 95th percentile; each round has a page of its own.
Analyses: of all neurons of a model, its values, what they promote, their coefficients,
contributions and attributions for one prompt. Triggers: the 10 strongest of every
neuron among 100,032 tokens, with their patterns. On the page of the built site: the
gzipped bytes of a first load scrolled to its end; draw, from an input event to the
finished layout, one input in each of 60 frames, each another whole prompt of 1 to 31
words, median and 95th percentile; and frame, the longest time between two frames
meanwhile. Bars: pass 10 ms at the 95th percentile, analyses 1 s, triggers 10 s, first
load 1 MB.
"""

import argparse
import base64
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from bench.machine import browser_path, print_machine
from bench.pages import load, serve
from mygpt import explorers
from mygpt.inside import memory
from mygpt.inside.hooks import Prompts, memory_layers
from mygpt.inside.world_models import SHIPPED, WorldModel, load_world_model

ROOT = Path(__file__).parents[1]
CHAPTER = "chapters/11_rewriting.html"
POSITIONS = 32
PASSES = """async ({ layout, weights, heads, activation, ids }) => {
  const { forward, loadModel } = await import("/live_model/gpt.mjs");
  const { buffer } = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  const model = loadModel({ layout, bytes: new DataView(buffer), heads, activation });
  const times = Array.from({ length: 220 }, () => {
    const before = performance.now();
    forward(model, ids);
    return performance.now() - before;
  }).slice(20).sort((a, b) => a - b);
  return [times[100], times[190]];
}"""
DRAWS = """(root, words) => new Promise((done) => {
  const input = root.querySelector("[aria-label=Prompt]");
  const draws = [];
  const frames = [];
  let last = null;
  const frame = (now) => {
    if (last !== null) frames.push(now - last);
    last = now;
    const text = words.slice(0, 1 + (draws.length % 31)).join(" ");
    const before = performance.now();
    input.value = text;
    input.setSelectionRange(text.length, text.length);
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    root.getBoundingClientRect();
    draws.push(performance.now() - before);
    if (draws.length < 60) { requestAnimationFrame(frame); return; }
    draws.sort((a, b) => a - b);
    done([draws[30], draws[57], Math.max(...frames)]);
  };
  root.scrollIntoView({ block: "start" });
  input.focus();
  setTimeout(() => requestAnimationFrame(frame), 200);
})"""


def medians(rounds: list[Sequence[float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def seconds(action, *arguments) -> float:
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def passes(browser, address: str, made: WorldModel) -> list[float]:
    """Milliseconds of a pass in a new page: median and 95th percentile."""
    live = explorers.LiveModel(
        made.model.state_dict(), made.words, num_heads=made.model.config.num_heads
    )
    page = browser.new_page()
    page.goto(f"{address}/live_model/gpt.mjs")
    given = {
        "layout": live.shapes,
        "weights": base64.b64encode(live.weights).decode(),
        "heads": live.heads,
        "activation": live.activation,
        "ids": made.rows(1)[0, :POSITIONS].tolist(),
    }
    times = page.evaluate(PASSES, given)
    page.close()
    return times


def analyse(made: WorldModel, prompt: Prompts) -> None:
    memory.coefficients(made.model, prompt.ids)
    for layer in memory_layers(made.model):
        memory.values(made.model, layer)
        memory.promoted(made.model, layer)
        memory.contributions(made.model, prompt, layer)
        memory.attributions(made.model, prompt, layer)


def find_triggers(made: WorldModel, rows: torch.Tensor) -> None:
    for layer in memory_layers(made.model):
        memory.patterns(memory.triggers(made.model, rows, layer), rows)


def draws(browser, address: str, words: list[str]) -> list[float]:
    """Milliseconds on one load of the chapter: median, 95th percentile, frame."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/{CHAPTER}")
    page.wait_for_function("performance.getEntriesByName('explorers-ready').length")
    times = page.locator(".mygpt-live-model").evaluate(DRAWS, words)
    context.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print_machine()
    torch.set_num_threads(options.threads)
    models = {kind: load_world_model(kind) for kind in SHIPPED}
    modules, site = serve(Path(explorers.__file__).parent), serve(options.site)
    rounds = range(options.rounds)
    print(f"medians of {options.rounds} rounds, threads in Python: {options.threads}")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        flags.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=flags)
        print(f"{'model':16s} {'pass':>9s} {'95th pc':>9s} {'analyses':>9s} triggers")
        for kind, made in models.items():
            prompt = made.prompts(made.world.facts()[:1])
            rows = made.rows(1563)
            half, most = medians([passes(browser, modules, made) for _ in rounds])
            analyses, triggers = medians(
                [
                    (seconds(analyse, made, prompt), seconds(find_triggers, made, rows))
                    for _ in rounds
                ]
            )
            print(
                f"{kind:16s} {half:6.2f} ms {most:6.2f} ms"
                f" {analyses:7.3f} s {triggers:6.2f} s"
            )
        sizes, foreign, _ = load(browser, f"{site}/{CHAPTER}")
        assert not foreign, f"{CHAPTER} asks other hosts"
        made = models["attention-first"]
        words = [made.words[i] for i in made.rows(1)[0, : POSITIONS - 1]]
        half, most, frame = medians([draws(browser, site, words) for _ in rounds])
        browser.close()
    print(f"{CHAPTER}: first load {sum(sizes.values()) / 1000:.0f} kB")
    print(f"draw {half:.1f} ms, 95th pc {most:.1f} ms, longest frame {frame:.1f} ms")


if __name__ == "__main__":
    main()
