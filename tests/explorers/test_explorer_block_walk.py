"""The walk through a block: the page's vectors and norms are those of Python."""

import numpy as np
import pytest
import torch
from helpers.node import in_node
from helpers.refusals import refused_settings

from mygpt import TransformerBlock
from mygpt.explorers.block_walk.widget import KNOWN, BlockWalk
from mygpt.explorers.kit.block import NAMES, PLACES
from mygpt.inside.hooks import STAGES, stages

TOKENS = ["I", "love", "AI", "!", "!"]
ROWS = np.ones((5, 3))
BEFORE = {"x + attention": "x", "x + fc2": "x + attention"}


@torch.no_grad()
def vectors():
    torch.manual_seed(0)
    way = stages(TransformerBlock(8, 2), torch.randn(1, 5, 8))
    return {name: batch[0] for name, batch in way.items()}


def walk(**settings):
    return BlockWalk(vectors(), TOKENS, before=BEFORE, **settings)


def test_the_page_has_python_s_vectors_and_norms(tmp_path):
    explorer = walk(position=3)
    shape = {"widths": explorer.widths, "positions": 5}
    given = {"data": explorer.data, "shape": shape}
    first = "const numbers = new Float32Array(given.data.buffer);"
    script = """given.shape.widths.map((_, stage) => {
        const vector = vectorAt(numbers, given.shape, stage, 3);
        return [vector, normOf(vector)];
    })"""
    names = {"{ vectorAt, normOf }": "block_walk/widget"}
    page = in_node(script, given, tmp_path, names, first)
    for (name, vector), (shown, norm) in zip(vectors().items(), page, strict=True):
        assert shown == vector[3].tolist(), name
        assert f"{norm:.3f}" == f"{explorer.norms()[name]:.3f}", name
        assert norm == pytest.approx(vector[3].norm().item(), rel=1e-5)


def test_what_is_known_of_the_stages_is_in_traits():
    explorer = walk(notes={"ln1": "Mean 0, variance 1."})
    assert explorer.names[1] == "ln1"
    assert explorer.notes[:3] == ["", "Mean 0, variance 1.", ""]
    assert explorer.before == [-1, -1, -1, 0, -1, -1, -1, -1, 3]
    assert explorer.widths == [8, 8, 8, 8, 8, 32, 32, 8, 8]
    assert explorer.parts == list(PLACES)


def test_the_page_and_python_know_the_same_places(tmp_path):
    imports = {"{ PLACE_NAMES }": "kit/block_layout"}
    assert in_node("PLACE_NAMES", None, tmp_path, imports) == NAMES
    assert tuple(KNOWN.values())[: len(PLACES)] == PLACES
    assert tuple(KNOWN)[: len(STAGES)] == tuple(STAGES)


def test_each_stage_has_a_place_in_the_block_or_none_has(subtests):
    a, b = ROWS, ROWS
    cases = [
        ({"x": a, "ln1": b}, None, ["input", "norm1"]),
        ({"x": a, "mine": b}, {"mine": "norm2"}, ["input", "norm2"]),
        ({"x": a, "ln1": b}, {"x": "middle"}, ["middle", "norm1"]),
        ({"x": a, "mine": b}, None, ["", ""]),
        ({"activation": a, "GELU": b}, None, ["", ""]),
        ({"x": a, "ln1": b}, {}, ["", ""]),
    ]
    for given, parts, places in cases:
        with subtests.test(stages=list(given), parts=parts):
            assert BlockWalk(given, TOKENS, parts=parts).parts == places


GIVEN = {"stages": {"x": ROWS, "z": ROWS[:, :2]}, "tokens": TOKENS}
test_invalid_arguments_are_refused = refused_settings(
    lambda **change: BlockWalk(**GIVEN | change),
    ({"stages": {}}, "stages must be 1 to 16 different names"),
    ({"stages": {"x": ROWS[:4]}}, r"shape \(5, width\), got \(4, 3\)"),
    ({"stages": {"x": ROWS[:, :0]}}, r"shape \(5, width\), got \(5, 0\)"),
    ({"stages": {"x": ROWS[:, 0]}}, r"shape \(5, width\), got \(5,\)"),
    ({"stages": {"x": ROWS * np.nan}}, "finite numbers, got nan at index 0, 0"),
    ({"stages": {"x": ROWS * np.inf}}, "finite numbers, got inf at index 0, 0"),
    ({"stages": {"x": np.ones((5, 20_000))}}, "at most 65,536, got 100,000"),
    ({"tokens": []}, "tokens must be 1 to 64 words, got 0"),
    ({"tokens": ["a"] * 1000}, "tokens must be 1 to 64 words, got 1000"),
    ({"notes": {"y": "?"}}, "notes must be of stages .*, got 'y'"),
    ({"before": {"y": "x"}}, "before must be of stages .*, got 'y'"),
    ({"before": {"x": "z"}}, "must name an earlier stage, got 'z'"),
    ({"before": {"z": "x"}}, r"must have shape \(5, 2\), 'x' has \(5, 3\)"),
    ({"parts": {"y": "input"}}, "parts must be of stages .*, got 'y'"),
    ({"parts": {"x": "input"}}, r"parts\['z'\] must be one of .*, got ''"),
    ({"parts": {"x": "input", "z": "mlp"}}, r"parts\['z'\] .*, got 'mlp'"),
    ({"parts": {"z": "input"}}, "must give 'input' to one stage, got 'z' too"),
    ({"stage": 2}, "stage must be 0 to 1, got 2"),
    ({"position": -1}, "position must be 0 to 4, got -1"),
)
