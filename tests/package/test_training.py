import errno
import math
import os
import re
import signal
import tempfile
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import same_weights
from helpers.programs import run_python
from helpers.refusals import refused

from mygpt.checkpoint import load_checkpoint, save_checkpoint
from mygpt.data import Batches, windows, write_tokens
from mygpt.gpt import GPT, GPTConfig
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.support.interrupts import handled_by
from mygpt.training import (
    RECIPES,
    Run,
    TrainingConfig,
    evaluate,
    make_optimizers,
    train,
)
from mygpt.training.loop import NOT_OF_THE_RUN

V = 13
CONFIG = TrainingConfig(
    steps=10, batch_size=3, warmup_steps=3, eval_every=4, save_every=5, progress=False
)
MODERN = replace(CONFIG, **RECIPES["modern"] | {"warmup_steps": 3})


def ids(count=500, seed=0):
    """Ids in which each follows from the one before: something to learn."""
    generator = torch.Generator().manual_seed(seed)
    jumps = torch.randint(1, 3, (count,), generator=generator)
    return jumps.cumsum(0) % V


def gpt(dropout=0.0):
    torch.manual_seed(0)
    return GPT(GPTConfig(V, 7, 16, 4, 2, dropout=dropout))


def modern():
    torch.manual_seed(0)
    return ModernGPT(ModernConfig(V, 7, 16, 4, 2, num_kv_heads=2, mlp="swiglu"))


# Learning


@pytest.mark.parametrize(("make", "config"), [(gpt, CONFIG), (modern, MODERN)])
def test_the_loss_falls_towards_its_lower_bound(make, config):
    model = make()
    long = replace(config, steps=150, batch_size=17, learning_rate=1e-2)
    history = train(model, ids(), long, val_data=ids(200, seed=1))
    assert history.loss[0] == pytest.approx(math.log(V), abs=0.1)
    assert history.val_loss[-1] < 1.0  # the lower bound is ln 2 = 0.69
    assert history.val_step[-1] == 150
    assert len(history.loss) == len(history.grad_norm) == len(history.seconds) == 150


def test_one_step_equals_adamw_by_hand():
    model, by_hand = gpt(), gpt()
    config = replace(CONFIG, steps=1, warmup_steps=0, clip=0.5, betas=(0.9, 0.99))
    history = train(model, ids(), config)
    batch = next(Batches(ids(), 3, 7, seed=0))
    loss = by_hand(*batch)[1]
    loss.backward()
    gradients = {name: p.grad for name, p in by_hand.named_parameters()}
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
    assert history.loss == [loss.item()]
    assert history.grad_norm == [pytest.approx(norm, rel=1e-5)]
    with torch.no_grad():
        for name, p in by_hand.named_parameters():
            g = gradients[name] * min(1, 0.5 / norm)
            decay = 0.1 if p.ndim == 2 else 0
            p -= 1e-3 * (decay * p + g / (g.abs() + 1e-8))
    for name, p in model.named_parameters():
        q = by_hand.get_parameter(name)
        torch.testing.assert_close(p, q, atol=2e-5, rtol=1e-4, msg=name)


def test_earlier_gradients_do_not_enter_the_first_step():
    clean, stale = gpt(), gpt()
    stale(ids()[None, :7], ids()[None, 1:8])[1].backward()
    expected = train(clean, ids(), replace(CONFIG, steps=2))
    assert train(stale, ids(), replace(CONFIG, steps=2)).grad_norm == expected.grad_norm
    assert same_weights(stale, clean)
    assert all(p.grad is None for p in stale.parameters())


def test_a_loss_and_batches_of_ones_own_are_trained_on():
    """Only the last position counts, and the batches come from elsewhere."""

    class Pairs(Batches):
        def __next__(self):
            inputs, targets = super().__next__()
            return inputs, targets[:, -1]

    def last_loss(model, batch):
        inputs, target = batch
        return F.cross_entropy(model(inputs)[0][:, -1], target)

    model, by_hand = gpt(), gpt()
    train(model, Pairs(ids(), 3, 7), replace(CONFIG, steps=1), loss=last_loss)
    last_loss(by_hand, next(Pairs(ids(), 3, 7))).backward()
    name = "blocks.0.mha.W_Q.weight"
    moved = (model.get_parameter(name) - gpt().get_parameter(name)).sign()
    slope = by_hand.get_parameter(name).grad.sign()
    assert (moved == -slope).float().mean() > 0.95  # decay reverses a few


