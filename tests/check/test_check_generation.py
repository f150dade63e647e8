"""Wrong programs on training and generation: refused, and told what is wrong."""

import math
from functools import partial

import pytest
import torch
from helpers.cells import edited, written
from helpers.tables import rows_of

from mygpt import check
from mygpt.check import TASKS, combine, shrink
from mygpt.check.cell_models import world_model
from mygpt.check.reference import build
from mygpt.check.tasks.answer import PROMPTS, answer_by_steps, answer_with
from mygpt.check.tasks.embedding import loss_with
from mygpt.check.tasks.gpt import book_gpt, gpt_with
from mygpt.check.tasks.sampling import STEP, step_with


def told(result):
    """The message and the hints of a refusal."""
    assert not result
    return " ".join([result.message, *result.hints])


@pytest.fixture(autouse=True)
def in_little_time(monkeypatch, without_lines):
    """Inputs hardly shrink, and a busy machine has time for as many pairs as others."""
    monkeypatch.setattr(shrink, "TRIES", 2)
    monkeypatch.setattr(combine, "SECONDS", math.inf)
    monkeypatch.setattr(combine, "MOST", 1500)


# Training


def loop(order="zero backward step", **changes):
    """A training loop with changes: of the gradient, the loss, the rate, the steps."""

    def train(model, batches, optimizer):
        model.train()
        losses = []
        for i, rows in enumerate(changes.get("batches", list)(batches)):
            loss = model(rows[:, :-1], rows[:, 1:])[1]
            if "rate" in changes:
                optimizer.param_groups[0]["lr"] = changes["rate"](i)
            calls = {
                "zero": optimizer.zero_grad,
                "backward": (loss * changes.get("times", 1)).backward,
                "change": lambda: changes["change"](model),
                "step": optimizer.step if changes.get("when", bool)(i + 1) else int,
            }
            for word in order.split():
                calls[word]()
            losses.append(loss.item())
        return losses

    return train


def test_the_loop_of_these_tests_is_right():
    assert check.train(loop())


@pytest.mark.parametrize("most", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("by", ["norm", "parameter", "value"])
def test_clipping_is_seen(by, most):
    clip = {
        "norm": lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), most),
        "parameter": lambda model: [
            torch.nn.utils.clip_grad_norm_([each], most) for each in model.parameters()
        ],
        "value": lambda model: torch.nn.utils.clip_grad_value_(
            model.parameters(), most
        ),
    }[by]
    text = told(check.train(loop("zero backward change step", change=clip)))
    assert "does not ask for clipping" in text


@pytest.mark.parametrize(
    ("order", "name"),
    [
        ("step zero backward", "step-before-backward"),
        ("zero step backward", "step-finds-no-gradients"),
        ("step backward zero", "step-finds-no-gradients"),
        ("backward zero step", "zero-grad-too-late"),
        ("backward step", "zero-grad-forgotten"),
    ],
)
def test_a_step_in_the_wrong_place_is_not_taken_for_another(order, name):
    assert check.train(loop(order)).mistake == name


def test_a_loss_added_up_is_not_taken_for_a_forgotten_zero_grad():
    def train(model, batches, optimizer):
        model.train()
        losses, total = [], 0
        for rows in batches:
            loss = model(rows[:, :-1], rows[:, 1:])[1]
            total = total + loss
            optimizer.zero_grad()
            total.backward(retain_graph=True)
            optimizer.step()
            losses.append(loss.item())
        return losses

    result = check.train(train)
    assert result.mistake is None
    assert "call it on that loss alone" in told(result)


# Pairs of mistakes


def test_a_mistake_before_the_loss_and_one_in_it_are_both_named():
    def summed(logits, targets):
        return loss_with(logits, targets) * len(targets)

    pieces = {"last_norm": lambda x, *rest: x, "cross_entropy": summed}
    result = check.gpt(build(gpt_with, pieces), limit=60)
    assert set(result.mistake.split("+")) == {"no-last-norm", "sum-for-mean"}
    assert ", and also " in result.message


def test_a_blocks_mistake_is_named_in_a_step_with_a_cache():
    relu = build(step_with, {"block": {"mlp": {"act": torch.relu}}})
    result = check.cached_step(relu, limit=60)
    assert result.mistake == "relu"


def test_an_unknown_mistake_of_a_gpt_gets_no_name():
    def loss(logits, targets):
        return loss_with(logits, targets) * 1.01

    program = partial(gpt_with, cross_entropy=loss)
    assert check.gpt(program, limit=60).mistake is None


# Sampling


def nucleus(past_the_sum):
    def top_p(logits, p):
        ordered, order = logits.sort(-1, descending=True)
        share = ordered.softmax(-1)
        remove = past_the_sum(share.cumsum(-1) - share, p)
        remove = torch.zeros_like(remove).scatter(1, order, remove)
        return logits.masked_fill(remove, -math.inf).softmax(-1)

    return top_p


