"""The checker: right programs pass, and a wrong one is told which mistake it makes."""

import doctest
import functools
import importlib
import itertools
import json
import random
import re
import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from helpers.cells import edited, written
from helpers.right_programs import of_linears
from helpers.tables import rows_of
from torch import nn

from mygpt import MultiHeadAttention, TransformerBlock, check
from mygpt.check import TASKS, gradients, order, shrink
from mygpt.check.catalogue import IN_ORDER
from mygpt.check.task import Mistake, Probe, Task
from mygpt.check.values import Submission, differ, trail
from mygpt.workbook.asked import CHAPTERS

CHAPTERS_FOLDER = Path(__file__).parents[2] / "chapters"
by_task = pytest.mark.parametrize("name", TASKS)


# The catalogue


@by_task
@pytest.mark.usefixtures("without_lines")
def test_every_mistake_fails_under_its_own_name(name, monkeypatch):
    monkeypatch.setattr(shrink, "TRIES", 2)
    task = TASKS[name]
    for mistake in task.mistakes:
        result = order.check(task, mistake.program)
        assert not result.passed, mistake.name
        assert result.mistake == mistake.name
        assert mistake.text in result.message


@by_task
def test_two_mistakes_never_give_the_same(name):
    task = TASKS[name]
    right = Submission(task, task.reference)
    outcomes = [(m, right.outcomes_of(m.program)) for m in task.mistakes]
    for (one, a), (other, b) in itertools.combinations(outcomes, 2):
        if one.name != other.name and list(map(trail, a)) == list(map(trail, b)):
            assert any(map(differ, a, b)), (one.name, other.name)


@by_task
def test_a_mistake_stands_in_the_catalogue_once_for_each_form(name):
    task = TASKS[name]
    names = [mistake.name for mistake in task.mistakes]
    for mistake in task.mistakes:
        assert names.count(mistake.name) <= 1 + len(task.forms)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mistake.name)
        assert not mistake.text.endswith(".")


# The tasks


@by_task
@pytest.mark.usefixtures("with_shapes")
def test_the_books_own_program_passes_in_every_form(name):
    task = TASKS[name]
    if name != "cached_step":  # the book's own reads without a cache here
        assert order.check(task, task.reference)
    for form, program in task.forms.items() if name != "cached_step" else ():
        result = order.check(task, program)
        assert result.passed
        assert result.message == form


@by_task
def test_the_example_shows_what_the_books_own_program_gives(name):
    task = TASKS[name]
    names = {task.name: positional(task), "torch": torch}
    example = doctest.DocTestParser().get_doctest(task.example, names, name, None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(example).failed == 0
    assert runner.tries > 0


def positional(task):
    return lambda *values: task.reference(*values)


def test_the_sections_are_there_in_the_chapters_that_are_written():
    written = 0
    for task in IN_ORDER:
        notebook = CHAPTERS_FOLDER / f"{task.chapter}.ipynb"
        if notebook.exists():
            cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
            assert f"({task.label})=" in text, task.name
            written += 1
    assert written >= 7


def test_the_written_chapters_are_those_that_the_tasks_name():
    """A renamed notebook must not leave its tasks without a section."""
    written = {path.stem for path in CHAPTERS_FOLDER.glob("[01]*.ipynb")}
    numbers = {name.split("_")[0]: name for name in CHAPTERS}
    for name in written:
        assert numbers.get(name.split("_")[0], name) == name


@by_task
def test_the_help_shows_the_signature_and_the_shapes(name):
    text = getattr(check, name).__doc__
    task = TASKS[name]
    assert task.signature in text
    assert task.example in text
    assert all(kind in text for kind in task.arguments.values())


def test_the_train_task_is_the_packages_training_loop():
    """The package's loop, with plain gradient descent in place of AdamW."""
    from mygpt import training

    task = TASKS["train"]
    arguments = task.arguments_of(task.probes[0])
    rows = list(arguments["batches"])
    expected = task.run(task.reference, arguments)

    class Rows:
        def __init__(self):
            self.left = [(r[:, :-1], r[:, 1:]) for r in rows]

        def __next__(self):
            return self.left.pop(0)

        def state_dict(self):
            return {}

        def load_state_dict(self, state):
            pass

    def with_the_package(model, batches, optimizer):
        class Config:
            max_seq_len, vocab_size = 3, 3

        model.config = Config
        config = training.TrainingConfig(len(rows), clip=None, progress=False)
        run = training.Run(model, Rows(), config)
        optimizer.param_groups[0]["peak"] = optimizer.param_groups[0]["lr"]
        run.config = training.TrainingConfig(
            len(rows), clip=None, warmup_steps=0, final_learning_rate_share=1.0
        )
        run.optimizers = [optimizer]
        for _ in rows:
            run.take_step()
        return run.history.loss

    got = task.run(with_the_package, arguments)
    assert got["losses"] == pytest.approx(expected["losses"], abs=1e-12)


def test_the_generate_task_is_the_packages_greedy_generation():
    from mygpt import GPT, GPTConfig, generate

    model = GPT(GPTConfig(11, 12, 8, 2, 1)).eval()
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])

    def step(ids, cache):
        cache = model.new_cache(2) if cache is None else cache
        return model(ids, cache=cache)[0][:, -1], cache

    with torch.no_grad():
        got = TASKS["generate"].reference(step, ids, 6)
    assert torch.equal(got, generate(model, ids, 6, greedy=True))


