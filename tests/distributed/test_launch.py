"""Many processes by one command; what fails is told in one line, and in time."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from torch.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)

from mygpt.checkpoint import checkpoints, load_checkpoint
from mygpt.cli.commands import main
from mygpt.distributed import launch
from mygpt.distributed import load_checkpoint as load_shared
from mygpt.distributed.launch import LOST, SILENT, exit_status, meet_options, why
from mygpt.distributed.training import waiting_for_others

SMALL = [
    *("--layers=1", "--heads=2", "--width=16", "--length=16", "--batch-size=4"),
    *("--save-every=5", "--quiet", "--timeout=30"),
]
LIMIT = 100  # seconds for a command of these tests
STEPS = 20


def start(*arguments):
    command = [sys.executable, "-m", "mygpt", "train", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def end(process):
    """Exit status, standard output and the lines of standard error."""
    try:
        out, error = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    return process.returncode, out, error.splitlines()


def run(*arguments):
    return end(start(*arguments))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text"
    path.write_text("she sells sea shells by the sea shore. " * 60)
    return path


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """A run of two processes that nothing has disturbed."""
    out = tmp_path_factory.mktemp("whole") / "run"
    options = ("--processes=2", f"--steps={STEPS}", *SMALL, "--out", out)
    assert run(corpus, *options)[0] == 0
    return out


def bits(out, step):
    folder = Path(out) / f"step-{step:08d}"
    model, _, state = load_shared(folder)
    weights = {name: weight.tolist() for name, weight in model.state_dict().items()}
    return weights, state["history"]["loss"], state["history"]["val_loss"]


def workers(process):
    """The processes that a run's launcher has started, once they train."""
    return [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "mygpt" in child.cmdline()
    ]


def wait_for(condition):
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_saved(corpus, whole, tmp_path):
    """The same command with --resume goes on, and ends with the same bits."""
    command = (corpus, "--processes=2", f"--steps={STEPS}", *SMALL)
    out = tmp_path / "cut"
    process = start(*command, "--out", out)
    wait_for(lambda: checkpoints(out))
    workers(process)[1].send_signal(signal.SIGKILL)
    status, _, error = end(process)
    assert status == 1
    assert len(error) == 1
    assert re.fullmatch(
        r"mygpt: process [01] of 2 was killed \(SIGKILL, as the system does when "
        rf"memory is short\); the last checkpoint is {out}/step-000000\d\d: "
        r"the same command with --resume goes on",
        error[0],
    )
    status, said, _ = run(*command, "--out", out, "--resume")
    assert status == 0
    assert said.startswith(f"step {STEPS}: training loss ")
    assert bits(out, STEPS) == bits(whole, STEPS)


@pytest.mark.slow
def test_a_process_that_does_not_answer_ends_the_run_in_time(corpus, tmp_path):
    """torchrun gives it half a minute after the time limit, and then kills it."""
    out = tmp_path / "run"
    options = (*SMALL[:-1], "--timeout=5", "--steps=5000")
    process = start(corpus, "--processes=2", *options, "--out", out)
    wait_for(lambda: checkpoints(out))
    workers(process)[1].send_signal(signal.SIGSTOP)
    status, _, (error,) = end(process)
    assert status == 1
    assert re.match(r"mygpt: process [01] of 2 did not answer in time; the last", error)


def test_processes_end_when_the_one_that_launched_them_is_killed(corpus, tmp_path):
    out = tmp_path / "run"
    process = start(corpus, "--processes=2", "--steps=100000", *SMALL, "--out", out)
    wait_for(lambda: checkpoints(out))
    left = workers(process)
    assert len(left) == 2
    process.kill()
    process.communicate(timeout=LIMIT)
    gone, alive = psutil.wait_procs(left, timeout=20)
    assert (len(gone), alive) == (2, [])


NOT_FOLLOWED = [
    *("--steps=9", "--steps=2000", "--width=32", "--width=128", "--layers=2"),
    *("--heads=4", "--length=64", "--seed=1", "--batch-size=8", "--batch-size=12"),
    *("--bf16", "--recipe=modern", "--tokenizer=bpe", "--tokenizer=word"),
    *("--vocab-size=500", "--vocab-size=1000"),
]


