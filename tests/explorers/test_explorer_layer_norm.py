"""The explorer of layer norm: the page's numbers are Python's and the package's."""

import numpy as np
import pytest
import torch
from helpers.node import in_node
from helpers.refusals import refused_settings, refuses

from mygpt import LayerNorm as Norm
from mygpt.explorers.layer_norm.widget import LayerNorm

SETTINGS = [
    {"x": [1, 2, 3, 4]},
    {"x": [5.0, 5.0, 5.0], "beta": 0.7},
    {"x": [-9.9, 0.1, 7.3, 0.2, 3.3, -4.4, 8.8], "gamma": -2.3, "beta": 1.1},
    {"x": [0.1, 0.2], "log10_eps": 0},
    {"x": [3.0], "log10_eps": -8},
    {"x": [0.1] * 11, "log10_eps": -8},
]


def in_page(explorer, tmp_path):
    """What the page's own function gives for the explorer's setting."""
    setting = {"gamma": explorer.gamma, "beta": explorer.beta}
    setting["eps"] = 10.0**explorer.log10_eps
    given = {"values": explorer.values, "setting": setting}
    script = "layerNorm(given.values, given.setting)"
    return in_node(script, given, tmp_path, {"{ layerNorm }": "layer_norm/widget"})


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_page_computes_what_python_and_the_package_do(setting, tmp_path):
    explorer = LayerNorm(**setting)
    page = in_page(explorer, tmp_path)
    mean, variance = explorer.moments()
    assert [page["mean"], page["variance"]] == [mean, variance]
    assert page["normalised"] == explorer.normalised()
    assert page["result"] == explorer.result()
    norm = Norm(len(explorer.values), eps=10.0**explorer.log10_eps).double()
    norm.weight.data.fill_(explorer.gamma)
    norm.bias.data.fill_(explorer.beta)
    x = torch.tensor(explorer.values, dtype=torch.float64)
    assert norm(x).tolist() == pytest.approx(page["result"], abs=1e-9)


def test_by_hand_on_1_2_3_4():
    explorer = LayerNorm([1, 2, 3, 4], gamma=2.0, beta=1.0)
    assert explorer.moments() == (2.5, 1.25)
    shown = [f"{y:.4f}" for y in explorer.result()]
    assert shown == ["-1.6833", "0.1056", "1.8944", "3.6833"]


def test_a_moved_number_is_rounded_to_what_is_shown():
    explorer = LayerNorm(torch.tensor([0.123, -0.04]), gamma=1.2345)
    assert explorer.values == [0.1, 0.0]
    assert explorer.gamma == 1.2
    explorer.values = [9.96, -3.21]
    assert explorer.values == [10.0, -3.2]
    assert explorer.start == [0.1, 0.0]
    explorer.values = [999.9, -20.0]  # the axis follows
    refuses(explorer, "values must be within ±1000, got 1001", values=[1001.0, 0.0])


test_invalid_arguments_are_refused = refused_settings(
    lambda **change: LayerNorm(**{"x": [1, 2]} | change),
    ({"x": []}, r"x must be 1 to 12 numbers in one row, got shape \(0,\)"),
    ({"x": [[1, 2]]}, r"in one row, got shape \(1, 2\)"),
    ({"x": np.ones(1000)}, r"1 to 12 numbers in one row, got shape \(1000,\)"),
    ({"x": [1, np.nan]}, "x must hold finite numbers, got nan at index 1"),
    ({"x": [1, np.inf]}, "x must hold finite numbers, got inf at index 1"),
    ({"x": ["a"]}, "x must be an array of numbers"),
    ({"x": [1, -11]}, "x must be within ±10, got -11"),
    ({"gamma": 3.5}, r"gamma must be within ±3, got 3\.5"),
    ({"beta": np.nan}, "beta must hold finite numbers, got nan"),
    ({"log10_eps": 1}, "log10_eps must be -8 to 0, got 1"),
    ({"limit": 0.01}, r"limit must be from 0\.1 to 1000, got 0\.01"),
)


def test_a_vector_keeps_its_channels():
    explorer = LayerNorm([1, 2, 3])
    refuses(explorer, "values must keep its 3 channels, got 2", values=[1, 2])
    assert explorer.values == [1, 2, 3]
