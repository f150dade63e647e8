"""`mygpt check` and `mygpt workbook`: the reader's files, in processes of their own."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.command_line import CommandLine

from mygpt.check import TASKS
from mygpt.check.process.files import read_result, saves
from mygpt.check.result import Result
from mygpt.check.workbook.progress import next_task, state, tasks_of
from mygpt.workbook.asked import CHAPTERS
from mygpt.workbook.files import stub, write_workbook

SOLVED = Path(__file__).parent / "workbook"
RIGHT = "import torch\ndef softmax(s):\n    return torch.softmax(s, -1)\n"
WRONG = RIGHT.replace("-1", "0")


def test_a_right_program_gives_status_0(mygpt, my):
    assert mygpt("check", "softmax", my(RIGHT)) == (0, "softmax: right\n", "")


def test_options_may_stand_before_the_file(mygpt, my):
    file = my(RIGHT)
    assert mygpt("check", "softmax", "--limit=60", file)[0] == 0
    status, _, error = mygpt("check", "softmax", "--limit=60", file, "more")
    assert status == 2
    assert error.endswith("unrecognized arguments: more\n")


def test_a_wrong_program_gives_status_1_and_its_mistake(mygpt, my):
    status, out, _ = mygpt("check", "softmax", my(WRONG))
    assert status == 1
    assert "This is what comes out when the sum runs down each column" in out
    out = " ".join(out.split())
    assert (
        "“2. Embeddings, positions, and a first language model”, section “From" in out
    )


def test_json_holds_what_a_grader_needs(mygpt, my):
    status, out, _ = mygpt("check", "softmax", my(WRONG), "--json")
    found = json.loads(out)
    assert status == 1
    assert found["task"] == "softmax"
    assert found["passed"] is False
    assert found["mistake"] == "columns"
    assert found["expected"] != found["got"]


def test_what_a_program_prints_is_shown_apart(mygpt, my):
    path = my("print('from the file')\n" + RIGHT.replace("return", "print(7); return"))
    status, out, _ = mygpt("check", "softmax", path)
    assert status == 0
    assert "your program printed:\n  | from the file\n  | 7\n" in out
    found = json.loads(mygpt("check", "softmax", path, "--json")[1])
    assert found["printed"] == "from the file\n7\n"


def test_a_long_text_that_is_printed_is_cut(mygpt, my):
    path = my("print('x' * 2500)\n" + RIGHT)
    found = json.loads(mygpt("check", "softmax", path, "--json")[1])
    assert found["printed"] == "x" * 2000 + "…"


BAD = [
    ("def softmax(s:\n", "could not be imported: SyntaxError"),
    ("import nothing_like_it\n", "could not be imported: ModuleNotFoundError"),
    ("x = 1 / 0\n", "ZeroDivisionError: division by zero (my.py, line 1: `x = 1"),
    ("raise SystemExit(3)\n", "it ends Python itself with SystemExit: 3 (my.py,"),
    (
        "import signal\nsignal.raise_signal(signal.SIGINT)\n",
        "could not be imported: KeyboardInterrupt",
    ),
    (
        "def soft_max(s):\n    return s\n",
        "has no function softmax; is it soft_max? Rename it.",
    ),
    ("x = 1\n", "my.py has no function softmax."),
    ("softmax = 3\n", "Expected a function softmax(scores), got the int 3"),
    ("def softmax(s):\n    import os; os._exit(4)\n", "exit code 4"),
    ("def softmax(s):\n    return s.shape\n", "Your program gives the wrong kind"),
    ("def softmax(s):\n    s /= 0; raise KeyError('a')\n", "stopped with KeyError"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_bad_file_gets_one_plain_sentence(mygpt, my, text, said):
    status, out, err = mygpt("check", "softmax", my(text))
    assert status == 1
    assert said in out
    assert "Traceback" not in out + err


def test_the_traceback_follows_on_request(mygpt, my):
    path = my("def softmax(s):\n    return nothing\n")
    assert "--traceback" in mygpt("check", "softmax", path)[1]
    out = mygpt("check", "softmax", path, "--traceback")[1]
    assert "Traceback (most recent call last)" in out
    assert "NameError" in out


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass\n",
        "def softmax(s):\n    while True: pass\n",
        "def softmax(s):\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass\n",
    ],
    ids=["in the file", "in the function", "and catches everything"],
)
def test_an_endless_program_is_stopped(mygpt, my, text):
    status, out, _ = mygpt("check", "softmax", my(text), "--limit", "0.5")
    assert status == 1
    assert "stopped after 0.5 seconds; is there a loop that never ends?" in out


def test_a_file_finds_its_neighbours(mygpt, my, tmp_path):
    (tmp_path / "powers.py").write_text("def powers(s):\n    return s.exp()\n")
    path = my(
        "from powers import powers\ndef softmax(s):\n"
        "    s = powers(s - s.max(-1, keepdim=True).values)\n"
        "    return s / s.sum(-1, keepdim=True)\n"
    )
    assert mygpt("check", "softmax", path)[0] == 0
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize("name", ["layer_norm", "LayerNorm"])
def test_a_class_in_a_file_says_its_parameters(mygpt, my, name):
    text = f"from torch import nn\nclass {name}(nn.LayerNorm):\n    pass\n"
    said = mygpt("check", "layer_norm", my(text))[1]
    assert f"{name} is a class. Say in the file which of its" in said
    text += "layer_norm_parameters = {'weight': 'weight', 'bias': 'bias'}\n"
    assert mygpt("check", "layer_norm", my(text))[0] == 0


HERE = os.path.relpath(__file__)  # in the names of tests, the same in every folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["softmaxx", "my.py"], "no task 'softmaxx'; did you mean softmax?"),
        (["softmax"], "there is no softmax.py here; expected a file: mygpt check "),
        (["softmaxx"], "no task 'softmaxx'; did you mean softmax?"),
        (["softmax", "--chapter=2"], "--chapter is for a workbook, not for one task"),
        (["--chapter", "7"], "no tasks in chapter '7'; expected one of tensors, 1, 2"),
        (["--list", "--chapter", "0"], "no tasks in chapter '0'; expected one of"),
        (["--all"], "this folder has none of the workbook's files; `mygpt workbook"),
        (["softmax", "none.py"], "expected a Python file, found no none.py"),
        ([], "expected TASK, or --all, or --chapter N, or --list"),
        (["--list", "softmax", "my.py"], "expected TASK, or --all, or"),
        (["--all", "nowhere"], "expected a folder, found no nowhere"),
        (["softmax", "my.py", "--limit", "0"], "--limit must be above 0, got 0"),
        (["mine/softmax.py"], "expected a Python file, found no mine/softmax.py"),
        (["my/other.py"], "expected TASK and FILE; did you mean `mygpt check other "),
        (["my/softmax.py", "x"], "expected TASK and FILE; did you mean `mygpt check "),
        (["softmax", "/"], "/ is a folder; `mygpt check --all /` checks a workbook"),
        (["softmax", HERE + "x"], "expected a Python file, found no"),
        (["--all", HERE], f"{HERE} is a file; expected a folder"),
        (["softmax", "my.py", "--gpt2", "."], "--gpt2 is for the task answer, not for"),
    ],
)
def test_a_check_that_cannot_be_made_gives_status_2(mygpt, arguments, said):
    status, out, err = mygpt("check", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"mygpt: {said}")
    assert err.count("\n") == 1


def test_the_list_has_every_task_and_its_chapter(mygpt):
    status, out, _ = mygpt("check", "--list")
    lines = out.splitlines()
    assert status == 0
    assert len(lines) == len(TASKS)
    assert lines[0].split("  ")[0] == "row_times_matrix(x, W)"
    assert lines[-1].endswith("17. More than one machine")


def test_the_list_of_a_chapter_has_its_tasks(mygpt):
    out = mygpt("check", "--list", "--chapter", "8")[1]
    names = [line.split("(")[0] for line in out.splitlines()]
    assert names == ["layer_norm", "layer_norm_gradient"]


def test_a_task_alone_is_checked_in_the_file_of_its_name_here(tmp_path):
    (tmp_path / "softmax.py").write_text(WRONG)
    for name in ("random", "torch", "numpy"):  # take no library's place
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)\n")
    for given in ("softmax", "softmax.py"):
        done = in_folder(tmp_path, "check", given)
        assert done.returncode == 1
        assert "the sum runs down each column" in done.stdout


def test_a_file_alone_is_checked_by_its_name(mygpt, tmp_path):
    path = tmp_path / "softmax.py"
    path.write_text(RIGHT)
    assert mygpt("check", path) == (0, "softmax: right\n", "")


def in_folder(folder, *arguments):
    command = [sys.executable, "-m", "mygpt", *arguments]
    env = {**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_a_spawned_process_says_the_same(tmp_path, my):
    """As on macOS and Windows."""
    line = CommandLine(tmp_path, "spawn")
    try:
        status, out, _ = line("check", "softmax", my("print(5)\n" + WRONG))
    finally:
        line.close()
    assert status == 1
    assert "the sum runs down each column" in out
    assert "| 5" in out


# The workbook


def test_the_workbook_has_a_file_for_every_task_in_the_books_order(mygpt, tmp_path):
    folder = tmp_path / "mine"
    status, out, _ = mygpt("workbook", folder)
    assert status == 0
    assert f"{len(TASKS)} tasks in {folder}" in out
    assert {path.stem for path in folder.glob("*.py")} == set(TASKS)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    order = [line.split("`")[1] for line in readme.splitlines() if "| `" in line]
    assert order == list(TASKS)
    assert "| 13 | `layer_norm_gradient` |  | The gradient avoids two" in readme
    assert f"cd {folder}\n    mygpt check row_times_matrix\n" in out


def test_every_task_names_the_section_that_its_label_is_in():
    """A label stands before its section's title, or in the section."""
    for task in TASKS.values():
        path = Path(__file__).parents[2] / "chapters" / f"{task.chapter}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
        text = "\n".join(map("".join, texts))
        before, after = re.split(rf"^\({task.label}\)=$", text, flags=re.MULTILINE)
        above = re.findall("^#+ (.*)$", before, re.MULTILINE)[-1]
        below = re.match(r"(?:\s|\(.*\)=)*#+ (.*)", after)
        assert task.heading == (below[1] if below else above)
        title = re.search("^# (.*)$", text, re.MULTILINE)[1]
        assert re.sub(r"^\d+[a-z]?\. ", "", CHAPTERS[task.chapter]) == title