def test_a_frozen_parameter_does_not_change():
    model = gpt()
    words = model.token.embedding.weight.requires_grad_(False)
    before = words.clone()
    train(model, ids(), CONFIG)
    assert torch.equal(words, before)
    assert not same_weights(model, gpt())


def test_matrices_decay_and_vectors_do_not():
    model = gpt()
    (adamw,) = make_optimizers(model, CONFIG)
    decays = {id(p): g["weight_decay"] for g in adamw.param_groups for p in g["params"]}
    for name, p in model.named_parameters():
        assert decays[id(p)] == (0.1 if p.ndim == 2 else 0), name


def test_muon_has_the_matrices_of_the_blocks_and_adamw_the_rest():
    model = modern()
    adamw, muon = make_optimizers(model, MODERN)
    inside = {id(p) for g in muon.param_groups for p in g["params"]}
    rest = {id(p) for g in adamw.param_groups for p in g["params"]}
    for name, p in model.named_parameters():
        assert (id(p) in inside) == (name.startswith("blocks") and p.ndim == 2), name
        assert (id(p) in inside) != (id(p) in rest), name


def test_accumulated_gradients_are_those_of_the_whole_batch():
    parts, whole = gpt(), gpt()
    batches = Batches(ids(), 6, 7, seed=0)

    class Halves(Batches):
        """The same rows, three at a time."""

        def __next__(self):
            if not getattr(self, "rest", None):
                inputs, targets = next(batches)
                self.rest = [(inputs[:3], targets[:3]), (inputs[3:], targets[3:])]
            return self.rest.pop(0)

    one = replace(CONFIG, steps=1)
    a = Run(parts, Halves(ids(), 3, 7), replace(one, accumulate=2))
    b = Run(whole, Batches(ids(), 6, 7, seed=0), one)
    assert a.gradients() == pytest.approx(b.gradients(), abs=1e-6)
    for p, q in zip(parts.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, atol=1e-7, rtol=1e-4)


def test_the_loss_of_a_step_is_the_mean_over_its_batches():
    """Added up in the batches' order: to the bit what earlier versions recorded."""
    model, batches = gpt(), Batches(ids(), 3, 7, seed=0)
    first, second, third = (model(*next(batches))[1].item() / 3 for _ in range(3))
    run = Run(gpt(), ids(), replace(CONFIG, accumulate=3))
    assert run.gradients() == first + second + third


def test_the_learning_rate_follows_its_schedule():
    cosine = replace(CONFIG, steps=100, warmup_steps=10, final_learning_rate_share=0.1)
    assert cosine.scale(0) == pytest.approx(0.1)
    assert cosine.scale(9) == 1
    assert cosine.scale(10) == 1
    assert cosine.scale(55) == pytest.approx(0.55)
    assert cosine.scale(100) == pytest.approx(0.1)
    end = {"final_learning_rate_share": 0.0}
    linear = replace(cosine, schedule="linear", flat_share=0.4, **end)
    assert linear.scale(39) == 1
    assert linear.scale(70) == pytest.approx(0.5)
    assert linear.scale(100) == 0


def test_the_evaluation_counts_every_token_once():
    model, val = gpt(dropout=0.5), ids(101, seed=2)
    loss = evaluate(model, val, 7, batch_size=4)
    model.eval()
    total = 0.0
    with torch.no_grad():
        for inputs, targets in windows(val, 7, 1):
            logits = model(inputs)[0]
            total += F.cross_entropy(logits[0], targets[0], reduction="sum").item()
    assert loss == pytest.approx(total / 100, rel=1e-5)


def test_bfloat16_and_float32_losses_are_close(tmp_path):
    a = train(gpt(), ids(), CONFIG).loss
    b = train(gpt(), ids(), replace(CONFIG, autocast=True)).loss
    assert a != b
    assert a == pytest.approx(b, abs=0.05)


