"""Training on many processes is the training of one."""

import os
import signal
from dataclasses import replace
from functools import cache, partial

import psutil
import pytest
import torch
import torch.distributed as dist
from helpers.processes import together
from helpers.quick import slow_but
from helpers.refusals import refused
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
)
from torch.distributed.fsdp import FSDPModule

from mygpt import distributed, training
from mygpt.checkpoint import checkpoints, save_checkpoint
from mygpt.distributed import connected
from mygpt.distributed.shards import Shards
from mygpt.gpt import GPT, GPTConfig
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.support.files import held
from mygpt.tokenizers import CharTokenizer
from mygpt.training import TrainingConfig

TOKENIZER = CharTokenizer.train("abcdefghijklm")
SHAPE = (13, 11, 14, 2, 2)  # V, T, C, H, L
CONFIG = TrainingConfig(
    steps=6,
    batch_size=4,
    accumulate=2,
    learning_rate=1e-2,
    warmup_steps=2,
    clip=0.5,
    eval_every=3,
    save_every=2,
    progress=False,
)


def ids():
    return torch.randint(13, (200,), generator=torch.Generator().manual_seed(5))


def model(dropout=0.0):
    torch.manual_seed(3)
    return GPT(GPTConfig(*SHAPE, dropout=dropout))


def trained(shard=False, out=None, resume=False, dropout=0.0, stop=None, **changes):
    """Losses, gradients' norms, validation losses and weights after a run."""
    here, steps = model(dropout), distributed.SharedRun.take_step

    def take_step(run):
        if run.step == stop:
            raise InterruptedError
        steps(run)

    with connected(timeout=20), pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.SharedRun, "take_step", take_step)
        try:
            history = distributed.train(
                here,
                ids(),
                replace(CONFIG, **changes),
                shard=shard,
                val_data=ids()[:57],
                out=out,
                tokenizer=TOKENIZER,
                resume=resume,
            )
        except InterruptedError:
            return None
        whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights = get_model_state_dict(here, options=whole)  # of rank 0 alone
        return history.loss, history.grad_norm, history.val_loss, weights


@cache
def alone(**changes):
    """The same run by the package's training in one process."""
    config = replace(CONFIG, **changes)
    here = model()
    shards = Shards(ids(), config.batch_size, 11, config.seed)
    history = training.train(here, shards, config, val_data=ids()[:57])
    return history.loss, history.grad_norm, history.val_loss, here.state_dict()


def assert_close(a, b, tolerance=1e-5):
    for x, y in zip(a[:3], b[:3], strict=True):
        assert x == pytest.approx(y, abs=tolerance)
    for name, weight in b[3].items():
        torch.testing.assert_close(a[3][name], weight, atol=tolerance, rtol=0)


def assert_all(errors, kind, *words):
    for error in errors:
        assert isinstance(error, kind)
        assert [some for some in words if some not in str(error)] == []


def assert_same_bits(a, b):
    assert a[:3] == b[:3]
    assert all(torch.equal(weight, b[3][name]) for name, weight in a[3].items())


@pytest.mark.parametrize(
    ("processes", "shard"),
    slow_but(
        [(2, False), (2, True), (1, True)],
        [(number, shard) for number in (1, 2, 4) for shard in (False, True)],
    ),
)
def test_the_losses_are_those_of_one_process(processes, shard):
    found = together(processes, trained, shard)
    assert_close(found[0], alone())
    assert all(one[:3] == found[0][:3] for one in found)


def split():
    here = model()
    with connected(timeout=20):
        distributed.split_parameters(here)
        return [isinstance(part, FSDPModule) for part in (*here.blocks, here)]


def test_every_block_is_split_by_itself():
    assert together(1, split) == [[True] * 3]


def test_without_clipping_and_with_bfloat16_they_are_too():
    changes = {"clip": None, "accumulate": 1, "autocast": True}
    for shard in (False, True):
        found = together(2, trained, shard, **changes)
        for values, expected in zip(found[0][:3], alone(**changes)[:3], strict=True):
            assert values == pytest.approx(expected, rel=2e-2)


