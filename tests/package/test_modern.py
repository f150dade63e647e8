import itertools
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import count, lively
from helpers.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from mygpt import MultiHeadAttention
from mygpt.modern import (
    GroupedQueryAttention,
    ModernConfig,
    ModernGPT,
    RMSNorm,
    SquaredReLU,
    SwiGLU,
    rotary_angles,
    rotate,
)
from mygpt.training.optimizers import Muon, orthogonalise

SMALL = ModernConfig(13, 11, 24, 6, 2, num_kv_heads=2)


def built(config, seed=0):
    """A model none of whose parts is zero."""
    torch.manual_seed(seed)
    return lively(ModernGPT(replace(config, zero_init=False)).eval(), 0.1)


def ids_for(config, batch=2, length=7):
    return torch.randint(config.vocab_size, (batch, length))


# The parts


def test_rms_norm_equals_pytorchs():
    ours, theirs = RMSNorm(7, eps=1e-3), torch.nn.RMSNorm(7, eps=1e-3)
    ours.weight.data = theirs.weight.data = torch.randn(7)
    x = torch.randn(2, 5, 7)
    torch.testing.assert_close(ours(x), theirs(x))
    by_hand = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * ours.weight
    torch.testing.assert_close(ours(x), by_hand)


def test_rms_norm_by_default_has_an_epsilon_of_a_millionth():
    x = torch.full((1, 7), 1e-3)  # whose mean square is 1e-6
    torch.testing.assert_close(RMSNorm(7)(x), torch.full((1, 7), 0.5**0.5))


def test_rotation_is_a_product_of_complex_numbers():
    x, angles = torch.randn(2, 3, 5, 14), rotary_angles(5, 14)
    turned = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones(5, 7), angles)
    expected = torch.cat([turned.real, turned.imag], -1)
    torch.testing.assert_close(rotate(x, angles), expected)
    torch.testing.assert_close(rotate(x, angles).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotate(x, angles)[:, :, 0], x[:, :, 0])


def test_a_rotated_product_depends_only_on_the_distance():
    q, k = torch.randn(2, 1, 1, 1, 14, dtype=torch.float64)
    angles = rotary_angles(40, 14).double()

    def product(s, t):
        return (rotate(q, angles[s : s + 1]) * rotate(k, angles[t : t + 1])).sum()

    torch.testing.assert_close(product(3, 8), product(31, 36), atol=1e-5, rtol=0)
    assert abs(product(3, 8) - product(3, 9)) > 1e-4


def test_feed_forward_networks_by_hand():
    x = torch.randn(2, 5, 12)
    mlp = SquaredReLU(12, expansion=3)
    expected = F.relu(x @ mlp.fc1.weight.T) ** 2 @ mlp.fc2.weight.T
    torch.testing.assert_close(mlp(x), expected)
    glu = SwiGLU(12)
    gate = x @ glu.gate.weight.T
    expected = (gate * gate.sigmoid() * (x @ glu.fc1.weight.T)) @ glu.fc2.weight.T
    torch.testing.assert_close(glu(x), expected)


@pytest.mark.parametrize("width", [24, 96, 768])
def test_swiglu_has_the_parameters_of_a_plain_network(width):
    assert count(SwiGLU(width)) == count(SquaredReLU(width)) == 8 * width**2


