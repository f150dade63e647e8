"""A training run's memory, traffic and time, by hand, and beside what was published."""

import math
from dataclasses import replace

import pytest
from helpers.programs import run_python
from helpers.refusals import refused

from mygpt.distributed.cost import (
    DATA,
    DEVICES,
    HOME,
    INTERRUPTIONS,
    MODELS,
    Device,
    Model,
    Plan,
    activations,
    bandwidth,
    device_hours,
    fits,
    interruptions,
    least_devices,
    limit,
    memory_per_device,
    step_time,
    traffic_per_step,
    training_flops_per_token,
    training_time,
)
from mygpt.distributed.published_runs import PUBLISHED, Published
from mygpt.gpt import GPTConfig
from mygpt.sizes import flops_per_token as exact_flops
from mygpt.sizes import memory as exact_memory
from mygpt.sizes import parameters_by_part

MODEL = Model(3_000_017, 5, 21, 7, 11)  # N, L, C, H, T
DEVICE = Device(1e9, 2e9, 7e6, 3e6, per_machine=4)


def run(**changes):
    """13 sequences in a batch, five of which do not fill what is left of it."""
    settings = {"devices": 3, "tokens": 1000, "batch_tokens": 13 * 11 + 5}
    given = {"model": MODEL, "device": DEVICE, **settings, "share": 0.25} | changes
    return Plan(**given)


def gpt3(devices, **changes):
    data = DATA["GPT-3 175B"] | {"devices": devices} | changes
    return Plan(MODELS["GPT-3 175B"], DEVICES["A100"], **data)


def test_a_batch_has_whole_sequences_and_the_fullest_device_sets_the_pace():
    one = run()
    assert one.sequences == 13
    assert one.steps == 7  # of 143 tokens each, for 1000
    assert one.most_sequences == 5  # of 13 on 3
    assert run(devices=13).most_sequences == 1
    assert run(tokens=143).steps == 1
    assert run(tokens=144).steps == 2


def test_a_device_of_copies_holds_16_bytes_of_each_parameter():
    parts = memory_per_device(run(spread="copies"))
    N = 3_000_017
    assert parts == {
        "weights": 2 * N,
        "gradients": 2 * N,
        "optimizer": 12 * N,
        "one layer, whole": 0,
        "activations": 5 * 34 * 11 * 21,
    }


def test_what_is_split_is_divided_by_the_devices_and_nothing_else_is():
    whole = memory_per_device(run(spread="copies"))
    first = memory_per_device(run(spread="optimizer"))
    assert first == whole | {"optimizer": 12 * 3_000_017 / 3}
    third = memory_per_device(run(spread="sharded"))
    states = ("weights", "gradients", "optimizer")
    assert [third[one] for one in states] == [whole[one] / 3 for one in states]
    assert third["one layer, whole"] == 4 * 3_000_017 / 5
    assert third["activations"] == whole["activations"]
    alone = memory_per_device(run(spread="sharded", devices=1))
    assert alone == memory_per_device(run(spread="copies", devices=1))


def test_activations_are_those_of_korthikantis_table():
    T, C, H = 11, 21, 7
    attention = 11 * T * C + 5 * H * T * T
    network, norms = 19 * T * C, 4 * T * C
    layer = attention + network + norms
    assert activations(MODEL, 3, "everything") == 3 * 5 * layer
    rest = layer - 5 * H * T * T
    assert activations(MODEL, 3, "no scores") == 3 * 5 * rest
    assert activations(MODEL, 3, "inputs") == 3 * (5 * 2 * T * C + rest)


def test_a_device_keeps_no_more_sequences_than_it_has():
    for at_once, kept in [(1, 1), (2, 2), (5, 5), (9, 5)]:
        parts = memory_per_device(run(at_once=at_once))
        assert parts["activations"] == activations(MODEL, kept)


def ring(values):
    """Sums of lists, one on each device, by the ring's steps, and numbers sent by one.

    Each list has as many chunks as there are devices. In n − 1 steps every device adds
    what it gets to one of its chunks, in n − 1 more it takes over a finished one.
    """
    n = len(values)
    held = [list(one) for one in values]
    sent = 0
    for shift, add in [(0, True), (1, False)]:
        for step in range(n - 1):
            moves = [((i + shift - step) % n, held[i]) for i in range(n)]
            moves = [(chunk, mine[chunk]) for chunk, mine in moves]
            for i, (chunk, value) in enumerate(moves):
                other = held[(i + 1) % n]
                other[chunk] = other[chunk] + value if add else value
            sent += 1
    return held, sent


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_ring_sums_with_the_traffic_of_the_formula(n):
    values = [[10**i * (chunk + 1) for chunk in range(n)] for i in range(n)]
    sums = [sum(column) for column in zip(*values, strict=True)]
    held, sent = ring(values)
    assert held == [sums] * n
    model = replace(MODEL, parameters=n)  # a chunk for each parameter
    bytes_ = traffic_per_step(run(model=model, devices=n, spread="copies"))
    assert bytes_ == pytest.approx(2 * sent)


