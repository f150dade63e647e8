import ast
import inspect
import math
import random
import sys

import pytest
import torch
import torch.nn.functional as F
from helpers.refusals import refused

from mygpt import MLP, by_hand

INPUTS = [1.1, -0.4, 0.8, 2.1, -0.3, 0.6, 1.5, -0.8]
GELU = [0.9508, -0.1378, 0.6305, 2.0625, -0.1146, 0.4354, 1.3998, -0.1695]


def test_it_needs_nothing_but_the_standard_library():
    tree = ast.parse(inspect.getsource(by_hand))
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {getattr(n, "module", n.names[0].name) for n in imports}
    assert modules <= sys.stdlib_module_names


def test_the_exact_gelu_gives_the_values_worked_by_hand():
    assert [round(by_hand.gelu_exact(x), 4) for x in INPUTS] == GELU


@pytest.mark.parametrize("x", [-30.0, -2.3, -0.5, 0.0, 1e-9, 0.7, 3.1, 40.0])
def test_scalar_functions_equal_pytorchs(x):
    t = torch.tensor(x, dtype=torch.float64)
    assert math.isclose(by_hand.sigmoid(x), t.sigmoid().item(), rel_tol=1e-14)
    assert by_hand.relu(x) == F.relu(t).item()
    assert math.isclose(
        by_hand.gelu_exact(x), F.gelu(t).item(), rel_tol=1e-12, abs_tol=1e-14
    )
    tanh = F.gelu(t, approximate="tanh").item()
    assert math.isclose(by_hand.gelu(x), tanh, rel_tol=1e-12, abs_tol=1e-14)


def test_sigmoid_does_not_overflow():
    assert by_hand.sigmoid(-1e4) == 0.0
    assert by_hand.sigmoid(1e4) == 1.0


def test_matrices_multiply_as_in_pytorch():
    rng = random.Random(0)
    a, b = by_hand.random_matrix(3, 5, rng), by_hand.random_matrix(5, 7, rng)
    expected = torch.tensor(a) @ torch.tensor(b)
    torch.testing.assert_close(torch.tensor(by_hand.matrix_multiply(a, b)), expected)


def test_a_bias_is_added_to_every_row():
    found = by_hand.add_bias([[1.0, 2.0], [3.0, 4.0]], [0.5, -1.0])
    assert found == [[1.5, 1.0], [3.5, 3.0]]


def test_random_weights_stay_within_the_default_scale():
    matrix = by_hand.random_matrix(20, 30, random.Random(1))
    entries = [x for row in matrix for x in row]
    bound = math.sqrt(2 / 50)
    assert max(map(abs, entries)) <= bound
    assert max(entries) > 0.95 * bound
    assert min(entries) < -0.95 * bound


def test_a_given_scale_replaces_the_default():
    matrix = by_hand.random_matrix(20, 30, random.Random(1), scale=3.0)
    assert 2.9 < max(x for row in matrix for x in row) <= 3.0


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_the_network_equals_the_mlp_with_the_same_weights(activation, monkeypatch):
    d, rng = 5, random.Random(3)
    params = by_hand.make_feed_forward(d, rng)
    params.b1 = [rng.uniform(-1, 1) for _ in params.b1]
    params.b2 = [rng.uniform(-1, 1) for _ in params.b2]
    mlp = MLP(d, activation=activation).double()
    state = {
        "fc1.weight": torch.tensor(params.w1, dtype=torch.float64).T,
        "fc1.bias": torch.tensor(params.b1, dtype=torch.float64),
        "fc2.weight": torch.tensor(params.w2, dtype=torch.float64).T,
        "fc2.bias": torch.tensor(params.b2, dtype=torch.float64),
    }
    mlp.load_state_dict(state)
    if activation == "gelu":
        monkeypatch.setattr(by_hand, "gelu", by_hand.gelu_exact)
    x = by_hand.random_matrix(3, d, rng, scale=2.0)
    expected = mlp(torch.tensor(x, dtype=torch.float64))
    actual = torch.tensor(by_hand.feed_forward(x, params), dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_a_new_network_has_hidden_width_4d_and_no_bias():
    params = by_hand.make_feed_forward(3, random.Random(0))
    assert (len(params.w1), len(params.w1[0])) == (3, 12)
    assert (len(params.w2), len(params.w2[0])) == (12, 3)
    assert params.b1 == [0.0] * 12
    assert params.b2 == [0.0] * 3


def test_the_demo_keeps_the_shape():
    assert by_hand.demo(seed=8) == {"output_shape": (3, 8)}


test_shapes_that_do_not_fit_are_named = refused(
    lambda name, *given: getattr(by_hand, name)(*given),
    (
        "matrix_multiply",
        [[1.0, 2.0]] * 2,
        [[1.0, 2.0]],
        "long as b has rows.*2 rows",
    ),
    ("add_bias", [[1.0, 2.0]], [1.0], "a bias as wide as the rows"),
    ("make_feed_forward", 0, random.Random(0), "at least 1, got 0"),
)
