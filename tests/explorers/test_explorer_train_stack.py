import inspect
import math
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import traitlets
from helpers import node
from helpers.refusals import refused_settings, refuses
from torch.nn import functional as F

from mygpt.explorers import TrainStack
from mygpt.explorers.train_stack import training as twin
from mygpt.explorers.train_stack import widget

PARTS = ("net", "course", "run", "words")
WIRINGS = ("plain", "residual", "pre-norm", "post-norm")
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
KINDS = list(product(WIRINGS, ACTIVATIONS))
MODEL = {"wiring": "plain", "depth": 7, "activation": "relu", "gain": 1.0}
ADAM = {"rate": 0.003, "seed": 3, "task": "short"}


in_node = partial(
    node.in_node, imports={f"* as {part}": f"train_stack/{part}" for part in PARTS}
)


def stack(**changes):
    return MODEL | ADAM | changes


def name_of(setting):
    return " ".join(map(str, setting.values()))


def block_of(setting, parts, name):
    """One block as the book's equations have it."""
    wiring, activation = setting["wiring"], ACTIVATIONS[setting["activation"]]

    def layer(x, layer):
        weight, bias = (parts[f"{name}.mlp.{layer}.{p}"] for p in ("weight", "bias"))
        return F.linear(x, weight, bias)

    def network(x):
        return layer(activation(layer(x, "fc1")), "fc2")

    def norm(x):
        weight, bias = parts[f"{name}.norm.weight"], parts[f"{name}.norm.bias"]
        return F.layer_norm(x, (8,), weight, bias)

    return {
        "plain": network,
        "residual": lambda x: x + network(x),
        "pre-norm": lambda x: x + network(norm(x)),
        "post-norm": lambda x: norm(x + network(x)),
    }[wiring]


def torch_loss(setting, parts, points, arm):
    """The loss of a stack by PyTorch's functions, nothing of the package."""
    x = F.linear(points, parts["first.weight"], parts["first.bias"])
    for number in range(setting["depth"]):
        x = block_of(setting, parts, f"blocks.{number}")(x)
    if setting["wiring"] == "pre-norm":
        x = F.layer_norm(x, (8,), parts["norm.weight"], parts["norm.bias"])
    logits = F.linear(x, parts["last.weight"], parts["last.bias"])
    return F.cross_entropy(logits, arm)


def split(shapes, numbers):
    """The page's list of numbers as tensors by name, shaped as PyTorch has them."""
    numbers, parts = torch.tensor(numbers, dtype=torch.float64), {}
    for name, rows, columns in shapes:
        part, numbers = numbers[: rows * columns], numbers[rows * columns :]
        matrix = name.endswith("weight") and "norm" not in name
        parts[name] = part.view(rows, columns) if matrix else part
    assert numbers.numel() == 0
    return parts


def torch_course(setting, steps):
    """Losses of a training by PyTorch's Adam, from the twin's first weights."""
    first = twin.first_stack(setting).named_parameters()
    parts = {name: one.detach().clone().requires_grad_() for name, one in first}
    adam = torch.optim.Adam(parts.values(), lr=setting["rate"])
    task = twin.spirals(setting["task"], setting["seed"])
    losses = []
    for rows in twin.batches(setting["task"], setting["seed"], steps + 1):
        loss = torch_loss(setting, parts, task.points[rows], task.arm[rows])
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        adam.step()
    return losses


GRADIENT = """given.map(([setting, noise]) => {
    const { net: stack, batch } = course.begin(setting);
    stack.weights.forEach((_, i) => { stack.weights[i] += noise[i % noise.length]; });
    const loss = net.lossAndGradient(stack, batch);
    const shapes = stack.shapes.map(({ name, rows, columns }) => [name, rows, columns]);
    return { loss, shapes, weights: [...stack.weights], slopes: [...stack.slope],
        points: [...batch.points], arm: [...batch.answers] };
})"""