def test_the_write_facts_task_writes_the_cards_of_the_package():
    from mygpt.inside import computed

    task = TASKS["write_facts"]
    keys, centre, messages, threshold = task.arguments_of(task.probes[0]).values()
    W1, b1, W2 = task.reference(keys, centre, messages, threshold)
    w, _ = computed.listeners(keys, centre[None])
    torch.testing.assert_close((W1, b1), computed.gates(w, centre, threshold, 1.0))
    loud = (keys @ W1.T + b1).relu().diagonal()
    torch.testing.assert_close(loud * W2, messages.T)


def test_the_translate_task_fills_the_gpt_of_the_chapters(tmp_path):
    from safetensors.torch import load_file

    from mygpt import GPT, GPTConfig, bare, save_gpt2

    package = GPT(GPTConfig(11, 12, 8, 2, 2)).eval()
    save_gpt2(package, tmp_path)
    stored = load_file(tmp_path / "model.safetensors").items()
    pairs = itertools.starmap(TASKS["translate"].reference, stored)
    model, ids = bare.GPT(11, 8, 2, 2, 12), torch.tensor([[1, 2, 3]])
    model.load_state_dict(dict(itertools.chain(*pairs)))
    torch.testing.assert_close(model(ids), package(ids)[0])


def test_the_rotate_task_is_the_packages_rotation():
    from mygpt import modern

    x, angles = torch.randn(2, 3, 5, 8), modern.rotary_angles(12, 8)
    got = TASKS["rotate"].reference(x, 7)
    torch.testing.assert_close(got, modern.rotate(x, angles[7:]))


def test_after_all_turns_of_the_ring_task_everyone_has_the_sum():
    team = torch.arange(16.0).view(4, 4)
    after = functools.reduce(TASKS["ring"].reference, range(6), team)
    assert torch.equal(after, team.sum(0).expand(4, 4))


# What a reader is told


def test_the_report_fits_one_screen_and_shows_the_smallest_input():
    result = check.layer_norm(edited("right/layer_norm_var", "=False", "=True"))
    assert result.mistake == "variance-over-n-minus-one"
    text = repr(result)
    assert "This is what comes out when the variance divides by C - 1" in text
    assert "x = [[[0, 1]]]" in text
    assert "“8. Layer normalisation”, section “In code”" in text
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 88


@by_task
def test_every_report_fits_one_screen(name):
    task = TASKS[name]
    for mistake in task.mistakes[:2]:
        lines = order.check(task, mistake.program).lines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= 100


def test_a_text_shrinks_to_the_fewest_words_and_letters():
    no_overlap = next(m for m in TASKS["bpe_train"].mistakes if m.name == "no-overlap")
    result = check.bpe_train(lambda words, n: no_overlap.program(words, n))
    words = eval(result.input[0].removeprefix("words = "))
    assert len("".join(words)) <= 12


