"""Mistakes in layers that no catalogue lists: those of a part, and two at once."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from helpers.cells import edited, written
from helpers.tables import rows_of

from mygpt import check
from mygpt.check import TASKS, combine, explanation, shrink, slips
from mygpt.check.explanation import known_mistake
from mygpt.check.reference import Reference, build, merged, placed
from mygpt.check.tasks import attention, feed_forward, norm
from mygpt.check.tasks.block import block_with
from mygpt.check.tasks.gpt import gpt_with
from mygpt.check.tasks.sampling import step_with
from mygpt.check.tasks.training import adamw_with
from mygpt.check.values import Submission
from tools.mends.programs import task_of

MODELS = [name for name, task in TASKS.items() if task.model]


@pytest.fixture(autouse=True)
def no_search_for_smaller_inputs(monkeypatch, without_lines):
    monkeypatch.setattr(shrink, "TRIES", 2)


def named(result) -> str:
    assert not result.passed
    return result.message.removeprefix("This is what comes out when ")


# Pieces


def test_two_changes_merge_unless_they_replace_the_same_piece():
    start, mask = {"start": 1}, {"mixing": {"mask": 1}}
    assert merged(start, mask) == {"start": 1, "mixing": {"mask": 1}}
    scaled = merged(mask, {"mixing": {"scale": 2}})
    assert scaled == {"mixing": {"mask": 1, "scale": 2}}
    assert merged(start, {"start": 1}) is None
    assert merged(mask, {"mixing": {"mask": 2}}) is None
    assert merged(mask, {"mixing": torch.relu}) is None
    assert merged(start, {"whole": torch.relu}) is None
    assert merged({"result": abs}, {"whole": torch.relu}) is not None


def test_a_sentence_belongs_to_a_mistake_and_a_mistake_has_one():
    shift = "[shift] the shift\nup: 1 is\n    added\ndown = -1: {} is added"
    (up, down) = Reference(sum, shift, up=1).changes()
    assert (up.text, down.text) == ("1 is added", "-1 is added")
    assert (up.pieces, down.pieces) == ({"shift": 1}, {"shift": -1})
    with pytest.raises(ValueError, match="a sentence without a mistake: up"):
        Reference(sum, shift)
    with pytest.raises(ValueError, match="a mistake without a sentence: right"):
        Reference(sum, shift, up=1, right=1)
    with pytest.raises(ValueError, match="no row of a catalogue: up"):
        Reference(sum, "[shift] the shift\nup", up=1)


def test_a_part_is_built_with_its_pieces():
    program = build(block_with, {"heads": {"mixing": {"mask": attention.no_mask}}})
    mixing = program.keywords["heads"].keywords["mixing"]
    assert mixing.func is attention.mix
    assert mixing.keywords == {"mask": attention.no_mask}


def test_where_a_mistake_lies_is_told_from_the_inside_out():
    inside = placed("erf is wrong", "in the activation")
    assert inside == "erf is wrong (in the activation)"
    assert placed(inside, "in the network") == (
        "erf is wrong (in the activation of the network)"
    )
    assert placed("it is max(x, 0)", "in it") == "it is max(x, 0) (in it)"


@pytest.mark.parametrize("name", MODELS)
def test_every_change_knows_its_piece_and_ends_a_sentence(name):
    model = TASKS[name].model
    for change in model.changes():
        assert change.word
        assert change.form in (None, *model.forms)
        assert not change.text.endswith(".")
        for form in model.forms_of([change]):
            assert model.mistake(change, form=form)


@pytest.mark.parametrize("name", ["softmax", "attention", "gelu_tanh", "layer_norm"])
def test_most_rare_mistakes_are_told_by_their_own_words(name):
    """The others give what is right, or what an earlier one gives."""
    task = TASKS[name]
    rare = [change for change in task.model.changes() if change.rare]
    told = 0
    for mistake in task.model.mistakes(rare):
        found = known_mistake(Submission(task, mistake.program))
        told += found is not None and found.text == mistake.text
    assert told >= 0.8 * len(rare)


def test_a_right_program_makes_no_pairs(monkeypatch):
    """So that they cost nothing."""
    monkeypatch.setattr(explanation, "MistakeSearch", None)
    assert check.block(TASKS["block"].reference)
    assert check.layer_norm(TASKS["layer_norm"].reference)


# Softmax and the loss


def shared(scores, subtracted):
    powers = (scores - subtracted).exp()
    return powers / powers.sum(-1, keepdim=True)


@pytest.mark.parametrize(
    "subtracted",
    [
        lambda scores: scores.mean(-1, keepdim=True),
        lambda scores: scores.amin(-1, keepdim=True),
        lambda scores: scores[:, :1],
    ],
)
def test_a_softmax_that_overflows_in_a_wide_row_is_not_right(subtracted):
    result = check.softmax(lambda scores: shared(scores, subtracted(scores)))
    assert result.stage == "property"
    assert "must be subtracted is each row's largest" in result.message
    assert check.softmax(lambda s: shared(s, s.amax(-1, keepdim=True)))


def test_another_wrong_softmax_is_not_told_of_an_overflow():
    result = check.softmax(lambda s: (2.5 * s).softmax(-1) ** 2)
    assert "exp becomes too large" not in " ".join(result.hints)


def test_a_row_may_be_a_list_of_numbers():
    """On the first page, before there are gradients."""

    def by_hand(x, W):
        C, F = W.shape
        entries = [sum(x[i] * W[i, j] for i in range(C)).item() for j in range(F)]
        return torch.tensor(entries)

    assert check.row_times_matrix(by_hand)
    assert check.row_times_matrix(lambda x, W: (x @ W).detach())
    assert not check.row_times_matrix(lambda x, W: x @ W + 1)


# Embedding and tokens


def test_a_padded_token_is_named():
    result = check.embedding(
        lambda ids, tokens, positions: (
            F.embedding(ids, tokens, padding_idx=0) + positions[: ids.shape[1]]
        )
    )
    assert result.stage == "gradient"
    assert result.mistake == "padding"


@pytest.mark.parametrize(
    ("positions", "name"),
    [
        (lambda ids, table: table[ids.shape[1] - 1], "last-position"),
        (lambda ids, table: -table[: ids.shape[1]], "difference"),
        (lambda ids, table: 2 * table[: ids.shape[1]], "position-added-twice"),
    ],
)
def test_an_embedding_is_told_its_mistake(positions, name):
    result = check.embedding(
        lambda ids, tokens, table: tokens[ids] + positions(ids, table)
    )
    assert result.mistake == name


# Attention


def one_head(x, W_Q, W_K, W_V, *, scale=None, fill=-math.inf, shown=0, after=None):
    T, D = x.shape[1], W_Q.shape[1]
    scores = (x @ W_Q) @ (x @ W_K).mT / (math.sqrt(D) if scale is None else scale(D))
    hidden = ~torch.ones(T, T, dtype=torch.bool).tril(shown)
    weights = scores.masked_fill(hidden, fill).softmax(-1)
    return (weights if after is None else after(weights)) @ (x @ W_V)


# A task, a program, and what is said of it.
TOLD = rows_of("""
cross_entropy | lambda s, t: -(s.softmax(-1)[range(len(t)), t] + 1e-9).log().mean()
    | 1e-09 is added to the probability before the logarithm