@pytest.mark.parametrize(
    ("depth", "gain", "task"),
    [(1, 1.0, "short"), (3, 1.7, "long"), (32, 1.0, "short"), (40, 1.2, "long")],
)
def test_the_page_computes_pytorchs_gradients(depth, gain, task, tmp_path):
    """With every weight moved a little, so that no norm is still as it began."""
    noise = np.random.default_rng(depth).normal(0, 0.1, 9973).tolist()
    settings = [
        stack(wiring=one, activation=two, depth=depth, gain=gain, task=task)
        for one, two in KINDS
    ]
    given = [(setting, noise) for setting in settings]
    pages = in_node(GRADIENT, given, tmp_path)
    for setting, found in zip(settings, pages, strict=True):
        parts = split(found["shapes"], found["weights"])
        for part in parts.values():
            part.requires_grad_()
        points = torch.tensor(found["points"], dtype=torch.float64).view(-1, 2)
        loss = torch_loss(setting, parts, points, torch.tensor(found["arm"]))
        loss.backward()
        assert found["loss"] == pytest.approx(loss.item(), rel=1e-9)
        # The page reads the normal distribution of GELU from a table.
        nearly = 1e-7 if setting["activation"] == "gelu" else 1e-11
        for name, slope in split(found["shapes"], found["slopes"]).items():
            wanted = parts[name].grad
            away = (slope - wanted).abs().max()
            assert away <= nearly * wanted.abs().max(), (name_of(setting), name)


def test_the_gelu_of_the_page_is_the_exact_one_far_and_near(tmp_path):
    script = """given.map((z) => {
        const [value, slope] = net.BENDS.gelu;
        return [value(z), slope(z, value(z))];
    })"""
    near = np.random.default_rng(0).normal(0, 3, 4999)
    numbers = np.concatenate([near, [0, 1e-9, -1e-9, 7.99, -7.99, 8, -8, 31, -31]])
    z = torch.tensor(numbers, requires_grad=True)
    values = F.gelu(z)
    (slopes,) = torch.autograd.grad(values.sum(), z)
    found = np.array(in_node(script, numbers.tolist(), tmp_path))
    np.testing.assert_allclose(found[:, 0], values.detach(), atol=1e-9)
    np.testing.assert_allclose(found[:, 1], slopes, atol=1e-8)


SHORT = [
    stack(wiring=one, activation=two, task=task)
    for (one, two), task in product(KINDS, twin.POINTS)
]
# Of 32 blocks, those whose course does not multiply what is lost in rounding.
DEEP = [
    stack(depth=32, gain=2.0, task="long"),
    stack(depth=32, wiring="residual", activation="gelu"),
    stack(depth=32, wiring="pre-norm", activation="silu", rate=0.001),
    stack(depth=32, wiring="post-norm"),
]
COURSE = """given.map(([setting, steps]) => {
    const now = course.begin(setting);
    for (let i = 0; i < steps; i += 1) course.takeStep(now);
    return { losses: now.losses, lost: now.lost, right: course.shareRight(now),
        ...course.sizes(now) };
})"""


def test_the_losses_follow_pytorchs_for_fifty_steps(tmp_path):
    settings = [*SHORT, *DEEP]
    given = [(setting, 50) for setting in settings]
    for setting, found in zip(settings, in_node(COURSE, given, tmp_path), strict=True):
        wanted = torch_course(setting, 50)
        assert len(set(wanted)) == 51
        np.testing.assert_allclose(
            found["losses"], wanted, rtol=0, atol=1e-5, err_msg=name_of(setting)
        )


def test_loss_signal_gradient_and_share_right_are_the_twins(tmp_path):
    settings = [
        stack(wiring=one, activation=two, depth=depth, gain=1.4, task=task)
        for (one, two), (depth, task) in product(KINDS, [(5, "short"), (32, "long")])
    ]
    given = [(setting, steps) for setting in settings for steps in (0, 6)]
    pages = in_node(COURSE, given, tmp_path)
    for (setting, steps), found in zip(given, pages, strict=True):
        course = twin.train_stack(setting["task"], setting, steps)
        task = twin.spirals(setting["task"], setting["seed"])
        assert found["right"] == twin.share_right(course.stack, task)
        for name in ("losses", "signal", "gradient"):
            np.testing.assert_allclose(
                found[name],
                getattr(course, name),
                rtol=1e-5,
                err_msg=f"{name} {name_of(setting)}",
            )


def test_the_twin_takes_the_steps_of_plain_pytorch():
    setting = stack(wiring="pre-norm", activation="gelu", gain=1.3, task="long")
    course = twin.train_stack("long", setting, 23)
    np.testing.assert_allclose(course.losses, torch_course(setting, 23), rtol=1e-9)
    assert len(course.signal) == 8
    assert len(course.gradient) == 7