def small_task(**changed):
    """Twice x, on two probes of which only the first has a positive sum."""
    return Task(
        **{
            "name": "double",
            "chapter": "tensors",
            "heading": "",
            "label": "none",
            "asks": "Double x.",
            "arguments": {"x": "(N,)"},
            "returns": "(N,)",
            "example": "",
            "reference": lambda x: 2 * x,
            "make": lambda draw, sign, N=3: {"x": sign * torch.ones(N).double()},
            "probes": [Probe(0, {"sign": 1.0}), Probe(1, {"sign": -1.0})],
            "mistakes": [],
            "differentiable": ["x"],
            **changed,
        }
    )


def test_a_mistakes_gradients_must_be_the_programs_on_every_probe():
    def doubled(x, slope):
        return slope * x + (2 - slope) * x.detach()

    one = Mistake("one", "the slope is 1", lambda x: doubled(x, 1))
    signed = Mistake("sign", "the sign decides", lambda x: doubled(x, 2 - x.sum() / 3))
    task = small_task(mistakes=[signed])
    result = order.check(task, one.program)
    assert (result.stage, result.mistake) == ("gradient", None)
    result = order.check(small_task(mistakes=[signed, one]), one.program)
    assert result.mistake == "one"


@pytest.mark.parametrize("stops", ["the program", "the mistake"])
def test_a_program_that_stops_on_one_probe_is_not_one_that_goes_on(stops):
    def wrong(x):
        return 3 * x

    def stopping(x):
        if x.sum() < 0:
            raise ValueError
        return 3 * x

    program, known = (stopping, wrong) if stops == "the program" else (wrong, stopping)
    task = small_task(mistakes=[Mistake("three", "3 stands for 2", known)])
    assert order.check(task, program).mistake is None
    task = small_task(mistakes=[Mistake("three", "3 stands for 2", program)])
    assert order.check(task, program).mistake == "three"


def test_a_size_that_another_one_frees_shrinks_too():
    """First `b` alone can be smaller; then `a` can."""
    probe = Probe(0, {"a": 3, "b": 3})
    task = small_task(make=lambda draw, a, b: {"x": torch.zeros(a, b)}, probes=[probe])

    def fails(arguments):
        a, b = arguments["x"].shape
        return a == 3 or b == 1

    assert shrink.shrink(task, probe, fails)["x"].shape == (1, 1)


def test_a_text_is_shortened_by_halves_then_by_letters():
    pieces = ["yz", "wx", "xyz", "wyz", "wxz", "wxy"]
    assert list(shrink.shorter("wxyz")) == pieces
    assert list(shrink.shorter([7])) == []


def test_many_numbers_shrink_to_zeros_ones_or_whole_ones():
    """Too many to try one after the other."""
    values = torch.full((2 * shrink.FEW,), 2.4)
    task = small_task(make=lambda draw: {"x": values}, probes=[Probe(0, {})])

    def smallest(fails):
        found = shrink.shrink(task, task.probes[0], lambda a: fails(a["x"]))["x"]
        return found.unique().tolist()

    assert smallest(lambda x: True) == [0]
    assert smallest(lambda x: x.any()) == [1]
    assert smallest(lambda x: (x > 1).all()) == [2]
    assert smallest(lambda x: (x > 2).all()) == values.unique().tolist()


@pytest.mark.parametrize("result", [lambda x: (x,), lambda x: 3 * [x], lambda x: x])
def test_another_number_of_parts_is_a_wrong_kind_of_result(result):
    task = small_task(
        reference=lambda x: (x, 2 * x), parts=("once", "twice"), returns="two tensors"
    )
    found = order.check(task, result)
    assert found.stage == "type"
    assert "expected two tensors, got" in found.message


@pytest.mark.parametrize("name", ["attention", "heads", "block"])
def test_texts_that_influence_each_other_are_told(name):
    task = TASKS[name]

    def program(*arguments):
        right = task.reference(*arguments)
        return right + (right - right.mean(0)) / 3

    result = order.check(task, program)
    assert not result.mistake
    assert any("influence each other" in hint for hint in result.hints)


