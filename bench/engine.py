"""How fast the engine trains a GPT in Chromium, beside PyTorch.

    python -m bench.engine [--rounds 5] [--seconds 1]

In a headless Chromium, on a page from the disk, a worker that is started from a blob
holds the engine, joined into one text. Products: GFLOP/s of the first feed-forward
layer and its two gradients, with packing. Training: a step is a batch of random ids,
forward, backward, clipping and AdamW, in the worker and in eager PyTorch with one
thread and with two, from the same weights. Rounds of all alternate; figures are their
medians, and so are the ratios, round by round. Bars, on two quiet cores: 45 GFLOP/s on
an AMD EPYC; 1.2 of PyTorch's steps (one thread) for 2 x 64, 0.8 for 4 x 128; 150 MB;
40 kB gzipped.
"""

import argparse
import base64
import gzip
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright

import make
from bench.distributed import print_machine
from mygpt import explorers
from mygpt.explorers.kit.base import joined
from mygpt.gpt import GPT, GPTConfig
from mygpt.training import TrainingConfig
from mygpt.training.optimizers import make_optimizers

ENGINE = Path(explorers.__file__).parent / "engine"
MODULES = ("bytes", "plain", "simd", "plan", "network")  # each after its own
V, T, H = 65, 64, 4
SIZES = {"2 x 64": (2, 64, 8), "4 x 128": (4, 128, 12)}  # blocks, channels, rows
THREADS = (1, 2)
PRODUCTS = 100  # of each kind in a round
WORKER = """
let network;
let batch;
const calls = {
  make({ config, weights, ids, targets }) {
    batch = [ids, targets];
    network = makeNetwork(config, ids.length, ids[0].length);
    for (const [name, text] of Object.entries(weights)) {
      const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
      numbersOf(network, name).set(new Float32Array(bytes.buffer));
    }
    const { simd, plan } = network;
    return { simd, bytes: plan.bytes, loss: lossOf(network, ...batch) };
  },
  steps({ seconds, step }) {
    const before = performance.now();
    let [count, now] = [0, before];
    for (; now < before + 1000 * seconds; now = performance.now()) {
      lossOf(network, ...batch, true);
      adamStep(network, step);
      count += 1;
    }
    return (1000 * count) / (now - before);
  },
  products({ times }) {
    const { kernels, plan } = network;
    const { rows, packed, zeros, blocks, toHidden, toNorm, gradients } = plan;
    const [{ norm1: x, active: y }, { width, hidden }] = [blocks[0], plan.config];
    const w = plan.parts.get("blocks.0.mlp.fc1.weight").at;
    const [wide, high] = [4 * width, 4 * hidden];
    return [
      [w, 4, wide, width, hidden, x, wide, 4, rows, toHidden],
      [w, wide, 4, hidden, width, y, high, 4, rows, toNorm],
      [x, wide, 4, rows, width, y, 4, high, hidden, gradients],
    ].map(([b, down, across, terms, columns, a, step, stride, lines, to]) => {
      const [next, before] = [4 * columns, performance.now()];
      for (let i = 0; i < times; i += 1) {
        kernels.pack(b, down, across, terms, columns, packed);
        kernels.product(
          ...[a, step, stride, packed, zeros, 0, to, next, lines, terms, columns, 0],
        );
      }
      const floats = 2 * lines * terms * columns * times;
      return floats / (performance.now() - before) / 1e6;
    });
  },
};
onmessage = ({ data: [name, given] }) => {
  try {
    postMessage({ value: calls[name](given) });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
"""
START = """(text) => {
  const blob = new Blob([text], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(blob));
  window.call = (name, given) => new Promise((done, failed) => {
    const fail = (message) => failed(new Error(message));
    worker.onmessage = ({ data }) => data.error ? fail(data.error) : done(data.value);
    worker.onerror = ({ message }) => fail(message);
    worker.postMessage([name, given]);
  });
}"""
CALL = "([name, given]) => call(name, given)"


def engine_text() -> str:
    return joined(ENGINE / f"{name}.mjs" for name in MODULES)