def test_a_sum_of_exactly_p_is_enough():
    assert check.top_p(nucleus(torch.ge))
    assert "with p = 0.75 they are enough" in told(check.top_p(nucleus(torch.gt)))


def test_a_sum_that_is_rounded_past_p_is_no_mistake():
    """One of the ties is missed by rounding; the other is ended."""

    def rounded(before, p):
        return before >= p + (1e-12 if p == 0.75 else 0)

    assert check.top_p(nucleus(rounded))


# A step with a cache


def test_a_cache_that_is_given_stays_as_it_is():
    def overwrites(ids, weights, num_heads, cache):
        logits, new = step_with(ids, weights, num_heads, cache)
        if cache is not None:
            cache[:] = new
        return logits, new

    assert check.cached_step(step_with, limit=60)
    text = told(check.cached_step(overwrites, limit=60))
    assert "Your program changes the cache that it is given" in text


# Generation


def greedy(ends=lambda new, logits: False, **changes):
    def generate(step, ids, max_new_tokens):
        new, cache = ids, None
        for _ in range(max_new_tokens):
            logits, cache = step(new, cache)
            new = changes.get("choose", lambda x: x.argmax(-1, keepdim=True))(logits)
            ids = torch.cat([ids, new], 1)
            if ends(new, logits):
                break
        return ids

    return generate


def test_no_id_ends_a_text():
    assert check.generate(greedy())
    result = check.generate(greedy(lambda new, logits: (new == 0).all()))
    assert result.mistake == "stops-at-zero"
    for id in range(1, 5):
        wrong = greedy(lambda new, logits, id=id: (new == id).all())
        assert "No id ends a text" in told(check.generate(wrong))


# A task, a program, and what is said of it.
COUNTED = rows_of("""
train | loop(rate=lambda i: i * 0.5) | learning rates of your steps were 0, 0.5, 1;
train | loop(when=lambda number: number % 2 == 0) | For 3 batches your program called
    the model 3 times, `backward` 3 times, and of the optimizer that it is given
    `zero_grad` 3 times and `step` once.
train | loop("step backward") | `step` came before the first `backward`: the order was
    model, `step`, `backward`, model, `step`.
train | loop(times=3) | the model's loss times 3:
train | loop(batches=lambda all: all[::-1]) | in the order 3, 2, 1.
train | loop(batches=lambda all: all[:-1]) | called the model twice
train | loop("zero backward step change", change=lambda m: m.table.data.mul_(0.9))
    | The parameters changed outside `optimizer.step()`.
train | lambda *given: [round(loss, 1) for loss in loop()(*given)]
    | The model is trained rightly; only the losses are not right.
generate | edited("right/generate_room", "cache = step(out", "_ = step(out")
    | Call 3 of `step` was given another cache, not the cache
generate | greedy(choose=lambda logits: logits.topk(3).indices[:, 2:])
    | After call 1 of `step` the likeliest ids were
generate
    | lambda step, ids, n: torch.cat([ids, greedy()(step, ids[:, :1], n)[:, 1:]], 1)
    | The first call of `step` was given
""")


@pytest.mark.parametrize(("task", "program", "said"), COUNTED)
def test_a_loop_is_told_what_was_counted_or_which_call_was_wrong(task, program, said):
    assert said in told(getattr(check, task)(written(program, globals())))


# An answer


@torch.no_grad()
def test_each_word_of_the_answers_is_far_likelier_than_the_next():
    """No processor's rounding, and no form of GELU, changes an answer."""
    model = world_model()
    for prompt, n in PROMPTS["world"]:
        for form in ("gelu_tanh", "gelu"):
            ids = model.encode(prompt)
            for _ in range(n):
                row = torch.tensor([ids])
                logits = book_gpt(form)(row, row, model.weights, model.num_heads)[0]
                first, second = logits[0, -1].topk(2).values
                assert first - second > 0.1
                ids.append(int(logits[0, -1].argmax()))
        assert n >= 8 or prompt == "the currency of egypt is"


def by_steps(pieces):
    return build(answer_by_steps, {"step": pieces})


OF_THE_CACHE = [
    change
    for change in STEP.own()
    if change.name.startswith(("positions-", "new-", "cache-", "mask-", "only-"))
]


@pytest.mark.parametrize(
    "mistake",
    [each for each in OF_THE_CACHE if each.name != "new-before-old"],
    ids=lambda each: each.name,
)
def test_a_broken_cache_fails_in_the_answers_too(mistake):
    """New before old in both keys and values is no mistake where one id is new."""
    result = check.answer(by_steps(mistake.pieces), limit=60)
    assert not result
    assert result.mistake in (mistake.name, None)


