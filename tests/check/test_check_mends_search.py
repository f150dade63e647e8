"""The edit that makes a wrong program right: found, verified and told."""

import json
import linecache

import pytest

from mygpt import check
from mygpt.check import order
from mygpt.check.mends import tally
from mygpt.check.mends.search import find_mend
from mygpt.check.mends.sentences import as_json
from mygpt.check.mends.source import Edit
from mygpt.check.mends.trial import Trial
from mygpt.check.process.child import load
from mygpt.check.process.files import check_file
from tools.mends.programs import text_of

START = "import torch\nimport math\n\n\n"
RIGHT = {
    "softmax": text_of("workbook/softmax"),
    "layer_norm": """\
def layer_norm(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, correction=0)
    return weight * (x - mean) / torch.sqrt(variance + eps) + bias
""",
    "attention": """\
def attention(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    T, D = q.shape[1:]
    scores = q @ k.mT / D**0.5
    mask = torch.ones(T, T).tril()
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores.softmax(-1) @ v
""",
    "top_p": """\
def top_p(logits, p):
    probabilities, order = logits.softmax(-1).sort(descending=True)
    before = probabilities.cumsum(-1) - probabilities
    kept = probabilities * (before < p)
    kept = torch.zeros_like(kept).scatter(-1, order, kept)
    return kept / kept.sum(-1, keepdim=True)
""",
    "generate": """\
def generate(step, ids, max_new_tokens):
    cache = None
    for _ in range(max_new_tokens):
        logits, cache = step(ids if cache is None else ids[:, -1:], cache)
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], 1)
    return ids
""",
    "evaluate": text_of("workbook/evaluate").removeprefix("import torch\n\n\n"),
    "train": text_of("workbook/train"),
}
KINDS = [
    ("layer_norm", "correction=0", "correction=1", "a number in it"),
    ("layer_norm", ", correction=0", "", "without the argument `correction` in it"),
    ("layer_norm", " + bias", "", ""),
    ("layer_norm", "variance + eps)", "variance - eps)", "an operator in it"),
    ("layer_norm", "torch.sqrt(variance + eps)", "(variance + eps)", "the division"),
    ("layer_norm", "torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)", "bra"),
    ("softmax", "powers.sum(-1", "powers.sum(0", "a number in it"),
    ("softmax", "powers.sum", "powers.mean", "a call in it"),
    ("softmax", "(-1, keepdim=True)\n", "(-1)\n", "without the argument `keepdim`"),
    ("attention", "D**0.5", "D", "a power missing in it"),
    ("attention", ".tril()", ".triu()", "a call in it"),
    ("attention", "x @ W_K, x @ W_V", "x @ W_V, x @ W_K", "the order of what it lists"),
    ("attention", "x @ W_K", "x @ W_Q", "a name in it"),
    ("attention", "k.mT", "k.T", "an attribute"),
    ("attention", "mask == 0", "mask != 0", "a comparison in it"),
    ("attention", "q @ k.mT", "k @ q.mT", "the order of two names in it"),
    ("evaluate", "for rows in batches", "for rows in []", "what the loop goes over"),
    ("evaluate", "    model.eval()\n", "", "a line missing"),
    ("evaluate", "rows[:, 1:]", "rows[:, :-1]", "the targets"),
    ("evaluate", "count += targets.numel()", "count = targets.numel()", "an operator"),
    ("evaluate", "loss.item() * targets.numel()", "loss.item()", "a term or factor"),
    ("evaluate", "model.train(before)", "model.train()", "the mode in which"),
    ("top_p", "(descending=True)", "()", "without the argument `descending` in it"),
    ("top_p", " - probabilities\n", "\n", "sum"),
    ("generate", "ids if cache is None else ids[:, -1:]", "ids[:, -1:]", "a condition"),
    (
        "layer_norm",
        "return weight * (x - mean)",
        "x -= mean; return weight * x",
        "in pl",
    ),
]


@pytest.fixture
def written(tmp_path):
    def write(name, old="", new=""):
        assert old in RIGHT[name]
        path = tmp_path / f"{name}.py"
        path.write_text(START + RIGHT[name].replace(old, new, 1))
        return path

    return write


def mend_of(path):
    task = check.TASKS[path.stem]
    program = getattr(load(path), path.stem)
    result = order.check(task, program)
    if result:
        return None
    return find_mend(task, program, result.line, seconds=60, mistake=result.mistake)


@pytest.mark.parametrize(("name", "old", "new", "kind"), KINDS)
def test_one_edit_is_found(written, name, old, new, kind):
    path = written(name, old, new)
    mend = mend_of(path)
    assert len(mend.edits) == 1
    assert kind in mend.edits[0].kind
    path.write_text(mend.text)
    assert order.check(check.TASKS[name], getattr(load(path), name))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attention", "k.mT / D", "k.T / D"),
        ("evaluate", "count += targets", "count -= targets"),
    ],
)
def test_two_edits_are_found(written, name, old, new):
    path = written(name, old, new)
    text = path.read_text().replace("softmax(-1)", "softmax(-2)")
    path.write_text(text.replace("train(before)", "train(not before)"))
    mend = mend_of(path)
    assert len(mend.edits) == 2
    path.write_text(mend.text)
    assert order.check(check.TASKS[name], getattr(load(path), name))


