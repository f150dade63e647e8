import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
import traitlets
from helpers import node
from helpers.refusals import refused_settings, refuses
from torch.nn import functional as F

from mygpt.explorers import Descent
from mygpt.explorers.descent import steps as maths
from mygpt.explorers.descent import widget

FOLDER = Path(widget.__file__).parent
ACTIVATIONS = {"none": lambda z: z, "relu": F.relu, "tanh": torch.tanh, "gelu": F.gelu}
OPTIMIZERS = {
    "plain": torch.optim.SGD,
    "momentum": lambda weights, lr: torch.optim.SGD(weights, lr=lr, momentum=0.9),
    "adam": torch.optim.Adam,
}
X, Y = torch.from_numpy(maths.CURVE_X), torch.from_numpy(maths.CURVE_Y)


PAGE = {
    f"* as {name}": f"descent/{file}"
    for name, file in (("net", "network"), ("steps", "steps"), ("words", "words"))
}
in_node = partial(node.in_node, imports=PAGE)


def network_loss(weights, activation):
    """The loss of the network in PyTorch, with the weights in the explorer's order."""
    width = len(weights) // 3
    into, bias, out = weights[: 3 * width].view(3, width)
    y = ACTIVATIONS[activation](X[:, None] * into + bias) @ out + weights[-1]
    return ((y - Y) ** 2).mean()


def one_loss(weights, _):
    return (2 * weights[0] - 6) ** 2


def two_loss(weights, _):
    x, y = torch.tensor([[1.0, 2.0], [4.0, 7.0]], dtype=torch.float64)
    return ((weights[0] * x + weights[1] - y) ** 2).mean()


def random_weights(width, seed=0):
    draw = np.random.default_rng([width, seed])
    return draw.normal(0, 1.5, 3 * width + 1)


def gradient_cases():
    cases = product((1, 7, 32), ACTIVATIONS)
    return [(random_weights(width), activation) for width, activation in cases]


def torch_gradient(weights, activation):
    leaf = torch.tensor(weights, requires_grad=True)
    loss = network_loss(leaf, activation)
    return loss.item(), torch.autograd.grad(loss, leaf)[0].numpy()


def torch_course(loss_of, start, rule, rate, steps, activation="tanh"):
    """Losses and last weights of a descent by PyTorch's optimizer, in float64."""
    weights = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = OPTIMIZERS[rule]([weights], lr=rate)
    losses = []
    for _ in range(steps):
        loss = loss_of(weights, activation)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [*losses, loss_of(weights, activation).item()], weights.detach().numpy()


COURSES = [  # view, rule, rate, steps, activation
    ("one", "plain", 0.2, 30, "tanh"),
    ("one", "momentum", 0.05, 40, "tanh"),
    ("one", "adam", 0.3, 50, "tanh"),
    ("two", "plain", 0.25, 200, "tanh"),
    ("two", "momentum", 0.05, 100, "tanh"),
    ("two", "adam", 0.1, 150, "tanh"),
    *[("network", "adam", 0.03, 100, activation) for activation in ACTIVATIONS],
    ("network", "plain", 0.1, 100, "gelu"),
    ("network", "momentum", 0.03, 100, "relu"),
]


def torch_of(view, rule, rate, steps, activation):
    if view == "network":
        start = maths.initial_weights(11, 3)
        return torch_course(network_loss, start, rule, rate, steps, activation)
    if view == "two":
        return torch_course(two_loss, [0.5, -2.0], rule, rate, steps)
    return torch_course(one_loss, [0.5], rule, rate, steps)


def explorer_of(view, rule, rate, steps, activation):
    settings = {"start": (0.5, -2.0), "width": 11, "seed": 3, "activation": activation}
    return Descent(view, rule=rule, rate=rate, steps=steps, **settings)