cross_entropy
    | lambda s, t: -s.softmax(-1)[range(len(t)), t].clamp(min=1e-12).log().mean()
    | 1e-12 is added to the probability before the logarithm, or
cross_entropy | lambda s, t: s.log_softmax(-1)[range(len(t)), t].sum()
    | added instead of averaged, and also the minus sign is missing
attention | partial(one_head, scale=lambda D: D**0.25) | divided by ∜D instead of √D
attention | partial(one_head, fill=-10) | masked scores are set to -10
attention | partial(one_head, fill=1e9) | masked scores are set to 1e+09
attention | partial(one_head, after=lambda weights: weights.mT)
    | the weights are transposed
attention | partial(one_head, shown=10, scale=lambda D: 1)
    | no mask: positions read the future, and
attention | partial(one_head, shown=1, scale=lambda D: D)
    | reads the next one, and also
""")


@pytest.mark.parametrize(("task", "program", "said"), TOLD)
def test_a_program_is_told_its_mistake(task, program, said):
    assert said in named(getattr(check, task)(written(program, globals())))


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ({"matrix_O": attention.transposed}, "W_O is used transposed"),
        ({"order": "VKQ"}, "the query is made with W_V"),
        ({"b_V": 0, "b_O": 0}, "the bias b_O is forgotten"),
        (
            {"mixing": {"mask": attention.filled(-10)}},
            "masked scores are set to -10, from which the softmax still gives the "
            "future a share: use -inf",
        ),
        (
            {"mixing": {"mask": attention.no_mask}, "b_O": 0},
            "there is no mask: positions read the future",
        ),
    ],
)
def test_heads_and_a_block_share_their_mistakes(pieces, said):
    heads = build(attention.heads_with, pieces)
    assert said in named(check.heads(lambda *given: heads(*given)))
    inside = named(check.block(build(block_with, {"heads": pieces})))
    assert said in inside
    assert "(in the attention)" in inside


# GELU


def by_erf(x, half=0.5, inside=2**0.5, outside=1):
    return half * x * (1 + torch.erf(x / inside) / outside)


ACTIVATIONS = [
    (lambda x: x * torch.sigmoid(1.702 * x), "sigmoid approximation"),
    (partial(by_erf, inside=1, outside=math.sqrt(2)), "erf(x) is divided by √2"),
    (partial(by_erf, inside=1), "x is not divided by √2 inside erf"),
    (partial(by_erf, half=1), "the factor ½ is missing"),
    (partial(feed_forward.tanh_with, coefficient=0.44715), "0.44715 instead of"),
    (partial(feed_forward.tanh_with, factor=math.sqrt(2) / math.pi), "√2/π stands for"),
]


@pytest.mark.parametrize(("activation", "said"), ACTIVATIONS)
def test_a_wrong_gelu_is_named_wherever_a_gelu_is(activation, said):
    network = partial(feed_forward.mlp_with, act=activation)
    assert said in named(check.mlp(network))
    assert said in named(check.block(partial(block_with, mlp=network)))
    if "tanh" not in repr(activation):
        assert said in named(check.gelu(activation))


# Layer norm


def normed(x, weight, bias, eps, variance=None, correction=0):
    mean = x.mean(-1, keepdim=True)
    if variance is None:
        spread = x.var(-1, correction=correction, keepdim=True)
    else:
        spread = variance(x, mean)
    return (x - mean) / (spread + eps).sqrt() * weight + bias


def squares_minus_square(x, mean):
    return (x * x).mean(-1, keepdim=True) - mean**2


def test_a_norm_that_loses_its_digits_is_not_right():
    result = check.layer_norm(partial(normed, variance=squares_minus_square))
    assert result.stage == "property"
    assert "mean(x²) - mean(x)²" in result.message


def by_welford(x, mean):
    mean, squares = torch.zeros_like(mean), torch.zeros_like(mean)
    for i in range(x.shape[-1]):
        entry = x[..., i : i + 1]
        before = entry - mean
        mean = mean + before / (i + 1)
        squares = squares + before * (entry - mean)
    return squares / x.shape[-1]


def by_first_entry(x, mean):
    near = x - x[..., :1]
    return squares_minus_square(near, near.mean(-1, keepdim=True))


RIGHT_VARIANCES = [
    by_welford,
    by_first_entry,
    lambda x, mean: (x - mean).square().mean(-1, keepdim=True),
    lambda x, mean: x.std(-1, correction=0, keepdim=True) ** 2,
    lambda x, mean: squares_minus_square(
        x.double(), x.double().mean(-1, keepdim=True)
    ).to(x.dtype),
]


@pytest.mark.parametrize("variance", RIGHT_VARIANCES)
def test_every_form_that_keeps_its_digits_is_right(variance):
    program = partial(normed, variance=variance)
    assert check.layer_norm(program)
    x, weight, bias = norm.rows_near(norm.FAR_MEAN)
    off = norm.off_near(norm.FAR_MEAN, program(x, weight, bias, 1e-5))
    assert off < norm.DIGITS / 20
    wrong = normed(x, weight, bias, 1e-5, squares_minus_square)
    assert norm.off_near(norm.FAR_MEAN, wrong) > 20 * norm.DIGITS


def test_a_norm_for_float64_alone_is_right():
    def precise(x, weight, bias, eps):
        C = x.shape[-1]
        mean = x @ torch.full((C, C), 1 / C, dtype=torch.float64)
        return normed(
            x, weight, bias, eps, lambda x, _: ((x - mean) ** 2).mean(-1, True)
        )

    assert check.layer_norm(precise)


def test_another_wrong_norm_is_not_told_of_lost_digits():
    result = check.layer_norm(lambda x, weight, bias, eps: x.sin() * weight + bias)
    assert not any("digits" in hint for hint in result.hints)


BY_STD = [
    (lambda x, eps: x.std(-1, keepdim=True), "and also eps is forgotten"),
    (lambda x, eps: x.std(-1, keepdim=True) + eps, "and also eps is added outside"),
    (lambda x, eps: x.std(-1, correction=0, keepdim=True), "eps is forgotten"),
    (
        lambda x, eps: x.std(-1, correction=0, keepdim=True) + eps,
        "eps is added outside the root",
    ),
    (
        lambda x, eps: x.std(-1, correction=0, keepdim=True) + eps**0.5,
        "√variance + √eps",
    ),
]


@pytest.mark.parametrize(("divisor", "said"), BY_STD)
def test_a_standard_deviation_is_named_in_a_norm_and_in_a_block(
    divisor, said, monkeypatch
):
    monkeypatch.setattr(combine, "SECONDS", 30.0)  # a slow machine gives up sooner

    def by_std(x, weight, bias, eps):
        return (x - x.mean(-1, keepdim=True)) / divisor(x, eps) * weight + bias

    assert said in named(check.layer_norm(by_std))
    in_block = named(check.block(partial(block_with, ln1=by_std, ln2=by_std)))
    assert said in in_block
    assert "(in the norms)" in in_block


@pytest.mark.parametrize(
    ("eps", "said"),
    [
        (1e-6, "eps is 1e-6, not 1e-5"),
        (1e-8, "eps is 1e-8, not 1e-5"),
        (1e-12, "eps is forgotten, or far smaller than 1e-5"),
        (0.0, "eps is forgotten, or far smaller than 1e-5"),
        (1e-3, "eps is 1e-3, not 1e-5"),
    ],
)
@pytest.mark.parametrize(
    ("norms", "where"),
    [
        (("ln1", "ln2"), "in the norms"),
        (("ln1",), "in the first norm, ln1, alone"),
        (("ln2",), "in the second norm, ln2, alone"),
    ],
)
def test_another_eps_is_named_in_one_norm_and_in_both(eps, said, norms, where):
    def with_eps(x, weight, bias, _):
        return F.layer_norm(x, weight.shape, weight, bias, eps)

    result = check.block(partial(block_with, **dict.fromkeys(norms, with_eps)))
    assert named(result) == f"{said} ({where})."


def test_a_forgotten_bias_in_one_norm_is_named():
    def biasless(x, weight, bias, eps):
        return F.layer_norm(x, weight.shape, weight, None, eps)

    result = check.block(partial(block_with, ln2=biasless))
    assert named(result) == "bias is forgotten (in the second norm, ln2, alone)."


@pytest.mark.parametrize(
    ("eps_for", "said"), [(lambda eps: 0, "eps is forgotten"), (lambda e: 1e-5, "1e-5")]
)
def test_eps_is_named_in_the_gradient_of_a_norm(eps_for, said):
    def gradient(dy, x, weight, eps):
        return norm.gradient_with(dy, x, weight, eps_for(eps))

    assert said in named(check.layer_norm_gradient(gradient))


# Inputs that few programs meet


def test_what_has_three_axes_decays_too():
    def step(parameter, *rest):
        decay = rest[-1] if parameter.ndim == 2 else 0.0
        return adamw_with(parameter, *rest[:-1], decay, decays=lambda _: True)

    assert "parameter[0, 0, " in check.adamw_step(step).message


def test_the_last_norms_eps_is_seen():
    def gpt(ids, targets, weights, num_heads):
        x = weights["token"][ids] + weights["position"][: ids.shape[1]]
        for block in weights["blocks"]:
            x = block_with(x, block, num_heads)
        x = F.layer_norm(
            x, x.shape[-1:], weights["ln_f_weight"], weights["ln_f_bias"], 1e-6
        )
        logits = x @ weights["token"].T
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    assert not check.gpt(gpt)


# What learners do often


# A name, a right program, what is written instead of what, and what is said of it.
LEARNERS = rows_of("""
copied bias | right/heads_view | b_V | b_K | b_K stands where b_V belongs
last head | right/heads_output_rows | range(num_heads) | range(num_heads - 1)
    | the last head is left out
