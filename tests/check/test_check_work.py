"""The same answer on every machine, and the line in which a mistake was made."""

import ast
import gc
import json
from pathlib import Path

import pytest

from mygpt.check import TASKS, work
from mygpt.check.mends.search import find_mend
from mygpt.check.order import examine
from mygpt.check.process.child import load
from mygpt.check.syntax import idle
from mygpt.check.work import OutOfTime, Rounds, count_rounds

NORM = """\
import torch
class Norm:
    epsilon = 1e-3
    def __call__(self, x, weight, bias):
        c = x - x.mean(-1, keepdim=True)
        v = (c * c).mean(-1, keepdim=True)
        return c / torch.sqrt(v + self.epsilon) * weight + bias
def layer_norm(x, weight, bias, eps):
    return Norm()(x, weight, bias)
"""
CAUSAL = """\
import torch
HIDDEN = -1e-9
def attention(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    T = x.shape[1]
    s = q @ k.mT / q.shape[-1] ** 0.5
    future = torch.ones(T, T).triu(1).bool()
    return s.masked_fill(future, HIDDEN).softmax(-1) @ v
"""
CUT = """\
import torch
def gelu(x):
    y = 0.5 * x * (1 + torch.erf(x / 2**0.5))
    return {}
"""
OFF = """\
import torch
def gelu(x):
    def phi(x):
        return 0.5 * (1 + torch.erf(x / 2**0.5))
    with torch.no_grad():
        return x * phi(x)
"""
SOLVED = Path(__file__).parent / "workbook" / "train.py"
KEPT = (
    SOLVED.read_text("utf-8")
    .replace("optimizer):", "optimizer, losses=[]):")
    .replace("    losses = []\n", "")
)
IN_PLACE = """\
def wiring(x, attention, mlp, ln1, ln2):
    x = x + attention(ln1(x))
    x += mlp(ln2(x))
    return x
"""
CHANGED = """\
import torch
def softmax(scores):
    top = scores.amax(-1, keepdim=True)
    scores -= top
    return scores.exp() / scores.exp().sum(-1, keepdim=True)
"""
ONE_HOT = """\
import torch.nn.functional as F
def embedding(ids, token_table, position_table):
    hot = F.one_hot(ids).double()
    return hot @ token_table + position_table[: ids.shape[1]]
"""
UNPACKED = """\
import torch
def embedding(ids, token_table, position_table):
    T, B = ids.shape
    return token_table[ids] + position_table[torch.arange(T)]
"""
ENDLESS = """\
def top_k(logits, k):
    i = 0
    while i < k:
        y = logits * 2
    return y
"""
COUNT = """\
def top_k(logits, k):
    i = 0
    while i < k:
        for _ in range(2):
            i + 1
"""
WHOLE = """\
import torch
def row_times_matrix(x, W):
    out = torch.zeros(len(W[0]), dtype=torch.int64)
    for j in range(len(out)):
        out[j] = x @ W[:, j]
    return out
"""
DRAWN = """\
import torch
@torch.no_grad()
def top_k(x, k):
    y = x.softmax(-1)
    z = torch.multinomial(y, k)
    return torch.zeros_like(y).scatter(-1, z, 1.0)
"""
COEFFICIENT = """\
import torch
K = 0.44715
def mlp(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    h = 0.5 * h * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (h + K * h**3)))
    return x + (h @ W2 + b2)
"""
OUTSIDE = """\
def layer_norm(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    std = y.square().mean(-1, keepdim=True).sqrt()
    return weight * (y / (std + eps)) + bias
"""
CHUNKS = """\
import torch
def attention(x, W_Q, W_K, W_V):
    q, v, k = (x @ torch.cat([W_Q, W_K, W_V], 1)).chunk(3, -1)
    s = q @ k.mT / q.shape[-1] ** 0.5
    s = s + torch.full(s.shape[-2:], -torch.inf).triu(1)
    return s.softmax(-1) @ v
"""
MADE = [  # a program, the line in which its mistake was made, and what is said
    ("layer_norm", NORM, 3, "eps is fixed at 0.001"),
    ("attention", CAUSAL, 2, "Line 2 is the only thing wrong: a number in it."),
    ("gelu", CUT.format("y.detach()"), 4, "No gradient flows back"),
    ("gelu", CUT.format("torch.tensor(y.tolist())"), 4, "No gradient flows back"),
    ("gelu", OFF, 5, "No gradient flows back"),
    ("train", KEPT, 1, "`losses = []` is made once"),
    ("wiring", IN_PLACE, 3, "is overwritten (`+=`"),
    ("softmax", CHANGED, 4, "changes its argument scores in place"),
    ("embedding", ONE_HOT, 3, "give it `num_classes`"),
    ("embedding", UNPACKED, 3, "Probably line 3 is wrong, which sets `T`"),
    ("top_k", ENDLESS, 3, "is there a loop that never ends?"),
    ("top_k", COUNT, 5, "`i + 1` alone on a line does nothing"),
    ("row_times_matrix", WHOLE, 3, "got a tensor of torch.int64"),
    ("softmax", "def softmax(x):\n    print(x.softmax(-1))\n", 2, "`return` missing"),
    ("layer_norm", OUTSIDE, 4, "the only thing wrong: where `eps` is added in it"),
    ("attention", CHUNKS, 3, "Line 3 is the only thing wrong: the order of"),
    ("top_k", DRAWN, 5, "result is random"),
    ("mlp", COEFFICIENT, 2, "Probably two places are wrong: line 2 and "),
    ("top_p", "def top_p(x, p):\n    return input()\n", 2, "a check has none"),
]


