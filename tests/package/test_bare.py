"""The chapters' own parts against the package and PyTorch, at sizes no chapter uses."""

import copy
import shutil
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import lively, same_weights
from helpers.programs import run_python
from torch import nn

from mygpt import GPT, GPTConfig, MultiHeadAttention, SingleHeadAttention, bare, check
from mygpt import generate as generate_with_the_package
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.sampling import next_token_probabilities
from mygpt.training import Muon, TrainingConfig


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


def test_what_is_certain_is_sampled_whatever_the_shape():
    certain = torch.randint(5, (2, 3))
    assert torch.equal(bare.sample(F.one_hot(certain, 5).float()), certain)


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


V, T = 23, 8
NAMES = {  # of the parameters: ours, the package's
    "embedding.tokens": "token.embedding.weight",
    "embedding.positions": "position.weight",
}


def renamed(model):
    """Our weights by the names that the package's have."""
    named = model.state_dict().items()
    return {NAMES.get(name, name.replace("heads", "mha")): p for name, p in named}


def both_gpts(seed=0):
    """A model with lively parameters, and the package's with the same."""
    torch.manual_seed(seed)
    ours = lively(bare.GPT(V, 12, 3, 2, T), 0.3)
    theirs = GPT(GPTConfig(V, T, 12, 3, 2, activation="gelu")).eval()
    theirs.load_state_dict(renamed(ours))
    return ours, theirs


def test_a_gpt_is_the_packages():
    ours, theirs = both_gpts()
    ids = torch.randint(V, (2, T))
    torch.testing.assert_close(ours(ids), theirs(ids)[0])


def test_a_gpt_starts_as_the_packages():
    torch.manual_seed(0)
    ours, theirs = bare.GPT(V, 64, 4, 5, T), GPT(GPTConfig(V, T, 64, 4, 5))
    for name, p in renamed(ours).items():
        q = theirs.get_parameter(name)
        assert p.shape == q.shape
        if p.ndim == 1:
            assert torch.equal(p, q), name
        else:
            assert p.std().item() == pytest.approx(q.std().item(), rel=0.1), name


def test_a_batch_has_every_row_and_the_next_tokens():
    torch.manual_seed(0)
    inputs, targets = bare.batch(torch.arange(7), 500, 4)
    assert torch.equal(targets, inputs + 1)
    assert torch.equal(inputs - inputs[:, :1], torch.arange(4).expand(500, 4))
    assert set(inputs[:, 0].tolist()) == {0, 1, 2}


def test_the_rates_are_the_packages():
    config = TrainingConfig(70, warmup_steps=10)
    for step in range(70):
        expected = 0.3 * config.scale(step)
        assert bare.learning_rate(step, 70, 0.3, 10) == pytest.approx(expected)


def test_adamw_and_clipping_are_pytorchs():
    ours, theirs = (both_gpts(seed=1)[0].double() for _ in range(2))
    decay = [p for p in theirs.parameters() if p.ndim == 2]
    rest = [p for p in theirs.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0}],
        lr=0.03,
        betas=(0.9, 0.99),
    )
    memory = [(p, torch.zeros_like(p), torch.zeros_like(p)) for p in ours.parameters()]
    for t in range(1, 21):
        ids = torch.randint(V, (3, T))
        norms = []
        for net in (ours, theirs):
            net.zero_grad()
            logits = net(ids).flatten(0, 1)
            bare.cross_entropy(logits, ids.roll(-1, 1).flatten()).backward()
        norms.append(bare.clip(list(ours.parameters()), 0.5))
        norms.append(nn.utils.clip_grad_norm_(theirs.parameters(), 0.5).item())
        assert norms[0] == pytest.approx(norms[1])
        for p, m, v in memory:
            bare.adamw(p, m, v, t, lr=0.03)
        optimizer.step()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5)


def test_a_gradient_that_is_short_enough_stays():
    p = nn.Parameter(torch.zeros(2))
    p.grad = torch.tensor([0.3, 0.4])
    assert bare.clip([p]) == pytest.approx(0.5)
    assert torch.equal(p.grad, torch.tensor([0.3, 0.4]))


def test_evaluation_asks_each_whole_piece_once():
    ours, theirs = both_gpts()
    ids = torch.randint(V, (3 * T + 5,))
    rows = ids[: 3 * T].view(3, T)
    expected = theirs(rows, ids[1 : 3 * T + 1].view(3, T))[1]
    assert bare.evaluate(ours, ids, T) == pytest.approx(expected.item(), rel=1e-5)


def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path):
    ids = torch.randint(V, (200,))

    def run(model, state, until):
        bare.train(model, ids, state, until, steps=12, B=3, T=T, warmup=4)

    torch.manual_seed(0)
    whole = bare.GPT(V, 12, 3, 2, T)
    half = copy.deepcopy(whole)
    before = torch.get_rng_state()
    run(whole, bare.begin(whole), 12)
    torch.set_rng_state(before)
    state = bare.begin(half)
    run(half, state, 5)
    bare.save(tmp_path / "half.pt", half, state)
    again = bare.GPT(V, 12, 3, 2, T)
    run(again, bare.resume(tmp_path / "half.pt", again), 12)
    assert same_weights(whole, again)


