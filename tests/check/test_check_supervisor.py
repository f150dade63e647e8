"""Nothing gets out of a check, and no program can make itself right."""

import contextlib
import inspect
import json
import os
import pathlib
import signal
import sys
import time

import pytest
import torch

from mygpt import check
from mygpt.check import TASKS
from mygpt.check.gradients import check_gradients
from mygpt.check.process import supervisor, transport
from mygpt.check.properties import check_properties
from mygpt.check.result import NotRight
from mygpt.check.task import Mistake
from mygpt.check.values import Submission, dtype_for

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
BODY = "    return torch.softmax(s, {axis})\n"
RIGHT = "def softmax(s):\n" + BODY.format(axis=-1)
WRONG = "def softmax(s):\n" + BODY.format(axis=0)


@pytest.fixture
def softmax(mygpt, my):
    """Check the text of a file with the command."""

    def run(text: str, *options: str) -> tuple[int, str]:
        status, out, err = mygpt(
            "check", "softmax", my("import torch\n" + text), *options
        )
        return status, " ".join((out + err).split())

    return run


def sleeping(mark: str) -> list[int]:
    """The processes that have an argument."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "cmdline").read_text().split(chr(0)):
                found.append(int(folder.name))
    return found


@pytest.fixture
def mark(tmp_path):
    """An argument by which a test's processes are found; none is left after it."""
    mark = str(tmp_path / "mark")
    yield mark
    left = sleeping(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


# What gets out

FORKS = "import os\ndef softmax(s):\n    os.fork()\n"
STARTS = (
    """
import ctypes, os, subprocess, sys, threading, time
import torch

PROGRAM = [sys.executable, "-c", "import time; time.sleep(86399)", MARK]
subprocess.Popen(PROGRAM)
threading.Thread(target=time.sleep, args=[86399]).start()
DAEMON = """
    + repr("""
import os, sys
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
os.execv(sys.argv[1], sys.argv[1:])
""")
    + """
subprocess.run([sys.executable, "-c", DAEMON, *PROGRAM])


def descend(depth):
    "A chain of processes that bypass Python's fork, each in a session of its own."
    if depth and ctypes.CDLL(None).fork() == 0:
        os.setsid()
        descend(depth - 1)
        os.execv(PROGRAM[0], PROGRAM)


descend(15)
while len(sleeping(MARK)) < 17:
    time.sleep(0.01)
"""
)


@on_linux
@pytest.mark.parametrize(
    ("end", "limit", "said"),
    [
        (RIGHT, 40, "softmax: right"),  # a busy machine may need long to start all
        ("while True: pass\n", 2, "stopped after 2 seconds"),
    ],
    ids=["right", "endless"],
)
def test_all_that_a_program_starts_ends_with_its_check(
    mygpt, my, mark, end, limit, said
):
    """A process, a daemon, a chain of fifteen, and a thread that never ends."""
    imports = f"import contextlib, pathlib\nMARK = {mark!r}\n"
    text = imports + inspect.getsource(sleeping) + STARTS + end
    begun = time.monotonic()
    status, out, _ = mygpt("check", "softmax", my(text), "--limit", limit)
    assert time.monotonic() - begun < limit + 2 * supervisor.GRACE
    assert status == int(end != RIGHT)
    assert said in out


@on_linux
def test_a_forked_child_ends_at_once_and_is_told(softmax, tmp_path):
    log = tmp_path / "log"
    text = FORKS + f"    open({str(log)!r}, 'a').write(f'{{os.getpid()}} ')\n"
    status, out = softmax(text + BODY.format(axis=-1))
    assert status == 1
    assert (
        "Your program copies its process (os.fork); each copy was ended at once" in out
    )
    assert len(set(log.read_text().split())) == 1


@on_linux
@pytest.mark.parametrize("ask", ["bytearray(10**10)", "torch.ones(10**10 // 4)"])
def test_ten_gigabytes_are_refused(softmax, ask):
    status, out = softmax(f"def softmax(s):\n    x = {ask}\n" + BODY.format(axis=-1))
    assert status == 1
    assert "Your program asked for more memory than it may have" in out


@on_linux
def test_a_program_that_ends_its_supervisor_ends_with_it(softmax):
    """And not only at its limit."""
    begun = time.monotonic()
    text = "import os\nos.kill(os.getppid(), 9)\nwhile True: pass\n"
    status, out = softmax(text, "--limit", "25")
    assert time.monotonic() - begun < 20
    assert status == 1
    assert "Your program ended the process that checks it." in out


# The verdict

PATCHES = {
    "what compares": "torch.isclose = lambda a, b, **k: a == a\n"
    "torch.allclose = lambda *a, **k: True\ntorch.abs = torch.zeros_like\n",
    "a method": "torch.Tensor.abs = torch.zeros_like\n",
    "the checker": "import mygpt.check.compare as c\nc.find_difference = print\n",
}


FORGER = """
import os, pickle
from mygpt.check.result import Result
told = pickle.dumps((Result("softmax", True, judged="outside"), True))
for number in range(3, 100):
    try:
        if os.readlink(f"/proc/self/fd/{number}").startswith("socket"):
            os.write(number, len(told).to_bytes(4, "big") + told)
    except OSError:
        pass
"""


@on_linux
def test_a_program_cannot_speak_for_its_supervisor(softmax):
    status, said = softmax(FORGER + WRONG)
    assert status == 1
    assert said.startswith("softmax: not yet")


@pytest.mark.parametrize("name", PATCHES)
def test_a_program_that_replaces_functions_is_told(softmax, name):
    status, out = softmax(PATCHES[name] + WRONG)
    assert status == 1
    assert "Your program replaces " in out
    assert "for everybody." in out


HIDDEN = """
from mygpt.check import gradients, side_effects, values
side_effects.replaced = lambda before: None
gradients.find_difference = values.differ = lambda *a, **k: None
torch.allclose = lambda *a, **k: True
gradients.show_in_nudges = lambda *a, **k: True
"""
FORGED = """
import json, sys
from mygpt.check.process import child
from mygpt.check.result import Result
child.told = lambda result, evidence=None: {"result": Result("softmax", True).as_json(),
                                            "evidence": %s}
"""


def test_a_checker_that_was_changed_inside_is_overruled_outside(softmax):
    status, out = softmax(HIDDEN + WRONG)
    assert status == 1
    assert "The values are wrong: expected 0.03346 at [0, 0], got 0.4256." in out
    assert "This was judged outside your program's process" in out
    assert '"judged": "outside"' in softmax(HIDDEN + WRONG, "--json")[1]


@pytest.mark.parametrize("sent", ["None", "{}", "{'values': 3}", "[['tensor', 1]]"])
def test_a_forged_result_without_what_was_computed_is_not_right(softmax, sent):
    status, out = softmax(FORGED % sent + WRONG)
    assert status == 1
    assert transport.INCOMPLETE in out


def test_json_says_where_the_verdict_was_made(softmax):
    assert json.loads(softmax(RIGHT, "--json")[1])["judged"] == "outside"
    assert json.loads(softmax(WRONG, "--json")[1])["judged"] == "inside"
    assert check.softmax(lambda s: s.softmax(-1)).judged == "inside"


def sent_by(task, program):
    """What a program's process sends, whatever a check there would say of it.

    Of a program with wrong values no more than these: they must do.
    """
    submission = Submission(task, program, dtype_for(task, program))
    if not submission.differences_from(submission.reference):
        with contextlib.suppress(NotRight):
            check_gradients(submission)
            check_properties(submission)
    return json.loads(json.dumps(transport.evidence_of(submission)))


@pytest.mark.parametrize("name", [name for name in TASKS if name != "answer"])
def test_what_no_wrong_program_computes_is_judged_right_outside(name):
    task = TASKS[name]
    right = Mistake("", "", task.reference)
    for mistake in [*task.mistakes, right]:
        found = transport.verdict(task, sent_by(task, mistake.program))
        # The book's own reads without a cache, which the task does not allow.
        expected = mistake is right and name != "cached_step"
        assert found.passed is expected, (mistake.name, found)
        assert found.judged == "outside"


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([[1.5, float("nan")], [float("-inf"), -0.0]]),
        torch.tensor(3, dtype=torch.int32),
        torch.zeros(0, 3, dtype=torch.float64),
        torch.tensor([1.1], dtype=torch.bfloat16),
        {"a": (1, 2.5, None, True, "é"), 3: [float("inf"), 0.1 + 0.2]},
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_data_travels_to_the_bit(value):
    back = transport.decode(json.loads(json.dumps(transport.encode(value))))
    if isinstance(value, torch.Tensor):
        assert back.dtype == value.dtype
        torch.testing.assert_close(back, value, rtol=0, atol=0, equal_nan=True)
    else:
        assert back == value
        assert list(map(type, back)) == list(map(type, value))


def test_of_an_object_nothing_travels():
    back = transport.decode(transport.encode(softmax))
    assert isinstance(back, transport.UnknownData)


# One plain sentence


@pytest.mark.parametrize(
    "text", ["torch.manual_seed(1)\n", "import random; random.seed(1)\n"]
)
def test_a_seed_set_at_import_is_told(softmax, text):
    status, out = softmax(text + RIGHT)
    assert status == 0
    assert "my.py sets the seed of the random numbers when it is imported" in out


def test_random_numbers_at_import_are_nobodys_business(softmax):
    assert softmax("torch.randn(3)\n" + RIGHT) == (0, "softmax: right")


def test_the_second_of_two_definitions_is_told(softmax):
    status, out = softmax(WRONG + RIGHT)
    assert status == 0
    assert (
        "my.py defines softmax 2 times, in lines 2 and 4; Python keeps the last." in out
    )
    assert softmax("if True:\n    softmax = None\n" + RIGHT) == (0, "softmax: right")


def test_a_file_that_python_would_not_run_is_refused(mygpt, my):
    path = my("import torch\n" + RIGHT)
    path.write_bytes(path.read_bytes() + b"\n\n# \xe9t\xe9\n")
    status, out, _ = mygpt("check", "softmax", path)
    assert status == 1
    assert "my.py is not in UTF-8 (line 6 has the byte 0xe9), so Python does not" in out
    path.write_bytes(b"# coding: latin-1\n" + path.read_bytes())
    assert mygpt("check", "softmax", path)[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_loop_of_links_is_called_one(mygpt, tmp_path):
    for name in ("softmax.py", "folder"):
        (tmp_path / name).symlink_to(tmp_path / name)
    file, folder = tmp_path / "softmax.py", tmp_path / "folder"
    said = "is a link that leads back to itself"
    assert mygpt("check", "softmax", file) == (2, "", f"mygpt: {file} {said}\n")
    assert mygpt("check", "--all", folder) == (2, "", f"mygpt: {folder} {said}\n")
    assert f"softmax.py {said}" in mygpt("check", "--all", tmp_path)[1]


def test_an_exit_in_a_notebook_stays_in_the_check():
    result = check.softmax(lambda scores: sys.exit(3))
    assert not result
    assert "Your program stopped with SystemExit: 3" in result.message


def test_an_exit_stays_in_the_check_wherever_it_comes():
    """In the runs for gradients and for properties too."""

    def with_gradients(scores):
        return sys.exit(3) if scores.requires_grad else scores.softmax(-1)

    def with_other_inputs(scores):
        return sys.exit() if scores.max() < 10 and len(runs) > 9 else right(scores)

    runs = []

    def right(scores):
        runs.append(scores)
        return scores.softmax(-1)

    for program in (with_gradients, with_other_inputs):
        assert "ends Python itself with SystemExit" in check.softmax(program).message


@on_linux
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_copy_that_a_notebooks_program_makes_ends_at_once(tmp_path):
    log = tmp_path / "log"
    log.touch()

    def forks(scores):
        if child := os.fork():
            os.waitpid(child, 0)
        with log.open("a") as file:
            file.write(f"{os.getpid()} ")
        return scores.softmax(-1)

    assert check.softmax(forks)
    assert set(log.read_text().split()) == {str(os.getpid())}
    child = os.fork()  # outside a check, nobody's business
    if not child:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