@pytest.mark.parametrize("num_kv_heads", [1, 2, 6])
def test_grouped_queries_equal_attention_with_repeated_heads(num_kv_heads):
    grouped = GroupedQueryAttention(24, 6, num_kv_heads, qk_norm=False)
    full = MultiHeadAttention(24, 6)
    full.W_Q, full.W_O = grouped.W_Q, grouped.W_O
    for mine, theirs in ((full.W_K, grouped.W_K), (full.W_V, grouped.W_V)):
        heads = theirs.weight.view(num_kv_heads, 1, 4, 24)
        heads = heads.expand(-1, 6 // num_kv_heads, -1, -1)
        mine.weight.data = heads.reshape(24, 24)
    x = torch.randn(2, 5, 24)
    torch.testing.assert_close(grouped(x), full(x))
    assert count(grouped) == 2 * 24 * 24 + 2 * 24 * 4 * num_kv_heads


def test_normed_queries_and_keys_ignore_the_size_of_their_matrices():
    attention, x = GroupedQueryAttention(24, 6, 2, qk_norm=True), torch.randn(2, 5, 24)
    before = attention(x)
    attention.W_Q.weight.data *= 100
    attention.W_K.weight.data *= 0.5
    torch.testing.assert_close(attention(x), before, rtol=1e-3, atol=1e-5)


# The model


def test_it_starts_as_the_identity_with_a_loss_of_ln_v():
    model = ModernGPT(SMALL)
    x = torch.randn(2, 7, 24)
    for block in model.blocks:
        assert torch.equal(block(x, model.angles[:7]), x)
    ids = ids_for(SMALL)
    logits, loss = model(ids, ids)
    assert (logits == 0).all()
    assert loss.item() == pytest.approx(math.log(13), abs=1e-6)


@pytest.mark.parametrize(("tied", "std"), [(True, 0.02), (False, 1.0)])
def test_embeddings_are_small_where_the_head_reads_with_them(tied, std):
    config = replace(SMALL, tied=tied, vocab_size=997, logit_cap=None)
    model = ModernGPT(config)
    assert model.token.embedding.weight.std().item() == pytest.approx(std, rel=0.05)
    loss = model(ids_for(config, 8), ids_for(config, 8))[1].item()
    assert loss == pytest.approx(math.log(997), abs=0.1)


CHANGES = [
    {"norm": "layer"},
    {"positions": "learned"},
    {"mlp": "relu2"},
    {"mlp": "gelu"},
    {"num_kv_heads": None},
    {"qk_norm": True},
    {"tied": True},
    {"logit_cap": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_part_can_be_set_back_on_its_own(change):
    config = replace(SMALL, **change)
    model, ids = built(config), ids_for(config)
    logits, loss = model(ids, ids)
    assert logits.shape == (2, 7, 13)
    assert loss.isfinite()
    assert not torch.allclose(logits, built(SMALL)(ids)[0])
    changed = ids.clone()
    changed[:, 4] = (ids[:, 4] + 1) % 13
    difference = (model(changed)[0] - logits).abs().sum(-1)
    assert (difference[:, :4] < 1e-5).all()
    assert (difference[:, 4:] > 1e-5).all()


@pytest.mark.parametrize("change", [{}, *CHANGES], ids=str)
@settings(deadline=None, max_examples=8)
@given(inner=st.sets(st.integers(1, 10)))
def test_any_split_through_the_cache_equals_the_whole(change, inner):
    config = replace(SMALL, **change)
    model, ids = built(config), ids_for(config, 2, 11)
    cache = model.new_cache(batch=2)
    pieces = [
        model(ids[:, start:end], cache=cache)[0]
        for start, end in itertools.pairwise([0, *sorted(inner), 11])
    ]
    torch.testing.assert_close(
        torch.cat(pieces, dim=1), model(ids)[0], atol=1e-4, rtol=1e-4
    )


def test_the_cache_holds_only_the_shared_heads():
    assert ModernGPT(SMALL).new_cache(3)[0].keys.shape == (3, 2, 11, 4)


def test_the_cap_bends_large_logits():
    model, ids = built(SMALL), ids_for(SMALL)
    free = built(replace(SMALL, logit_cap=None))
    model.head.weight.data *= 1000
    free.head.weight.data *= 1000
    torch.testing.assert_close(model(ids)[0], 15 * torch.tanh(free(ids)[0] / 15))


# Muon


@pytest.mark.parametrize("shape", [(17, 17), (41, 13), (13, 41)])
def test_singular_values_come_near_one_and_directions_are_kept(shape):
    torch.manual_seed(0)
    matrices = torch.randn(5, *shape)
    made = orthogonalise(matrices)
    values = torch.linalg.svdvals(made)
    assert values.min() > 0.4
    assert values.max() < 1.25
    U, _, Vh = torch.linalg.svd(matrices, full_matrices=False)
    core = U.mT @ made @ Vh.mT
    off = core - torch.diag_embed(core.diagonal(dim1=1, dim2=2))
    assert off.abs().max() < 1e-3


def test_a_stack_is_orthogonalised_matrix_by_matrix():
    matrices = torch.randn(5, 7, 11)
    one_by_one = torch.cat([orthogonalise(m[None]) for m in matrices])
    torch.testing.assert_close(orthogonalise(matrices), one_by_one)


@pytest.mark.parametrize("shape", [(64, 16), (16, 64), (17, 17)])
@pytest.mark.parametrize("decay", [0.0, 0.1, 2.0])
def test_thirty_steps_equal_pytorchs_muon(shape, decay):
    """To the precision of bfloat16, in which PyTorch's orthogonalises."""
    torch.manual_seed(0)
    options = {"lr": 0.02, "momentum": 0.9, "weight_decay": decay}
    pair = [torch.nn.Parameter(torch.ones(shape)) for _ in range(2)]
    ours, theirs = Muon(pair[:1], **options), torch.optim.Muon(pair[1:], **options)
    for _ in range(30):
        pair[0].grad = torch.randn(shape)
        pair[1].grad = pair[0].grad.clone()
        ours.step()
        theirs.step()
    assert pair[0].norm().item() == pytest.approx(pair[1].norm().item(), rel=5e-3)
    torch.testing.assert_close(*pair, atol=0.02, rtol=0)


def test_two_steps_by_hand():
    torch.manual_seed(0)
    p = torch.nn.Parameter(torch.randn(6, 4))
    expected = p.detach().clone()
    muon = Muon([p], lr=0.1, momentum=0.9, weight_decay=0.3)
    momentum = torch.zeros(6, 4)
    for _ in range(2):
        p.grad = torch.randn(6, 4)
        momentum = 0.9 * momentum + p.grad
        update = orthogonalise((p.grad + 0.9 * momentum)[None])[0]
        expected = expected * (1 - 0.1 * 0.3) - 0.1 * math.sqrt(6 / 4) * update
        muon.step()
    torch.testing.assert_close(p.detach(), expected)


def test_matrices_of_several_shapes_step_as_if_alone():
    torch.manual_seed(0)
    shapes = [(5, 5), (7, 3), (5, 5), (3, 7)]
    together = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
    alone = [torch.nn.Parameter(p.detach().clone()) for p in together]
    for p, q in zip(together, alone, strict=True):
        p.grad = torch.randn_like(p)
        q.grad = p.grad.clone()
        Muon([q]).step()
    Muon(together).step()
    for p, q in zip(together, alone, strict=True):
        torch.testing.assert_close(p, q)


def test_muon_refuses_vectors_and_invalid_settings():
    with pytest.raises(ValueError, match=r"expected matrices, got shape \(3,\)"):
        Muon([torch.nn.Parameter(torch.ones(3))])
    wrongs = {"lr": -1.0, "momentum": 1.0, "steps": 0, "weight_decay": -1.0}
    for name, value in wrongs.items():
        with pytest.raises(ValueError, match=f"{name} must be .* got {value}"):
            Muon([torch.nn.Parameter(torch.ones(3, 3))], **{name: value})


def test_muon_takes_a_closure_as_every_optimizer_does():
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(3, 5)) for _ in range(2)]
    weights[1].data.copy_(weights[0])
    first, second = (Muon([weight]) for weight in weights)

    def closure():
        second.zero_grad()
        loss = weights[1].square().sum()
        loss.backward()
        return loss

    weights[0].square().sum().backward()
    assert first.step() is None
    expected = weights[1].square().sum().item()
    assert second.step(closure).item() == pytest.approx(expected)
    assert torch.equal(*weights)


# Bad input


test_a_shape_that_cannot_be_built_is_refused = refused(
    lambda change: replace(SMALL, **change),
    ({"vocab_size": 0}, "vocab_size must be .* got 0"),
    ({"num_layers": 0}, "num_layers must be .* got 0"),
    ({"num_kv_heads": 0}, "num_kv_heads must be .* got 0"),
    ({"num_kv_heads": 4}, "divisible by num_kv_heads, got 6 and 4"),
    ({"num_heads": 5}, "divisible by num_heads, got 24 and 5"),
    ({"num_heads": 8, "num_kv_heads": 8}, "an even head width, got 3"),
    ({"norm": "batch"}, "norm must be one of rms, layer; got 'batch'"),
    ({"positions": "none"}, "positions must be one of rotary, learned"),
    ({"mlp": "relu"}, "mlp must be one of relu2, swiglu, gelu; got 'relu'"),
    ({"logit_cap": 0.0}, r"logit_cap must be above 0, got 0\.0"),
)


test_wrong_inputs_are_refused = refused(
    lambda make, *given: make()(*given),
    (lambda: ModernGPT(SMALL), ids_for(SMALL, 1, 12), "max_seq_len = 11 .* got 12"),
    (
        lambda: GroupedQueryAttention(24, 6, 2),
        torch.randn(2, 3, 23),
        r"embed_dim = 24, got shape \(2, 3, 23\)",
    ),
    (lambda: GroupedQueryAttention(24, 6, 4), "num_kv_heads, got 6 and 4"),
)