def test_traffic_is_two_or_three_passes_of_two_bytes_a_parameter():
    N = 3_000_017
    for spread, passes in [("copies", 2), ("optimizer", 2), ("sharded", 3)]:
        sent = traffic_per_step(run(spread=spread, at_once=5))
        assert sent == pytest.approx(passes * 2 * N * 2 / 3)
        assert traffic_per_step(run(spread=spread, devices=1)) == 0


def test_a_sharded_model_is_gathered_again_for_what_does_not_go_at_once():
    sent = [traffic_per_step(run(at_once=count)) for count in (1, 2, 4, 5, 100)]
    assert [one / sent[-1] for one in sent] == [5, 3, 2, 1, 1]
    copies = {traffic_per_step(run(spread="copies", at_once=c)) for c in (1, 5)}
    assert len(copies) == 1


def test_a_ring_is_as_fast_as_its_slowest_part():
    assert bandwidth(run(devices=4)) == 7e6  # within one machine
    assert bandwidth(run(devices=5)) == 3e6
    fast = replace(DEVICE, between=9e9)
    assert bandwidth(run(device=fast, devices=5)) == 7e6


def test_a_step_by_hand():
    step = step_time(run())
    flops = 6 * 3_000_017 + 12 * 5 * 21 * 11
    assert training_flops_per_token(MODEL) == flops
    assert step.arithmetic == pytest.approx(5 * 11 * flops / 0.5e9)
    assert step.talking == pytest.approx(5 * 3 * 2 * 3_000_017 * (2 / 3) / 7e6)
    assert step.overlapped == max(step.arithmetic, step.talking)
    assert step.sequential == step.arithmetic + step.talking
    whole = training_time(run())
    assert whole.arithmetic == pytest.approx(7 * step.arithmetic)
    assert whole.talking == pytest.approx(7 * step.talking)
    least, most = device_hours(run())
    assert least == pytest.approx(3 * 7 * step.overlapped / 3600)
    assert most == pytest.approx(3 * 7 * step.sequential / 3600)


def test_a_second_forward_pass_is_a_third_more():
    assert (
        training_flops_per_token(MODEL, "inputs") * 3
        == training_flops_per_token(MODEL) * 4
    )
    assert training_flops_per_token(MODEL, "everything") == training_flops_per_token(
        MODEL
    )


@pytest.mark.parametrize(
    ("name", "size"), [("GPT-2 small", "small"), ("GPT-2 XL", "xl")]
)
def test_gpt2_is_counted_as_the_package_counts_it(name, size):
    config, model = GPTConfig.gpt2(size), MODELS[name]
    parts = parameters_by_part(config)
    assert model.parameters == sum(parts.values())
    shape = (config.num_layers, config.embed_dim, config.num_heads, config.max_seq_len)
    assert tuple(vars(model).values())[1:] == shape
    exact = exact_flops(config, model.length)
    scores = 12 * model.num_layers * model.embed_dim * model.length
    assert 3 * exact["scores and values"] == scores
    assert training_flops_per_token(model) - 6 * model.parameters == scores
    matrices = 3 * (sum(exact.values()) - exact["scores and values"])
    small = 6 * (parts["positions"] + parts["norms"])  # of which 6N counts too much
    biases = model.num_layers * (4 + 5) * model.embed_dim
    assert 6 * model.parameters - matrices == small + 6 * biases
    assert training_flops_per_token(model) == pytest.approx(
        3 * sum(exact.values()), rel=0.01
    )
    whole = exact_memory(config, 1)
    states = ("weights", "gradients", "AdamW's averages")
    copies = memory_per_device(
        Plan(model, DEVICE, devices=1, spread="copies", **DATA[name])
    )
    mine = sum(copies[one] for one in ("weights", "gradients", "optimizer"))
    assert mine == sum(whole[one] for one in states)  # 2 + 2 + 12 and 4 + 4 + 8