def test_a_chapter_is_named_by_its_number():
    assert [task.name for task in tasks_of("8")] == [
        "layer_norm",
        "layer_norm_gradient",
    ]
    assert tasks_of("08") == tasks_of("8")
    assert [task.name for task in tasks_of("tensors")] == ["row_times_matrix"]
    assert list(tasks_of(None)) == list(TASKS.values())


def test_what_is_next_is_first_looked_for_behind():
    right = [Result(name, True) for name in TASKS]
    assert next_task([]).name == "row_times_matrix"
    assert next_task([], after="softmax").name == "cross_entropy"
    assert next_task(right[5:], after="generate").name == "row_times_matrix"
    assert next_task(right, after="softmax") is None


def test_a_stub_is_not_begun_and_is_no_error(mygpt, tmp_path):
    path = tmp_path / "softmax.py"
    path.write_text(stub(TASKS["softmax"]))
    status, out, _ = mygpt("check", "softmax", path)
    assert status == 1
    assert out.startswith("softmax: not begun\nYour program goes where the line")
    assert "traceback" not in out.lower()
    assert json.loads(mygpt("check", "softmax", path, "--json")[1])["stage"] == "begin"
    other = tmp_path / "attention.py"
    other.write_text(
        "from softmax import softmax\n"
        "def attention(x, W_Q, W_K, W_V):\n    return softmax(x)\n"
    )
    out = mygpt("check", "attention", other)[1]
    assert out.startswith("attention: not yet\nIt calls softmax, which is not begun.\n")