def test_the_slopes_of_the_network_and_of_the_page_are_pytorchs(tmp_path):
    script = """given.map(([weights, activation]) => {
        const slope = new Float64Array(weights.length);
        const width = (weights.length - 1) / 3;
        const problem = net.network(width, activation);
        return [problem(Float64Array.from(weights), slope), [...slope]];
    })"""
    cases = gradient_cases()
    given = [(weights.tolist(), activation) for weights, activation in cases]
    found = in_node(script, given, tmp_path)
    for (page_loss, page_slope), case in zip(found, cases, strict=True):
        weights, activation = case
        expected_loss, expected = torch_gradient(*case)
        loss, slope = maths.network(activation)(weights)
        assert [loss, page_loss] == pytest.approx([expected_loss] * 2, rel=1e-12)
        np.testing.assert_allclose(slope, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(page_slope, expected, rtol=0, atol=1e-9)


def test_python_and_the_page_take_pytorchs_steps_by_every_rule(tmp_path):
    script = """given.map(([view, rule, rate, count, activation]) => {
        const [problem, start] = {
            one: [steps.oneWeight, [0.5]],
            two: [steps.twoWeights, [0.5, -2]],
            network: [net.network(11, activation), net.initialWeights(11, 3)],
        }[view];
        const now = steps.descent(problem, start, { rule, rate });
        for (let i = 0; i < count; i += 1) steps.takeStep(now);
        return [now.losses, [...now.weights]];
    })"""
    found = in_node(script, COURSES, tmp_path)
    for (page_losses, page_weights), course in zip(found, COURSES, strict=True):
        losses, weights = torch_of(*course)
        np.testing.assert_allclose(page_losses, losses, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(page_weights, weights, atol=1e-5)
        explorer = explorer_of(*course)
        np.testing.assert_allclose(explorer.losses(), losses, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(explorer.weights(), weights, atol=1e-6)


def test_the_page_starts_from_the_same_weights_and_gives_the_same_curve(tmp_path):
    cases = [(1, 0), (7, 99), (32, 5)]
    script = """given.map(([width, seed]) => {
        const weights = net.initialWeights(width, seed);
        return [[...weights], [...net.outputs(weights, "gelu", net.CURVE.x)],
            [...net.CURVE.x], [...net.CURVE.y]];
    })"""
    pages = in_node(script, cases, tmp_path)
    for (width, seed), page in zip(cases, pages, strict=True):
        weights = maths.initial_weights(width, seed)
        assert page[0] == weights.tolist()
        curve = maths.outputs(weights, "gelu", maths.CURVE_X)
        np.testing.assert_allclose(page[1], curve, atol=1e-14)
        np.testing.assert_allclose(page[2], maths.CURVE_X, atol=1e-15)
        np.testing.assert_allclose(page[3], maths.CURVE_Y, atol=1e-15)


def test_a_step_by_hand():
    one = Descent(rate=0.1, steps=1)
    assert one.losses() == pytest.approx([36, 1.44])
    assert one.weights() == pytest.approx([2.4])
    one.steps = 2
    assert one.weights() == pytest.approx([2.88])
    one.start = [5.0, 0.0]
    assert one.losses()[0] == 16


def test_a_descent_that_diverges_ends_early_and_without_a_warning():
    one = Descent(rate=0.3, steps=2000)
    assert 20 < len(one.losses()) < 40
    assert one.losses()[-2] < maths.TOO_LARGE < one.losses()[-1]
    wild = Descent("network", rule="momentum", rate=10.0, width=32, steps=50)
    assert len(wild.losses()) < 51
    assert one.still()[:4] == wild.still()[:4] == b"\x89PNG"


def test_seeds_differ_and_repeat():
    first = [Descent("network", seed=seed).losses()[0] for seed in range(5)]
    again = [Descent("network", seed=seed).losses()[0] for seed in range(5)]
    assert first == again
    assert len(set(first)) == 5


BAD = {
    "no rate": ({"rate": 0.0}, r"rate must be above 0 and at most 10, got 0 \(no we"),
    "negative": ({"rate": -0.1}, "rate must be above 0 and at most 10, got -0.1"),
    "NaN rate": ({"rate": math.nan}, "rate must be above 0 and at most 10, got nan"),
    "infinite": ({"rate": math.inf}, "rate must be above 0 and at most 10, got inf"),
    "large rate": ({"rate": 11.0}, "rate must be above 0 and at most 10, got 11"),
    "view": ({"view": "three"}, "view must be one of .*, got 'three'"),
    "rule": ({"rule": "Adam"}, "rule must be one of .*, got 'Adam'"),
    "activation": ({"activation": "silu"}, "activation must be one of .*, got 'silu'"),
    "one start": ({"start": [1.0]}, r"start must have shape \(2,\), got \(1,\)"),
    "NaN start": ({"start": [0, math.nan]}, "finite numbers, got nan at index 1"),
    "start": ({"start": [-2, 0]}, "start must be from -1 to 7 at index 0, got -2"),
    "far start": ({"start": [0, 6]}, "start must be from -3 to 5 at index 1, got 6"),
    "words": ({"start": ["a", "b"]}, "start must be an array of numbers"),
    "no width": ({"width": 0}, "width must be 1 to 32, got 0"),
    "width": ({"width": 33}, "width must be 1 to 32, got 33"),
    "seed": ({"seed": -1}, "seed must be 0 to 99, got -1"),
    "steps": ({"steps": 2001}, "steps must be 0 to 2,000, got 2001"),
}


test_an_error_says_what_was_expected_and_what_came = refused_settings(Descent, BAD)


@pytest.mark.parametrize("case", [case for case in BAD if case != "words"])
def test_a_trait_that_is_set_wrongly_stays_as_it_was(case):
    changes, message = BAD[case]
    refuses(Descent(), message, **changes)


def test_what_is_no_number_at_all_is_refused():
    refuses(Descent(), "rate", error=traitlets.TraitError, rate="fast")
    refuses(Descent(), "width", error=traitlets.TraitError, width=7.5)


def test_python_and_the_page_have_the_same_bounds(tmp_path):
    script = "[steps.MAX_STEPS, steps.TOO_LARGE, words.LIMITS]"
    most, large, limits = in_node(script, None, tmp_path)
    assert (most, large) == (maths.MAX_STEPS, maths.TOO_LARGE)
    assert [tuple(one) for one in limits] == list(widget.LIMITS)
    page = (FOLDER / "widget.mjs").read_text("utf-8")
    assert f"MAX_SEED = {widget.MAX_SEED};" in page
