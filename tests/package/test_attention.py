import math

import pytest
import torch
import torch.nn.functional as F
from helpers.programs import run_python
from helpers.refusals import refused

from mygpt import MultiHeadAttention, SingleHeadAttention

B, T, C, D = 2, 5, 7, 3


def reference(q, k, v):
    """PyTorch's own attention with an explicit boolean mask."""
    T = q.shape[-2]
    allowed = torch.tensor([[s <= t for s in range(T)] for t in range(T)])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)


def test_one_head_equals_pytorchs_attention():
    attention, x = SingleHeadAttention(C, D), torch.randn(B, T, C)
    heads = reference(attention.W_Q(x), attention.W_K(x), attention.W_V(x))
    torch.testing.assert_close(attention(x), attention.W_O(heads))


def test_the_buffer_is_an_additive_causal_mask():
    mask = SingleHeadAttention(C, D, max_seq_len=3).causal_mask
    inf = math.inf
    assert mask.tolist() == [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]]


@pytest.mark.parametrize("num_heads", [1, 3])
def test_the_fused_and_the_explicit_path_agree_with_the_reference(num_heads):
    embed_dim = 5 * num_heads
    attention = MultiHeadAttention(embed_dim, num_heads, qkv_bias=True, out_bias=True)
    x = torch.randn(B, T, embed_dim)
    q, k, v = (
        W(x).view(B, T, num_heads, 5).transpose(1, 2)
        for W in (attention.W_Q, attention.W_K, attention.W_V)
    )
    heads = reference(q, k, v).transpose(1, 2).reshape(B, T, embed_dim)
    expected = attention.W_O(heads)
    torch.testing.assert_close(attention(x), expected)
    out, weights = attention(x, return_weights=True)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(weights @ v, reference(q, k, v))


def test_heads_are_slices_of_the_same_matrices():
    attention, x = MultiHeadAttention(6, 2), torch.randn(B, T, 6)
    total = 0
    for h in range(2):
        head = SingleHeadAttention(6, 3)
        rows = slice(3 * h, 3 * h + 3)
        for name in ("W_Q", "W_K", "W_V"):
            getattr(head, name).weight.data = getattr(attention, name).weight[rows].data
        head.W_O.weight.data = attention.W_O.weight[:, rows].data
        total = total + head(x)
    torch.testing.assert_close(attention(x), total)


@pytest.mark.parametrize(
    "attention",
    [SingleHeadAttention(C, D), MultiHeadAttention(C, 7)],
    ids=["one", "many"],
)
def test_no_position_reads_a_later_one_and_each_reads_itself(attention):
    x = torch.randn(1, T, C)
    changed = x.clone()
    changed[0, 3] += 1
    difference = (attention(changed) - attention(x)).abs().sum(-1)[0]
    assert (difference[:3] == 0).all()
    assert (difference[3:] > 1e-6).all()
    _, weights = attention(x, return_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (weights.triu(diagonal=1) == 0).all()
    assert (weights.diagonal(dim1=-2, dim2=-1) > 0).all()


def test_dropout_acts_only_in_training():
    attention, x = MultiHeadAttention(6, 2, dropout=0.5), torch.randn(B, T, 6)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_one_heads_dropout_acts_on_its_weights():
    """Drawn again, the same zeros fall on the weights, before the values."""
    attention, x = SingleHeadAttention(C, D, dropout=0.4), torch.randn(B, T, C)
    torch.manual_seed(3)
    out, weights = attention(x, return_weights=True)
    torch.manual_seed(3)
    dropped = F.dropout(weights, 0.4)
    torch.testing.assert_close(out, attention.W_O(dropped @ attention.W_V(x)))


def test_multi_head_attention_stores_no_mask():
    assert not list(MultiHeadAttention(6, 2).buffers())


test_impossible_settings_are_refused = refused(
    lambda make: make(),
    (lambda: MultiHeadAttention(10, 3), "divisible by num_heads, got 10 and 3"),
    (lambda: MultiHeadAttention(10, 0), "num_heads must be .* at least 1, got 0"),
    (lambda: MultiHeadAttention(0, 1), "embed_dim must be .* at least 1, got 0"),
    (lambda: SingleHeadAttention(4, -2), "head_dim must be .* at least 1, got -2"),
    (lambda: SingleHeadAttention(4, 2, 0), "max_seq_len must be .* at least 1"),
    (lambda: MultiHeadAttention(4, 2, dropout=1.0), r"below 1, got 1\.0"),
    (lambda: SingleHeadAttention(4, 2, dropout=-0.1), r"at least 0 .* got -0\.1"),
)


@pytest.mark.parametrize(
    "attention",
    [SingleHeadAttention(C, D, max_seq_len=4), MultiHeadAttention(C, 7, max_seq_len=4)],
    ids=["one", "many"],
)
def test_wrong_inputs_are_refused(attention):
    with pytest.raises(ValueError, match=r"at most max_seq_len = 4 positions, got 5"):
        attention(torch.randn(B, 5, C))
    with pytest.raises(ValueError, match=r"embed_dim = 7, got shape \(2, 3, 8\)"):
        attention(torch.randn(B, 3, 8))


RANKS = """
import torch
from mygpt import GPT, GPTConfig, MultiHeadAttention, SingleHeadAttention, generate
from mygpt.modern import GroupedQueryAttention, ModernConfig, ModernGPT

x, ids = torch.randn(1, 2, 5, 6), torch.zeros(1, 1, 5, dtype=torch.long)
gpt = GPT(GPTConfig(7, 5, 6, 2, 1))
modern = ModernGPT(ModernConfig(7, 5, 8, 2, 1))
for call in (
    lambda: SingleHeadAttention(6, 3)(x),
    lambda: MultiHeadAttention(6, 2)(x),
    lambda: MultiHeadAttention(6, 2)(x[0, 0]),
    lambda: GroupedQueryAttention(6, 2, 1)(x),
    lambda: gpt(ids),
    lambda: gpt(ids[0, 0]),
    lambda: modern(ids),
    lambda: generate(gpt, ids[0, 0], 3),
):
    try:
        call()
        print("nothing")
    except ValueError as error:
        print(error)
"""


def test_a_wrong_number_of_axes_is_named():
    """In a process of its own, without the type checks that the tests install."""
    assert run_python("-c", RANKS).stdout.splitlines() == [
        "expected (B, T, C), got (1, 2, 5, 6)",
        "expected (B, T, C), got (1, 2, 5, 6)",
        "expected (B, T, C), got (5, 6)",
        "expected (B, T, C), got (1, 2, 5, 6)",
        "expected (B, T), got (1, 1, 5)",
        "expected (B, T), got (5,)",
        "expected (B, T), got (1, 1, 5)",
        "expected (B, T), got (5,)",
    ]