@pytest.mark.parametrize(("task", "text", "line", "said"), MADE)
def test_the_line_is_the_one_in_which_the_mistake_was_made(
    mygpt, my, task, text, line, said
):
    limit = 1 if text in (ENDLESS, COUNT) else 60
    found = json.loads(mygpt("check", task, my(text), "--json", "--limit", limit)[1])
    assert found["line"] == line
    told = [found["message"], found["only"], *found["hints"]]
    assert said in " ".join(told)


@pytest.fixture
def collected():
    """Somebody looks on, as Hypothesis does, when Python collects garbage."""
    before = gc.get_threshold()
    gc.callbacks.append(lambda *_: None)
    yield
    gc.callbacks.pop()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("task", ["softmax", "gelu_tanh"])
def test_an_answer_takes_the_same_work_whatever_was_before(tmp_path, task):
    path = tmp_path / f"{task}.py"
    path.write_text(
        f"import torch\ndef {task}(x):\n    return x.tanh() * torch.ones(()) + 0.1\n"
    )
    program, counts, found = getattr(load(path), task), [], []
    for threshold in (10**6, 20):
        gc.set_threshold(threshold)
        start = work.now()
        result, _ = examine(TASKS[task], program)
        mend = find_mend(TASKS[task], program, result.line, seconds=0.3)
        counts.append(work.now() - start)
        found.append((result.as_json(), mend))
    assert counts[0] == counts[1]
    assert found[0] == found[1]


def test_a_loop_without_an_end_is_stopped_in_the_same_round_everywhere():
    tree = ast.parse("i = 0\nwhile True:\n    for _ in range(3):\n        i += 1\n")
    count_rounds(tree.body)
    rounds, names = Rounds(), {}
    rounds.begin(100)
    names[work.COUNTER] = rounds
    with pytest.raises(OutOfTime):
        exec(compile(tree, "", "exec"), names)
    assert names["i"] == 75


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(
            (text, 1)
            for text in (
                "x * 1",
                "x + 0",
                "x ** 1",
                "1 ** x",
                "--x",
                "x = x",
                "y = 1; y",
            )
        ),
        *((text, 0) for text in ("x * 2", "1 / x", "x - 1", "1 - x", "-x")),
    ],
)
def test_an_operation_that_does_nothing_is_clumsy(text, count):
    assert idle(f"y = {text}" if "=" not in text else text) == count


FILES = """\
def softmax(s):
    with open("seen.txt", "w") as file:
        file.write(str(s))
    return s.softmax(-1)
"""


def test_a_file_that_a_program_leaves_is_named_with_its_line(mygpt, my, tmp_path):
    status, out, _ = mygpt("check", "softmax", my(FILES))
    assert status == 0
    assert "It leaves the file seen.txt behind (my.py, line 2:" in " ".join(out.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("torch.softmax = len", "It does so in my.py, line 2: `torch.softmax = len`."),
        ("import time; time.sleep(9)", "(my.py, line 2: `import time; time.sleep(9)`)"),
    ],
)
def test_what_a_file_does_to_others_is_told_with_its_line(mygpt, my, line, said):
    text = f"import torch\n{line}\ndef softmax(s):\n    return s\n"
    out = mygpt("check", "softmax", my(text), "--limit", 1)[1]
    assert said in " ".join(out.split())


def test_a_program_that_waits_is_told_the_line_in_which_it_does(mygpt, my):
    text = "import time\ndef softmax(s):\n    time.sleep(9)\n    return s\n"
    out = mygpt("check", "softmax", my(text), "--limit", 0.4)[1]
    assert "It is in my.py, line 3: `time.sleep(9)`." in " ".join(out.split())


def test_a_warning_that_bears_the_time_is_no_print_of_the_program(mygpt, my):
    warned = "\n    torch.ones(1).std()\n    print('seen')\n    return s.softmax(0)\n"
    text = f"import torch\ndef softmax(s):{warned}"
    found = json.loads(mygpt("check", "softmax", my(text), "--json")[1])
    assert found["printed"] == "seen\n"