COMPILED = """
import torch
from mygpt.gpt import GPT, GPTConfig
from mygpt.training import TrainingConfig, train

def traced(model, compile=torch.compile):  # needs no C++ compiler
    calls.append(model)
    return compile(model, backend="eager")

calls, losses, torch.compile = [], [], traced
for compile in (False, True):
    torch.manual_seed(0)
    model = GPT(GPTConfig(13, 7, 12, 3, 2))
    ids = torch.arange(400) ** 2 % 13
    config = TrainingConfig(5, 5, compile=compile, progress=False)
    losses.append(train(model, ids, config).loss)
assert calls == [model], calls
explained = torch._dynamo.explain(model)(ids[None, :7], ids[None, 1:8])
assert explained.graph_break_count == 0, explained.break_reasons
torch.testing.assert_close(*losses, atol=1e-5, rtol=0)
"""


def test_a_compiled_model_is_one_graph_and_learns_the_same():
    """In a process of its own, without the type checks that the tests install."""
    run_python("-c", COMPILED)


def test_a_memory_mapped_file_trains_as_the_ids_do(tmp_path):
    write_tokens(ids(), tmp_path / "ids.npy")
    mapped = np.load(tmp_path / "ids.npy", mmap_mode="r")
    a, b = gpt(), gpt()
    train(a, ids(), CONFIG)
    train(b, mapped, CONFIG)
    assert same_weights(a, b)


def test_the_callers_random_state_is_left_alone():
    before = torch.get_rng_state()
    model = gpt(dropout=0.5)
    torch.set_rng_state(before)
    train(model, ids(), CONFIG)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_progress_bar_names_loss_and_speed(capsys):
    train(gpt(), ids(), replace(CONFIG, progress=True), val_data=ids(50))
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "loss=" in shown
    assert "tokens/s=" in shown
    assert "val=" in shown


# Going on


class Interrupt(Exception):
    """The machine loses power."""


@pytest.mark.parametrize(
    ("make", "config"),
    [(lambda: gpt(dropout=0.3), CONFIG), (modern, MODERN)],
    ids=["gpt2", "modern"],
)
def test_a_resumed_run_ends_with_the_same_bits(make, config, tmp_path, monkeypatch):
    whole = make()
    expected = train(whole, ids(), config, val_data=ids(60), out=tmp_path / "whole")
    cut = {"val_data": ids(60), "out": tmp_path / "cut"}

    def interrupted(self, *args):
        if self.step == 7:
            raise Interrupt
        return take_step(self, *args)

    take_step = Run.take_step
    monkeypatch.setattr(Run, "take_step", interrupted)
    with pytest.raises(Interrupt):
        train(make(), ids(), config, **cut)
    monkeypatch.undo()
    torch.manual_seed(99)
    model = type(whole)(whole.config)
    torch.randn(5)
    history = train(model, ids(), config, **cut, resume=True)
    assert same_weights(model, whole)
    assert replace(history, seconds=[]) == replace(expected, seconds=[])
    for name in ("model.safetensors", "training.safetensors"):
        one, other = (tmp_path / run / "step-00000010" for run in ("cut", "whole"))
        assert (one / name).read_bytes() == (other / name).read_bytes()


