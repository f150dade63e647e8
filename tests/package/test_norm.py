import pytest
import torch
from helpers.parameters import count
from helpers.refusals import refused
from torch import nn

from mygpt import LayerNorm
from mygpt.norm import normalise

C = 7


def test_by_hand_on_1_2_3_4():
    norm, x = LayerNorm(4), torch.tensor([1.0, 2.0, 3.0, 4.0])
    expected = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416])
    torch.testing.assert_close(norm(x), expected, atol=5e-5, rtol=0)
    assert round(norm(x).std(correction=0).item(), 6) == 0.999996
    norm.weight.data.fill_(2.0)
    norm.bias.data.fill_(1.0)
    expected = torch.tensor([-1.6833, 0.1056, 1.8944, 3.6833])
    torch.testing.assert_close(norm(x), expected, atol=5e-5, rtol=0)


@pytest.mark.parametrize("eps", [1e-5, 1e-2])
def test_values_and_gradients_equal_the_formulas(eps):
    norm = LayerNorm(C, eps=eps)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    x = (3 * torch.randn(2, 5, C) + 1).requires_grad_()
    direction = torch.randn(2, 5, C)
    results = []
    for y in (norm(x), norm.weight * normalise(x, eps) + norm.bias):
        grads = torch.autograd.grad((y * direction).sum(), [x, *norm.parameters()])
        results.append([y, *grads])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_the_parameters_are_pytorchs():
    theirs = nn.LayerNorm(C)
    theirs.load_state_dict(LayerNorm(C).state_dict())


def test_a_constant_vector_gives_zeros():
    constant = torch.full((3, C), 5.0)
    assert (LayerNorm(C)(constant) == 0).all()
    assert (normalise(constant) == 0).all()


def test_it_has_2c_parameters():
    assert count(LayerNorm(C)) == 2 * C


def test_each_position_is_normalised_alone():
    x = torch.randn(2, 5, C)
    changed = x.clone()
    changed[1, 3] *= 100
    kept = torch.ones(2, 5, dtype=torch.bool)
    kept[1, 3] = False
    assert torch.equal(LayerNorm(C)(x)[kept], LayerNorm(C)(changed)[kept])


test_impossible_settings_and_inputs_are_refused = refused(
    lambda channels, eps, *shape: LayerNorm(channels, eps)(torch.randn(shape)),
    (0, 1e-5, 2, 7, r"embed_dim must be .* at least 1, got 0"),
    (4, -1.0, 2, 7, r"eps must be from 0 to inf, got -1\.0"),
    (C, 1e-5, 2, 8, r"embed_dim = 7, got shape \(2, 8\)"),
)