other bias | right/block_flat | ln1_bias | ln2_bias | ln2_bias stands where ln1_bias
variance first | right/layer_norm_correction | variance, mean = | mean, variance =
    | mean and variance change places
ring | right/embedding_arange | arange(T) | arange(1, T + 1) % len(position_table)
    | the positions are counted from 1, and after
last | right/embedding_in_place | range(T) | range(T - 1)
    | the last token of each text gets no
bracket | workbook/gelu | (1 + torch.erf(x / 2**0.5)) | 1 + torch.erf(x / 2**0.5)
    | the bracket around 1 + erf is missing
tanh's bracket | right/gelu_tanh_loop | (1 + torch.tanh(inner)) | 1 + torch.tanh(inner)
    | the bracket around 1 + tanh is missing
the network's bracket | right/mlp_erf | (1 + torch.erf(h / math.sqrt(2)))
    | 1 + torch.erf(h / math.sqrt(2)) | the bracket around 1 + erf is missing
diagonal | right/attention_tril | T, T)) | T, T), -1); mask[0, 0] = 1
    | the mask hides each position from itself, but for the first
x for values | right/attention_tril | @ v | @ x | the weights average x itself
feed-forward first | right/wiring_loop | (ln1, attention), (ln2, mlp)
    | (ln1, mlp), (ln2, attention)
    | the feed-forward network comes before the attention, with the first norm