def test_the_nearest_form_is_found_where_the_rest_is_not_a_number():
    def program(x):
        result = 2 * x + 0.25
        result[0] = float("nan")
        return result

    task = small_task(forms={"shifted": lambda x: 2 * x + 0.25})
    assert Submission(task, program).form == "shifted"


def test_a_program_that_waits_is_stopped():
    start = time.monotonic()
    result = order.check(small_task(), lambda x: time.sleep(60), limit=0.5)
    assert result.stage == "time"
    assert time.monotonic() - start < 30


def test_a_traceback_has_the_readers_lines_alone():
    def program(x):
        importlib.import_module("a_module_that_is_not_there")

    trace = order.check(small_task(), program).trace
    assert "in program" in trace
    assert "import_module" in trace
    assert "frozen" not in trace


def test_a_long_result_is_shown_in_eight_lines():
    task = small_task(make=lambda draw: {"x": torch.ones(20, 2)}, probes=[Probe(0, {})])
    result = order.check(task, lambda x: x + x.cumsum(0))
    assert [len(result.expected), len(result.got)] == [8, 8]


def test_no_more_is_kept_of_what_is_printed_than_fits():
    def program(x):
        for _ in range(3000):
            print("x", end="")
        return x

    assert order.check(small_task(), program).printed == "x" * 2000


def test_an_unknown_mistake_is_described_by_what_it_breaks():
    def reads_everything(x, W_Q, W_K, W_V):
        scores = (x @ W_Q) @ (x @ W_K).mT / W_Q.shape[1] ** 0.5
        return 1.1 * scores.softmax(-1) @ (x @ W_V)

    result = check.attention(reads_everything)
    assert result.mistake is None
    assert any("not causal" in hint for hint in result.hints)


def test_the_right_answer_has_the_readers_form_of_gelu():
    """So that the input shown fails for the mistake, not for the other form."""
    book = TASKS["block"].forms[next(iter(TASKS["block"].forms))]

    def other_eps(x, weights, num_heads):
        changed = {**weights, "ln2_weight": weights["ln2_weight"] * 1.5}
        return book(x, changed, num_heads)

    result = check.block(other_eps)
    assert result.mistake is None
    expected, got = ("".join(lines) for lines in (result.expected, result.got))
    assert expected != got

    for mistake in TASKS["block"].mistakes:
        if mistake.form and mistake.name in ("one-head", "no-first-residual"):
            shown = order.check(TASKS["block"], mistake.program)
            assert shown.expected != shown.got


def test_what_is_shown_has_the_digits_that_tell_it_apart():
    """An eps that is a little too small."""
    other_eps = TASKS["layer_norm"].reference
    result = check.layer_norm(lambda x, w, b, eps: other_eps(x, w, b, 0.997 * eps))
    assert not result
    expected, got = result.message.split("expected ")[1].split(", got ")
    assert expected.split(" at ")[0] != got.rstrip(".")
    assert result.expected != result.got


@pytest.mark.parametrize(
    "half",
    [
        lambda s: s.softmax(-1).half(),
        lambda s: s.bfloat16().softmax(-1),
        lambda s: s.bfloat16().softmax(-1).to(s.dtype),
        lambda s: s.softmax(-1).half().to(s.dtype),
    ],
)
def test_half_precision_is_told(half):
    result = check.softmax(half)
    assert "only the three digits of half precision" in result.message
    assert result.hints == []


def test_half_precision_is_not_told_of_a_wrong_program_in_single():
    powers = check.softmax(lambda s: s.softmax(-1) ** 1.5)
    rounded = check.softmax(lambda s: s.softmax(-1).round(decimals=1))
    for result in (powers, rounded):
        assert not result
        assert "half precision" not in result.message


def test_nan_gives_no_hints_that_nothing_shows():
    """NaN equals nothing, so that every property would seem to break."""

    def blind(x, W_Q, W_K, W_V):
        scores = (x @ W_Q) @ (x @ W_K).mT
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu()
        return scores.masked_fill(hidden, -float("inf")).softmax(-1) @ (x @ W_V) ** 2

    result = check.attention(blind)
    assert "NaN" in result.message
    assert not any("causal" in hint for hint in result.hints)