class InPage:
    """One model in the worker of a page."""

    def __init__(self, page: Page, model: GPT, ids: torch.Tensor, settings: dict):
        self.page, self.settings = page, settings
        c = model.config
        shape = {"vocab": V, "positions": T, "width": c.embed_dim, "heads": H}
        shape |= {"layers": c.num_layers, "hidden": c.expansion * c.embed_dim}
        shape |= {"activation": c.activation, "bias": c.bias, "attentionOnly": []}
        weights = {
            name: base64.b64encode(weight.detach().numpy().tobytes()).decode()
            for name, weight in model.named_parameters()
        }
        given = {"config": shape, "weights": weights}
        given |= {"ids": ids[0].tolist(), "targets": ids[1].tolist()}
        page.evaluate(START, engine_text() + WORKER)
        self.made = self.call("make", **given)

    def call(self, name: str, **given):
        return self.page.evaluate(CALL, [name, given])

    def rate(self, seconds: float) -> float:
        """Steps a second."""
        return self.call("steps", seconds=seconds, step=self.settings)


class InPython:
    """The same model in PyTorch, with some threads."""

    def __init__(self, model: GPT, ids: torch.Tensor, config: TrainingConfig):
        self.model, self.ids, self.clip = model, ids, config.clip
        (self.adamw,) = make_optimizers(model, config)

    def rate(self, seconds: float, threads: int) -> float:
        """Steps a second."""
        torch.set_num_threads(threads)
        self.step()  # threads that start are not timed
        before = now = time.perf_counter()
        count = 0
        while now < before + seconds:
            self.step()
            count, now = count + 1, time.perf_counter()
        return count / (now - before)

    def step(self) -> None:
        self.model(*self.ids)[1].backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.adamw.step()
        self.adamw.zero_grad()


def pair(page: Page, size: str) -> tuple[InPage, InPython]:
    """A model and its batch in both."""
    layers, width, rows = SIZES[size]
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, T, width, H, layers))
    ids = torch.randint(V, (2, rows, T))
    config = TrainingConfig(1, learning_rate=1e-4)
    settings = {"rate": config.learning_rate, "decay": config.weight_decay}
    settings |= {"clip": config.clip, "betas": config.betas, "eps": 1e-8}
    in_page = InPage(page, model, ids, settings)
    loss, found = model(*ids)[1].item(), in_page.made["loss"]
    if abs(loss - found) > 1e-4:
        sys.exit(f"the models differ before training: losses {loss:.6f}, {found:.6f}")
    return in_page, InPython(model, ids, config)


def measure(page: Page, size: str, rounds: int, seconds: float) -> None:
    here, there = pair(page, size)
    kind = "WebAssembly SIMD" if here.made["simd"] else "plain JavaScript"
    here.rate(seconds)  # until V8 has optimised it
    found = []
    for _ in range(rounds):
        products = here.call("products", times=PRODUCTS)
        steps = [here.rate(seconds), *(there.rate(seconds, n) for n in THREADS)]
        found.append((*products, *steps, *(steps[0] / one for one in steps[1:])))
    figures = [statistics.median(column) for column in zip(*found, strict=True)]
    print(f"\n{size}, {SIZES[size][2]} rows of {T}: {kind}")
    print("  products     {:.1f}, {:.1f}, {:.1f} GFLOP/s".format(*figures[:3]))
    print(f"  page         {figures[3]:.1f} steps/s")
    for threads, rate, ratio in zip(THREADS, figures[4:6], figures[6:], strict=True):
        name = f"PyTorch, {threads}"
        print(f"  {name:12} {rate:.1f} steps/s; the page takes {ratio:.2f} of them")
    print(f"  memory       {here.made['bytes'] / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    print_machine()
    weight = len(gzip.compress(engine_text().encode()))
    print(f"engine: {weight / 1000:.1f} kB gzipped; load {os.getloadavg()[0]:.2f}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=make.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        path = Path(folder, "page.html")
        path.write_text("<!doctype html><title>The engine</title>", "utf-8")
        for size in SIZES:
            page = browser.new_page()
            page.goto(path.as_uri())
            measure(page, size, options.rounds, options.seconds)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
