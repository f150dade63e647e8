"""The settings that stand for other processors, and the rounding noise among them."""

import ast
import os
import shutil

import nbformat
import pytest
import torch
import torch.nn.functional as F
from helpers.notebooks import code, notebook, write
from helpers.programs import run_python

import make
from make import ROOT
from tools import executed
from tools.processors import __main__ as processors
from tools.processors import settings
from tools.processors.in_every_process.rounding_noise import RoundingNoise

X = torch.linspace(-2, 3, 7 * 11).view(7, 11)
W = torch.linspace(-1, 1, 11 * 13).view(11, 13)


def attention(x):
    q = x.reshape(1, 1, 7, 11)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


OPERATIONS = {
    "matmul": lambda x: x @ W,
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(-1),
    "std": lambda x: x.std(-1),
    "norm": lambda x: x.norm(dim=-1),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "exp": lambda x: x.exp(),
    "in place": lambda x: (x + 0).exp_(),
    "out": lambda x: torch.exp(x, out=torch.empty(7, 11)),
    "erf": lambda x: x.erf(),
    "tanh": lambda x: x.tanh(),
    "gelu": F.gelu,
    "layer_norm": lambda x: F.layer_norm(x, (11,)),
    "attention": attention,
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(7), reduction="none"),
    "float64": lambda x: x.double().exp(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_noise_changes_the_last_bits_alike_in_equal_calls(name):
    operation = OPERATIONS[name]
    plain = operation(X)
    with RoundingNoise(seed=1, bits=2):
        noisy, again = operation(X), operation(X)
    with RoundingNoise(seed=2, bits=2):
        other = operation(X)
    assert torch.equal(noisy, again)
    assert not torch.equal(noisy, plain)
    assert not torch.equal(noisy, other)
    unit = torch.finfo(plain.dtype).eps
    assert (noisy - plain).abs().max() < 16 * unit * plain.abs().max()


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "out"])
def test_noise_reaches_the_backward_pass(name):
    def gradient():
        x = X.clone().requires_grad_()
        with RoundingNoise(seed=1, bits=0):
            result = OPERATIONS[name](x if name != "in place" else x * 1.0)
        result.backward(torch.linspace(0.3, 0.7, result.numel()).view(result.shape))
        return x.grad

    plain = gradient()
    noise = RoundingNoise(seed=1, bits=2)
    x = X.clone().requires_grad_()
    result = OPERATIONS[name](x)
    with noise:
        result.backward(torch.linspace(0.3, 0.7, result.numel()).view(result.shape))
    if name in ("sum", "mean"):  # their gradients are copies, which are exact
        assert torch.equal(x.grad, plain)
    elif name not in ("exp", "in place", "erf", "norm", "std", "float64"):
        assert not torch.equal(x.grad, plain)  # the others' are products, element-wise


def test_at_size_0_nothing_changes():
    with RoundingNoise(seed=1, bits=0):
        noisy = {name: operation(X) for name, operation in OPERATIONS.items()}
    assert all(torch.equal(noisy[name], OPERATIONS[name](X)) for name in noisy)


def test_what_is_exact_in_float32_stays():
    table, picks = X, torch.eye(7)[[3, 1, 1]]
    with RoundingNoise(seed=1, bits=4):
        assert torch.equal(picks @ table, table[[3, 1, 1]])
        assert torch.arange(5000.0).sum() == 12_497_500
        assert torch.equal(torch.zeros(4).softmax(0), torch.full((4,), 0.25))
        assert torch.zeros(3).exp().tolist() == [1, 1, 1]
        assert (torch.tensor([[2.0, 0.5]]) @ torch.tensor([[3.0], [8.0]])).item() == 10
        masked = torch.tensor([0.3, -torch.inf, 0.7]).softmax(0)
        assert masked[1] == 0
        assert torch.tensor([torch.inf, -torch.inf]).exp().tolist() == [torch.inf, 0]
        assert torch.tensor([30.0]).tanh() == 1


def test_equal_numbers_of_one_call_stay_equal():
    with RoundingNoise(seed=1, bits=4):
        shares = torch.tensor([0.3, 0.7, 0.3]).softmax(0)
    assert shares[0] == shares[2]


def test_half_and_the_negative_of_the_inputs_give_half_and_the_negative():
    with RoundingNoise(seed=1, bits=4):
        assert torch.equal((X / 2) @ W, (X @ W) / 2)
        assert torch.equal(-X.sum(0), (-X).sum(0))
        assert torch.equal((X * 4).mean(-1), X.mean(-1) * 4)