def test_the_page_begins_with_the_weights_of_the_twin(tmp_path):
    settings = [
        stack(wiring=wiring, depth=depth, gain=gain, seed=seed)
        for wiring in WIRINGS
        for depth, gain, seed in [(1, 1.0, 0), (3, 1.7, 99), (40, 0.5, 7)]
    ]
    script = """given.map((setting) => [[...course.firstWeights(setting)],
        net.shapesOf(setting.depth, setting.wiring)
            .map(({ name, rows, columns }) => [name, rows, columns])])"""
    for setting, (weights, shapes) in zip(
        settings, in_node(script, settings, tmp_path), strict=True
    ):
        first = dict(twin.first_stack(setting).named_parameters())
        found = split(shapes, weights)
        assert [*found] == [*first]
        for name, wanted in first.items():
            assert torch.equal(found[name], wanted), name


def test_the_gain_is_that_of_the_blocks_weights_alone():
    one, two = (twin.first_stack(stack(depth=3, gain=gain)) for gain in (1.0, 1.7))
    for (name, a), b in zip(one.named_parameters(), two.parameters(), strict=True):
        times = 1.7 if "mlp" in name and name.endswith("weight") else 1.0
        torch.testing.assert_close(b, times * a, rtol=1e-15, atol=0)
        reach = (2 if name.startswith("first") else 16 if "fc2" in name else 8) ** -0.5
        assert 0.5 * reach < a.abs().max() <= reach


def test_the_page_draws_the_points_and_batches_of_the_twin(tmp_path):
    script = """given.map(([task, seed]) => {
        const { learnt, unseen } = course.pointsOf(task, seed);
        const now = course.begin({ wiring: "plain", depth: 1, activation: "relu",
            gain: 1, rate: 0.003, seed, task });
        const batches = [0, 1, 2].map(() => {
            const batch = [...now.batch.points];
            course.takeStep(now);
            return batch;
        });
        const lists = ({ points, answers }) => [[...points], [...answers]];
        return [...lists(learnt), ...lists(unseen), batches];
    })"""
    given = [(task, seed) for task in twin.POINTS for seed in (0, 99)]
    pages = in_node(script, given, tmp_path)
    for (name, seed), found in zip(given, pages, strict=True):
        task = twin.spirals(name, seed)
        wanted = task.points, task.arm, task.new_points, task.new_arm
        for one, two in zip(found[:4], wanted, strict=True):
            np.testing.assert_allclose(one, two.flatten(), rtol=0, atol=1e-14)
        read = twin.batches(name, seed, 3)
        for batch, rows in zip(found[4], read, strict=True):
            np.testing.assert_allclose(batch, task.points[rows].flatten(), atol=1e-14)


