"""A piece of the right program in the place of the reader's."""

import ast

import pytest
import torch
from helpers.cells import run_cell

from mygpt import check
from mygpt.check import engine
from mygpt.check.mends.edit import Edit, Text
from mygpt.check.mends.moves import apart, kept
from mygpt.check.mends.pieces import joined
from mygpt.check.mends.search import Search, find_mend
from mygpt.check.mends.written import ADDED, Spelling, is_pure
from mygpt.check.model import Model, Part, Piece
from mygpt.check.run import run_once

START = "import torch\nimport math\n\n\n"
ADAMW = """\
def adamw_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    m = m + (1 - beta1) * (gradient - m)
    v = v + (1 - beta2) * (gradient**2 - v)
    move = m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps)
    return parameter * (1 - lr * decay) - lr * move, m, v
"""
ATTENTION = """def attention(x, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    scores = q @ k.mT / math.sqrt(x.shape[-1])
    future = torch.ones_like(scores).triu(1) == 1
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v
"""
ENCODE = """def bpe_encode(text, merges):
    ids = list(map(ord, text))
    for number, pair in enumerate(merges):
        i = 0
        while i < len(ids) - 1:
            if tuple(ids[i : i + 2]) == tuple(pair):
                ids[i : i + 2] = [256 + number]
            i += 1
    return ids
"""
TRAIN = """def bpe_train(words, num_merges):
    texts, merges = [list(word.encode()) for word in words], []
    for new in range(256, 256 + num_merges):
        found = [pair for ids in texts for pair in zip(ids, ids[1:])]
        counts = {pair: found.count(pair) for pair in found}
        best = max(counts, key=lambda pair: (counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        for ids in texts:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return merges
"""
EVALUATE = """def evaluate(model, batches):
    before = model.training
    model.eval()
    with torch.no_grad():
        losses = [model(rows[:, :-1], rows[:, 1:])[1].item() for rows in batches]
    model.train(before)
    return sum(losses) / len(losses)
"""
GENERATE = """def generate(step, ids, max_new_tokens):
    cache, new = None, ids
    for _ in range(max_new_tokens):
        logits, other = step(new, cache)
        new = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
    return ids
"""
NORM = """def layer_norm(x, weight, bias, eps):
    axis = 1
    centred = x - x.mean(axis, keepdim=True)
    normal = centred / ((centred**2).mean(axis, keepdim=True) + eps).sqrt()
    shifted = normal + bias
    return shifted * weight
"""
TOP_P = """def top_p(logits, p):
    values, order = logits.softmax(-1).sort(descending=True)
    cut = values * (values.cumsum(-1) <= p)
    cut[:, 0] = values[:, 0]
    cut = torch.zeros_like(cut).scatter(-1, order, cut)
    return cut / cut.sum(-1, keepdim=True)
"""
TOP_K = """def top_k(logits, k):
    least = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return torch.softmax(logits * (logits >= least), -1)
"""
FOUND = [
    (ADAMW, "parameter * (1 - lr * decay * (parameter.dim() >= 2))", "what decays"),
    (ATTENTION, "W_Q.shape[-1]", "the scale"),
    (ENCODE, 'list(text.encode("utf-8"))', "the bytes"),
    (TRAIN, "lambda pair: (-counts[pair], pair), default=None)", "the choice"),
    (EVALUATE, "zip(losses, batches)", "the mean"),
    (GENERATE, "cache", "the cache"),
    (TOP_P, "values.cumsum(-1) - values < p", "the sum"),
    (TOP_K, 'logits.masked_fill((logits >= least) == 0, float("-inf"))', "the cut"),
]


def search_of(text):
    """A search in a program of the text, which has a file of its own in memory."""
    name = ast.parse(text).body[0].name
    task, program = check.TASKS[name], run_cell(START + text, {})[name]
    result = engine.check(task, program)
    return Search(task, program, result.line, None, 60.0, result.mistake)


@pytest.mark.parametrize(("text", "new", "word"), FOUND)
def test_a_named_mistake_is_mended_by_what_a_right_program_has_there(text, new, word):
    search = search_of(text)
    assert search.pieces.written.named
    edits = [each for _, each in search.pieces.in_order() if each.kind == word]
    fitting = [edit for edit in edits if new in edit.new]
    assert any(search.passes(search.source, edit) for edit in fitting)