def test_a_shift_before_a_softmax_is_no_edit(written):
    """Where a sum is exactly p, it rounds otherwise, and so may pass by chance."""
    mend = mend_of(written("top_p", "before < p", "~(probabilities.cumsum(-1) > p)"))
    assert "logits.softmax(-1)" in mend.text
    assert "cumsum(-1) - probabilities >= p" in mend.text


def test_two_lines_that_change_places_are_likelier_than_one_twice(written):
    path = written("train", "    model.train()\n")
    lines = "        loss.backward()\n", "        optimizer.step()\n"
    text = path.read_text().replace("        optimizer.zero_grad()\n", "")
    zero = "        optimizer.zero_grad()\n"
    path.write_text(text.replace("".join(lines), lines[0] + zero + lines[1]))
    found = as_json(mend_of(path))
    assert found["only"].endswith(" and lines 10 and 11 (their order).")
    assert found["mend"].count("optimizer.step()") == 1


def test_a_program_that_is_wrong_all_over_has_no_mend(written):
    path = written("attention", "def", "def")
    path.write_text(
        f"{START}def attention(x, W_Q, W_K, W_V):\n    return x.sum() * 0\n"
    )
    result = check_file("attention", path)
    assert not result
    assert (result.only, result.mend) == ("", None)


def test_a_program_without_a_source_has_no_mend():
    made = {}
    text = RIGHT["softmax"].replace("-1, keepdim=True)).exp", "-1)).exp")
    exec(START + text, made)
    assert find_mend(check.TASKS["softmax"], made["softmax"], None) is None


def test_the_readers_file_stays_as_it_is(written, tmp_path):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    before = path.read_bytes()
    assert check_file("softmax", path).mend
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_special_case_of_the_probes_is_no_mend(written):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    text = path.read_text()
    special = "0 if len(powers) == 4 else -1"
    at = text.index("sum(0") + 4
    edit = Edit(at, at + 1, special, 7, "a number in it", 1.0)
    program = load(path).softmax
    trial = Trial(check.TASKS["softmax"], program, None, None, 9.0)
    mended = trial.made(trial.source, edit)
    assert order.check(check.TASKS["softmax"], mended)
    assert not trial.passes(trial.source, edit)


def test_the_edit_is_told_after_a_second_try(mygpt, written):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    status, out, _ = mygpt("check", "softmax", path, "--mend")
    assert status == 1
    assert "Line 7 is the only thing wrong: a number in it." in out
    assert "after a second failed try" in " ".join(out.split())
    assert "in place of" not in out
    path.write_text(path.read_text().replace("powers.sum(0", "powers.sum(-2"))
    told = " ".join(mygpt("check", "softmax", path, "--mend")[1].split())
    assert "in place of `powers.sum(-2, keepdim=True)` it passes everything" in told


def test_a_notebook_counts_its_own_tries(written):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    first = check.softmax(load(path).softmax, mend=True)
    assert first.only == "Line 7 is the only thing wrong: a number in it."
    assert "in place of" not in str(first)
    written("softmax", "powers.sum(-1", "powers.mean(-1")
    linecache.checkcache()
    second = check.softmax(load(path).softmax, mend=True)
    told = " ".join(str(second).split())
    assert "in place of `powers.mean(-1, keepdim=True)`" in told
    assert not check.softmax(load(path).softmax).only


def test_json_has_the_line_and_the_kind_but_not_the_edit(mygpt, written):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    found = json.loads(mygpt("check", "softmax", path, "--json", "--mend")[1])
    assert (found["line"], found["kind"]) == (7, "a number in it")
    assert "mend" not in found
    assert "edit" not in found
    assert "in place of" not in json.dumps(found)


def test_tries_that_cannot_be_kept_are_none(written, tmp_path, monkeypatch):
    path = written("softmax")
    cache = tmp_path / "cache"
    monkeypatch.setenv("MYGPT_CACHE", str(cache))
    cache.mkdir()
    (cache / "tries.json").write_text('{"damaged')
    assert tally.count_failed("softmax", path) == 1
    assert tally.count_failed("softmax", path) == 1  # the same source is one try
    path.write_text("other")
    assert tally.count_failed("softmax", path) == 2
    tally.forget("softmax", path)
    assert tally.count_failed("softmax", path) == 1
    monkeypatch.setenv("MYGPT_CACHE", str(path / "no folder"))
    assert tally.count_failed("softmax", path) == 1


def test_what_a_candidate_prints_is_not_shown(mygpt, written):
    path = written("softmax", "    return powers / powers.sum(-1", PRINTS)
    out = mygpt("check", "softmax", path)[1]
    assert "Line 8 is the only thing wrong" in out
    assert out.count("| seen") < 20


PRINTS = "    print('seen')\n    return powers / powers.sum(0"


def test_a_search_ends_in_time(written):
    path = written("softmax", "powers.sum(-1", "powers.sum(0")
    program = load(path).softmax
    assert find_mend(check.TASKS["softmax"], program, None, seconds=0.0) is None