""")


@pytest.mark.parametrize(("name", "source", "old", "new", "said"), LEARNERS)
def test_what_learners_do_often_is_named(name, source, old, new, said, monkeypatch):
    monkeypatch.setattr(combine, "SECONDS", math.inf)
    result = getattr(check, task_of(source))(edited(source, old, new))
    assert named(result).startswith(said), name


def test_the_means_of_a_whole_tensor_are_named():
    wrong = edited(
        "workbook/layer_norm_gradient",
        *("(g * n).mean(-1, keepdim=True)", "(g * n).mean()"),
        *("g.mean(-1, keepdim=True)", "g.mean()"),
    )
    said = "the two means of dx are those of the whole tensor"
    assert named(check.layer_norm_gradient(wrong)).startswith(said)


def changed_in_place(ids):
    ids[:] = sorted(ids)
    return ids


def filled(ids):
    ids.append(0)
    return ids


def passed_on(ids):
    filled(ids)
    return ids


def keeps_all(ids):
    changed_in_place(ids)
    filled(ids)
    passed_on(ids)
    for i in ids:
        if i:
            return i
    while ids:
        if ids.pop():
            continue
        return ids
    return None


SLIPS = rows_of("""
right/row_times_matrix_loops |     return y |         return y
    | `return y` stands inside the loop `for j in range(W.shape[1]):`