def ctrl_c_in(owner, name, step, monkeypatch, after=False):
    """Press Ctrl-C at a step, before a method does its work or after it."""
    method = getattr(owner, name)

    def interrupted(self, *args, **options):
        found = method(self, *args, **options) if after else None
        if getattr(self, "step", None) == step or owner is torch.optim.AdamW:
            signal.raise_signal(signal.SIGINT)
        return found if after else method(self, *args, **options)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize(
    ("name", "step", "after", "saved"),
    [
        ("take_step", 7, False, 7),
        ("gradients", 7, True, 7),
        ("clip_gradients", 2, True, 2),
        ("evaluate", 8, False, 8),
        ("evaluate", 10, False, 10),
        ("evaluate", 4, True, 4),
        ("save", 5, False, 5),
        ("save", 5, True, 5),
        ("report", 6, True, 6),
    ],
)
def test_ctrl_c_loses_no_step_and_no_bit(
    name, step, after, saved, tmp_path, monkeypatch
):
    whole = gpt(dropout=0.3)
    options = {"val_data": ids(60), "out": tmp_path / "whole"}
    expected = train(whole, ids(), CONFIG, **options)
    options["out"] = tmp_path / "cut"
    ctrl_c_in(Run, name, step, monkeypatch, after)
    with pytest.raises(KeyboardInterrupt):
        train(gpt(dropout=0.3), ids(), CONFIG, **options)
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "cut")[2]["step"] == saved
    again = gpt(dropout=0.3)
    history = train(again, ids(), CONFIG, **options, resume=True)
    assert same_weights(again, whole)
    assert replace(history, seconds=[]) == replace(expected, seconds=[])
    assert load_checkpoint(tmp_path / "cut")[2]["history"]["val_step"] == [4, 8, 10]