def test_a_right_answer_is_shown():
    result = check.answer(answer_by_steps, limit=60)
    sentence = (
        "the capital of france is … paris . the land of cuba lies within america ."
    )
    first, _, *written = result.message.splitlines()
    assert first.endswith("“the capital of france is”, your own parts say: paris")
    assert sentence in written
    assert first in repr(result).splitlines()  # on a line of its own


def test_where_the_words_begin_to_differ_is_told():
    ahead = by_steps({"start": lambda past: past + (past > 0)})
    assert "first word is right after every prompt" in told(check.answer(ahead))
    blind = by_steps({"block": {"mlp": {"act": torch.zeros_like}}})
    assert "the very first word is wrong" in told(check.answer(blind))


def test_words_joined_without_spaces_are_no_wrong_forward_pass():
    def word_by_word(prompt, model, max_new_tokens):
        text = answer_with(prompt, model, max_new_tokens)
        return text.replace(" ", "")

    text = told(check.answer(word_by_word))
    assert "the letters are right and the spaces are not" in text
    assert "forward pass" not in text


def test_right_words_after_others_are_no_wrong_forward_pass():
    def cut_by_letters(prompt, model, max_new_tokens):
        ids = [*model.encode(prompt), *model.encode(answer_by_steps(**locals()))]
        return model.decode(ids)[len(prompt) - 2 :]

    text = told(check.answer(cut_by_letters))
    assert "the right words are in your text, but not at its beginning" in text
    assert "forward pass" not in text


def test_beside_a_wrong_shape_properties_of_the_result_are_silent():
    def last_logits(*arguments):
        logits, loss = book_gpt("gelu")(*arguments)
        return logits[:, -1], loss

    text = told(check.gpt(last_logits))
    assert "only the logits of the last position are returned" in text
    text = told(
        check.gpt(lambda *given: (last_logits(*given)[0][:1], last_logits(*given)[1]))
    )
    assert "shape is wrong" in text
    assert "causal" not in text


def test_ids_that_are_wrong_are_not_called_right():
    """The prompt is read again and again: what is new has another name."""
    prompt_again = edited("workbook/generate", "new = ", "last = ", ", new]", ", last]")
    text = told(check.generate(prompt_again))
    assert "the same ids again and again" in text
    assert "The ids are right" not in text


# What learners do often


def last_block_alone(ids, targets, weights, num_heads):
    last = {**weights, "blocks": weights["blocks"][-1:]}
    return book_gpt("gelu")(ids, targets, last, num_heads)


def loss_first(*arguments):
    return book_gpt("gelu")(*arguments)[::-1]


def last_target_lost(model, batches, optimizer):
    return TASKS["train"].reference(
        model, [rows[:, :-1] for rows in batches], optimizer
    )


betas_exchanged = edited(
    "workbook/adamw_step",
    *("beta1 * m + (1 - beta1)", "beta2 * m + (1 - beta2)"),
    *("beta2 * v + (1 - beta2)", "beta1 * v + (1 - beta1)"),
)


def one_threshold(logits, k):
    least = logits.flatten().topk(min(k, logits.numel())).values[-1]
    return logits.masked_fill(logits < least, -1e9).softmax(-1)


def kept_alone(logits, k):
    return logits.topk(min(k, logits.shape[-1])).values.softmax(-1)


def in_order_of_size(logits, p):
    ordered = logits.sort(descending=True).values
    shares = ordered.softmax(-1)
    drop = shares.cumsum(-1) - shares >= p
    return ordered.masked_fill(drop, -math.inf).softmax(-1)


def cut_gathered(logits, p):
    shares, order = logits.softmax(-1).sort(descending=True)
    drop = (shares.cumsum(-1) - shares >= p).gather(-1, order)
    return logits.masked_fill(drop, -math.inf).softmax(-1)


# A task, a program, and what is said of it.
LEARNERS = rows_of("""
top_p | cut_gathered | the cut is read by `gather`
gpt | last_block_alone | so only the last block counts
gpt | loss_first | are returned in the order (loss, logits)
train | edited("workbook/train", "rows[:, :-1], rows[:, 1:]", "rows[:-1], rows[1:]")
    | `[:-1]` leaves out the last row
train | last_target_lost | the last id of each row is left out
adamw_step | betas_exchanged | change places in the averages m and v
top_k | one_threshold | k-th largest logit of the whole table
top_k | kept_alone | that are kept are returned alone, sorted
top_p | in_order_of_size | the probabilities come sorted
""")


@pytest.mark.parametrize(("task", "program", "said"), LEARNERS)
def test_what_learners_do_often_is_named(task, program, said):
    assert said in getattr(check, task)(written(program, globals())).message