@pytest.mark.parametrize(
    ("processes", "shard"),
    slow_but([(2, True), (4, False)], [(2, False), (4, False), (2, True)]),
)
def test_a_resumed_run_ends_with_the_same_bits(processes, shard, tmp_path):
    run = partial(together, processes, trained, shard, dropout=0.3)
    whole, out = run(out=tmp_path / "whole"), tmp_path / "cut"
    assert run(out=out, stop=5) == [None] * processes
    assert [path.name[-1] for path in checkpoints(out)] == ["2", "4"]
    assert_same_bits(run(out=out, resume=True)[0], whole[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_one_process_stops_all_after_the_same_step(number, tmp_path):
    assert together(2, signalled, tmp_path, number) == [KeyboardInterrupt] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003"]
    resumed = together(2, trained, False, tmp_path, True)
    assert_same_bits(resumed[0], together(2, trained)[0])


def signalled(out, number):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gradients = distributed.SharedRun.gradients

    def interrupted(run):
        if run.rank == 1 and run.step == 2:
            signal.raise_signal(number)
        return gradients(run)

    distributed.SharedRun.gradients = interrupted
    try:
        trained(out=out, save_every=100)
    except KeyboardInterrupt as error:
        return type(error)


def test_validation_ids_that_cannot_be_used_are_named_by_all(left_empty):
    for error in together(2, with_strange_ids, left_empty / "run"):
        assert str(error) == "val_data: expected ids from 0 to 12, got 0 to 13"


def with_strange_ids(out):
    with connected(timeout=20):
        distributed.train(model(), ids(), CONFIG, val_data=torch.arange(14), out=out)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((4, False), (1, False), marks=pytest.mark.slow),
        ((2, False), (1, False)),
        ((1, False), (2, True)),
    ],
)
def test_another_number_of_processes_goes_on(before, after, tmp_path):
    (processes, shard), (others, shard_then) = before, after
    together(processes, trained, shard, tmp_path, stop=4)
    resumed = together(others, trained, shard_then, tmp_path, True)
    assert_close(resumed[0], alone())


def test_a_run_to_go_on_with_begins_where_there_is_none(tmp_path):
    found = together(1, trained, False, tmp_path / "new", True)
    assert_close(found[0], alone())


def test_dropout_differs_between_processes_and_steps():
    found = together(2, draws)
    assert len({draw for process in found for draw in process}) == 4


def draws():
    seen = []
    with connected(timeout=20):
        run = distributed.SharedRun(model(), ids(), CONFIG)
        for _ in range(2):
            run.take_step()
            seen.append(torch.rand(1).item())  # after as many draws in each
    return seen


def test_a_run_that_is_still_held_does_not_keep_the_group_alive():
    for inside, after in together(2, threads_of_the_group):
        assert inside > after == 0


def threads_of_the_group():
    before = psutil.Process().num_threads()
    with connected(timeout=20):
        run = distributed.SharedRun(model(), ids(), CONFIG)
        run.take_step()
        inside = psutil.Process().num_threads() - before
    after = psutil.Process().num_threads() - before
    del run  # only now
    return inside, after


def test_muon_and_a_modern_model_train_on_two_processes():
    one, two = (together(n, modern)[0] for n in (1, 2))
    assert two == pytest.approx(one, abs=1e-5)
    assert two[-1] < two[0]


def modern():
    torch.manual_seed(3)
    here = ModernGPT(ModernConfig(13, 11, 16, 2, 2))
    config = replace(CONFIG, optimizer="muon", learning_rate=0.02)
    with connected(timeout=20):
        return distributed.train(here, ids(), config).loss


def test_the_evaluation_counts_every_token_once_on_any_number_of_processes():
    here, few = model(), ids()[:64]  # five windows of 11, and one of 8
    expected = training.evaluate(here, few, 11, batch_size=2)
    for processes in (1, 2, 4):
        assert together(processes, evaluated, processes > 1) == pytest.approx(
            [expected] * processes, abs=1e-6
        )


def evaluated(shard):
    here = model()
    with connected(timeout=20):
        if shard:
            distributed.split_parameters(here)
        return distributed.evaluate(here, ids()[:64], 11, batch_size=2)


def test_a_checkpoint_of_many_processes_is_read_by_one(tmp_path):
    found = together(2, trained, True, tmp_path)
    here, tokenizer, state = distributed.load_checkpoint(tmp_path)
    assert all(torch.equal(w, found[0][3][n]) for n, w in here.state_dict().items())
    assert tokenizer.decode([1, 2]) == "bc"
    assert (state["step"], state["processes"], state["shard"]) == (6, 2, True)
    assert distributed.is_shared(tmp_path)


def test_a_damaged_checkpoint_is_named_by_all_processes(tmp_path):
    together(2, trained, False, tmp_path)
    part = checkpoints(tmp_path)[-1] / "__1_0.distcp"
    part.write_bytes(part.read_bytes()[:-7])
    for error in together(2, trained, False, tmp_path, True):
        assert isinstance(error, ValueError)
        assert str(error).startswith(f"{part}: the checksum is wrong")