def test_sharding_lets_a_model_fit_from_some_number_of_devices_on():
    tight = replace(DEVICE, memory=20e6)
    one = run(device=tight)
    least = least_devices(one)
    room = 20e6 - 4 * 3_000_017 / 5 - 5 * 34 * 11 * 21
    assert least == math.ceil(16 * 3_000_017 / room) == 3
    assert fits(replace(one, devices=3))
    assert not fits(replace(one, devices=2))
    assert least_devices(run()) == 1
    assert least_devices(replace(one, spread="copies")) is None
    assert least_devices(run(device=replace(DEVICE, memory=1))) is None
    last = sum(memory_per_device(run(devices=13)).values())
    assert least_devices(run(device=replace(DEVICE, memory=last))) == 13


def test_more_devices_never_need_more_memory():
    for spread in ("copies", "optimizer", "sharded"):
        for at_once in (1, 4):
            one = run(spread=spread, at_once=at_once)
            sizes = [
                sum(memory_per_device(replace(one, devices=n)).values())
                for n in range(1, 14)
            ]
            assert sizes == sorted(sizes, reverse=True)


def test_a_limit_is_named():
    assert limit(gpt3(512)) == "arithmetic"
    assert limit(gpt3(512, spread="copies")) == "memory"
    assert limit(gpt3(768)) == "arithmetic"
    assert limit(gpt3(769)) == "batch"
    slow = replace(DEVICES["A100"], between=HOME)
    assert limit(replace(gpt3(512), device=slow)) == "network"
    assert limit(gpt3(32)) == "memory"


def test_devices_have_the_numbers_of_their_sources():
    """NVLink's both directions halved; eight adapters of a machine, in bits."""
    a100 = Device(80e9, 312e12, 600e9 / 2, 8 * 200e9 / 8, per_machine=8)
    h100 = Device(80e9, 989e12, 900e9 / 2, 8 * 400e9 / 8, per_machine=8)
    assert (DEVICES["A100"], DEVICES["H100"]) == (a100, h100)
    assert HOME == 100e6 / 8
    assert DATA["Llama 3 405B"]["batch_tokens"] == 128 * 16 * 8192  # its table 4


def test_home_internet_makes_a_small_model_wait():
    home = replace(DEVICES["A100"], between=HOME, per_machine=1)
    data = DATA["GPT-2 small"]
    one = Plan(MODELS["GPT-2 small"], home, devices=8, spread="copies", **data)
    step = step_time(one)
    assert step.talking == pytest.approx(2 * 7 / 8 * 2 * 124_439_808 / 12.5e6)
    assert step.talking > 70 * step.arithmetic
    assert limit(one) == "network"


def test_interruptions_are_llama_3s_in_54_days():
    hours = 54 * 24 * 16_384
    assert hours * INTERRUPTIONS == pytest.approx(419)
    assert interruptions(run()) == pytest.approx(
        tuple(one * INTERRUPTIONS for one in device_hours(run()))
    )


def test_the_time_is_that_of_narayanans_formula_without_its_approximation():
    """Days of equation 4 for GPT-3; no test of the times, whose throughput it is."""
    one = gpt3(768, share=140 / 312)
    days = training_time(one).arithmetic * 768 / 1024 / 86_400
    approximate = 8 * 3e11 * 175e9 / (1024 * 140e12) / 86_400
    assert round(approximate) == 34
    assert days == pytest.approx(approximate * (1 + 2048 / (6 * 12_288)), rel=1e-3)


def test_published_runs_and_by_how_much_the_calculator_misses():
    found = {
        one.name: (one.predicted(), tuple(round(100 * miss) for miss in one.miss()))
        for one in PUBLISHED
    }
    assert {name: misses for name, (_, misses) in found.items()} == {
        "Llama 3 405B": (-9, -9),
        "GPT-3 on 768 A100": (-39, -31),
        "GPT-3 on 1,536 A100": (-70, -62),
        "530B on 560 A100": (-5, -5),
        "530B on 640 A100": (0, 0),
    }
    flops = 6 * 405e9 + 12 * 126 * 16_384 * 8192
    hours = 15.6e12 * flops / (989e12 * 0.41) / 3600
    assert found["Llama 3 405B"][0] == pytest.approx((hours, hours))
    step = 1536 * 2048 * (8 * 174.6e9 + 16 * 96 * 12_288 * 2048) / (1536 * 144e12)
    least, most = found["GPT-3 on 1,536 A100"][0]
    steps = math.ceil(3e11 / (1536 * 2048))
    assert least == pytest.approx(steps * step / 86_400)
    talking = 3 * 2 * 174.6e9 * 1535 / 1536 / 200e9
    assert most - least == pytest.approx(steps * talking / 86_400)


