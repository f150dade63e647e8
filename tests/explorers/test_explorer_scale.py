"""The explorer of a training run: the page counts what Python does."""

import math
import random
from dataclasses import asdict, replace

import pytest
from helpers.node import in_node
from helpers.refusals import refused_settings, refuses

from mygpt.distributed import cost
from mygpt.distributed.published_runs import PUBLISHED
from mygpt.explorers import Scale
from mygpt.explorers.scale import counts

COUNT = "scale/count"


MOST = {"parameters": 10**14, "num_layers": 10**3, "embed_dim": 10**5}
MOST |= {"num_heads": 10**3, "length": 10**5}
SPANS = {"memory": (1e6, 1e15), "peak": (1e9, 1e18), "within": (1e3, 1e13)}
SPANS |= {"between": (1e3, 1e13), "per_machine": (1, 100)}


def runs():
    """The presets, and 400 runs over all orders of size."""
    draw = random.Random(0)

    def between(low, high):
        return round(low * (high / low) ** draw.random())

    for model in cost.MODELS:
        for device in cost.DEVICES.values():
            for spread in cost.SPREADS:
                given = {"devices": 96, "spread": spread} | cost.DATA[model]
                yield cost.Plan(cost.MODELS[model], device, **given)
    for _ in range(400):
        model = cost.Model(**{name: between(1, most) for name, most in MOST.items()})
        device = cost.Device(**{name: between(*ends) for name, ends in SPANS.items()})
        sequences = between(1, 10**6)
        yield cost.Plan(
            model,
            device,
            devices=between(1, min(sequences, 10**5)),
            tokens=between(1, 10**15),
            batch_tokens=sequences * model.length + draw.randrange(model.length),
            spread=draw.choice(cost.SPREADS),
            kept=draw.choice(cost.KEPT),
            at_once=between(1, 10**4),
            share=between(1, 1000) / 1000,
        )


RUNS = list(runs())
COUNTED = """given.map((run) => [
    count.sequencesOf(run), count.stepsOf(run), count.mostSequences(run),
    count.memoryOf(run), count.leastDevices(run), count.limitOf(run),
    count.fitsOn(run), count.flopsPerToken(run.model, run.kept), count.trafficOf(run),
    count.bandwidthOf(run), count.stepTime(run), count.trainingTime(run),
    count.deviceHours(run), count.interruptionsOf(run)])"""


def test_the_page_counts_what_the_package_does(tmp_path):
    given = [asdict(run) for run in RUNS]
    page = in_node(COUNTED, given, tmp_path, {"* as count": COUNT})
    limits = set()
    for run, got in zip(RUNS, page, strict=True):
        exact = [run.sequences, run.steps, run.most_sequences]
        assert got[:3] == exact
        memory = cost.memory_per_device(run)
        assert list(got[3]) == list(memory)
        assert got[3] == pytest.approx(memory, rel=1e-12)
        assert got[4:7] == [cost.least_devices(run), cost.limit(run), cost.fits(run)]
        step, whole = cost.step_time(run), cost.training_time(run)
        numbers = [
            cost.training_flops_per_token(run.model, run.kept),
            cost.traffic_per_step(run),
            cost.bandwidth(run),
        ]
        parts = [vars(step), vars(whole), cost.device_hours(run)]
        rights = [numbers, *parts, cost.interruptions(run)]
        for some, right in zip([got[7:10], *got[10:]], rights, strict=True):
            assert some == pytest.approx(right, rel=1e-12)
        limits.add(got[5])
    assert limits == {"memory", "network", "batch", "arithmetic"}


def test_the_page_has_the_presets_limits_and_published_runs_of_python(tmp_path):
    script = """[count.MODELS, count.DEVICES, count.DATA, count.LIMITS, count.MOST,
        count.PUBLISHED.map((one) => [
            one.name, one.run, one.quantity, one.reported.map(String),
            count.predictedOf(one), count.missOf(one)])]"""
    models, devices, *bounds, published = in_node(
        script, 0, tmp_path, {"* as count": COUNT}
    )
    assert models == {name: asdict(one) for name, one in cost.MODELS.items()}
    assert devices == {name: asdict(one) for name, one in cost.DEVICES.items()}
    assert bounds == [cost.DATA, cost.LIMITS, cost.MOST]
    for mine, theirs in zip(PUBLISHED, published, strict=True):
        name, run, quantity, reported, said, miss = theirs
        assert (mine.name, mine.quantity) == (name, quantity)
        assert asdict(mine.run) == run
        as_text = ["inf" if one == math.inf else f"{one:g}" for one in mine.reported]
        assert [float(one) for one in reported] == [float(one) for one in as_text]
        assert said == pytest.approx(mine.predicted(), rel=1e-12)
        assert miss == pytest.approx(mine.miss(), rel=1e-12, abs=1e-15)