def test_runs_of_one_process_and_of_many_are_not_mixed(tmp_path):
    together(1, trained, False, tmp_path / "many")
    again = {"out": tmp_path / "many", "tokenizer": TOKENIZER, "resume": True}
    with pytest.raises(ValueError, match="is of a run of many processes: continue it"):
        training.train(model(), ids(), CONFIG, **again)
    save_checkpoint(tmp_path / "one", model(), TOKENIZER, {"step": 2})
    (error,) = together(1, trained, False, tmp_path / "one", True)
    assert "was saved by one process without torchrun" in str(error)
    (error,) = together(1, trained, False, tmp_path / "many")
    assert "holds another run" in str(error)


def test_a_changed_setting_is_refused(tmp_path):
    together(1, trained, False, tmp_path)
    (error,) = together(1, trained, out=tmp_path, resume=True, seed=1)
    assert "the run was started with seed = 0 and cannot continue with 1" in str(error)


def test_a_checkpoint_that_cannot_be_written_stops_every_process(tmp_path):
    (tmp_path / "file").write_text("")
    errors = together(2, trained, False, tmp_path / "file" / "run")
    assert_all(errors, OSError, "file/run: the folder cannot be made")
    assert (tmp_path / "file").read_text() == ""


def test_a_full_disk_in_one_process_stops_all_and_keeps_what_was_saved(tmp_path):
    errors = together(2, on_a_full_disk, tmp_path)
    why = ("saving the checkpoint failed: process 1: ", "No space left")
    assert_all(errors, OSError, *why)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000002"]
    state = distributed.load_checkpoint(tmp_path)[2]
    assert state["step"] == 2


def on_a_full_disk(out):
    import torch.distributed.checkpoint.filesystem as filesystem

    written, count = filesystem._write_files_from_queue, []

    def full(*arguments, **options):
        count.append(1)
        if dist.get_rank() == 1 and len(count) > 1:
            raise OSError(28, "No space left on device")
        return written(*arguments, **options)

    filesystem._write_files_from_queue = full
    return trained(out=out)


def test_a_folder_that_not_all_see_is_refused_by_all(tmp_path):
    errors = together(2, in_a_folder_of_its_own, tmp_path)
    why = ("process 1, on ", "expected one folder that every machine sees")
    assert_all(errors, ValueError, *why)
    assert not list(tmp_path.rglob(".seen*"))


def in_a_folder_of_its_own(out):
    return trained(out=out / os.environ["RANK"])


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    with held(tmp_path):
        for error in together(2, trained, False, tmp_path):
            assert f"{tmp_path}: another run writes there" in str(error)
        with pytest.raises(ValueError, match="another run writes there"):
            training.train(model(), ids(), CONFIG, out=tmp_path)
    assert together(2, trained, False, tmp_path)[0]


def test_a_process_that_is_gone_ends_the_others_in_time():
    first, second = together(2, leaves_early)
    assert isinstance(first, ConnectionError)
    assert "process 0 lost another process" in str(first)
    assert "--resume" in str(first)
    assert second is None


def leaves_early():
    rank, steps = int(os.environ["RANK"]), distributed.SharedRun.take_step

    def take_step(run):
        if rank == 1 and run.step == 3:
            os._exit(1)
        steps(run)

    distributed.SharedRun.take_step = take_step
    return trained()


def test_a_process_that_never_comes_ends_the_wait():
    first, second = together(2, comes_alone)
    assert isinstance(first, ConnectionError)
    assert second is None


def comes_alone():
    if os.environ["RANK"] == "1":
        return
    with connected(timeout=2):
        raise AssertionError("there is nobody to connect with")


test_what_cannot_be_done_is_refused = refused(
    lambda change: distributed.train(model(), ids(), **{"config": CONFIG} | change),
    ({"config": replace(CONFIG, optimizer="muon"), "shard": True}, "muon needs"),
    ({"resume": True}, "needs out, the folder"),
)


def test_too_many_processes_for_a_batch_are_refused_by_all():
    for error in together(3, trained):
        assert "3 processes cannot share a batch of 4 rows evenly" in str(error)


def test_a_process_that_nobody_started_is_refused(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="RANK is not set: use torchrun"), connected():
        pass
    message = "timeout must be above 0"
    with pytest.raises(ValueError, match=message), connected("cpu", 0.0):
        pass