def test_a_run_that_goes_on_keeps_its_settings(corpus, tmp_path, capsys):
    """Also against an option whose value is the default."""
    out = ["--out", str(tmp_path)]
    begun = ["train", str(corpus), "--steps=5", *SMALL[:-1], *out]
    assert main(begun) == 0
    for option in NOT_FOLLOWED:
        capsys.readouterr()
        assert main(["train", str(corpus), *out, option, "--resume"]) == 1
        (error,) = capsys.readouterr().err.splitlines()
        assert f"mygpt: {option.partition('=')[0]} " in error
        assert "goes on with its own settings" in error
    assert main([*begun, "--resume"]) == 0
    assert main(["train", str(corpus), *out, "--resume", "--quiet"]) == 0


@pytest.mark.slow
def test_torchrun_by_hand_gives_the_same_run(corpus, whole, tmp_path):
    options = [str(corpus), f"--steps={STEPS}", *SMALL]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc-per-node=2", "-m", "mygpt", "train", *options),
    ]
    subprocess.run([*command, "--out", tmp_path], check=True, timeout=LIMIT)
    assert bits(tmp_path, STEPS) == bits(whole, STEPS)


def free_place():
    """This machine's name with a port that no program listens at."""
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return f"localhost:{one.getsockname()[1]}"


def test_machines_that_meet_train_as_one(corpus, whole, tmp_path):
    meet = free_place()
    command = (corpus, f"--steps={STEPS}", "--machines=2", "--meet", meet, *SMALL)
    machines = [start(*command, "--out", tmp_path) for _ in range(2)]
    ends = [end(machine) for machine in machines]
    assert [status for status, _, _ in ends] == [0, 0]
    assert sum(said.startswith(f"step {STEPS}:") for _, said, _ in ends) == 1
    assert bits(tmp_path, STEPS) == bits(whole, STEPS)


@pytest.mark.slow
def test_a_machine_that_does_not_come_ends_the_wait(corpus, tmp_path):
    assert_nobody_came(corpus, tmp_path, free_place())


@pytest.mark.slow
def test_a_stranger_at_the_port_ends_the_wait(corpus, tmp_path):
    with socket.socket() as stranger:
        stranger.bind(("localhost", 0))
        stranger.listen()
        assert_nobody_came(corpus, tmp_path, f"localhost:{stranger.getsockname()[1]}")


def assert_nobody_came(corpus, tmp_path, meet):
    begun = time.monotonic()
    status, _, error = run(
        corpus, "--machines=2", "--meet", meet, "--out", tmp_path, *SMALL, "--timeout=3"
    )
    assert time.monotonic() - begun < 60
    assert status == 1
    assert len(error) == 1
    assert error[0].startswith(f"mygpt: 2 machines did not meet at {meet} within 3 sec")


def test_what_every_process_refuses_is_told_once(corpus, tmp_path):
    odd = (*SMALL, "--batch-size=3")
    status, _, error = run(corpus, "--processes=2", "--out", tmp_path, *odd)
    assert status == 1
    assert error == [
        "mygpt: 2 processes cannot share a batch of 3 rows evenly: "
        "expected a batch of 4 rows or fewer processes"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processes=0"], "processes must be a whole number of at least 1, got 0"),
        (["--machines=0"], "machines must be a whole number of at least 1, got 0"),
        (["--machines=2"], "2 machines need a place to meet"),
        (["--machines=2", "--meet=node0"], "expected HOST:PORT"),
        (["--machines=2", "--meet=localhost:0"], "expected HOST:PORT"),
        (["--machines=2", "--meet=localhost:99999"], "expected HOST:PORT"),
        (["--machines=2", "--meet=no.such.host.:29500"], "no machine is known by"),
        (["--processes=2", "--timeout=0"], "timeout must be above 0"),
        (["--shard"], "expected --processes"),
    ],
)
def test_options_that_cannot_be_are_refused(corpus, tmp_path, options, message, capsys):
    out = tmp_path / "run"
    assert main(["train", str(corpus), "--out", str(out), *options]) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("mygpt: ")
    assert message in error
    assert not out.exists()


def test_a_run_of_many_is_not_continued_by_one(corpus, whole, capsys):
    assert main(["train", str(corpus), "--resume", "--out", str(whole)]) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert "is of a run of many processes: continue it with --processes" in error
    with pytest.raises(ValueError, match="is of a run of many processes"):
        load_checkpoint(whole)