def test_ctrl_c_within_an_optimizer_waits_for_the_whole_step(tmp_path, monkeypatch):
    ctrl_c_in(torch.optim.AdamW, "step", None, monkeypatch, after=True)
    model, other = gpt(), gpt()
    with pytest.raises(KeyboardInterrupt):
        train(model, ids(), CONFIG, out=tmp_path)
    monkeypatch.undo()
    state = load_checkpoint(tmp_path)[2]
    assert state["step"] == len(state["history"]["loss"]) == 1
    Run(other, ids(), CONFIG).take_step()
    assert same_weights(load_checkpoint(tmp_path)[0], other)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_more_signals_at_a_save_leave_a_whole_checkpoint(number, tmp_path, monkeypatch):
    def impatient(*args):
        for _ in range(3):
            signal.raise_signal(number)
        return save_checkpoint(*args)

    monkeypatch.setattr("mygpt.training.loop.save_checkpoint", impatient)
    ctrl_c_in(Run, "gradients", 3, monkeypatch)
    with (
        handled_by(signal.default_int_handler, signal.SIGTERM),
        pytest.raises(KeyboardInterrupt),
    ):
        train(gpt(), ids(), CONFIG, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003"]
    assert load_checkpoint(tmp_path)[2]["step"] == 3


def test_ctrl_c_before_the_first_step_leaves_nothing(left_empty, monkeypatch):
    ctrl_c_in(Run, "gradients", 0, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        train(gpt(), ids(), CONFIG, out=left_empty)


def test_a_finished_run_has_nothing_left_to_do(tmp_path):
    model = gpt()
    expected = train(model, ids(), CONFIG, out=tmp_path)
    again = gpt()
    assert train(again, ids(), CONFIG, out=tmp_path, resume=True) == expected
    assert same_weights(again, model)


OTHERS = {
    "steps": 11,
    "batch_size": 4,
    "length": 5,
    "accumulate": 2,
    "optimizer": "muon",
    "learning_rate": 2e-3,
    "matrix_learning_rate": 0.03,
    "momentum": 0.9,
    "betas": (0.8, 0.99),
    "weight_decay": 0.2,
    "matrix_weight_decay": 0.1,
    "clip": None,
    "schedule": "linear",
    "warmup_steps": 4,
    "flat_share": 0.5,
    "final_learning_rate_share": 0.2,
    "autocast": True,
    "seed": 1,
}


def test_no_setting_of_the_run_may_change_on_resumption(tmp_path):
    """Each on its own, so that a forgotten one is noticed."""
    named = {one.name for one in fields(TrainingConfig)}
    assert set(OTHERS) == named - set(NOT_OF_THE_RUN)
    train(gpt(), ids(), CONFIG, out=tmp_path)
    for name, value in OTHERS.items():
        changed, before = replace(CONFIG, **{name: value}), getattr(CONFIG, name)
        message = f"started with {name} = {before!r} and cannot continue with {value!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            train(gpt(), ids(), changed, out=tmp_path, resume=True)


def test_another_model_or_other_data_are_not_continued(tmp_path):
    train(gpt(), ids(), CONFIG, out=tmp_path)
    other = GPT(GPTConfig(V, 7, 16, 4, 3))
    with pytest.raises(ValueError, match=r"expected a model of .*num_layers=3"):
        train(other, ids(), CONFIG, out=tmp_path, resume=True)
    with pytest.raises(ValueError, match="num_ids"):
        train(gpt(), ids(499), CONFIG, out=tmp_path, resume=True)
    changed = ids().clone()
    changed[-1] = (changed[-1] + 1) % V
    for others in (ids(seed=1), ids().flip(0), changed):
        with pytest.raises(ValueError, match="got as many others"):
            train(gpt(), others, CONFIG, out=tmp_path, resume=True)
    train(gpt(), ids().numpy().astype("u2"), CONFIG, out=tmp_path, resume=True)
    with pytest.raises(ValueError, match=r"expected a checkpoint in .*, found none"):
        train(gpt(), ids(), CONFIG, out=tmp_path / "nowhere", resume=True)
    with pytest.raises(ValueError, match="resume=True needs out"):
        train(gpt(), ids(), CONFIG, resume=True)


def test_another_run_in_the_same_folder_is_not_overwritten(tmp_path):
    train(gpt(), ids(), CONFIG, out=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    for other in (CONFIG, replace(CONFIG, steps=3, seed=7)):
        with pytest.raises(ValueError, match="holds another run: continue it"):
            train(gpt(), ids(), other, out=tmp_path)
    with pytest.raises(ValueError, match="is a checkpoint: expected the folder of a"):
        train(gpt(), ids(), CONFIG, out=tmp_path / "step-00000010", resume=True)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.*")}


def test_other_validation_ids_are_not_continued_with(tmp_path):
    train(gpt(), ids(), CONFIG, val_data=ids(60), out=tmp_path)
    again = {"out": tmp_path, "resume": True}
    with pytest.raises(ValueError, match="val_data: expected the ids that the run was"):
        train(gpt(), ids(), CONFIG, val_data=ids(60, seed=1), **again)
    train(gpt(), ids(), CONFIG, **again)


def test_a_checkpoint_without_the_ids_own_mark_still_continues(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        state = Run.state
        patch.setattr(Run, "state", lambda self: without_marks(state(self)))
        ctrl_c_in(Run, "gradients", 7, patch)
        with pytest.raises(KeyboardInterrupt):
            train(gpt(), ids(), CONFIG, val_data=ids(60), out=tmp_path)
    history = train(gpt(), ids(), CONFIG, out=tmp_path, resume=True)
    assert history.loss == train(gpt(), ids(), CONFIG).loss


def without_marks(state):
    del state["val_data"], state["batches"]["sha256"]
    return state


# Bad input


VALID = f"ids from 0 to {V - 1}"
LAST_IS_STRANGE = torch.where(torch.arange(500) == 499, V, ids())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (LAST_IS_STRANGE, f"expected {VALID}, got 0 to {V}"),
        (LAST_IS_STRANGE.numpy().astype("u2"), f"expected {VALID}, got 0 to {V}"),
        (LAST_IS_STRANGE.tolist(), f"expected {VALID}, got 0 to {V}"),
        (torch.arange(500) % V - 1, f"expected {VALID}, got -1 to {V - 2}"),
        ([3], r"expected at least \d ids, got 1"),
        ([], r"expected at least \d ids, got 0"),
        (ids().float(), "expected whole numbers as ids, got float32"),
        (ids().numpy() > 3, "expected whole numbers as ids, got bool"),
        (ids()[None], r"expected a sequence of ids, got shape \(1, 500\)"),
    ],
)
@pytest.mark.parametrize("name", ["data", "val_data"])
def test_ids_that_cannot_be_used_are_named_before_the_first_step(
    name, wrong, message, left_empty, monkeypatch
):
    monkeypatch.setattr(Run, "take_step", None)
    given = {"data": ids(), name: wrong}
    with pytest.raises(ValueError, match=f"^{name}: {message}"):
        train(gpt(), given.pop("data"), CONFIG, out=left_empty / "run", **given)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file", "Not a directory"),
        ("file/run", "Not a directory"),
        ("n" * 300, "File name too long"),
        ("n" * 300 + "/run", "File name too long"),
        ("locked", "Permission denied"),
        ("locked/run", "Permission denied"),
        ("full/run", "No space left on device"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named_before_the_first_step(
    place, reason, tmp_path, monkeypatch
):
    def refused(dir):
        told = {"locked": errno.EACCES, "full": errno.ENOSPC}.get(dir.name)
        if told:  # for whoever is root
            raise OSError(told, os.strerror(told))
        return temporary_file(dir=dir)

    temporary_file = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    monkeypatch.setattr(Run, "take_step", None)
    (tmp_path / "file").write_text("")
    for name in ("locked", "full"):
        (tmp_path / name).mkdir()
    with pytest.raises(OSError, match=f"{place}: the folder cannot be made .*{reason}"):
        train(gpt(), ids(), CONFIG, out=tmp_path / place)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "full", "locked"}


def test_a_loss_that_is_not_a_number_stops_before_it_is_saved(tmp_path, monkeypatch):
    take_step = Run.take_step

    def broken(self):
        if self.step == 8:
            self.model.ln_f.weight.data.fill_(math.nan)
        take_step(self)

    monkeypatch.setattr(Run, "take_step", broken)
    config = replace(CONFIG, save_every=1)
    with pytest.raises(FloatingPointError, match=r"the loss is nan .* at step 8 "):
        train(gpt(), ids(), config, out=tmp_path)
    model, _, state = load_checkpoint(tmp_path)
    assert state["step"] == 8
    assert all(p.isfinite().all() for p in model.parameters())


test_invalid_settings_are_refused = refused(
    lambda change: replace(CONFIG, **change),
    ({"steps": 0}, "steps must be .* at least 1, got 0"),
    *(
        ({name: 0}, f"{name} must be .* got 0")
        for name in ("batch_size", "length", "accumulate", "eval_every")
    ),
    ({"save_every": -1}, "save_every must be .* got -1"),
    ({"optimizer": "sgd"}, "optimizer must be one of adamw, muon; got 'sgd'"),
    ({"schedule": "step"}, "schedule must be one of cosine, linear; got 'step'"),
    ({"learning_rate": -1.0}, r"learning_rate must be from 0 .* got -1\.0"),
    ({"learning_rate": math.nan}, "learning_rate must be from 0 .* got nan"),
    ({"weight_decay": math.inf}, "weight_decay must be from 0 .* got inf"),
    ({"clip": -0.1}, r"clip must be from 0 .* got -0\.1"),
    ({"flat_share": 1.5}, r"flat_share must be from 0 to 1, got 1\.5"),
    ({"warmup_steps": -1}, "warmup_steps must be .* at least 0, got -1"),
    ({"momentum": 1.0}, r"momentum must be at least 0 and below 1, got 1\.0"),
)


def without_type_checks(change):
    """Check settings as outside the tests, whose type checks would come first."""
    TrainingConfig.__post_init__(SimpleNamespace(**vars(CONFIG) | change))


test_settings_of_the_wrong_type_are_refused_by_name = refused(
    without_type_checks,
    ({"momentum": None}, "momentum must be .* got None"),
    ({"learning_rate": None}, "learning_rate must be .* got None"),
    ({"betas": (2, 3)}, "betas must be .* got 2"),
    ({"betas": (0.9, 1.0)}, r"betas must be .* got 1\.0"),
    ({"betas": (0.9,)}, "betas must be a pair"),
    ({"seed": "x"}, "seed must be .* got 'x'"),
    ({"warmup_steps": 2.5}, r"warmup_steps must be .* got 2\.5"),
    ({"steps": True}, "steps must be .* got True"),
    ({"weight_decay": "0.1"}, "weight_decay must be .* got '0.1'"),
    ({"compile": 1}, "compile must be True or False, got 1"),
)


@pytest.mark.parametrize("config", [GPTConfig, ModernConfig, TrainingConfig])
def test_every_setting_is_documented(config):
    documented = re.findall(r"^    (\w+): ", config.__doc__, re.MULTILINE)
    assert documented == [field.name for field in fields(config)]
