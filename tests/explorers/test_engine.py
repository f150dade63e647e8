"""The engine that trains a GPT in the page equals PyTorch in float64."""

import base64
import functools
import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import node
from helpers.page_models import engine_config

import make
from mygpt import set_seed
from mygpt.explorers.kit import base
from mygpt.gpt import GPT, GPTConfig
from mygpt.training import TrainingConfig
from mygpt.training.optimizers import make_optimizers

ROOT = Path(__file__).parents[2]
ENGINE = node.FOLDER / "engine"
RELAXED = ROOT / "tests" / "js" / "engine" / "relaxed.mjs"
STEPS = 50
RATE = 3e-3
# Vocabulary, positions, channels, heads, blocks; rows of a batch and their length.
MODELS = {
    "small": (GPTConfig(65, 64, 64, 4, 2), 8, 64),
    "three heads": (GPTConfig(53, 19, 48, 3, 2), 3, 13),
    "attention first": (
        GPTConfig(47, 23, 32, 2, 3, activation="gelu", attention_only=(0, 1)),
        2,
        23,
    ),
    "no biases": (
        GPTConfig(29, 20, 24, 3, 2, activation="silu", expansion=3, bias=False),
        5,
        7,
    ),
    "relu": (GPTConfig(31, 11, 40, 1, 1, activation="relu", expansion=7), 2, 11),
}
TRAIN = """
const text = ({ buffer, byteOffset, byteLength }) =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64");
const { config, batches, weights, way } = given;
const [ids, targets] = batches[0];
const plainly = way === "plain";
const make = () => engine.makeNetwork(config, ids.length, ids[0].length, plainly);
const network = way === "fused" ? make() : withoutRelaxed(make);
for (const [name, numbers] of Object.entries(weights)) {
  engine.numbersOf(network, name).set(new Float32Array(numbers.buffer));
}
const rows = engine.logitsOf(network, ids[0]);
const logits = text(Float32Array.from(rows.flatMap((row) => [...row])));
engine.lossOf(network, ids, targets, true);
const gradients = Object.fromEntries(Object.keys(weights).map((name) =>
  [name, text(engine.numbersOf(network, name, "gradients"))]));
const losses = [];
const norms = [];
const step = { rate: given.rate, decay: 0.1, clip: 1, betas: [0.9, 0.99], eps: 1e-8 };
for (const [x, y] of batches) {
  losses.push(engine.lossOf(network, x, y, true));
  norms.push(engine.adamStep(network, step));
}
"""


def trained_in_page(model, batches, way, folder):
    given = {
        "config": engine_config(model.config),
        "weights": {
            name: weight.detach().float().numpy().tobytes()
            for name, weight in model.named_parameters()
        },
        "batches": [[x.tolist(), y.tolist()] for x, y in batches],
        "rate": RATE,
        "way": way,
    }
    found = "{ logits, gradients, losses, norms, simd: network.simd }"
    used = {"* as engine": "engine/network", "{ withoutRelaxed }": RELAXED}
    return node.in_node(found, given, folder, used, TRAIN)


def model_and_batches(name):
    """A model in float64 whose biases and norms matter, and two batches in turn."""
    config, rows, length = MODELS[name]
    set_seed(7)
    model = GPT(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    ids = torch.randint(config.vocab_size, (2, 2, rows, length))
    return model.double(), ids.repeat(STEPS // 2, 1, 1, 1)


def floats(text):
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), "<f4").astype("f8"))


def off(found, wanted, scale=None):
    """The norm of the difference by the norm."""
    size = (wanted if scale is None else scale).norm()
    return ((floats(found).view_as(wanted) - wanted).norm() / size).item()


@functools.cache
def of_pytorch(name):
    """Logits of the first row and gradients; of some steps the losses, and the
    gradients' norms before they are clipped."""
    model, batches = model_and_batches(name)
    logits = model(batches[0][0])[0][0].detach()
    (adamw,) = make_optimizers(model, TrainingConfig(STEPS, learning_rate=RATE))
    gradients, losses, norms = {}, [], []
    for ids, targets in batches:
        adamw.zero_grad()
        loss = model(ids, targets)[1]
        loss.backward()
        for part, one in model.named_parameters():
            gradients.setdefault(part, one.grad.clone())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        adamw.step()
        losses.append(loss.item())
    return logits, gradients, losses, norms


@pytest.mark.parametrize("way", ["fused", "simd", "plain"])
@pytest.mark.parametrize("name", MODELS)
def test_logits_gradients_and_fifty_steps_are_those_of_pytorch(name, way, tmp_path):
    model, batches = model_and_batches(name)
    if way == "plain" and name == "small":
        batches = batches[:5]  # plain JavaScript is slow
    found = trained_in_page(model, batches, way, tmp_path)
    assert found["simd"] is (way != "plain")
    logits, gradients, losses, norms = of_pytorch(name)
    assert off(found["logits"], logits) <= 1e-5
    assert found["gradients"].keys() == gradients.keys()
    for part, wanted in gradients.items():
        # The bias of keys moves all scores of a row alike: its gradient is 0.
        scale = gradients[part.replace("W_K.bias", "W_Q.bias")]
        assert off(found["gradients"][part], wanted, scale) <= 1e-4, part
    steps = len(batches)
    np.testing.assert_allclose(found["losses"], losses[:steps], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found["norms"], norms[:steps], rtol=1e-2)
    assert steps < STEPS or losses[-1] < 0.8 * losses[0]


def test_the_stored_kernels_are_what_the_source_compiles_to(tmp_path):
    compiler = ROOT / "node_modules" / "assemblyscript" / "bin" / "asc.js"
    if not compiler.is_file() and not os.environ.get("MYGPT_REQUIRE_NODE"):
        pytest.skip("`python3 make.py javascript` installs the compiler")
    script = re.search('"kernels": "(.*)"', (ROOT / "package.json").read_text())
    for command in script[1].split(" && "):
        _, source, _, compiled, *options = command.split()
        to = tmp_path / Path(compiled).name
        node.run(compiler, ROOT / source, "-o", to, *options)
    assert make.as_module(tmp_path) == make.KERNELS.read_text("utf-8")


def test_the_engine_joined_is_one_scope_of_at_most_40_kb_gzipped(tmp_path):
    files = [ENGINE / f"{name}.mjs" for name in ("bytes", "plain", "simd", "plan")]
    joined = base.joined([*files, ENGINE / "network.mjs"])
    path = tmp_path / "joined.js"
    path.write_text(joined, encoding="utf-8")
    assert node.run("--check", path) == ""
    assert len(gzip.compress(joined.encode())) <= 40_000
