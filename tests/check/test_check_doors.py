"""What comes from outside a function is told as that, and never as its mistake."""

import contextlib
import io
import json
import sys
import threading

import numpy as np
import pytest
import torch

from mygpt import check
from mygpt.check import TASKS
from mygpt.check.mends.search import find_mend
from mygpt.check.process import files, run, supervisor
from mygpt.check.process.child import IMPORTING
from mygpt.check.process.files import check_file, conclude
from mygpt.check.result import Result
from mygpt.check.workbook.folder import check_found
from mygpt.cli import commands
from mygpt.workbook.stub import stub

RIGHT = """
def softmax(scores):
    e = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)
"""


@pytest.fixture
def told(mygpt, tmp_path):
    """Check a file of a name from another folder; return its JSON, or the error."""

    def run(text, name="softmax", *options, **beside):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        for other, content in beside.items():
            (tmp_path / f"{other}.py").write_text(content)
        _, out, error = mygpt("check", "softmax", path, "--json", *options)
        return json.loads(out) if out else error

    return run


CHANGES = {
    "torch.set_grad_enabled(False)": "turns gradients off for everybody",
    "torch.no_grad().__enter__()": "turns gradients off for everybody",
    "guard = torch.inference_mode(); guard.__enter__()": "turns gradients off for",
    "torch.set_default_dtype(torch.float64)": "changes PyTorch's default type",
    "torch.set_default_device('meta')": "changes PyTorch's default device",
    "torch.autocast('cpu', torch.bfloat16).__enter__()": "turns autocast on for",
}


@pytest.mark.parametrize("line", CHANGES)
def test_an_import_that_changes_pytorch_is_told_with_its_line_alone(told, line):
    found = told(f"import torch\n\n{line}\n{RIGHT}")
    assert found["stage"] == "effect"
    assert f"softmax.py {CHANGES[line]}" in found["message"]
    place = f" when it is imported (softmax.py, line 3: `{line}`)."
    assert found["message"].endswith(place)
    assert (found["line"], found["only"], found["kind"]) == (3, "", "")


def test_a_wrong_function_is_not_called_the_only_mistake_beside_such_an_import(told):
    other = "import torch\ntorch.set_grad_enabled(False)\n"
    found = told("import torch, other\n" + RIGHT.replace("-1", "0"), other=other)
    assert "(other.py, line 2: `torch.set_grad_enabled(False)`)" in found["message"]
    assert (found["line"], found["file"], found["only"]) == (2, "other.py", "")


HARMLESS = """
import os, random, sys, torch, warnings
torch.autograd.set_detect_anomaly(True)
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
torch.set_printoptions(precision=1)
warnings.filterwarnings("error")
with torch.no_grad(), torch.device("cpu"):
    torch.rand(3)
os.environ.clear()
sys.path.clear()
sys.setrecursionlimit(150)
sys.stdout.close()
if __name__ == "__main__":
    raise ValueError
"""


def test_what_an_import_changes_without_harm_is_not_told(told):
    assert told(HARMLESS + RIGHT)["passed"]