workbook/bpe_train | texts = [merged(ids, pair, new) for ids in texts]
    | for ids in texts: merged(ids, pair, new) | The result of `merged(ids, pair, new)`
workbook/train | model.train() | model.train
    | `model.train` alone on a line does nothing: a call needs brackets
""")


@pytest.mark.parametrize(("source", "old", "new", "said"), SLIPS)
def test_a_slip_is_told(source, old, new, said):
    result = getattr(check, task_of(source))(edited(source, old, new))
    assert any(hint.startswith(said) for hint in result.hints[:2])


def test_what_changes_its_arguments_is_not_called_thrown_away():
    assert slips.slips(keeps_all) == []


def test_slips_are_looked_for_only_where_there_is_a_source():
    made = eval("lambda x: x")
    assert slips.slips(made) == slips.slips(print) == slips.slips(partial(int)) == []


# Masks


def finite(number, add=False):
    """A mask of a number, in the place of the scores or added to them."""
    return lambda scores: torch.where(
        attention.allowed(scores), scores, number + add * scores
    )


FINITE = [
    *((-20, True, False), (-100, True, False), (-20, False, False)),
    *((-100, False, False), (-1e4, False, True), (-1e9, True, True)),
    *((-1e9, False, True), (-math.inf, False, True)),
]
MASKED = {
    "attention": (attention.head, lambda mixing: {"mixing": mixing}),
    "heads": (attention.heads_with, lambda mixing: {"mixing": mixing}),
    "block": (block_with, lambda mixing: {"heads": {"mixing": mixing}}),
    "gpt": (gpt_with, lambda mixing: {"block": {"heads": {"mixing": mixing}}}),
    "cached_step": (step_with, lambda mixing: {"block": {"heads": {"mixing": mixing}}}),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_hides_the_future_from_scores_far_below_it_in_every_task(name):
    (program, changed), task = MASKED[name], TASKS[name]
    arguments = task.arguments_of(task.probes[0])
    (one,) = [each for each in task.properties if each.name in ("causal", "mask")]
    for number, add, hides in FINITE:
        seen = one.seen(
            build(program, changed({"mask": finite(number, add)})), arguments
        )
        said = one.broken(seen, arguments)
        assert (said is None) is hides, (number, add, said)