def test_their_batch_could_not_be_split_over_all_their_devices():
    """They split the model too; by the batch alone, 2,048 of 16,384 have work."""
    llama = PUBLISHED[0].run
    message = "a batch of 2,048 sequences cannot be split over 16,384 devices"
    with pytest.raises(ValueError, match=message):
        replace(llama, devices=16_384)
    assert limit(llama) == "memory"


def test_a_miss_is_zero_within_what_was_reported():
    one = Published("a run", run(), "bytes", (0, math.inf))
    assert one.miss() == (0, 0)
    size = one.predicted()[0]
    assert replace(one, reported=(0, size / 2)).miss() == (1, 1)
    assert replace(one, reported=(2 * size, math.inf)).miss() == (-0.5, -0.5)


BAD_RUNS = [
    ({"devices": 0}, "devices must be a whole number from 1 to 100,000, got 0"),
    ({"devices": True}, "devices must be a whole number .*, got True"),
    ({"devices": -3}, "devices must be a whole number .*, got -3"),
    ({"devices": 100_001}, "devices must be .* to 100,000, got 100001"),
    ({"devices": 14}, "a batch of 13 sequences cannot be split over 14 devices: ta"),
    ({"tokens": 10**16}, "tokens must be .* to 1,000,000,000,000,000, got"),
    ({"batch_tokens": 10}, "a batch of 10 tokens has no whole sequence of 11: take"),
    ({"at_once": 0}, "at_once must be a whole number from 1 to 1,000,000, got 0"),
    ({"spread": "all"}, "spread must be one of copies, optimizer, sharded; got 'al"),
    ({"kept": "all"}, "kept must be one of everything, no scores, inputs; got 'all'"),
    ({"share": 40}, "share must be above 0 and at most 1, got 40: 0.4 for 40 %"),
    ({"share": 0}, "share must be above 0 and at most 1, got 0"),
    ({"share": math.nan}, "share must be above 0 and at most 1, got nan"),
]


test_a_run_that_is_none_is_refused = refused(
    lambda change: run(**change),
    *BAD_RUNS,
)


test_a_model_that_is_none_is_refused = refused(
    lambda change: replace(MODEL, **change),
    ({"parameters": 0}, "parameters must be a whole number from 1 to 100,000,000,"),
    ({"parameters": 10**15}, "parameters must be a whole number .*, got 10000000"),
    ({"num_layers": -1}, "num_layers must be a whole number from 1 to 10,000, got"),
)


test_a_device_that_is_none_is_refused = refused(
    lambda change: replace(DEVICE, **change),
    ({"memory": 0}, r"memory must be from 1 to 1e\+21, got 0"),
    ({"peak": -1.0}, r"peak must be from 1 to 1e\+21, got -1.0"),
    ({"between": math.inf}, r"between must be from 1 to 1e\+21, got inf"),
    ({"per_machine": 0}, "per_machine must be a whole number from 1 to 100,000, g"),
)


WORDS = """
from mygpt.distributed.cost import DEVICES, MODELS, Device, Model, Plan
good = {"devices": 2, "tokens": 9999, "batch_tokens": 9999}
for name, value in [("devices", "many"), ("tokens", 1e3), ("share", "half"),
                    ("spread", 3), ("kept", None), ("at_once", [1])]:
    try:
        Plan(MODELS["GPT-2 small"], DEVICES["A100"], **good | {name: value})
    except ValueError as error:
        print(error)
for make in (lambda: Model(1, 2, 3, 4, 2.5), lambda: Device("large", 1, 1, 1)):
    try:
        make()
    except ValueError as error:
        print(error)
"""


def test_what_is_no_number_is_refused():
    """In a process of its own: here, types are checked before."""
    done = run_python("-c", WORDS, timeout=100)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "devices must be a whole number from 1 to 100,000, got 'many'",
        "tokens must be a whole number from 1 to 1,000,000,000,000,000, got 1000.0",
        "share must be above 0 and at most 1, got 'half': 0.4 for 40 % of the peak",
        "spread must be one of copies, optimizer, sharded; got 3",
        "kept must be one of everything, no scores, inputs; got None",
        "at_once must be a whole number from 1 to 1,000,000, got [1]",
        "length must be a whole number from 1 to 100,000,000, got 2.5",
        "memory must be from 1 to 1e+21, got 'large'",
    ]