@pytest.mark.parametrize("length", [1, T - 1, T])
def test_greedy_text_is_the_packages_beyond_the_context(length):
    ours, theirs = both_gpts(seed=2)
    ids = torch.randint(V, (2, length))
    expected = generate_with_the_package(theirs, ids, 4 * T, greedy=True)
    assert torch.equal(bare.generate(ours, ids, 4 * T, k=1), expected)


@pytest.mark.parametrize(("k", "p"), [(3, None), (None, 0.6), (5, 0.5)])
def test_the_cuts_leave_the_packages_probabilities(k, p):
    torch.manual_seed(0)
    logits = torch.randn(50, V)
    for rows in (logits, logits[:2]):  # two: fewer than k
        ours = rows if k is None else bare.keep_top_k(rows, k)
        ours = ours if p is None else bare.keep_top_p(ours, p)
        expected = next_token_probabilities(rows, top_k=k, top_p=p)
        torch.testing.assert_close(bare.softmax(ours), expected)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_muon_takes_the_packages_steps(shape):
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(shape))
    theirs = torch.nn.Parameter(ours.detach().clone())
    optimizer, m = Muon([theirs], lr=0.03), torch.zeros(shape)
    for _ in range(4):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        bare.muon(ours, m, 0.03)
        optimizer.step()
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (bare.relu, F.relu),
        (bare.gelu, F.gelu),
        (bare.gelu_tanh, partial(F.gelu, approximate="tanh")),
        (bare.squared_relu, lambda x: F.relu(x).square()),
        (bare.softmax, partial(F.softmax, dim=-1)),
        (bare.LayerNorm(7), partial(F.layer_norm, normalized_shape=[7])),
    ],
)
def test_functions_are_pytorchs(ours, theirs):
    x = 3 * torch.randn(2, 5, 7)
    torch.testing.assert_close(ours(x), theirs(x))


def test_each_gradient_has_the_size_that_autograd_gives():
    layers, x = [bare.Residual(bare.MLP(4)) for _ in range(3)], torch.randn(2, 3, 4)
    sizes = bare.gradient_sizes(layers, x)
    for layer in layers:
        x = x + layer.branch(x)
    x.sum().backward()
    found = [layer.branch.fc1.weight.grad.norm().item() for layer in layers]
    assert sizes == pytest.approx(found)


def test_the_renewed_gpt_is_the_packages_modern_one():
    torch.manual_seed(0)
    ours = bare.GPT(11, 48, 4, 2, 16)
    bare.renew(ours, 48, 4, 2)
    writers = [part for b in ours.blocks for part in (b.heads.W_O, b.mlp.fc2)]
    assert not any(part.weight.any() for part in writers)
    theirs = ModernGPT(
        ModernConfig(
            *(11, 16, 48, 4, 2), num_kv_heads=2, qk_norm=True, tied=True, logit_cap=None
        )
    )
    weights = renamed(lively(ours, 0.2))
    del weights["position.weight"]
    theirs.load_state_dict(weights)
    ids = torch.randint(11, (2, 9))
    torch.testing.assert_close(ours(ids), theirs(ids)[0])


def test_experts_add_up_as_the_router_weighs_them():
    torch.manual_seed(0)
    layer, x = bare.Experts(6, 8, 4, 2), torch.randn(2, 5, 6)
    shares = layer.router(x).softmax(-1)
    least = shares.topk(2).values[..., -1:]
    shares = shares.where(shares >= least, 0)
    shares = shares / shares.sum(-1, keepdim=True)
    every = torch.stack([expert(x) for expert in layer.experts], -1)
    torch.testing.assert_close(layer(x), (every * shares[..., None, :]).sum(-1))


ONE_FILE = """
import sys
sys.modules["mygpt"] = None  # not to be had
import torch
from bare import GPT, begin, evaluate, generate, train
text = "she sells sea shells by the sea shore. " * 20
letters = sorted(set(text))
ids = torch.tensor([letters.index(c) for c in text])
torch.manual_seed(0)
model = GPT(len(letters), C=32, H=4, L=2, max_T=32)
state = begin(model)
train(model, ids, state, 150, 150, T=32, peak=5e-3, warmup=20)
print(evaluate(model, ids, 32))
row = generate(model, ids[None, :8], 70, k=1)[0]
print("".join(letters[i] for i in row))
"""


def test_the_file_alone_trains_and_writes(tmp_path):
    shutil.copy(bare.__file__, tmp_path / "bare.py")
    (tmp_path / "program.py").write_text(ONE_FILE)
    loss, text = run_python("program.py", cwd=tmp_path).stdout.splitlines()
    assert float(loss) < 0.5
    assert text.startswith("she sells sea shells by the sea shore. she sells")