def test_a_forgotten_key_bias_is_no_mistake():
    """It adds the same to a whole row of scores, so the softmax cancels it."""
    book = TASKS["heads"].reference

    def without(x, weights, num_heads):
        silent = {**weights, "b_K": torch.zeros_like(weights["b_K"])}
        result = book(x, silent, num_heads)
        return result + 0 * weights["b_K"].sum()

    assert check.heads(without)


def test_both_forms_of_gelu_are_right_in_an_mlp_and_are_told_apart():
    exact = check.mlp(lambda x, W1, b1, W2, b2: F.gelu(x @ W1 + b1) @ W2 + b2)
    assert exact.passed
    assert "erf" in exact.message
    assert check.gelu_tanh(F.gelu).mistake == "erf-for-tanh"
    tanh = check.gelu(lambda x: F.gelu(x, approximate="tanh"))
    assert tanh.mistake == "tanh-for-erf"


# What is wrong, and at which stage


def statistics_cut_off(x, weight, bias, eps):
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, False, keepdim=True)
    return (x - mean) / (variance + eps).sqrt() * weight + bias


class Half(torch.autograd.Function):
    """GELU with a backward of its own, which is wrong."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x)

    @staticmethod
    def backward(ctx, dy):
        return 0.5 * dy


def in_place(x):
    y = F.gelu(x)
    x.mul_(2)
    return y


def of_another_type(text, merges):
    merges[:] = map(tuple.__len__, merges)
    return list(text.encode())


def own_weights(x, W1, b1, W2, b2):
    up, down = nn.Linear(*W1.shape).double(), nn.Linear(*W2.shape).double()
    return down(F.gelu(up(x.double())))


def after(change):
    """GELU after a change of the state of PyTorch or of Python."""
    return lambda x: (change(), F.gelu(x))[1]


# A task, a program, the stage of its fault, and its mistake or what is said of it. Most
# shapes of the first network do not fit; the last step reads all ids again.
FAULTS = rows_of("""
gelu | lambda x: F.gelu(x)[None] | shape | expected a tensor of shape
mlp | lambda x, W1, b1, W2, b2: F.gelu(x @ W1.T + b1) @ W2.T + b2 | value
    | transposed-weights
bpe_encode | of_another_type | value | no-merges
softmax | lambda s: s.softmax(-1).detach() | gradient | No gradient flows back
softmax | lambda s: torch.tensor(s.softmax(-1).tolist(), dtype=s.dtype) | gradient
    | No gradient flows back
layer_norm | statistics_cut_off | gradient | detached-statistics
gelu | Half.apply | gradient | with respect to x
gelu | in_place | effect | changes its argument x in place
gelu | after(lambda: torch.manual_seed(1)) | effect | sets the seed
gelu | after(lambda: random.seed(1)) | effect | sets the seed
gelu | lambda x: F.dropout(F.gelu(x), 0.3) | effect | result is random
mlp | own_weights | effect | compute with those that are given
gelu | after(lambda: torch.set_default_dtype(torch.float64)) | effect | default type
gelu | after(lambda: torch.set_grad_enabled(False)) | effect | turns gradients off
generate | edited("workbook/generate", "step(new, cache)", "step(ids, None)") | property
    | gives `step` the same ids again
train | edited("right/train_while", "float(loss.detach())", "loss") | property
    | memory grows
cached_step | TASKS["cached_step"].reference | property
    | computes the earlier positions again
