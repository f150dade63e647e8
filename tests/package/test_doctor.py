"""Planted faults change what float32 computes; the references are all in float64."""

import math
import re
from contextlib import nullcontext

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mygpt.attention import KVCache
from mygpt.cli import commands
from mygpt.cli.doctor import advice
from mygpt.cli.doctor.examination import Finding, examine
from mygpt.cli.doctor.probes import PROBES
from mygpt.gpt import GPT
from mygpt.training.loop import Run
from tests.helpers.quick import slow_but


class Fault(TorchDispatchMode):
    """Puts another function in the place of some operations, where they are float32."""

    def __init__(self, names, wrong):
        super().__init__()
        self.names, self.wrong = names.split(), wrong

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        called = func.overloadpacket.__name__ in self.names
        if called and tree_leaves(args)[0].dtype == torch.float32:
            return self.wrong(func, *args, **kwargs)
        return func(*args, **kwargs)


def with_tanh(func, *args, approximate="none"):
    return func(*args, approximate="tanh")


def noisy(share):
    def wrong(func, *args, **kwargs):
        out = func(*args, **kwargs)
        return out * (1 + share * torch.randn(out.shape))

    return wrong


def never_causal(func, q, k, v, dropout=0.0, is_causal=False, **kwargs):
    return func(q, k, v, dropout, False, **kwargs)


def unbiased(func, x, *args):
    out, *rest = func(x, *args)
    return (out * math.sqrt(1 - 1 / x.shape[-1]), *rest)


def without_decay(func, *args, weight_decay, **kwargs):
    return func(*args, weight_decay=0.0, **kwargs)


def left_where_transposed(func, parameters, *args, **kwargs):
    before = [p.clone() for p in parameters]
    func(parameters, *args, **kwargs)
    for p, old in zip(parameters, before, strict=True):
        if not p.is_contiguous():
            p.copy_(old)


def each_once(func, slope, ids, *args):
    return func(slope, ids, *args[:2], True)


def scaled(share):
    return lambda func, *args, **kwargs: func(*args, **kwargs) * share


def along_another_axis(func, x, axis, half):
    return func(x, axis - 1, half)


def unmasked(func, x, *_):
    return x.clone()


def of_a_sample(func, x, axes, **_):
    return func(x, axes, correction=1, keepdim=True)


def more_even(func, shares, *args, **kwargs):
    return func(shares + 0.01, *args, **kwargs)


def missing(func, *args, **kwargs):
    raise NotImplementedError("no such operation on this device. Report it.")


FUSED_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
STEP = "step of the weight"


@pytest.mark.parametrize(
    ("names", "wrong", "operation", "part"),
    [
        ("gelu", with_tanh, "GELU", "forward"),
        ("gelu_backward", with_tanh, "GELU", "backward"),
        ("silu_backward", scaled(1.001), "SiLU", "backward"),
        ("mm addmm bmm", noisy(1e-3), "matrix product", "forward"),
        ("mm addmm bmm", noisy(3e-5), "matrix product", "forward"),
        ("_softmax", along_another_axis, "softmax", "forward"),
        ("masked_fill", unmasked, "softmax of masked scores", "forward"),
        (FUSED_ATTENTION, never_causal, "fused attention", "forward"),
        ("native_layer_norm", unbiased, "layer norm", "forward"),
        ("var", of_a_sample, "mean and variance", "forward"),
        ("embedding_dense_backward", each_once, "embedding lookup", "backward"),
        ("sin", scaled(-1), "rotary positions", "forward"),
        ("cumsum", missing, "cumulative sum", ""),
        ("multinomial", more_even, "random draws", "forward"),
        ("_fused_adamw_", left_where_transposed, "AdamW, transposed", STEP),
        ("_fused_adamw_", without_decay, "AdamW", STEP),
        ("baddbmm", scaled(1.0001), "Muon", STEP),
    ],
)
def test_a_wrong_operation_is_the_first_that_is_named(names, wrong, operation, part):
    with Fault(names, wrong):
        finding = next(found for found in examine("cpu") if not found.agrees)
    assert (finding.operation, finding.part) == (operation, part)
    assert finding.error or finding.difference > finding.bar


