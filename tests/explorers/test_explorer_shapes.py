"""The explorer of shapes: the page counts what Python does, exactly."""

import random

import pytest
from helpers.node import in_node
from helpers.refusals import refused_settings, refuses

from mygpt.explorers import Shapes
from mygpt.explorers.shapes import counts
from mygpt.explorers.shapes.widget import LIMITS, PARTS
from mygpt.gpt import GPT2_SIZES, GPTConfig
from mygpt.sizes import flops_per_token, memory, parameters_by_part

COUNT, AMOUNTS = "shapes/count", "kit/amounts"
TINY = dict(zip(LIMITS, (13, 11, 21, 7, 5), strict=True))


def shapes():
    """The four sizes, the least and the most, and shapes between them by ratio."""
    draw = random.Random(0)
    most = LIMITS | {"num_heads": 1000}
    found = [*map(counts.size_of, GPT2_SIZES), dict.fromkeys(LIMITS, 1), most]
    for _ in range(300):
        shape = {name: round(most ** draw.random()) for name, most in LIMITS.items()}
        heads = shape["num_heads"] = min(shape["num_heads"], shape["embed_dim"])
        shape["embed_dim"] -= shape["embed_dim"] % heads
        found.append(shape)
    return found


def test_the_page_counts_what_the_package_does_to_the_digit(tmp_path):
    draw = random.Random(1)
    given = [
        [one, draw.choice([1, one["max_seq_len"], 1 + one["max_seq_len"] // 3])]
        for one in shapes()
    ]
    script = """given.map(([shape, length]) => [
        parametersByPart(shape), flopsPerToken(shape, length),
        memoryOf(shape, length), memoryOf(shape, length, 2),
        trainingOf(shape, length), doublings(shape.max_seq_len)])"""
    names = "flopsPerToken, memoryOf, parametersByPart, trainingOf"
    imports = {f"{{ {names} }}": COUNT, "{ doublings }": AMOUNTS}
    page = in_node(script, given, tmp_path, imports)
    for (shape, length), got in zip(given, page, strict=True):
        config = GPTConfig(**shape)
        parameters, flops = parameters_by_part(config), flops_per_token(config, length)
        counted, rule = 3 * sum(flops.values()), 6 * sum(parameters.values())
        training = {"counted": counted, "rule": rule}
        memories = [memory(config, length), memory(config, length, 2)]
        assert got[:5] == [parameters, flops, *memories, training]
        assert max(training.values()) < 2**53
        assert 16 * sum(parameters.values()) < 2**53
        assert memory(config, shape["max_seq_len"])["key-value cache"] < 2**53
        assert got[5][-1] == shape["max_seq_len"]


def test_the_page_has_the_sizes_and_limits_of_python(tmp_path):
    names = {"{ LIMITS, SIZES }": COUNT}
    limits, sizes = in_node("[LIMITS, SIZES]", 0, tmp_path, names)
    assert limits == LIMITS
    assert list(limits) == list(LIMITS)
    assert sizes == {name: counts.size_of(name) for name in GPT2_SIZES}
    assert list(sizes["xl"]) == list(LIMITS)


def test_the_page_names_the_parts_as_python_does(tmp_path):
    names = {"{ PARTS, markOf, partNamed }": "shapes/words"}
    script = "[PARTS.map(([a]) => partNamed(a)), given.map(markOf).map(partNamed)]"
    page = in_node(script, list(PARTS), tmp_path, names)
    assert page == [list(PARTS), list(PARTS)]


def test_a_number_in_words_is_right_to_its_third_digit(tmp_path):
    draw = random.Random(2)
    given = [10**power + d for power in range(15) for d in (-1, 0, 1)]
    given += [999_499_999, 999_500_000, 1_125_000_000, 9_994_999, 9_995_000]
    given += [round(2 ** (53 * draw.random())) - 1 for _ in range(300)]
    names = {"{ inBytes, inWords }": AMOUNTS}
    page = in_node("given.map((n) => [inWords(n), inBytes(n)])", given, tmp_path, names)
    scales = ["", "thousand", "million", "billion", "trillion", "quadrillion"]
    for number, (words, size) in zip(given, page, strict=True):
        value, _, scale = words.partition(" ")
        spread = 1000 ** scales.index(scale)
        if number < 1_000_000:
            assert words == f"{number:,}"
        else:
            assert len(value.replace(".", "")) == 3
            assert 1 <= float(value) < 1000
            assert abs(float(value) * spread - number) <= number * 0.00501
        units = ["B", "kB", "MB", "GB", "TB", "PB"]
        amount, unit = size.split(" ")
        bytes_ = float(amount.replace(",", "")) * 1000 ** units.index(unit)
        assert abs(bytes_ - number) <= number * 0.00501


def test_a_size_is_gpt2s_and_numbers_take_the_place_of_its_own():
    small = Shapes()
    assert small.shape == counts.size_of("small")
    assert sum(small.parameters().values()) == 124_439_808
    assert (small.length, small.compare, small.bars) == (1024, "small", "amounts")
    assert small.part == "feed-forward"
    own = Shapes("xl", max_seq_len=2048, num_heads=5)
    assert own.shape == counts.size_of("xl") | {"max_seq_len": 2048, "num_heads": 5}
    assert own.length == 2048
    assert Shapes(**TINY, length=7).flops() == flops_per_token(GPTConfig(**TINY), 7)
    assert Shapes(**TINY).memory(2) == memory(GPTConfig(**TINY), 11, 2)


def test_a_text_is_no_longer_than_a_new_shape_has_positions():
    figure = Shapes("small", length=900)
    figure.shape = TINY
    assert figure.length == 11
    figure.shape = counts.size_of("xl")
    assert figure.length == 11
    figure.length = 1024
    with figure.hold_trait_notifications():  # as what comes from the page
        figure.length = 5
        figure.shape = TINY
    assert (figure.shape, figure.length) == (TINY, 5)


test_invalid_arguments_are_refused = refused_settings(
    Shapes,
    ({"size": "huge"}, "size must be one of .*'xl'.*, got 'huge'"),
    ({"compare": "huge"}, "compare must be one of .*, got 'huge'"),
    ({"bars": "logs"}, r"bars must be one of \['amounts', 'shares'\], got 'logs'"),
    ({"part": "biases"}, "part must be one of .*'norms'.*, got 'biases'"),
    ({"embed_dim": 0}, "embed_dim must be a whole number from 1 to 100,000, got 0"),
    ({"num_layers": True}, "num_layers must be a whole number .*, got True"),
    ({"num_layers": 1001}, "num_layers must be .* from 1 to 1,000, got 1001"),
    ({"vocab_size": 10**9}, "vocab_size must be .* from 1 to 2,000,000, got"),
    ({"num_heads": 13}, "expected embed_dim divisible by num_heads, got 768 and 1"),
    ({"length": 0}, "length must be a whole number from 1 to 1,024, got 0"),
    ({"length": 1025}, "length must be a whole number from 1 to 1,024, got 1025"),
)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({}, "a shape has the numbers .*: 'vocab_size' is missing"),
        (TINY | {"bias": 1}, "a shape has the numbers .*: no 'bias' is known"),
        (TINY | {"embed_dim": 21.0}, r"embed_dim must be a whole .*, got 21\.0"),
        (TINY | {"num_layers": "5"}, "num_layers must be a whole .*, got '5'"),
        (TINY | {"num_heads": 5}, "embed_dim divisible by num_heads, got 21 and 5"),
    ],
)
def test_a_shape_that_is_none_leaves_the_last_good_one(shape, message):
    refuses(Shapes(**TINY), message, shape=shape)
