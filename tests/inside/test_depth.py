import math
from functools import partial

import pytest
import torch

from mygpt import MLP, set_seed
from mygpt.inside import depth

LAYERS = [1, 5, 10, 15, 20, 30]
EXPERIMENT_21 = {
    "plain": [0.218545, 0.075635, 0.083192, 0.072371, 0.077279, 0.096019],
    "residual": [0.981097, 1.057667, 1.080736, 1.248647, 1.528469, 2.211950],
    "pre-norm": [0.992292, 1.069066, 1.146214, 1.275711, 1.454677, 1.690578],
}


def thirty_layers():
    set_seed(0)
    stack = [MLP(embed_dim=16, dropout=0.0).eval() for _ in range(30)]
    return stack, torch.randn(1, 8, 16)


@pytest.mark.parametrize("kind", EXPERIMENT_21)
def test_experiment_21_to_the_digit(kind):
    std = depth.trace(*thirty_layers(), kind).std
    assert round(std[0].item(), 4) == 0.9369
    expected = torch.tensor(EXPERIMENT_21[kind])
    torch.testing.assert_close(std[LAYERS], expected, atol=1.1e-6, rtol=0)


def test_mlp_stack_is_the_same_stack():
    set_seed(0)
    made = depth.mlp_stack(30, 16)
    for ours, theirs in zip(made, thirty_layers()[0], strict=True):
        assert torch.equal(ours.fc1.weight, theirs.fc1.weight)


def test_gradients_of_the_plain_stack_vanish_and_those_of_the_residual_one_do_not():
    stack, x = thirty_layers()
    ones = torch.ones_like(x)
    plain = depth.trace(stack, x, "plain", direction=ones)
    for layer, norm in ((30, 2.6), (15, 1.6e-12), (1, 8.8e-22)):
        assert math.isclose(plain.grad_norm[layer - 1], norm, rel_tol=0.03)
    assert math.isclose(plain.input_grad_norm, 1.2e-22, rel_tol=0.03)
    residual = depth.trace(stack, x, "residual", direction=ones)
    assert 27 <= residual.grad_norm.min() <= residual.grad_norm.max() <= 66


@pytest.mark.parametrize("kind", depth.KINDS)
def test_gradients_are_those_of_the_wiring_written_out(kind):
    torch.manual_seed(1)
    stack, x = depth.mlp_stack(3, 5), torch.randn(2, 7, 5)
    direction = torch.randn(2, 7, 5)
    norm = partial(torch.nn.functional.layer_norm, normalized_shape=(5,))
    y = x
    for mlp in stack:
        if kind == "plain":
            y = mlp(y)
        elif kind == "residual":
            y = y + mlp(y)
        elif kind == "pre-norm":
            y = y + mlp(norm(y))
        else:
            y = norm(y + mlp(y))
    grads = torch.autograd.grad((y * direction).sum(), [m.fc1.weight for m in stack])
    traced = depth.trace(stack, x, kind, direction=direction)
    torch.testing.assert_close(
        traced.grad_norm,
        torch.stack([g.norm() for g in grads]).double(),
        rtol=1e-5,
        atol=0,
    )
    torch.testing.assert_close(traced.std[-1], y.std().detach())


def test_the_direction_is_the_same_at_every_call_and_needs_no_seed():
    x = torch.zeros(1, 5, 3)
    state = torch.get_rng_state()
    assert torch.equal(depth.fixed_direction(x), depth.fixed_direction(x))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_gain_multiplies_the_weights_and_not_the_biases():
    set_seed(2)
    once = depth.mlp_stack(1, 5)[0]
    set_seed(2)
    twice = depth.mlp_stack(1, 5, gain=2.0)[0]
    assert torch.equal(twice.fc1.weight, 2 * once.fc1.weight)
    assert torch.equal(twice.fc2.weight, 2 * once.fc2.weight)
    assert torch.equal(twice.fc1.bias, once.fc1.bias)


def test_a_sweep_holds_the_single_traces_and_leaves_the_random_state_alone():
    torch.manual_seed(9)
    state = torch.get_rng_state()
    axes = {"widths": (5, 16, 3), "biases": (True,), "depths": (4, 30)}
    sweep = depth.sweep(gains=(1.0, 2.0), **axes)
    assert torch.equal(torch.get_rng_state(), state)
    assert sweep.log_std.shape == sweep.log_grad.shape == (4, 2, 3, 1, 2, 31)
    single = depth.trace(*thirty_layers())
    torch.testing.assert_close(
        10 ** sweep.log_std[0, 0, 1, 0, 1], single.std.double(), rtol=1e-5, atol=0
    )
    torch.testing.assert_close(
        10 ** sweep.log_grad[0, 0, 1, 0, 1, 1:], single.grad_norm, rtol=1e-3, atol=0
    )
    assert sweep.log_grad[..., 0].isnan().all()
    assert sweep.log_std[:, :, :, :, 0, 5:].isnan().all()
    assert sweep.log_std[:, :, :, :, 1].isfinite().all()
    assert sweep.log_grad[:, :, :, :, 1, 1:].isfinite().all()


def test_an_unknown_kind_is_named():
    stack, x = thirty_layers()
    with pytest.raises(ValueError, match=r"kind must be one of .*; got 'prenorm'"):
        depth.trace(stack, x, "prenorm")
    with pytest.raises(ValueError, match=r"num_layers must be .* got 0"):
        depth.mlp_stack(0, 4)