def test_two_named_mistakes_are_mended_together():
    search = search_of(NORM.replace("mean(1", "mean(1, ").replace(", ,", ","))
    assert search.pieces.written.several
    axis = NORM.replace("    mean =", "    axis = 1\n    mean =").replace(
        "(1,", "(axis,"
    )
    mend = search_of(axis).pieces.named()
    axes, affine = (edit.new for edit in mend.edits)
    assert axes in ("-1", "2")
    assert affine == "normal * weight + bias"


def test_a_mistake_without_a_name_is_found_among_all_pieces():
    text = ENCODE.replace("map(ord, text)", "map(ord, text.lower().replace(' ', ''))")
    search = search_of(text)
    assert not search.pieces.written.named
    edits = search.pieces.in_order()
    assert any(edit.new == 'list(text.encode("utf-8"))' for _, edit in edits)


def test_find_mend_is_given_the_name():
    program = search_of(EVALUATE).program
    task = check.TASKS["evaluate"]
    mistake = engine.check(task, program).mistake
    mend = find_mend(task, program, None, mistake=mistake)
    assert mend.edits[0].kind == "the mean"


def spellings(task):
    changes = task.model.changes() if task.model else ()
    texts = {text for change in changes for text in change.written}
    return [Spelling(text, "", 0) for text in sorted(texts) if "@" not in text]


@pytest.mark.parametrize("name", check.TASKS)
def test_every_spelling_is_one_statement_that_changes_nothing(name):
    for spelling in spellings(check.TASKS[name]):
        filled = spelling.text.format(**dict.fromkeys(spelling.holes, "len"))
        (statement,) = ast.parse(filled.removeprefix(ADDED)).body
        assert spelling.is_line or is_pure(statement.value), spelling.text


@pytest.mark.parametrize("name", check.TASKS)
def test_no_spelling_is_the_whole_answer(name):
    task = check.TASKS[name]
    header = f"lambda {', '.join(task.arguments)}: "
    for spelling in spellings(task):
        if spelling.is_line or spelling.is_statement:
            continue
        if not set(spelling.holes) <= set(task.arguments):
            continue
        filled = spelling.text.format(**{hole: hole for hole in spelling.holes})
        program = eval(header + filled, {"torch": torch})
        arguments = task.arguments_of(task.probes[0])
        given = [
            run_once(task, each, arguments, torch.float64)
            for each in (task.reference, program)
        ]
        assert engine.differ(*given, task.tolerance), spelling.text


def test_sources_belong_to_a_piece_or_to_one_of_its_changes():
    def program(x, *, power=2):
        return x**power

    power = Piece("the power", first=("a", 1), third=("b", 3))
    model = Model(program, power=power).written(power=("{x} ** 2",), third=("2",))
    found = {change.name: change.written for change in model.changes()}
    assert found == {"first": ("{x} ** 2",), "third": ("2",)}
    whole = Model(lambda x, *, of=program: of(x), parts=[Part(model, "of", "in it")])
    assert {change.name: change.written for change in whole.changes()} == found


def function(text):
    return Text(text), ast.parse(text).body[0]


def applied(text, changes):
    return [text[:start] + new + text[end:] for start, end, new in changes]


def test_what_a_round_makes_is_kept_for_the_next():
    text = "def f(x):\n    for w in x:\n        y = g(x, w)\n    return y\n"
    made = applied(text, kept(*function(text)))
    assert text.replace("y = g", "x = y = g") in made
    assert text.replace("g(x", "g(y") in made
    both = text.replace("y = g", "a, y = g")
    assert both.replace("a, y", "a, x") in applied(both, kept(*function(both)))


def test_what_is_returned_is_kept_apart():
    text = "def f(m, v):\n    m = m / 2\n    v /= 3\n    return m / v, m, v\n"
    (both, *_) = applied(text, apart(*function(text)))
    made = {}
    exec(both, made)
    assert made["f"](8, 9) == (4 / 3, 8, 9)
    assert list(apart(*function("def f(m):\n    m = 1\n    return m\n"))) == []


def test_edits_of_two_kinds_are_joined_but_not_where_they_overlap():
    edits = [
        Edit(0, 1, "x\ny", 1, "a", 0.2),
        Edit(4, 5, "2", 1, "b", 0.1),
        Edit(0, 5, "3", 1, "b", 0.0),
    ]
    ((first, second),) = joined(edits, "a + b")
    assert second.applied(first.applied("a + b")) == "x\ny + 2"
    assert second.line == 2