def test_half_precision_moves_only_where_a_border_is_near():
    x, w = X.bfloat16().repeat(40, 1), W.bfloat16()
    plain = x @ w
    with RoundingNoise(seed=1, bits=4):
        noisy = x @ w
    moved = (noisy != plain).float().mean()
    assert moved < 0.02


@pytest.mark.slow
def test_threads_that_ran_before_are_listed(tmp_path):
    code = (
        "import threading; stop = threading.Event()\n"
        "early = threading.Thread(target=stop.wait, args=[60], name='early')\n"
        "early.start(); import torch, rounding_noise\n"
        "late = threading.Thread(target=stop.wait, args=[60], name='late')\n"
        "late.start(); late.join(0.2); print(rounding_noise.unreached()); stop.set()"
    )
    found = run_under(settings.noise(1).environment(), tmp_path, "-c", code)
    assert found == "['early']\n"


TRAVELS = """
import multiprocessing, os, subprocess, sys, threading
import torch

def result(queue=None):
    value = torch.linspace(-2, 3, 77).exp().double().sum().item().hex()
    if queue is not None:
        queue.put(value)
    return value

if __name__ == "__main__":
    values = {"here": result()}
    thread = threading.Thread(target=lambda: values.update(thread=result()))
    thread.start()
    thread.join()
    for start in sys.argv[1:]:
        context = multiprocessing.get_context(start)
        queue = context.Queue()
        process = context.Process(target=result, args=[queue])
        process.start()
        values[start] = queue.get(timeout=60)
        process.join()
    command = [sys.executable, "-c", "import program; print(program.result())"]
    without = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for name, env in (("started", None), ("plain", without)):
        values[name] = subprocess.check_output(command, text=True, env=env).strip()
    print(values)
"""


def run_under(variables, folder, *command):
    return run_python(*command, cwd=folder, env={**os.environ, **variables}).stdout


@pytest.mark.parametrize(
    "starts", [(), pytest.param(("spawn", "fork"), marks=pytest.mark.slow)], ids=str
)
def test_noise_travels_into_every_process_and_thread(tmp_path, starts):
    (tmp_path / "program.py").write_text(TRAVELS)
    found = run_under(settings.noise(1).environment(), tmp_path, "program.py", *starts)
    values = ast.literal_eval(found)
    assert values.pop("plain") not in values.values()
    assert set(values) == {"here", "thread", "started", *starts}
    assert len(set(values.values())) == 1, values


def test_a_notebooks_own_thread_count_is_overridden(tmp_path):
    code = (
        "import torch; torch.set_num_threads(1); print(torch.get_num_threads(),"
        " __import__('os').environ['MYGPT_SETTING'])"
    )
    variables = settings.BY_NAME["two-threads"].environment()
    assert run_under(variables, tmp_path, "-c", code) == "2 two-threads\n"


def test_every_variable_of_a_setting_keeps_its_runs_from_the_book():
    assert set(settings.VARIABLES) == set(executed.SETTINGS)
    assert {*settings.VARIABLES, "MYGPT_SETTING"} == set(make.SETTINGS)


