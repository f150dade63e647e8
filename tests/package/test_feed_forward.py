import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import count
from helpers.refusals import refused
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP

from mygpt import MLP

B, T, C = 2, 5, 7


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("gelu", F.gelu),
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
        ("relu", F.relu),
        ("silu", F.silu),
    ],
)
def test_it_equals_the_formula(activation, function):
    mlp, x = MLP(C, activation=activation), torch.randn(B, T, C)
    hidden = function(x @ mlp.fc1.weight.T + mlp.fc1.bias)
    torch.testing.assert_close(mlp(x), hidden @ mlp.fc2.weight.T + mlp.fc2.bias)


def test_gelu_is_the_exact_form_by_default():
    x = torch.tensor([-2, -1, -0.5, 0, 0.5, 1, 2])
    expected = torch.tensor([-0.0455, -0.1587, -0.1543, 0, 0.3457, 0.8413, 1.9545])
    torch.testing.assert_close(MLP(4).act(x), expected, atol=5e-5, rtol=0)


@pytest.mark.parametrize("width", [4, 7, 768])
def test_parameters_are_counted_by_the_formulas(width):
    assert count(MLP(width)) == 8 * width**2 + 5 * width
    assert count(MLP(width, expansion=2)) == 4 * width**2 + 3 * width
    assert count(MLP(width, bias=False)) == 8 * width**2


def test_the_counts_of_the_book():
    assert count(MLP(4)) == 148
    assert count(MLP(4, bias=False)) == 128
    assert count(MLP(768)) == 4_722_432


def test_every_position_is_treated_alike_and_alone():
    mlp, x = MLP(C), torch.randn(B, T, C)
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(mlp(x[:, order]), mlp(x)[:, order])
    one_by_one = torch.stack([mlp(x[:, t]) for t in range(T)], dim=1)
    torch.testing.assert_close(mlp(x), one_by_one)


def test_it_equals_hugging_faces_mlp_on_the_same_weights():
    config = GPT2Config(n_embd=C, n_head=1, resid_pdrop=0.0)
    theirs, ours = GPT2MLP(4 * C, config).eval(), MLP(C, activation="gelu_tanh")
    with torch.no_grad():
        for linear, conv in ((ours.fc1, theirs.c_fc), (ours.fc2, theirs.c_proj)):
            linear.weight.copy_(torch.randn(linear.weight.shape))
            linear.bias.copy_(torch.randn(linear.bias.shape))
            conv.weight.copy_(linear.weight.T)
            conv.bias.copy_(linear.bias)
    x = torch.randn(B, T, C)
    expected = theirs(x)
    assert (ours(x) - expected).abs().max() <= 1e-6 * expected.abs().max()


def test_dropout_acts_on_the_output_only_in_training():
    mlp, x = MLP(C, dropout=0.5), torch.randn(B, T, C)
    assert (mlp(x) == 0).any()
    assert not (mlp.eval()(x) == 0).any()


test_impossible_settings_are_refused = refused(
    lambda settings: MLP(**{"embed_dim": 4, **settings}),
    ({"activation": "swish"}, "activation must be one of gelu, .*; got 'swish'"),
    ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1\.0"),
    ({"dropout": -0.1}, r"dropout must be .* got -0\.1"),
    ({"dropout": float("nan")}, "dropout must be .* got nan"),
    ({"expansion": 0}, "expansion must be a whole number of at least 1, got 0"),
    ({"embed_dim": 0}, "embed_dim must be a whole number of at least 1, got 0"),
)


@pytest.mark.parametrize("shape", [(B, T, 8), (8,)])
def test_a_wrong_last_axis_is_named(shape):
    with pytest.raises(ValueError, match=r"expected a last axis of embed_dim = 7, got"):
        MLP(C)(torch.randn(shape))