def test_an_operation_that_pytorch_lacks_is_an_error(mygpt, my):
    text = "def softmax(s):\n    raise KeyError('NotImplementedError')\n"
    assert "softmax: not yet" in mygpt("check", "softmax", my(text))[1]


def test_a_stub_is_a_signature_a_docstring_and_one_example():
    for task in TASKS.values():
        text = stub(task)
        assert f"def {task.signature}:" in text
        assert task.example.splitlines()[0] in text
        assert text.endswith("    raise NotImplementedError\n")
        assert max(map(len, text.splitlines())) <= 88
        compile(text, task.name, "exec")


def test_a_workbook_overwrites_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "softmax.py").write_text("my own work\n")
    with pytest.raises(ValueError, match="is not empty, and nothing is overwritten"):
        write_workbook(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; expected a folder"):
        write_workbook(tmp_path / "file")
    assert (tmp_path / "mine" / "softmax.py").read_text() == "my own work\n"


def test_a_missing_gpt2_folder_is_not_the_readers_fault(mygpt):
    answer = SOLVED / "answer.py"
    status, out, err = mygpt("check", "answer", answer, "--gpt2", "nowhere")
    assert (status, out) == (2, "")
    assert err == "mygpt: expected a Hugging Face GPT-2 folder, found no nowhere\n"
    status, out, err = mygpt("check", "answer", answer, "--gpt2", SOLVED)
    assert (status, out) == (2, "")
    assert str(SOLVED) in err


def test_an_error_names_the_readers_own_file_and_line(mygpt, my, tmp_path):
    (tmp_path / "parts.py").write_text("def part(s):\n    return s + 'a'\n")
    path = my("from parts import part\ndef softmax(s):\n    return part(s)\n")
    out = mygpt("check", "softmax", path, "--traceback")[1]
    assert "(parts.py, line 2: `return s + 'a'`)" in " ".join(out.split())
    assert "mygpt/check" not in out


@pytest.mark.slow
def test_a_solved_workbook_is_right(mygpt):
    status, out, _ = mygpt("check", "--all", SOLVED)
    assert status == 0, out
    *_, count, reward = out.splitlines()
    assert count == f"{len(TASKS)} of {len(TASKS)} right"
    assert reward.endswith("your own parts say: paris")


def test_a_solved_answer_says_paris(mygpt):
    status, out, _ = mygpt("check", "answer", SOLVED / "answer.py")
    assert status == 0
    assert "the capital of france is … paris" in out
    assert "your own parts say: paris" in out


def test_progress_shows_right_wrong_and_not_begun(mygpt, tmp_path):
    shutil.copy(SOLVED / "row_times_matrix.py", tmp_path)
    shutil.copy(SOLVED / "softmax.py", tmp_path)
    (tmp_path / "gelu.py").write_text("def gelu(x):\n    return x.relu()\n")
    (tmp_path / "mlp.py").write_text(stub(TASKS["mlp"]))
    status, out, _ = mygpt("check", "--all", tmp_path)
    lines = out.splitlines()
    found = dict(line.split(maxsplit=1) for line in lines if line.startswith("  "))
    assert status == 1
    assert list(found)[:-1] == list(TASKS)
    assert found["softmax"] == "right"
    assert found["mlp"] == "not begun"
    assert found["gelu"] == "not yet: it is ReLU, max(x, 0)."
    assert found["gpt"] == "there is no gpt.py"
    chapters = [re.sub("  +", ": ", line) for line in lines if line[:1].isdigit()]
    assert chapters[1].endswith("first language model: 1 of 3")
    assert "6. GELU and ReLU: 0 of 2" in chapters
    assert lines[-3:] == [
        f"2 of {len(TASKS)} right",
        "next: bpe_train, in “1. Tokens”, section “Learn the merges”",
        f"      mygpt check bpe_train {tmp_path / 'bpe_train.py'}",
    ]
    found = json.loads(mygpt("check", "--all", tmp_path, "--json")[1])
    right = [each["task"] for each in found if each["passed"]]
    assert right == ["row_times_matrix", "softmax"]
    (tmp_path / "empty").mkdir()
    status, _, err = mygpt("check", "--all", tmp_path / "empty")
    assert status == 2
    assert "has none of the workbook's files" in err


def test_a_chapter_of_a_workbook_is_checked_alone(mygpt, tmp_path):
    shutil.copy(SOLVED / "layer_norm.py", tmp_path)
    status, out, _ = mygpt("check", "--all", tmp_path, "--chapter", "8")
    assert status == 1
    assert out.splitlines()[0] == "8. Layer normalisation".ljust(52) + "  1 of 2"
    assert "\n1 of 2 right\nnext: layer_norm_gradient, in “8. Layer norm" in out
    done = in_folder(tmp_path, "check", "--chapter", "8")
    assert done.stdout.splitlines()[:-1] == out.splitlines()[:-1]
    assert done.stdout.endswith("\n      mygpt check layer_norm_gradient\n")
    shutil.copy(SOLVED / "layer_norm_gradient.py", tmp_path)
    status, out, _ = mygpt("check", "--all", tmp_path, "--chapter", "8")
    assert status == 0
    assert out.endswith("\n2 of 2 right\n")


@pytest.mark.parametrize(
    "wrong",
    [{"passed": 1}, {"task": None}, {"mistake": 7}, {"hints": [7]}, {"line": "3"}],
)
def test_a_result_of_other_types_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"expected {name} of another type"):
        read_result({"task": "softmax", "passed": False} | wrong)