""")


@pytest.mark.parametrize(("task", "program", "stage", "said"), FAULTS)
def test_a_fault_is_told_with_its_stage_and_leaves_no_trace(task, program, stage, said):
    state, own = torch.get_rng_state(), random.getstate()
    result = getattr(check, task)(written(program, globals()))
    assert not result.passed
    assert result.stage == stage
    assert said == result.mistake or said in result.message
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == own
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_a_check_in_a_notebook_uses_one_thread():
    """Two that wait for each other made a check ten times as long on a busy machine."""
    seen, before = set(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert check.softmax(
            lambda scores: seen.add(torch.get_num_threads()) or scores.softmax(-1)
        )
        assert (seen, torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def test_an_unknown_mistake_gets_the_plain_difference():
    result = check.softmax(lambda scores: scores.softmax(-1) ** 1.5)
    assert (result.stage, result.mistake) == ("value", None)
    assert "The values are wrong: expected" in result.message


def test_gradients_that_small_changes_do_not_show_are_told():
    """The probes have one decimal: here a value moves only from one to the next."""

    def softmax(scores):
        return (scores + (scores.round(decimals=1) - scores).detach()).softmax(-1)

    result = check.softmax(softmax)
    assert (result.stage, result.message) == ("gradient", gradients.NUDGED)


def test_no_gradient_is_asked_for_before_the_book_has_gradients():
    """The page on tensors comes first, and chapter 0 teaches gradients."""
    toc = (CHAPTERS_FOLDER.parent / "_toc.yml").read_text(encoding="utf-8")
    taught = toc.index("chapters/00_")
    before = [t for t in IN_ORDER if toc.index(f"chapters/{t.chapter}\n") < taught]
    assert [task.name for task in before] == ["row_times_matrix"]
    assert not any(task.differentiable for task in before)


def test_random_numbers_that_come_to_nothing_are_no_mistake():
    """As the first weights of a layer that gets others."""
    assert check.gelu(lambda x: (nn.Linear(2, 2), F.gelu(x))[1])


# Bad input


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (3, "Expected a function gelu(x), got the int 3"),
        (lambda x: None, "got None (is a `return` missing?)"),
        (lambda x: print(x), "got None (your program prints something; is a `return`"),
        (lambda x: x[:, None].max(1), "the pair of values and places of `max` (take"),
        (lambda x: F.gelu(x).numpy(), "got a NumPy array (return a torch tensor)"),
        (lambda x: (F.gelu(x), x), "got a tuple of length 2"),
        (lambda x: F.gelu(x).tolist(), "got a list of length"),
        (lambda x: 1.0, "got the float 1.0"),
        (lambda x: F.gelu(x) * float("nan"), "NaN, which is not a number"),
        (lambda x: F.gelu(x).round().long(), "expected decimal numbers"),
        (lambda x: F.gelu(x) + y, "NameError: name 'y' is not defined"),
        (lambda: 1, "TypeError"),
        (nn.GELU, "Expected a function gelu(x), got a class"),
    ],
)
def test_bad_results_get_one_plain_sentence(program, said):
    result = check.gelu(program)
    assert not result.passed
    assert said in result.message
    assert "Traceback" not in repr(result)


def test_what_a_program_prints_is_shown_once_and_apart(capsys):
    def talks(x):
        print("x has shape", tuple(x.shape))
        return F.gelu(x)

    result = check.gelu(talks)
    assert capsys.readouterr().out == ""
    assert result.passed
    assert repr(result).splitlines()[1:] == [
        "",
        "  your program printed:",
        "  | x has shape (5,)",
    ]


def test_the_traceback_is_in_the_result_and_not_shown():
    result = check.gelu(lambda x: nothing)
    assert "Traceback" in result.trace
    assert "print(result.trace)" in repr(result)


def test_an_endless_program_is_stopped():
    def loop(x):
        while True:
            pass

    start = time.monotonic()
    result = check.gelu(loop, limit=0.5)
    assert time.monotonic() - start < 10
    assert result.stage == "time"
    assert "stopped after 0.5 seconds" in result.message


# Classes


class Network(nn.Module):
    """Weights in another order and under other names than the task's."""

    def __init__(self, C, F):
        super().__init__()
        self.down = nn.Linear(F, C)
        self.up = nn.Linear(C, F)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


WEIGHTS = of_linears(**{"1": "up", "2": "down"})


