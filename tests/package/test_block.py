import copy
import itertools
import pickle

import pytest
import torch
from helpers.parameters import count, same_weights
from helpers.refusals import refused
from torch import nn

from mygpt import MLP, SingleHeadAttention, TransformerBlock
from mygpt.inside.hooks import stages

B, T, C, H = 2, 5, 6, 3


def test_pre_norm_is_gpt2s_order():
    block, x = TransformerBlock(C, H), torch.randn(B, T, C)
    middle = x + block.mha(block.ln1(x))
    torch.testing.assert_close(block(x), middle + block.mlp(block.ln2(middle)))


def test_post_norm_comes_after_the_addition():
    block, x = TransformerBlock(C, H, norm="post"), torch.randn(B, T, C)
    middle = block.ln1(x + block.mha(x))
    torch.testing.assert_close(block(x), block.ln2(middle + block.mlp(middle)))


def test_without_norm_only_the_additions_remain():
    block, x = TransformerBlock(C, H, norm="none"), torch.randn(B, T, C)
    middle = x + block.mha(x)
    torch.testing.assert_close(block(x), middle + block.mlp(middle))


def test_without_residuals_the_input_reaches_the_output_only_through_the_layers():
    x = torch.randn(B, T, C)
    block = TransformerBlock(C, H, residual=False)
    torch.testing.assert_close(block(x), block.mlp(block.ln2(block.mha(block.ln1(x)))))
    block = TransformerBlock(C, H, residual=False, norm="post")
    torch.testing.assert_close(block(x), block.ln2(block.mlp(block.ln1(block.mha(x)))))


def test_a_copied_block_keeps_its_wiring():
    for wiring in ({}, {"norm": "post"}, {"residual": False}):
        block, x = TransformerBlock(C, H, **wiring), torch.randn(B, T, C)
        for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
            assert torch.equal(other(x), block(x))


def test_pre_norm_with_silent_branches_is_the_identity():
    block, x = TransformerBlock(C, H), torch.randn(B, T, C)
    for layer in (block.mha.W_O, block.mlp.fc2):
        nn.init.zeros_(layer.weight)
    nn.init.zeros_(block.mlp.fc2.bias)
    assert torch.equal(block(x), x)


@pytest.mark.parametrize(
    ("make", "names", "sizes"),
    [
        (
            lambda: SingleHeadAttention(C, H),
            ["W_Q", "W_K", "W_V", "W_O", "drop"],
            [*[(C, H, False)] * 3, (H, C, False)],
        ),
        (lambda: MLP(C), ["fc1", "act", "fc2", "drop"], [(C, 4 * C), (4 * C, C)]),
        (
            lambda: TransformerBlock(C, H),
            ["ln1", "mha", "ln2", "mlp"],
            [*[(C, C, False)] * 4, (C, 4 * C), (4 * C, C)],
        ),
    ],
    ids=["one head", "feed-forward", "block"],
)
def test_parts_are_created_in_the_promised_order(make, names, sizes):
    torch.manual_seed(0)
    module = make()
    torch.manual_seed(0)
    expected = [nn.Linear(*size) for size in sizes]
    assert [name for name, _ in module.named_children()] == names
    layers = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    assert all(map(same_weights, layers, expected))
    assert len(layers) == len(expected)


def test_the_relu_block_of_width_384_has_the_promised_parameters():
    block = TransformerBlock(384, 6, 256, activation="relu", out_bias=True)
    counts = {name: count(part) for name, part in block.named_children()}
    assert counts == {"ln1": 768, "mha": 590_208, "ln2": 768, "mlp": 1_181_568}
    assert count(block) == 1_773_312


def test_six_blocks_keep_the_shape():
    blocks = nn.Sequential(*(TransformerBlock(384, 6, 256) for _ in range(6)))
    assert blocks(torch.randn(4, 8, 384)).shape == (4, 8, 384)


@pytest.mark.parametrize(
    ("norm", "residual"),
    list(itertools.product(["pre", "post", "none"], [True, False])),
)
def test_every_wiring_is_causal(norm, residual):
    block = TransformerBlock(C, H, norm=norm, residual=residual)
    x = torch.randn(1, T, C)
    changed = x.clone()
    changed[0, 3] += torch.randn(C)  # not the same for all: a norm takes that away
    difference = (block(changed) - block(x)).abs().sum(-1)[0]
    assert (difference[:3] == 0).all()
    assert (difference[3:] > 0).all()


test_impossible_settings_are_refused = refused(
    lambda settings: TransformerBlock(**{"embed_dim": C, "num_heads": H, **settings}),
    ({"norm": "layer"}, "norm must be one of pre, post, none; got 'layer'"),
    ({"num_heads": 4}, "divisible by num_heads, got 6 and 4"),
    ({"activation": "tanh"}, "activation must be one of .*; got 'tanh'"),
    ({"dropout": 1.5}, r"dropout must be .* got 1\.5"),
    ({"max_seq_len": 0}, "max_seq_len must be .* got 0"),
    ({"embed_dim": 0}, "embed_dim must be .* got 0"),
)


def test_a_text_longer_than_max_seq_len_is_refused():
    with pytest.raises(ValueError, match=r"at most max_seq_len = 4 positions, got 5"):
        TransformerBlock(C, H, max_seq_len=4)(torch.randn(B, 5, C))


def test_the_stages_end_where_the_block_does():
    block, x = TransformerBlock(12, 3).eval(), torch.randn(2, 5, 12)
    way = stages(block, x)
    assert list(way) == [
        *("x", "ln1", "attention", "x + attention"),
        *("ln2", "fc1", "activation", "fc2", "x + fc2"),
    ]
    assert way["fc1"].shape == (2, 5, 48)
    torch.testing.assert_close(way["x + fc2"], block(x))
    torch.testing.assert_close(way["ln2"], block.ln2(x + block.mha(block.ln1(x))))


@pytest.mark.parametrize("wiring", [{"norm": "post"}, {"residual": False}])
def test_only_the_usual_wiring_has_stages(wiring):
    with pytest.raises(ValueError, match='expected a block of norm "pre"'):
        stages(TransformerBlock(12, 3, **wiring), torch.randn(2, 5, 12))