KEPT = """
from __future__ import annotations
import dataclasses, inspect, pickle, torch
@dataclasses.dataclass
class Kept:
    number: int
assert pickle.loads(pickle.dumps(Kept(3))).number == 3
assert "number: int" in inspect.getsource(Kept)
"""
NAMES = ["tokenize", "random", "inspect", "types", "torch", "mygpt", "a.b", "my-1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_have_any_name(told, name):
    beside = dict.fromkeys(["string", "enum", "json", "cmath"], "raise SystemExit\n")
    assert told(KEPT + RIGHT, name, **beside)["passed"]


def test_a_file_reads_what_is_beside_it_from_any_folder(told, tmp_path):
    (tmp_path / "scale.txt").write_text("1")
    read = "float(open('scale.txt').read())"
    text = f"import torch\nSCALE = {read}\n{RIGHT}"
    assert told(text.replace("scores.max", f"{read} * scores.max"))["passed"]


WAITS = "in most of them it did not compute: does it sleep, or wait?"
LATE = [
    ("while True: pass", "0.4 seconds; is there a loop that never ends?"),
    ("import time; time.sleep(99)", f"1.2 seconds; {WAITS}"),
    ("while True: softmax(torch.ones(2))", "0.4 seconds; is there a loop that never"),
]


@pytest.mark.parametrize(("line", "said"), LATE)
def test_the_time_of_an_import_is_told_with_its_line(told, line, said):
    found = told(f"import torch\n{RIGHT}\n{line}", "softmax", "--limit", "0.4")
    assert f"Your program was stopped after {said}" in found["message"]
    where = f"while softmax.py was imported (softmax.py, line 7: `{line}`)."
    assert found["message"].endswith(f" The time went {where}")
    assert (found["line"], found["only"]) == (7, "")


def test_a_loop_that_nothing_stops_is_told_of_the_import(tmp_path):
    (tmp_path / IMPORTING).touch()
    found = conclude(TASKS["softmax"], 0.4, tmp_path, None, True, None)
    assert found.message.endswith(" The time went while the file was imported.")


@pytest.mark.skipif(supervisor.START != "fork", reason="copies its process")
def test_a_copied_process_is_told_with_its_line_alone(told):
    start = "import multiprocessing, torch\nmultiprocessing.Process().start()\n"
    found = told(start + RIGHT)
    assert found["message"].startswith("Your program copies its process (os.fork); ")
    assert (found["line"], found["only"]) == (2, "")


def test_a_program_that_passes_as_it_is_has_no_mend(tmp_path, monkeypatch):
    (tmp_path / "as_it_is.py").write_text("import torch\n" + RIGHT)
    monkeypatch.syspath_prepend(tmp_path)
    from as_it_is import softmax

    assert find_mend(TASKS["softmax"], softmax) is None


# The checker's own errors


def test_an_error_of_the_checker_is_not_told_as_the_readers(told):
    broken = "from mygpt.check.values import Submission\nSubmission.outcomes = None\n"
    error = told(f"import torch\n{broken}{RIGHT}")
    assert error.startswith("mygpt: the check itself failed, not your program: Type")


def test_an_error_of_ours_is_not_told_as_a_wrong_gradient(monkeypatch):
    monkeypatch.setattr("mygpt.check.gradients.NUDGE", None)
    with pytest.raises(TypeError, match="NoneType"):
        check.cross_entropy(TASKS["cross_entropy"].reference)


# Any caller


def switched(function, value, before):
    @contextlib.contextmanager
    def switch():
        function(value)
        try:
            yield
        finally:
            function(before)

    return switch


CALLERS = {
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
    "a device": lambda: torch.device("meta"),
    "a default device": switched(torch.set_default_device, "meta", None),
    "bfloat16": switched(torch.set_default_dtype, torch.bfloat16, torch.float32),
    "float64": switched(torch.set_default_dtype, torch.float64, torch.float32),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "anomalies": lambda: torch.autograd.set_detect_anomaly(True),
    "NumPy's errors": lambda: np.errstate(all="raise"),
    "recursion": switched(sys.setrecursionlimit, 300, sys.getrecursionlimit()),
}


def made_anew(x, W):
    """A product whose result begins as a tensor of the default type."""
    out = torch.zeros(W.shape[1:])
    for number, row in zip(x, W, strict=True):
        out = out + number * row
    return out


@pytest.mark.filterwarnings("ignore:Anomaly Detection:UserWarning")
@pytest.mark.parametrize("name", CALLERS)
def test_a_check_is_the_same_under_any_caller(name):
    with CALLERS[name]():
        before = run.state(), torch.is_anomaly_enabled()
        assert check.softmax(lambda scores: torch.softmax(scores, -1))
        assert check.row_times_matrix(made_anew)
        wrong = check.softmax(lambda scores: torch.softmax(scores, 0), mend=True)
        assert wrong.mistake == "columns"
        assert (run.state(), torch.is_anomaly_enabled()) == before


# Time


def test_a_busy_machine_takes_no_time_from_a_program(monkeypatch):
    spent, passed = [0.0], [0.0]
    monkeypatch.setattr(run, "own_time", lambda: passed[0])
    over = run.clock(2.0, lambda: spent[0])
    for spent[0], passed[0], why in (
        (1.9, 5.9, ""),
        (2.0, 2.0, "work"),
        (0, 6, "wait"),
    ):
        assert over() == why


def test_time_in_another_thread_is_limited_too():
    said = []

    def work():
        result = check.softmax(lambda scores: [1 for _ in iter(int, 1)], limit=0.2)
        said.append(result.stage)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert said == ["time"]


@pytest.mark.parametrize("name", ["answer", "cached_step"])
def test_an_untouched_file_is_not_begun_and_is_not_run(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "supervised", None)
    path = tmp_path / f"{name}.py"
    path.write_bytes(b"# mine\r\n" + stub(TASKS[name]).replace("\n", "\r\n").encode())
    assert check_found(TASKS[name], path, None).stage == "begin"
    path.write_text(path.read_text("utf-8").replace("raise NotImpl", "return NotImpl"))
    with pytest.raises(TypeError):
        check_file(name, path)


# Any output


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_an_answer_is_shown_in_any_encoding(tmp_path, monkeypatch, encoding):
    given, raw = ["check", "softmax", str(tmp_path / "softmax.py")], io.BytesIO()
    (tmp_path / "softmax.py").touch()
    result = Result("softmax", False, "value", message="√ of “\udcff”, 0 … 1")
    monkeypatch.setattr("mygpt.cli.verdicts.check_file", lambda *_, **__: result)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding))
    assert commands.main([*given, "--json"]) == 1
    assert json.loads(raw.getvalue().decode("ascii"))["message"] == result.message
    assert commands.main(given) == 1
    text = raw.getvalue().partition(b"}\n")[2].decode(encoding)
    assert text.startswith("softmax: not yet")
    shown = "”, 0 … 1" if encoding != "ascii" else "\\u201d, 0 \\u2026 1"
    assert text.splitlines()[1].endswith(f"\\udcff{shown}")
