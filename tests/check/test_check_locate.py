"""Which steps of a wrong program are right, and the line of the first that is not."""

import json

import pytest
import torch
from helpers.cells import run_cell
from helpers.right_programs import PROGRAMS
from helpers.tables import rows_of

from mygpt import check
from mygpt.check import combine
from mygpt.check.catalogue import IN_ORDER
from mygpt.check.locate import find
from mygpt.check.locate.find import right_on
from mygpt.check.locate.record import Recorder, recorded
from mygpt.check.order import check as check_program
from tools.mends.programs import task_of, text_of

HEAD = "import math\nimport torch\n"  # two lines before each program


@pytest.fixture(autouse=True)
def all_the_time_it_takes(monkeypatch):
    """Look at every probe, however busy the machine is."""
    monkeypatch.setattr(find, "SECONDS", 60.0)


def checked(task, source, known=True):
    program = run_cell(HEAD + source, {}, known)[task]
    return check_program(check.TASKS[task], program)


SOURCES = ("right/attention_tril", "workbook/layer_norm", "right/mlp_erf")
SOURCES += ("workbook/adamw_step", "workbook/softmax", "workbook/wiring")
PROGRAM = {task_of(source): text_of(source) for source in SOURCES}
# A task; what is written instead of what; the line of the file; the sentence, if no
# mistake of the catalogue is that (- for any).
WRONG = rows_of("""
attention | math.sqrt(q.shape[-1]) | q.shape[-1] ** 0.7 | 13
    | q, k and v are right; no tensor of yours is q
attention | T, T)) | T, T)).flip(0) | 14 | v and q kᵀ / √D are right; no
attention | @ v | @ v.exp() | 17 | v and their softmax are right
attention | x @ W_Q | x.exp() @ W_Q | 10 | k and v are right; no tensor
layer_norm | centred**2 | centred**3 | 5 | x - mean is right; no
layer_norm | + eps) | + eps + 0.3) | 6 | the variance is right; no tensor
layer_norm | * weight | * weight**2 | 6 | (x - mean) / √(variance + eps) is
mlp | sqrt(2) | sqrt(3) | 10 | h = x W1 + b1 is right; no
mlp | @ W2 | @ W2.exp() | 11 | GELU of h is right; no
adamw_step | beta1**step | beta1*step | 8 | -
adamw_step | gradient**2 | gradient**4 | 7 | -
softmax | powers.sum | powers.exp().sum | 5 | their exp is right; no tensor
wiring | attention(ln1(x)) | attention(ln1(x)).exp() | 4 | attention(ln1(x)) is
""")


@pytest.mark.parametrize(("task", "old", "new", "line", "said"), WRONG)
def test_the_first_missing_stage_is_told_with_its_line(task, old, new, line, said):
    assert PROGRAM[task].count(old) == 1
    result = checked(task, PROGRAM[task].replace(old, new))
    assert result.line == int(line), result
    if said != "-" and not result.mistake:
        assert result.where.startswith(said), result
    assert result.where.endswith((f"(line {line}).", f"line {line}"))


@pytest.mark.parametrize("task", PROGRAM)
def test_nothing_is_said_of_a_right_program(task):
    result = checked(task, PROGRAM[task])
    assert result, result
    assert result.where == ""
    assert result.line is None


SPOILED = (
    *("row_times_matrix", "softmax", "cross_entropy", "embedding", "attention"),
    *("heads", "mlp", "gelu", "gelu_tanh", "layer_norm", "wiring", "top_k"),
)


@pytest.mark.parametrize("task", SPOILED)
def test_all_is_right_up_to_the_last_line(task, monkeypatch):
    """What a right program gives, times 1.1, in programs of every style.

    No combination of mistakes is searched: their names do not matter here.
    """
    monkeypatch.setattr(combine, "SECONDS", 0)
    styles = {}
    for right in PROGRAMS:
        if right.task == task and right.parameters is None:
            styles.setdefault(right.choices[0], right.program)
    for style, program in styles.items():
        result = check_program(
            check.TASKS[task], lambda *given, program=program: program(*given) * 1.1
        )
        assert not result
        if result.where and not result.mistake:
            assert result.where.startswith("everything up to"), (style, result)
            exact = task != "cross_entropy" and style != "float32"
            assert not exact or "it is that × 1.1" in result.where, (style, result)


def test_a_factor_is_told_by_its_formula():
    source = PROGRAM["attention"].replace(
        "math.sqrt(q.shape[-1])", "q.shape[-1] ** 1.5"
    )
    told = checked("attention", source).where
    assert "no tensor of yours is q kᵀ / √D: yours is that × 1/D (line 13)" in told
    source = PROGRAM["layer_norm"].replace("centred**2", "centred**2 * 0.3")
    assert (
        "the variance: yours is that × 0.3 (line 5)"
        in checked("layer_norm", source).where
    )


def test_half_precision_is_told_with_its_line():
    source = PROGRAM["mlp"].replace("x @ W1 + b1", "(x @ W1 + b1).half().double()")
    result = checked("mlp", source)
    assert result.where == "some of your tensors are in half precision (line 9)."


def test_a_forgotten_step_is_where_it_should_have_been():
    result = checked(
        "attention", PROGRAM["attention"].replace(" / math.sqrt(q.shape[-1])", "")
    )
    assert (result.mistake, result.line, result.where) == ("no-scale", 13, "line 13")


def test_a_fused_call_hides_no_stage():
    source = """\
def attention(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    read = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return read.exp()
"""
    result = checked("attention", source)
    assert result.where.startswith("everything up to the weighted values is right;")
    assert result.line == 6


def test_a_result_filled_in_place_is_followed():
    source = """\
def softmax(scores):
    y = torch.zeros_like(scores)
    for i in range(len(scores)):
        powers = (scores[i] - scores[i].max()).exp()
        y[i] = powers / powers.norm()
    return y
"""
    result = checked("softmax", source)
    assert "their exp is right" in result.where
    assert result.line == 7


def test_without_source_there_is_no_line():
    result = checked("mlp", PROGRAM["mlp"].replace("sqrt(2)", "sqrt(3)"), known=False)
    assert result.where.endswith("no tensor of yours is GELU of h.")
    assert result.line is None


def test_a_step_in_another_file_is_told_with_its_name(my, mygpt, tmp_path):
    (tmp_path / "curves.py").write_text("def curve(x):\n    return x.tanh()\n")
    source = PROGRAM["mlp"].replace(
        "0.5 * h * (1 + torch.erf(h / math.sqrt(2)))", "curve(h)"
    )
    file = my(f"import torch\nfrom curves import curve\n{source}")
    status, out, _ = mygpt("check", "mlp", file, "--json")
    found = json.loads(out)
    assert status == 1
    assert (found["line"], found["file"]) == (2, "curves.py"), found


def test_a_run_does_not_wait_for_the_import_of_a_compiler():
    assert not hasattr(Recorder.__torch_dispatch__, "__wrapped__")


def test_a_run_that_takes_too_long_is_not_whole():
    def endless(x):
        while True:
            x = x + 1

    run = recorded(lambda program: program(torch.ones(2)), endless)
    assert not run.whole


@pytest.mark.parametrize("name", [one.name for one in IN_ORDER if one.stages])
def test_what_is_right_makes_its_stages(name):
    task = check.TASKS[name]
    rights = [right_on(task, i, torch.float64) for i in range(len(task.probes))]
    assert any(right.whole and right.stages for right in rights)