def test_the_points_lie_on_two_spirals_one_turned_by_half():
    for name, count in (("short", 128), ("long", 512)):
        task = twin.spirals(name, 5)
        assert (len(task.points), len(task.new_points)) == (count, 256)
        every = torch.cat([task.points, task.new_points])
        arms = torch.cat([task.arm, task.new_arm])
        assert arms.tolist() == [0, 1] * (len(every) // 2)
        turned = torch.where(arms[:, None] == 1, -every, every)
        radius = torch.linspace(0, 3, 9001, dtype=torch.float64)
        angle = {"short": 2, "long": 3}[name] * radius
        spiral = torch.stack([angle.cos(), angle.sin()], 1) * radius[:, None] / 1.5
        away = torch.cdist(turned, spiral).min(1).values
        assert away.max() < 0.15
        assert 0.01 < away.median() < 0.04
        assert every.abs().max() < widget.REACH
    rows = list(twin.batches("long", 5, 2))
    assert [len(one) for one in rows] == [64, 64]
    assert rows[0].tolist() != rows[1].tolist()


LOST = """given.map((setting) => {
    const now = course.begin(setting);
    for (let i = 0; i < 60; i += 1) course.takeStep(now);
    const before = [...now.net.weights, ...now.losses];
    for (let i = 0; i < 7; i += 1) course.takeStep(now);
    const after = [...now.net.weights, ...now.losses];
    const still = String(after) === String(before);
    return { losses: now.losses.map(String), lost: now.lost, done: now.done, still };
})"""


def test_a_divergence_is_at_the_same_step_and_then_nothing_moves(tmp_path):
    deep = {"depth": 32, "wiring": "residual"}
    settings = [
        stack(**deep, rate=0.2),
        stack(**deep, rate=0.2, task="long", seed=0),
        stack(**deep, rate=0.3, activation="silu"),
        stack(**deep, rate=1.0, activation="gelu"),
        stack(depth=32, rate=0.3),
        stack(wiring="residual", depth=40, gain=4.0),
    ]
    found = in_node(LOST, settings, tmp_path)
    for setting, page in zip(settings, found, strict=True):
        course = twin.train_stack(setting["task"], setting, 60)
        assert (page["lost"], page["still"]) == (True, True)
        assert page["done"] == len(page["losses"]) - 1 == len(course.losses) - 1 < 20
        losses = [*map(float, page["losses"])]
        np.testing.assert_allclose(losses, course.losses, rtol=0.01)
        assert course.losses[-1] > twin.TOO_LARGE
        assert max(course.losses[:-1], default=0) <= twin.TOO_LARGE
    assert found[-1]["done"] == 0, "too large before the first step"
    assert found[0]["done"] > 1


def test_a_rate_of_a_tenth_loses_a_deep_residual_stack_somewhere(tmp_path):
    """After so many steps that rounding decides at which."""
    setting = stack(depth=32, wiring="residual", rate=0.1)
    script = """given.map((setting) => {
        const now = course.begin(setting);
        while (!now.lost && now.done < 300) course.takeStep(now);
        return now.done;
    })"""
    [done] = in_node(script, [setting], tmp_path)
    steps = len(twin.train_stack("short", setting, 300).losses) - 1
    assert 0 < done < 300
    assert 0 < steps < 300


def test_python_and_the_page_have_the_same_settings_and_bounds(tmp_path):
    script = """[{ ...course.TASKS }, course.NEW_POINTS, course.MAX_STEPS, net.WIDTH,
        net.HIDDEN, words.MAX_DEPTH, words.MAX_SEED, Object.keys(net.WIRINGS),
        Object.keys(net.BENDS), words.DEFAULT, run.REACH,
        given.map((loss) => {
            const now = course.begin({ ...words.DEFAULT, task: "short", depth: 1 });
            now.losses.push(loss);
            return now.lost;
        })]"""
    above = math.nextafter(twin.TOO_LARGE, math.inf)
    found = in_node(script, [twin.TOO_LARGE, above], tmp_path)
    tasks, *sizes = found
    for name, task in tasks.items():
        assert task["points"] == twin.POINTS[name]
        assert task["winding"] == twin.WINDING[name]
    assert [tasks["short"]["batch"], tasks["long"]["batch"]] == [None, twin.BATCH]
    assert [*tasks] == [*widget.TASKS]
    given = inspect.signature(TrainStack).parameters
    default = {name: given[name].default for name in MODEL | ADAM if name != "task"}
    assert sizes == [
        twin.NEW_POINTS,
        twin.MAX_STEPS,
        twin.WIDTH,
        twin.WIDTH * twin.EXPANSION,
        widget.MAX_DEPTH,
        widget.MAX_SEED,
        [*WIRINGS],
        [*widget.ACTIVATIONS],
        default,
        widget.REACH,
        [False, True],
    ]


ODD = {
    "wiring": ["plain", "post-norm", "foo", "", "toString", 3, None],
    "depth": [1, 40, 0, 41, -1, 2.5, True, "7", None],
    "activation": ["silu", "tanh", "ReLU", "constructor"],
    "gain": [1e-9, 10, 10.1, 0, -1, True, "1", None, [1]],
    "rate": [0.5, 10, 11, 0, -0.003, False, "0.003"],
    "seed": [0, 99, 100, -1, 1.5, True],
}


def test_the_page_puts_right_what_python_refuses_and_nothing_else(tmp_path):
    base = {name: one for name, one in stack(seed=4).items() if name != "task"}
    cases = [(name, base | {name: one}) for name in ODD for one in ODD[name]]
    given = [setting for _, setting in cases]
    taken = 0
    for (name, setting), found in zip(
        cases, in_node("given.map(words.settingOf)", given, tmp_path), strict=True
    ):
        try:
            assert found == widget.checked_setting(setting)
            taken += 1
        except ValueError:
            default = inspect.signature(TrainStack).parameters[name].default
            assert found == base | {name: default}, (name, setting[name])
    assert taken == 11


def whole(name, span, value):
    return rf"{name} must be a whole number from {span}, got {value}$"


def above(name, value):
    return rf"{name} must be above 0 and at most 10, got {value}$"


BAD = {  # what Python's hints allow
    "wiring": ({"wiring": "foo"}, r"wiring must be one of \['plain', .*\], got 'foo'"),
    "no depth": ({"depth": 0}, whole("depth", "1 to 40", "0")),
    "depth": ({"depth": 41}, whole("depth", "1 to 40", "41")),
    "true": ({"depth": True}, whole("depth", "1 to 40", "True")),
    "activation": ({"activation": "tanh"}, "activation must be one of .*, got 'tanh'"),
    "no gain": ({"gain": 0.0}, above("gain", r"0\.0")),
    "NaN": ({"gain": math.nan}, above("gain", "nan")),
    "infinity": ({"gain": math.inf}, above("gain", "inf")),
    "no rate": ({"rate": 0.0}, above("rate", r"0\.0")),
    "rate": ({"rate": 10.5}, above("rate", r"10\.5")),
    "seed": ({"seed": 100}, whole("seed", "0 to 99", "100")),
    "below": ({"steps": -1}, whole("steps", "0 to 5,000", "-1")),
    "steps": ({"steps": 5001}, whole("steps", "0 to 5,000", "5001")),
    "task": ({"task": "circle"}, r"must be one of \['short', 'long'\], got 'circle'"),
    "beside": (
        {"beside": {"colour": "red"}},
        r"a stack has the settings \['wiring', .*, 'seed'\]: no 'colour' is known",
    ),
    "beside's depth": ({"beside": {"depth": 0}}, whole("depth", "1 to 40", "0")),
}
KINDLESS = {  # what a setting may hold as well
    "half a block": ({"depth": 2.5}, whole("depth", "1 to 40", r"2\.5")),
    "a number as a word": ({"seed": "7"}, whole("seed", "0 to 99", "'7'")),
    "zero": ({"gain": 0}, above("gain", "0")),
    "a word": ({"gain": "x"}, above("gain", "'x'")),
    "false": ({"rate": False}, above("rate", "False")),
    "nothing": ({"wiring": None}, "wiring must be one of .*, got None"),
}


test_an_error_says_what_was_expected_and_what_came = refused_settings(TrainStack, BAD)


@pytest.mark.parametrize("case", KINDLESS)
def test_either_stack_refuses_what_is_of_another_kind(case):
    changes, message = KINDLESS[case]
    with pytest.raises(ValueError, match=message):
        TrainStack(beside=changes)
    refuses(TrainStack(), message, left=TrainStack().left | changes)


def test_a_trait_that_is_set_wrongly_stays_as_it_was():
    explorer = TrainStack(depth=7, steps=11)
    left = explorer.left
    for trait, value, message in (
        ("left", left | {"depth": 0}, "depth must be a whole number"),
        ("left", {"wiring": "plain"}, "'depth' is missing"),
        ("left", {}, "'wiring' is missing"),
        ("right", left | {"gain": 11}, "gain must be above 0 and at most 10, got 11"),
        ("steps", 5001, "steps must be"),
        ("task", "circle", "task must be"),
        ("unfolded", ["seed"], "unfolded must be one of"),
    ):
        refuses(explorer, message, **{trait: value})
    refuses(explorer, "steps", error=traitlets.TraitError, steps=2.5)


def test_the_settings_are_those_of_one_stack_or_of_two():
    one = TrainStack("pre-norm", depth=1, activation="silu", task="long")
    assert one.settings() == [one.left]
    assert one.right == {}
    two = TrainStack(depth=7, beside={"wiring": "plain", "rate": 0.01})
    assert two.settings()[1] == two.left | {"wiring": "plain", "rate": 0.01}
    assert TrainStack(beside={}).settings() == 2 * TrainStack().settings()
    two.right = {}
    assert two.settings() == [two.left]


def test_the_stacks_are_trained_as_far_as_the_steps_say():
    two = TrainStack(depth=3, gain=1.3, beside={"depth": 5, "seed": 1}, steps=4)
    for course, setting in zip(two.trained(), two.settings(), strict=True):
        wanted = torch_course(setting | {"task": "short"}, 4)
        np.testing.assert_allclose(course.losses, wanted, rtol=1e-9)
        assert len(course.gradient) == setting["depth"]
        assert len(course.signal) == setting["depth"] + 1
    assert [len(course.losses) for course in TrainStack(depth=2).trained()] == [1]


def test_the_still_names_what_differs_from_the_other_or_from_the_usual():
    figure = plt.figure()
    TrainStack("plain", depth=2, rate=0.01, beside={"gain": 2.0}).draw(figure)
    left, right = (part.axes[0].get_title() for part in figure.subfigs[:2])
    assert left == "plain, 2 blocks\ngain 1, rate 0.01"
    assert right == "plain, 2 blocks\ngain 2, rate 0.01"
    figure = plt.figure()
    TrainStack(depth=2).draw(figure)
    assert figure.subfigs[0].axes[0].get_title() == "residual, 2 blocks"