def test_a_long_reason_is_cut_to_sixty_characters():
    short, long = (Result("x", False, message="y" * length) for length in (60, 61))
    assert state(short) == "not yet: " + "y" * 60
    assert state(long) == "not yet: " + "y" * 59 + "…"


def test_the_readers_parts_speak_as_a_gpt2_folder_does(mygpt, tmp_path):
    """On a tiny checkpoint in Hugging Face's format, made here."""
    from transformers import GPT2Config, GPT2LMHeadModel

    from mygpt import BPETokenizer

    text = "The capital of France is Paris. Once upon a time the capital was far. " * 3
    tokenizer = BPETokenizer.train(text, 280)
    config = GPT2Config(
        vocab_size=tokenizer.vocab_size, n_positions=64, n_embd=24, n_layer=2, n_head=3
    )
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    tokenizer.save(tmp_path / "gpt2")
    status, out, err = mygpt(
        "check", "answer", SOLVED / "answer.py", "--gpt2", tmp_path / "gpt2"
    )
    assert status == 0, out + err
    assert "The capital of France is … " in out


# Watching


def test_a_save_is_noticed_and_checked_again(my, tmp_path):
    path = my(WRONG)
    process = subprocess.Popen(
        [sys.executable, "-m", "mygpt", "check", "softmax", path, "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    try:
        assert process.stdout.readline() == "softmax: not yet\n"
        path.write_text(RIGHT)
        for line in process.stdout:
            if line == "softmax: right\n":
                break
        else:
            pytest.fail("the watch ended")
        path.rename(tmp_path / "aside.txt")
        time.sleep(0.5)  # long enough to be missed
        path.write_text(WRONG)
        assert "softmax: not yet\n" in process.stdout
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


WAITS = """
import os, subprocess, sys, time
from pathlib import Path
from mygpt.check.process import child, files
from mygpt.cli import commands

def find_mend(*arguments, **named):
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    for pid in (started.pid, os.getpid()):
        Path(__file__).with_name(f"{pid}.pid").touch()
    while not Path(__file__).with_name("go").exists():
        time.sleep(0.01)
    return own(*arguments, **named)

own, child.find_mend, files.MEND_SECONDS = child.find_mend, find_mend, 600
if __name__ == "__main__":
    sys.exit(commands.main(sys.argv[1:]))
"""
by_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals processes")


class Waiting:
    """`mygpt check softmax`, whose searches start a process and wait for a file `go`.

    It ends after two minutes, so that a test that waits in vain fails.
    """

    def __init__(self, folder, *arguments):
        self.folder, script = folder, folder / "waits.py"
        script.write_text(WAITS)
        path = os.pathsep.join(sys.path)
        with (folder / "errors").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, script, "check", "softmax", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                env={**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": path},
                start_new_session=True,
            )
        self.timer = threading.Timer(120, self.kill)
        self.timer.start()

    def kill(self):
        """End the command and those that share its output."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def until(self, start):
        """Read up to a line that starts so."""
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith(start):
                return "".join(lines)
        return pytest.fail(f"no line {start!r} after {lines}")

    def processes(self, count):
        """The ids of the first processes that are noted."""
        while self.process.poll() is None:
            if len(found := list(self.folder.glob("*.pid"))) >= count:
                return [int(path.stem) for path in found]
            time.sleep(0.01)
        return pytest.fail("the command ended")

    def close(self):
        self.timer.cancel()
        self.kill()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def waiting(tmp_path):
    """Start such a command, whose files are in a folder below that of the program."""
    (tmp_path / "waiting").mkdir()
    started = []

    def start(*arguments):
        started.append(Waiting(tmp_path / "waiting", *arguments))
        return started[-1]

    yield start
    for command in started:
        command.close()


def ended(pids):
    """Whether processes end within a minute."""
    end = time.monotonic() + 60
    while any(map(is_alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_watch_tells_the_verdict_before_the_search_and_the_mend_after_it(waiting, my):
    watch = waiting(my(WRONG), "--watch")
    assert watch.until("  read  ").startswith("softmax: not yet\n")
    (watch.folder / "go").touch()
    added = watch.until("  wrong  ")
    assert added.endswith("Line 3 is the only thing wrong: a number in it.\n")
    assert "not yet" not in added


@by_signals
def test_a_save_ends_the_search_and_what_was_saved_before_counts_as_a_try(waiting, my):
    path = my(WRONG)
    watch = waiting(path, "--watch", "--mend")
    watch.until("  read  ")
    search = watch.processes(2)
    path.write_text(WRONG.replace("0", "-2"))
    watch.until("softmax: not yet\n")
    assert ended(search)
    (watch.folder / "go").touch()
    assert "in place of" in watch.until("  also  ")


ENDLESS = """
import os
from pathlib import Path
Path(__file__).with_name("waiting").joinpath(f"{os.getpid()}.pid").touch()
while True: pass
"""


@by_signals
@pytest.mark.parametrize(
    ("text", "count"), [(ENDLESS, 1), (WRONG, 2)], ids=["in a check", "in a search"]
)
def test_ctrl_c_ends_all_without_a_traceback(waiting, my, text, count):
    command = waiting(my(text), "--limit", "600")
    started = command.processes(count)
    os.killpg(command.process.pid, signal.SIGINT)
    assert command.process.wait(60) == 130
    assert (command.folder / "errors").read_text() == "\nmygpt: stopped\n"
    assert ended(started)


def test_a_watch_sees_new_changed_and_removed_neighbours(tmp_path):
    path = tmp_path / "my.py"
    path.write_text("1")
    seen = saves(path, pause=0.01)
    next(seen)
    for change in (
        lambda: path.write_text("22"),
        lambda: (tmp_path / "other.py").write_text(""),
        lambda: (tmp_path / "other.py").unlink(),
    ):
        change()
        start = time.monotonic()
        next(seen)
        assert time.monotonic() - start < 30


@pytest.mark.parametrize("task", ["adamw_step", "gpt", "train"])
def test_a_check_does_not_wait_for_pytorchs_compiler(task):
    """Whoever makes an optimiser imports it, which takes two seconds."""
    program = f"""
import sys
from mygpt import check
from {task} import {task}
print(check.{task}({task}).passed, "torch._dynamo" in sys.modules)
"""
    folder = Path(__file__).parent / "workbook"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    found = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True
    )
    assert found.stdout.split() == ["True", "False"], found.stderr