def test_a_class_may_leave_out_the_usual_sizes():
    """The hidden width is then 4C, and a norm's eps is 1e-5."""
    four_times = check.mlp(lambda C: Network(C, 4 * C), parameters=WEIGHTS)
    own_eps = {"weight": "weight", "bias": "bias"}
    assert four_times
    assert check.layer_norm(nn.LayerNorm, parameters=own_eps)
    assert check.layer_norm(lambda C: nn.LayerNorm(C), parameters=own_eps)
    other = check.layer_norm(lambda C: nn.LayerNorm(C, 0.1), parameters=own_eps)
    assert not other.passed


def test_the_packages_classes_pass():
    attention = of_linears(_Q="W_Q", _K="W_K", _V="W_V", _O="W_O")
    block = {name: f"mha.{path}" for name, path in attention.items()}
    block |= of_linears(**{"1": "mlp.fc1", "2": "mlp.fc2"})
    for norm in ("ln1", "ln2"):
        block |= {f"{norm}_weight": f"{norm}.weight", f"{norm}_bias": f"{norm}.bias"}
    biases = {"qkv_bias": True, "out_bias": True}
    assert check.heads(
        lambda C, H: MultiHeadAttention(C, H, **biases), parameters=attention
    )
    assert check.block(lambda C, H: TransformerBlock(C, H, **biases), parameters=block)


def test_a_wrong_class_is_told_its_mistake():
    class Relu(Network):
        def forward(self, x):
            return self.down(self.up(x).relu())

    assert check.mlp(Relu, parameters=WEIGHTS).mistake == "relu"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"W1": "up.weight"}, "Stored transposed it is 'up.weight.T'"),
        ({"W1": "in.weight.T"}, "Your class has no parameter 'in.weight'"),
        ({"W3": "up.weight"}, "parameters has 'W3'; the weights of mlp are"),
        ({"b2": None}, "parameters has no entry for b2"),
        (
            {"up.weight": "W1", **dict.fromkeys(WEIGHTS)},
            "the other way round: the task's weights come first",
        ),
        (
            {"W1": "up.weight.reshape(-1)"},
            "parameters has 'up.weight.reshape(-1)', which is not understood. Give the "
            "path of a parameter, as in 'layers.0.weight'; '.T' after it says that it "
            "is stored transposed, '.squeeze(-1)' that it has one more axis, of size 1",
        ),
        (
            {"weights": {"W1": "up.weight.T"}},
            "parameters['weights'] is a dictionary; put its entries into parameters "
            "itself, as in {'W1': 'path.of.it', …}.",
        ),
        (
            {"W1": nn.Parameter(torch.ones(1))},
            "parameters['W1'] must be text, the path",
        ),
    ],
)
def test_a_wrong_mapping_of_parameters_is_explained(change, said):
    changed = {**WEIGHTS, **change}
    parameters = {name: path for name, path in changed.items() if path is not None}
    assert said in check.mlp(Network, parameters=parameters).message


def test_a_class_with_other_arguments_or_parameters_is_explained():
    class Alone(nn.Module):
        def __init__(self):
            super().__init__()

    class More(Network):
        def __init__(self, C, F):
            super().__init__(C, F)
            self.scale = nn.Parameter(torch.ones(1))

    made = check.mlp(Alone, parameters=WEIGHTS).message
    assert "could not be made with (C=3, F=12)" in made
    more = check.mlp(More, parameters=WEIGHTS).message
    assert "parameters that the task does not have: scale" in more
    assert "not a class" in check.softmax(nn.Softmax, parameters={}).message
    named = check.mlp(Network).message
    assert "For a class, say which of its parameters is which" in named
    assert "parameters={'W1': 'path.of.it', …}" in named


@pytest.mark.parametrize(
    ("task", "first"), [("heads", "W_Q"), ("gpt", "token"), ("layer_norm", "weight")]
)
def test_a_class_is_asked_for_by_the_tasks_own_keys(task, first):
    checker = getattr(check, task)
    said = f"{{{first!r}: 'path.of.it', …}}"
    assert said in checker(Network).message
    assert said in checker(Network, parameters=[first]).message


def test_a_dictionary_of_weights_is_asked_for_by_its_names():
    result = check.block(lambda x, weights, num_heads: weights["gamma1"])
    assert "ln1_weight, ln1_bias, W_Q" in " ".join(str(result).split())
