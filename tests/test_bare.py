"""The chapters' own parts against the package and PyTorch, at sizes no chapter uses."""

import copy

import pytest
import torch
from torch import nn

from mygpt import MultiHeadAttention, SingleHeadAttention, bare, check


@pytest.mark.parametrize(
    "name", ["bpe_train", "bpe_encode", "softmax", "cross_entropy"]
)
def test_the_checker_finds_the_bare_function_right(name):
    result = getattr(check, name)(getattr(bare, name))
    assert result.passed, result


def test_the_checker_finds_the_bare_classes_right():
    tables = {"token_table": "tokens", "position_table": "positions"}
    result = check.embedding(bare.Embedding, parameters=tables)
    assert result.passed, result
    matrices = {f"W_{name}": f"W_{name}.weight.T" for name in "QKVO"}
    biases = {f"b_{name}": f"W_{name}.bias" for name in "QKVO"}
    result = check.heads(bare.Heads, parameters=matrices | biases)
    assert result.passed, result


@pytest.mark.parametrize("text", ["", "é", "lower  lower\n", "日本語 🙂", "\x00\ud7ff"])
def test_what_is_encoded_decodes_to_the_same_text(text):
    merges = bare.bpe_train(["lower", " lower", "low", "日本", "日本"], 9)
    assert bare.bpe_decode(bare.bpe_encode(text, merges), merges) == text


def test_adam_takes_the_steps_of_pytorch():
    torch.manual_seed(3)
    ours = nn.Linear(5, 3).double()
    theirs = copy.deepcopy(ours)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.03)
    memory = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in ours.parameters()]
    for t in range(1, 51):
        x = torch.randn(7, 5).double()
        for net in (ours, theirs):
            net.zero_grad()
            net(x).square().sum().backward()
        for p, m, v in memory:
            bare.adam(p, m, v, t, lr=0.03)
        optimizer.step()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-9, atol=1e-9)


def test_samples_come_as_often_as_their_probabilities_say():
    torch.manual_seed(0)
    probabilities = torch.tensor([0.5, 0.0, 0.3, 0.2]).expand(20_000, 4)
    counts = torch.bincount(bare.sample(probabilities), minlength=4)
    assert counts[1] == 0
    torch.testing.assert_close(counts / 20_000, probabilities[0], rtol=0, atol=0.02)


@pytest.mark.parametrize(("T", "C", "D"), [(1, 3, 2), (6, 8, 5)])
def test_a_head_is_the_packages(T, C, D):
    theirs = SingleHeadAttention(C, D)
    ours = bare.Head(C, D)
    ours.load_state_dict(theirs.state_dict(), strict=False)
    x = torch.randn(2, T, C)
    torch.testing.assert_close(theirs.W_O(ours(x)), theirs(x))


@pytest.mark.parametrize(("T", "C", "H"), [(1, 4, 2), (6, 12, 3), (5, 8, 8)])
def test_many_heads_are_the_packages(T, C, H):
    ours = bare.Heads(C, H)
    theirs = MultiHeadAttention(C, H, qkv_bias=True, out_bias=True)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, T, C)
    torch.testing.assert_close(ours(x), theirs(x))