def failure(exitcode, message=""):
    """A process that ended, and what it reported."""

    def made(folder):
        path = folder / f"{exitcode}{message}.json"
        told = {"message": f"ValueError: {message}", "extraInfo": {"timestamp": "0"}}
        if message:
            path.write_text(json.dumps({"message": told}))
        return ProcessFailure(0, 1, exitcode, str(path))

    return made


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ({0: failure(LOST, "peer gone"), 1: failure(-9)}, "process 1 of 4 was killed"),
        (
            {0: failure(SILENT, "no answer"), 2: failure(-15), 3: failure(-9)},
            "process 3 of 4 did not answer in time; nothing was saved yet",
        ),
        ({0: failure(LOST, "peer gone"), 1: failure(1, "no: 1")}, "no: 1"),
        ({0: failure(SILENT, "no answer"), 1: failure(1)}, "process 1 of 4 ended with"),
        ({1: failure(LOST, "peer gone"), 3: failure(SILENT, "no")}, "peer gone"),
        (  # what an error's text says decides nothing
            {0: failure(1, "the disk timed out; it lost another file"), 2: failure(-9)},
            "process 2 of 4 was killed",
        ),
        ({0: failure(-15), 2: failure(1, "too small")}, "too small"),
        ({0: failure(1), 3: failure(1)}, "process 0 of 4 ended with status 1"),
        ({0: failure(-11)}, "killed (SIGSEGV); nothing was saved yet: start the same"),
        ({1: failure(-9)}, "(SIGKILL, as the system does when memory is short)"),
    ],
)
def test_the_cause_is_told_and_not_what_followed_from_it(failures, expected, tmp_path):
    made = {rank: one(tmp_path) for rank, one in failures.items()}
    assert expected in why(made, 4, tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("[pair.cc:553] Connection closed by peer [127.0.0.1]:24969. GLHF!", LOST),
        ("[unbound_buffer.cc:78] Timed out waiting 3000ms for recv operation", SILENT),
        ("Gloo connectFullMesh failed with Connect error", LOST),
        ("Gloo connectFullMesh failed with timed out connecting: SO_ERROR", SILENT),
        ("wait timeout after 3000ms, keys: /worker", SILENT),
    ],
)
def test_a_missing_process_shows_in_the_exit_status(text, status):
    """With the texts of PyTorch's errors."""
    with (
        pytest.raises(ConnectionError, match="lost another process") as caught,
        waiting_for_others(),
    ):
        raise RuntimeError(text)
    assert exit_status(caught.value) == status


def test_other_errors_keep_their_type_and_the_usual_exit_status():
    with pytest.raises(RuntimeError, match="of 3 rows") as caught, waiting_for_others():
        raise RuntimeError("expected a batch of 3 rows")
    assert exit_status(caught.value) == 1
    assert exit_status(ConnectionError("no network")) == 1
    assert exit_status(KeyboardInterrupt()) == 130


def test_the_processes_of_all_machines_are_counted(tmp_path, monkeypatch):
    def run(options):
        raise ChildFailedError("mygpt", {1: failure(-9)(tmp_path)})

    monkeypatch.setattr(launch.torchrun, "run", run)
    with pytest.raises(ChildProcessError, match="process 1 of 6 was killed"):
        launch.launch(["train"], 2, 3, "localhost:29500", 30.0, tmp_path)


def test_the_newest_checkpoint_is_named(tmp_path):
    for step in (5, 10):
        (tmp_path / f"step-{step:08d}").mkdir()
    assert "step-00000010: the same command" in launch.go_on(tmp_path)


def test_the_meeting_has_the_time_limit():
    options = meet_options("localhost:29500", 3, 7.0)
    assert "--nnodes=3" in options
    assert "--rdzv-conf=join_timeout=7,read_timeout=7" in options
    options = meet_options("localhost:29500", 3, 0.3)
    assert "--rdzv-conf=join_timeout=1,read_timeout=1" in options


def test_a_worker_without_a_launcher_prints_its_rank(monkeypatch, capsys):
    monkeypatch.delenv(launch.STARTED, raising=False)
    monkeypatch.setenv("RANK", "3")
    launch.report(ValueError("no"))
    assert capsys.readouterr().err == "mygpt: process 3: no\n"