def test_the_curve_goes_through_every_number_of_devices_that_changes_it(tmp_path):
    given = [asdict(one) for one in RUNS]
    script = "given.map((run) => deviceGrid(run))"
    grids = in_node(script, given, tmp_path, {"{ deviceGrid }": COUNT})
    for run, grid in zip(RUNS, grids, strict=True):
        most = min(run.sequences, 100_000)
        assert grid == sorted(set(grid))
        assert (grid[0], grid[-1]) == (1, most)
        assert len(grid) <= 200
        for each in range(2, 9):
            first = -(-run.sequences // each)  # the fewest of which none has more
            if first < most:
                assert first in grid


def test_presets_give_a_run_and_arguments_take_the_place_of_theirs():
    figure = Scale()
    data = cost.DATA["GPT-3 175B"]
    given = {"devices": 512} | data
    own = cost.Plan(cost.MODELS["GPT-3 175B"], cost.DEVICES["A100"], **given)
    assert figure.run == own
    changes = {"spread": "copies", "kept": "everything", "tokens": 10**9, "at_once": 2}
    changed = Scale(devices=7, share=0.5, **changes).run
    assert changed == replace(own, devices=7, share=0.5, **changes)
    small = Scale("GPT-2 small", "H100", batch_tokens=5000)
    assert (small.devices, small.run.sequences) == (4, 4)
    mine = replace(cost.DEVICES["A100"], between=cost.HOME)
    model = replace(cost.MODELS["GPT-2 XL"], length=512)
    run = Scale(model, mine).run
    assert (run.model, run.device) == (model, mine)


def test_a_smaller_batch_has_fewer_devices():
    figure = Scale(devices=1000)
    figure.training = figure.training | {"batch_tokens": 10 * 2048}
    assert figure.devices == 10
    figure.model = figure.model | {"length": 4096}
    assert figure.devices == 5
    with figure.hold_trait_notifications():  # as what comes from the page
        figure.devices = 900
        figure.training = figure.training | {"batch_tokens": 1000 * 4096}
    assert (figure.devices, figure.run.sequences) == (900, 1000)


def test_a_trait_takes_the_name_of_a_preset():
    figure = Scale("GPT-3 175B", devices=1000)
    figure.model = "GPT-2 small"
    assert (figure.devices, figure.run.model) == (1000, cost.MODELS["GPT-2 small"])
    figure.training = "GPT-2 small"
    figure.device = "H100"
    data = cost.DATA["GPT-2 small"] | {"kept": "inputs"}
    own = cost.Plan(figure.run.model, cost.DEVICES["H100"], devices=512, **data)
    assert figure.run == own
    assert isinstance(figure.model, dict)


def test_the_page_knows_the_same_names(tmp_path):
    names = ["GPT-2 small", "GPT-3 175B", "A100", "laptop core"]
    traits = ["model", "training", "device", "spread"]
    given = [[trait, name] for trait in traits for name in names]
    script = "given.map(([trait, name]) => unnamed(trait, name))"
    page = in_node(script, given, tmp_path, {"{ unnamed }": COUNT})
    for (trait, name), got in zip(given, page, strict=True):
        try:
            assert got == counts.unnamed(trait, name)
        except ValueError:
            assert got in ({}, {"share": 0.4})


BAD = [
    ({"model": "GPT-5"}, r"model must be one of \['GPT-2 small', .*, got 'GPT-5'"),
    ({"device": "abacus"}, "device must be one of .*, got 'abacus'"),
    ({"devices": 0}, "devices must be a whole number from 1 to 100,000, got 0"),
    ({"devices": 1537}, "a batch of 1,536 sequences cannot be split over 1,537 dev"),
    ({"spread": "thin"}, "spread must be one of copies, optimizer, sharded; got 't"),
    ({"kept": "none"}, "kept must be one of everything, no scores, inputs; got 'no"),
    ({"share": 40}, "share must be above 0 and at most 1, got 40"),
    ({"batch_tokens": 1}, "a batch of 1 tokens has no whole sequence of 2,048"),
    ({"tokens": 10**16}, "tokens must be a whole number from 1 to 1,000,000,000,00"),
]


test_invalid_arguments_are_refused = refused_settings(Scale, *BAD)


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("devices", 1537, "a batch of 1,536 sequences cannot be split over 1,537 dev"),
        ("devices", 0, "devices must be a whole number from 1 to 100,000, got 0"),
        ("spread", "thin", "spread must be one of"),
        ("model", "GPT-5", r"model must be one of \['GPT-2 small', .*, got 'GPT-5'"),
        ("training", "GPT-5", "training must be one of"),
        ("model", {"parameters": 1}, r"model has the numbers \['parameters', .*, got"),
        ("device", {}, r"device has the numbers \['memory', .*, got \[\]"),
        ("training", {"tokens": 1}, r"training has the numbers \['tokens', .*, got"),
    ],
)
def test_a_trait_that_makes_no_run_leaves_the_last_good_one(trait, value, message):
    figure = Scale()
    before = figure.run
    refuses(figure, message, **{trait: value})
    assert figure.run == before