def as_contiguous(matmul):
    def wrong(a, b):
        if b.dtype == torch.float32 and b.ndim == 2 and not b.is_contiguous():
            b = b.as_strided(b.shape, (b.shape[1], 1))
        return matmul(a, b)

    return wrong


def one_position_late(append):
    def wrong(self, keys, values):
        keys, values = append(self, keys, values)
        return (keys.roll(1, 2) if keys.dtype == torch.float32 else keys), values

    return wrong


def at_the_next_positions(states):
    def wrong(self, ids, cache=None):
        shift = int(self.position.weight.dtype == torch.float32 and cache is not None)
        weight = self.position.weight.data
        self.position.weight.data = weight.roll(-shift, 0)
        try:
            return states(self, ids, cache)
        finally:
            self.position.weight.data = weight

    return wrong


def that_drifts(take_step):
    def wrong(self):
        take_step(self)
        for p in self.model.parameters():
            p.data *= 1 + 3e-5 * (p.dtype == torch.float32)

    return wrong


@pytest.mark.parametrize(
    ("owner", "method", "wrong", "operation"),
    [
        (torch.Tensor, "__matmul__", as_contiguous, "matrix product, transposed"),
        (KVCache, "append", one_position_late, "writing to the KV cache"),
        (GPT, "states", at_the_next_positions, "GPT with a KV cache"),
        (Run, "take_step", that_drifts, "training of a GPT"),
    ],
)
def test_a_wrong_part_of_a_model_is_named(owner, method, wrong, operation, monkeypatch):
    monkeypatch.setattr(owner, method, wrong(getattr(owner, method)))
    finding = next(found for found in examine("cpu") if not found.agrees)
    assert finding.operation == operation


@pytest.mark.parametrize("seed", slow_but([0], range(6)))
def test_a_right_processor_agrees_and_the_caller_notices_nothing(seed):
    torch.set_float32_matmul_precision("medium")
    state = torch.get_rng_state()
    try:
        with torch.no_grad():
            findings = list(examine("cpu", seed))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert [found.operation for found in findings] == list(PROBES)
    assert [found for found in findings if not found.agrees] == []
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        (nullcontext(), 0, "tanh"),
        (Fault("gelu", with_tanh), 1, "DIFFERS: forward"),
        (Fault("relu", missing), 1, "failed: NotImplementedError: no such"),
    ],
)
def test_the_command_shows_each_operation(fault, status, said, capsys, monkeypatch):
    few = {name: PROBES[name] for name in ("GELU", "ReLU", "tanh")}
    monkeypatch.setattr("mygpt.cli.doctor.examination.PROBES", few)
    with fault:
        assert commands.main(["doctor", "--device", "cpu"]) == status
    assert said in capsys.readouterr().out


FINE = Finding("GELU", "forward", 1e-7, 1e-5)
WRONG = Finding("ReLU", "backward", 1e-3, 1e-5)
TRANSPOSED = Finding("AdamW, transposed", "step of the weight", math.inf, 1e-5)
MISSING = Finding("sort", error="NotImplementedError: not implemented for MPS")


@pytest.mark.parametrize(
    ("findings", "device", "said"),
    [
        ([FINE, FINE], "mps", "^All 2 agree with float64 on the CPU.$"),
        ([FINE, WRONG], "mps", r"1 of 2 .* first is ReLU \(backward\); .*--device cpu"),
        ([WRONG], "cpu", "Try another PyTorch than .*, or another computer"),
        ([TRANSPOSED, WRONG], "mps", r"2 of 2 .*: call \.contiguous\(\) on"),
        ([WRONG, MISSING], "mps", "PYTORCH_ENABLE_MPS_FALLBACK=1 lets the CPU"),
        ([WRONG, MISSING], "cuda", "^(?!.*FALLBACK)"),
    ],
)
def test_the_last_sentences_say_what_to_do(findings, device, said):
    assert re.search(said, advice(findings, torch.device(device)))


@pytest.mark.parametrize("name", ["", "gpu", "meta", "hpu", "cuda:99", "xla"])
def test_a_device_that_this_machine_lacks_is_one_sentence(name, capsys):
    assert commands.main(["doctor", f"--device={name}"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"mygpt: no device {name!r} on this machine;")
    assert ". " not in told.err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA")
def test_a_cuda_gpu_agrees():
    assert [found for found in examine("cuda") if not found.agrees] == []
