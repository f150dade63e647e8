"""The GPT that runs in the page equals PyTorch's, and the edits are what they say."""

import copy

import numpy as np
import pytest
import torch
from helpers.node import in_node
from torch.nn import functional as F

from mygpt import set_seed
from mygpt.explorers.live_model.edits import EditedModel
from mygpt.explorers.live_model.weights import build_gpt
from mygpt.gpt import GPT, GPTConfig
from mygpt.inside import editing
from mygpt.inside.editing import pointed_at
from mygpt.inside.hooks import hidden, memory_layers, record
from mygpt.inside.world_models import SHIPPED, load_world_model

PROMPTS = 100
MOST = editing.MOST_STEPS
REWRITING = {"step": editing.STEP, "enough": editing.ENOUGH, "steps": MOST}
KINDS = {
    "blocks": (53, 19, 21, 3, 2, (), "gelu_tanh", 5, True),
    "attention first": (47, 23, 20, 5, 3, (0, 1), "gelu", 3, True),
    "no biases": (31, 11, 14, 2, 2, (0,), "silu", 3, False),
    "relu": (29, 13, 6, 1, 1, (), "relu", 7, True),
}


def trained(kind):
    """A model of that kind whose weights are large enough to matter, as float16."""
    *shape, alone, activation, expansion, bias = KINDS[kind]
    settings = {"activation": activation, "expansion": expansion, "bias": bias}
    set_seed(7)
    model = GPT(GPTConfig(*shape, **settings, attention_only=alone)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            spread = 0.7 / weight.shape[-1] ** 0.5 if weight.ndim == 2 else 0.3
            spread = 0.8 if "embedding" in name or "position" in name else spread
            base = 1.0 if weight.ndim == 1 and name.endswith("weight") else 0.0
            weight.copy_((base + spread * torch.randn_like(weight)).half().float())
    return model


def packed(model):
    state = model.state_dict()
    halves = [weight.numpy().astype("<f2").tobytes() for weight in state.values()]
    return {
        "layout": [[name, list(weight.shape)] for name, weight in state.items()],
        "bytes": b"".join(halves),
        "heads": model.config.num_heads,
        "activation": model.config.activation,
    }


def in_page(tmp_path, model, script, first="", **given):
    """What a script makes of `model` and of `given`; `gpt` has both modules."""
    given["packed"] = packed(model) | {"rewriting": REWRITING}
    opened = """
const gpt = { ...reading, ...writing, largestAt };
const model = gpt.loadModel(given.packed);
"""
    parts = {"* as reading": "live_model/gpt", "* as writing": "live_model/writing"}
    parts["{ largestAt }"] = "kit/geometry"
    return in_node(script, given, tmp_path, parts, opened + first)


def prompts(model, number=PROMPTS):
    rng = np.random.default_rng(3)
    config = model.config
    return [
        rng.integers(config.vocab_size, size=1 + i % config.max_seq_len).tolist()
        for i in range(number)
    ]


@torch.no_grad()
def in_torch(model, ids):
    """Logits of every position, hidden activations by layer, stream, stds."""
    layers, ids = memory_layers(model), torch.tensor([ids])
    found = record(model, ids, [*map(hidden, layers), "ln_f.input"])
    stream = found["ln_f.input"][0]
    stds = (stream.var(-1, correction=0) + 1e-5).sqrt()
    return model(ids)[0][0], {n: found[hidden(n)][0] for n in layers}, stream, stds


def in_float64(model):
    state = {name: weight.double() for name, weight in model.state_dict().items()}
    return build_gpt(state, model.config.num_heads, model.config.activation)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_in_the_page_is_pytorchs_and_in_float64_pythons(kind, tmp_path):
    model = trained(kind)
    lists = prompts(model)
    mine = EditedModel(in_float64(model), [])
    script = """given.lists.map((ids) => ({
  ...gpt.forward(model, ids, { all: true }), last: gpt.forward(model, ids).logits,
}))"""
    page = in_page(tmp_path, model, script, lists=lists)
    largest = 0.0
    for ids, found in zip(lists, page, strict=True):
        logits, hidden, stream, stds = in_torch(model, ids)
        np.testing.assert_allclose(found["logits"], logits.flatten(), atol=1e-4)
        np.testing.assert_allclose(found["last"], logits[-1], atol=1e-4)
        np.testing.assert_allclose(found["stream"], stream.flatten(), atol=1e-4)
        np.testing.assert_allclose(found["stds"], stds, atol=1e-4)
        assert [one is None for one in found["hidden"]] == [
            layer in model.config.attention_only
            for layer in range(model.config.num_layers)
        ]
        for layer, one in hidden.items():
            np.testing.assert_allclose(found["hidden"][layer], one.flatten(), atol=1e-4)
        largest = max(largest, logits.abs().max().item())
    for ids, found in zip(lists[:20], page, strict=False):
        np.testing.assert_allclose(found["last"], mine.read(ids)[0], atol=1e-10)
    assert largest > 3  # far from a model that gives every word the same score


def test_what_a_value_promotes_and_adds_is_pytorchs(tmp_path):
    model = trained("attention first")
    layer, neuron, word, ids = 2, 11, 17, [3, 1, 4, 1, 5, 9, 2, 6]
    script = """[
  gpt.promoted(model, 2, 11), gpt.contributions(model, pass, 2, 17),
]"""
    first = "const pass = gpt.forward(model, given.ids);"
    page = in_page(tmp_path, model, script, first, ids=ids)
    head, norm = model.token.embedding.weight, model.ln_f
    value = model.blocks[layer].mlp.fc2.weight[:, neuron]
    with torch.no_grad():
        scores = head @ ((value - value.mean()) * norm.weight)
    np.testing.assert_allclose(page[0], scores, atol=1e-5)
    _, hidden, stream, stds = in_torch(model, ids)
    # The same norm, its deviation held still, with the neuron's part taken away.
    with torch.no_grad():
        without = stream[-1] - hidden[layer][-1, neuron] * value
        parts = [(x - x.mean()) / stds[-1] * norm.weight for x in (stream[-1], without)]
        added = head[word] @ (parts[0] - parts[1])
    assert page[1][neuron] == pytest.approx(added.item(), abs=1e-4)
    assert len(page[1]) == hidden[layer].shape[1]


@torch.no_grad()
def edited(model, layer, scale, values, additions):
    """A copy of the model whose fc2 is what the edits make of it."""
    model = copy.deepcopy(model)
    weight = model.blocks[layer].mlp.fc2.weight
    for neuron, value in values.items():
        weight[:, neuron] = torch.tensor(value)
    for u, v in additions:
        weight += torch.outer(torch.tensor(u), torch.tensor(v))
    weight *= torch.tensor(scale)
    return model


def test_edits_are_those_of_the_weights_and_leave_the_model_alone(tmp_path):
    model = trained("blocks")
    neurons, width = 105, 21
    rng = np.random.default_rng(5)
    scale = rng.choice([0.0, 1.0, 2.0], neurons).tolist()
    values = {n: rng.standard_normal(width).tolist() for n in (7, 64)}
    sizes = (width, neurons) * 2
    additions = [(0.3 * rng.standard_normal(size)).tolist() for size in sizes]
    additions = [additions[:2], additions[2:]]
    lists = prompts(model, 30)
    first = """
const edits = [{
  scale: Float64Array.from(given.scale),
  values: new Map(Object.entries(given.values).map(([n, value]) => [Number(n), value])),
  additions: given.additions.map(([u, v]) => ({ u, v })), cards: [],
}, null];
const logits = (settings) => given.lists.map((ids) =>
  gpt.forward(model, ids, { all: true, ...settings }).logits);
const before = logits({});
const pass = gpt.forward(model, given.lists[12], { edits });
"""
    script = """{
  before, changed: logits({ edits }), after: logits({}), hidden: pass.hidden[0],
  own: pass.own[0], value: gpt.valueOf(model, 0, 64, edits),
  plain: gpt.valueOf(model, 0, 63),
}"""
    given = {"lists": lists, "scale": scale, "values": values, "additions": additions}
    page = in_page(tmp_path, model, script, first, **given)
    assert page["before"] == page["after"]
    changed = edited(model, 0, scale, values, additions)
    for ids, logits in zip(lists, page["changed"], strict=True):
        right = in_torch(changed, ids)[0]
        np.testing.assert_allclose(logits, right.flatten(), atol=1e-4)
    own = np.reshape(page["own"], (-1, neurons))
    np.testing.assert_array_equal(np.reshape(page["hidden"], own.shape), own * scale)
    ones = edited(model, 0, [1.0] * neurons, values, additions)
    column = ones.blocks[0].mlp.fc2.weight[:, 64]
    np.testing.assert_allclose(page["value"], column.detach(), atol=1e-6)
    column = model.blocks[0].mlp.fc2.weight[:, 63]
    np.testing.assert_allclose(page["plain"], column.detach(), atol=1e-7)


@pytest.mark.parametrize("kind", SHIPPED)
def test_the_shipped_models_in_the_page_are_pytorchs_on_300_prompts(kind, tmp_path):
    """200 rows of the training text cut at all lengths, and 100 facts."""
    made = load_world_model(kind)
    rows = made.rows(200, seed=8).tolist()
    lists = [row[: 1 + i % len(row)] for i, row in enumerate(rows)]
    lists += [made.encode(fact.prompt) for fact in made.world.facts()[::6][:100]]
    script = "given.lists.map((ids) => gpt.forward(model, ids).logits)"
    page = in_page(tmp_path, made.model, script, lists=lists)
    for ids, logits in zip(lists, page, strict=True):
        right = in_torch(made.model, ids)[0][-1]
        np.testing.assert_allclose(logits, right, atol=1e-4, rtol=0)


def moment(size):
    x = np.random.default_rng(2).standard_normal((3 * size, size))
    x = x * np.linspace(0.2, 3, size)
    return x.T @ x / len(x) + 0.01 * np.eye(size)


def rewritten(model, ids, target, second):
    """ROME by PyTorch's own gradients and Adam, in float64."""
    model = copy.deepcopy(model).double()
    layer = model.config.num_layers - 1
    _, hidden, stream, _ = in_torch(model, ids)
    key, x = hidden[layer][-1], stream[-1]
    output = model.blocks[layer].mlp.fc2(key)
    delta = torch.zeros_like(x, requires_grad=True)
    adam = torch.optim.Adam([delta], lr=0.2 * output.pow(2).mean().sqrt().item())
    for steps in range(201):
        logs = torch.log_softmax(model.logits(model.ln_f(x + delta)), -1)
        if logs[target].exp() >= 0.997 or steps == 200:
            break
        (delta.grad,) = torch.autograd.grad(-logs[target], delta)
        adam.step()
    solved = torch.linalg.solve(torch.tensor(second), key)
    return delta.detach(), (solved / (key @ solved)).detach(), steps


@pytest.mark.parametrize("kind", ["blocks", "attention first", "no biases"])
def test_a_rewritten_fact_is_romes(kind, tmp_path):
    model = trained(kind)
    neurons = model.config.expansion * model.config.embed_dim
    ids, target, second = [5, 3, 8, 1, 9], 4, moment(neurons)
    first = """
const factor = gpt.cholesky(given.second.flat(), given.second.length);
const found = gpt.rewrite(model, given.ids, given.target, factor);
const edits = gpt.compileEdits(
  model, [{ kind: "rewrite", ids: given.ids, word: given.target }], factor);
const [before, after] = [null, edits].map((one) =>
  gpt.forward(model, given.ids, { edits: one }));
const at = (pass, size) => pass.slice(-size);
"""
    script = """{
  ...found, p: gpt.probabilities(after.logits)[given.target],
  p0: gpt.probabilities(before.logits)[given.target],
  moved: at(after.stream, model.width).map((one, i) =>
    one - at(before.stream, model.width)[i]),
}"""
    given = {"ids": ids, "target": target, "second": second.tolist()}
    page = in_page(tmp_path, model, script, first, **given)
    u, v, steps = rewritten(model, ids, target, second)
    assert page["steps"] == steps > 1
    np.testing.assert_allclose(page["u"], u, atol=1e-8)
    np.testing.assert_allclose(page["v"], v, atol=1e-8)
    np.testing.assert_allclose(page["moved"], page["u"], atol=1e-10)
    assert page["p0"] < 0.5
    assert page["p"] == pytest.approx(page["probability"], abs=1e-9)
    assert page["p"] >= 0.997 or (steps == 200 and page["p"] > 0.7)
    mine = in_float64(model)
    edit = {"kind": "rewrite", "ids": ids, "word": target}
    changed = EditedModel(mine, [edit], torch.tensor(second)).model
    found = changed.blocks[-1].mlp.fc2.weight - mine.blocks[-1].mlp.fc2.weight
    np.testing.assert_allclose(found, torch.outer(u, v), atol=1e-8)


SEQUENCE = [
    {"kind": "scale", "layer": 0, "neuron": [3, 5, 7], "factor": 0.0},
    {"kind": "rewrite", "ids": [5, 3, 8], "word": 4},
    {"kind": "value", "layer": 1, "neuron": 17, "word": 30},
    {"kind": "scale", "layer": 0, "neuron": 5, "factor": 2.0},
    {"kind": "scale", "layer": 1, "neuron": 17, "factor": 2.0},
    {"kind": "rewrite", "ids": [2, 8], "word": 11},
]


def test_edits_one_after_the_other_are_pythons(tmp_path):
    model = trained("blocks")
    second = moment(105)
    lists = prompts(model, 20)
    first = "const factor = gpt.cholesky(given.second.flat(), given.second.length);"
    script = """given.edits.map((_, n) => {
  const edits = gpt.compileEdits(model, given.edits.slice(0, n + 1), factor);
  return {
    logits: given.lists.map((ids) => gpt.forward(model, ids, { edits }).logits),
    first: gpt.largestAt(gpt.promoted(model, 1, 17, edits)),
    scale: edits[0].scale,
  };
})"""
    given = {"lists": lists, "edits": SEQUENCE, "second": second.tolist()}
    page = in_page(tmp_path, model, script, first, **given)
    mine = in_float64(model)
    for n, found in enumerate(page):
        edited = EditedModel(mine, SEQUENCE[: n + 1], torch.tensor(second))
        for ids, logits in zip(lists, found["logits"], strict=True):
            np.testing.assert_allclose(logits, edited.read(ids)[0], atol=1e-7)
    assert page[1]["first"] != 30
    assert page[2]["first"] == 30  # the whole column points, whatever was added to it
    assert [page[3]["scale"][n] for n in (3, 4, 5, 7)] == [0, 1, 2, 0]


def test_a_value_that_points_at_any_word_promotes_it_first(tmp_path):
    model = trained("no biases")
    script = """Array.from({ length: 31 }, (_, word) => {
  const value = gpt.pointedAt(model, word, 2.5);
  return [gpt.largestAt(gpt.promotion(model, value)), value];
})"""
    page = in_page(tmp_path, model, script)
    mine = in_float64(model)
    own = mine.token.embedding.weight * mine.ln_f.weight
    own = own - own.mean(-1, keepdim=True)
    assert any((own @ one).argmax() != word for word, one in enumerate(own))
    for word, (first, value) in enumerate(page):
        assert first == word
        assert np.linalg.norm(value) == pytest.approx(2.5)
        np.testing.assert_allclose(value, pointed_at(mine, word, 2.5), atol=1e-9)


@pytest.mark.parametrize(("name", "form"), [("gelu", "none"), ("gelu_tanh", "tanh")])
def test_gelu_is_pytorchs(name, form, tmp_path):
    x = torch.linspace(-9, 9, 1801, dtype=torch.float64)
    script = f"given.map((one) => gpt.ACTIVATIONS.{name}(one))"
    page = in_node(script, x.tolist(), tmp_path, {"* as gpt": "live_model/gpt"})
    right = F.gelu(x, approximate=form)
    np.testing.assert_allclose(page, right, atol=1e-14)