# What is kept


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A notebook that opens a file of a small project, and was run and kept."""
    (tmp_path / "mygpt" / "data" / "models").mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "mygpt" / "a.py").write_text("A = 1\n")
    (tmp_path / "mygpt" / "b.py").write_text("B = 1\n")
    (tmp_path / "requirements.txt").write_text("torch\n")
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    monkeypatch.setenv("MYGPT_SETTING", "plain")
    monkeypatch.setenv("MYGPT_OPENED", "")
    path = tmp_path / "chapters" / "01_a.ipynb"
    opens = notebook(code("import mygpt.a"))
    nbformat.write(opens, path)
    run = settings.Kept(path, tmp_path / "kept")
    run.begin()
    (run.opened / "17").write_text("mygpt/__pycache__/a.cpython-311.pyc\n_build/x\n")
    run.save(opens)
    return run


def test_a_kept_run_is_taken_again(kept):
    assert kept.load().cells[0].source == "import mygpt.a"
    assert "depends" not in kept.load().metadata


def test_a_kept_run_ends_with_a_file_that_it_opened_and_with_no_other(kept, tmp_path):
    (tmp_path / "mygpt" / "b.py").write_text("B = 2\n")
    assert kept.load()
    (tmp_path / "mygpt" / "a.py").write_text("A = 2\n")
    assert kept.load() is None


def test_a_kept_run_ends_with_its_cells_and_its_setting(kept, monkeypatch):
    with monkeypatch.context() as other:
        other.setenv("MYGPT_ROUNDING_NOISE", "3:2")
        assert kept.load() is None
    assert kept.load()
    write(kept.path, code("import mygpt.b"))
    assert kept.load() is None


def test_a_process_writes_down_what_it_opens(tmp_path):
    opened = tmp_path / "opened"
    opened.mkdir()
    variables = settings.BY_NAME["plain"].environment()
    run_under(
        {**variables, "MYGPT_OPENED": str(opened)},
        ROOT,
        "-c",
        "import mygpt.support.seed, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'open(\"tools/terms.py\")'])",
    )
    lines = "".join(path.read_text() for path in opened.iterdir()).split()
    names = {settings.source_of(line) for line in lines}
    assert {"mygpt/__init__.py", "mygpt/support/seed.py", "tools/terms.py"} <= names
    assert len(list(opened.iterdir())) == 2


# The command


def test_a_setting_that_changes_nothing_or_cannot_be_had_is_skipped_with_its_reason():
    plain, avx2 = settings.BY_NAME["plain"], settings.BY_NAME["avx2"]
    elsewhere = settings.Setting("other", "another maker's", {}, ("riscv",))
    assert processors.why_skipped(plain, []) == ""
    assert processors.why_skipped(avx2, ["gelu"]) == ""
    assert "changes none" in processors.why_skipped(avx2, [])
    assert processors.why_skipped(elsewhere, ["gelu"]) == "only riscv can have it"
    row = processors.Row("avx2", "AVX2 instructions", skipped="it cannot")
    assert "skipped: it cannot" in processors.table([row])


def test_a_name_that_is_neither_a_setting_nor_a_notebook_is_refused():
    chosen, paths = processors.chosen(["noise-1", "05"])
    assert [one.name for one in chosen] == ["noise-1"]
    assert [path.name for path in paths] == ["05_feed_forward.ipynb"]
    with pytest.raises(ValueError, match=r"expected a setting .*; got 'noise-9'"):
        processors.chosen(["noise-9"])


def test_a_cell_that_differs_and_a_kernel_that_dies_are_named(tmp_path):
    sources = {
        "quarter": ("print(0.25)", "0.75\n"),
        "setting": ("import os; print(os.environ['MYGPT_SETTING'])", "noise-1\n"),
        "dies": ["import time; time.sleep(1); os._exit(7)"],  # what was printed is sent
    }
    cells = [
        code(source, id=name, outputs=stored, count=number)
        for number, (name, (source, *stored)) in enumerate(sources.items(), 1)
    ]
    path = tmp_path / "dying.ipynb"
    write(path, *cells)
    shutil.copy(ROOT / "chapters" / "conftest.py", tmp_path)
    report = tmp_path / "report.xml"
    printed = processors.compare(
        settings.noise(1), [path], report, f"--rootdir={tmp_path}", "-n", "0"
    )
    assert report.is_file(), printed
    count, differ, why = processors.read(report)
    assert count == 3
    assert differ == ["dying, quarter", "dying, dies"], why
    assert "0.75 became 0.25" in why
    assert "died" in why.lower()


@pytest.mark.parametrize("kind", ["failure", "error"])
def test_a_report_names_what_failed_and_what_broke(tmp_path, kind):
    report = tmp_path / "report.xml"
    said = f"<{kind} message='x'>E\ncell 'sum' differs\n0.1 became 0.2</{kind}>"
    case = "<testcase classname='chapters.05_x.ipynb' name='Cell 3'>"
    report.write_text(
        f"<testsuites><testsuite>{case}{said}</testcase>{case}</testcase>"
        "</testsuite></testsuites>"
    )
    expected = (2, ["05_x, sum"], "cell 'sum' differs\n0.1 became 0.2")
    assert processors.read(report) == expected


def test_the_probe_sees_the_noise():
    plain = processors.probe(settings.BY_NAME["plain"])
    noisy = processors.probe(settings.noise(1))
    changed = {name for name in plain if plain[name] != noisy[name]}
    assert len(changed) > 0.8 * len(plain)
    assert {"matmul", "attention"} <= changed
    assert {"attention backward", "layer_norm backward"} <= changed
