"""A beginner's crash is told in plain words first, then in PyTorch's."""

import ast
import math  # noqa: F401 (used in the texts of programs)
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers.cells import edited, written
from helpers.right_programs import generate_for
from helpers.tables import rows_of
from torch import nn

from mygpt import check
from mygpt.check.crashes import cause_of
from mygpt.check.crashes.error_site import ErrorSite, NotKnown
from mygpt.check.values import Submission
from tools.mends.programs import task_of

# Pairs that are used as tensors.


def pair_indexed(scores):
    largest = torch.max(scores, dim=-1)
    return torch.exp(scores - largest[:, None])


def classes_last(scores, targets):
    rows = scores[None].expand(2, -1, -1)
    return F.cross_entropy(rows, targets[None].expand(2, -1))


def layer_not_called(x, W1, b1, W2, b2):
    h = x @ W1 + b1
    h = nn.GELU(h)
    return h @ W2 + b2


# Shapes.


def no_keepdim_far_above(x, weight, bias, eps):
    centred = x - torch.mean(x, dim=2, keepdim=True)
    variance = (centred**2).mean(dim=2)
    deviation = torch.sqrt(variance + eps)
    return centred / deviation * weight + bias


def scores_by(product):
    def attention(x, W_Q, W_K, W_V):
        q, k, v = x @ W_Q, x @ W_K, x @ W_V
        return product(q, k).softmax(-1) @ v

    return attention


def turned_before(q, k):
    turned = k.T
    return q @ turned


def whole_table_in_place(ids, token_table, wpe):
    x = token_table[ids]
    x += wpe
    return x


def through_a_layer(x, W_Q, W_K, W_V):
    layer = nn.Linear(7, 2, dtype=x.dtype)
    return layer(x)


def generating(choose):
    return partial(generate_for, choose=choose)


def filled(x):
    result = torch.zeros(4)
    for i, number in enumerate(x):
        result[i] = number
    return result


# Types.


def leaf_in_place(x):
    one = nn.Parameter(torch.ones(1))
    one += 1
    return F.gelu(x) * one


def overwritten(x):
    y = x.tanh()
    z = y * y
    y += 1
    return F.gelu(x) + 0 * z


# What is missing.


def square(x):
    x * x


def of_none(x):
    return square(x) + x


def endless(x):
    return endless(x)


# A name, a task, a program, and what is said of it.
CRASHES = rows_of("""
max indexed | softmax | pair_indexed | Take `.values`, or use `amax`.
sort | top_k | lambda logits, k: logits.sort(-1, descending=True)[:, :k]
    | `sort` gives a pair here, the values and their
topk | top_k | lambda logits, k: logits < logits.topk(k)[:, -1:]
    | `topk` gives a pair here
min | softmax | lambda scores: scores.min(1).unsqueeze(1)
    | Take `.values`, or use `amin`.
pair of a model in a sum | evaluate
    | lambda model, batches: sum(float(model(b[:, :-1], b[:, 1:])) for b in batches)
    | The model's result is a pair, (logits, loss): take it apart
layer made | mlp | layer_not_called
    | `nn.GELU(h)` makes a layer with h as a setting and does not apply it:
    `nn.GELU()(h)`.
caret | gelu | lambda x: x / 2 * (1 + torch.erf(x / 2 ^ 0.5))
    | `^` is no power in Python but works on bits
k above V | top_k | lambda logits, k: logits.topk(k).values.softmax(-1)
    | cut, `min(k, logits.shape[-1])`
classes last | cross_entropy | classes_last
    | `cross_entropy` takes the classes on axis 1, of (B, T, V) too
keepdim, far above | layer_norm | no_keepdim_far_above
    | `mean` over axis 2 drops that axis
keepdim of a sum | softmax | lambda scores: scores.exp() / scores.exp().sum(1)
    | `sum` over axis 1 drops
.T | attention | scores_by(lambda q, k: q @ k.T)
    | `k.T` turns all axes round: (1, 3, 2) becomes (2, 3, 1). `.mT` swaps the last
.T before | attention | scores_by(turned_before) | `k.T` turns all axes round
.t() | attention | scores_by(lambda q, k: q @ k.t()) | `.t()` is for matrices
* for @ | mlp | lambda x, W1, b1, W2, b2: F.gelu(x * W1 + b1) @ W2 + b2
    | They fit for a matrix product, `@`.
not transposed | attention | scores_by(lambda q, k: q @ k)
    | They would fit with the right side transposed, by `.mT`.
transposed | attention | lambda x, W_Q, W_K, W_V: x @ W_Q.T
    | They would fit with the right side without its transpose.
matmul | attention | lambda x, W_Q, W_K, W_V: torch.matmul(x, W_Q.mT)
    | They would fit with the right side without its transpose.
either | attention | lambda x, W_Q, W_K, W_V: W_Q @ W_K.T @ x
    | They would fit with the right side transposed, by `.mT`, or the other way
not evaluated | attention | lambda x, W_Q, W_K, W_V: torch.relu_(x @ W_Q) @ W_K
    | as many columns on the left as rows on the right; here there are 2 and 5.
layer | attention | through_a_layer
    | The layer takes rows of 7 numbers and is given rows of 5.
not filled | softmax | lambda s: torch.zeros(2).expand(s.shape)
    | A tensor of shape (2) does not fill one of shape (2, 3).
keepdim=False | softmax | lambda s: s.exp() / s.exp().sum(-1, keepdim=False)
    | `sum` over axis -1 drops that axis
einsum | attention | lambda x, W_Q, W_K, W_V: torch.einsum("btc,dc->btd", x, W_Q)
    | In this `einsum`, the letter c stands for axes of two sizes, 5 and 2.
F.linear | attention | lambda x, W_Q, W_K, W_V: F.linear(x, W_Q)
    | `F.linear` transposes its weight itself, and (1, 3, 5) and (5, 2) fit without
columns | mlp | lambda x, W1, b1, W2, b2: W2 @ F.gelu(W1 @ x + b1) + b2
    | They would fit the other way round.
table | embedding
    | lambda ids, token_table, position_table: token_table[ids] + position_table
    | `position_table` has 5 rows, and the text is
table in place | embedding | whole_table_in_place | `wpe` has 5 rows
sides | softmax | lambda scores: scores + scores.T
    | The two sides of `+` have shapes (2, 3) and (3, 2).
last column | generate | generating(lambda logits: logits[:, -1].argmax(-1)[:, None])
    | `logits[:, -1]` is taken of a tensor with two axes and gives one number for
three indices | generate | generating(lambda logits: logits[:, -1, :].argmax(-1))
    | `logits` has 2 axes, shape (1, 11), and `[:, -1, :]` asks for more.
indices of a call | softmax | lambda s: torch.relu_(s * 1)[:, :, 0]
    | The tensor has 2 axes, and `[:, :, 0]` asks for more.
passed on | generate | lambda step, ids, n: step(ids[:, 0], step(ids, None)[1])
    | `step`, which the check gives your program, stops with `ids[:, 0]` of shape (
joined | generate | generating(lambda logits: logits.argmax(-1))
    | Tensors with 2 axes and with 1 axis cannot be joined
flat argmax | generate
    | generating(lambda logits: logits.argmax().expand(len(logits), 1))
    | got an id of 23, and ids go from 0 to 12.
dim | softmax | lambda scores: scores.softmax(2)
    | The tensor has 2 axes, so that a dim lies between -2 and 1; here it is 2.
entry | gelu | filled | numbered from 0 to 3: there is no entry 4.
row | embedding | lambda ids, tokens, positions: F.embedding(ids + 7, tokens)
    | An id is beyond the last row of the table.
cat | embedding
    | lambda ids, tokens, positions: torch.cat([tokens, positions[:, :1]], 0)
    | What is joined along axis 0 must agree in all others; here one has 3 and
stack | embedding | lambda ids, tokens, positions: torch.stack([tokens, positions])
    | `stack` takes tensors of one shape; here are [7, 3] and [5, 3].
decimal size | heads | lambda x, weights, H: x.view(*x.shape[:2], H, x.shape[2] / H)
    | A size must be a whole number: `/` gives a decimal one, `//` a whole one.
one_hot | embedding
    | lambda ids, tokens, positions: F.one_hot(ids, len(tokens)) @ tokens
    | `one_hot` gives whole numbers; for a matrix product make them decimal
ids in a product | embedding
    | lambda ids, tokens, positions: ids @ tokens[: ids.shape[1]]
    | One side holds whole numbers
decimal index | embedding | lambda ids, tokens, positions: tokens[ids.to(tokens.dtype)]
    | An index must hold whole numbers (`.long()`)
embedding turned | embedding | lambda ids, tokens, positions: F.embedding(tokens, ids)
    | An index must hold whole numbers (`.long()`)
softmax of ids | cross_entropy | lambda logits, ids: ids.softmax(-1)
    | A softmax needs decimal numbers (`.float()`); these are whole.
mean of ids | cross_entropy | lambda logits, ids: ids.mean()
    | A mean or a variance needs decimal numbers
decimal targets | cross_entropy
    | lambda logits, ids: F.cross_entropy(logits, ids.to(logits.dtype))
    | The targets must be ids, whole numbers (`.long()`)
mask subtracted | softmax | lambda scores: scores * (1 - (scores > 0))
    | True and False are not subtracted: `~mask` is the opposite
item | softmax | lambda s: s.sum(-1).item() | `.item()` takes one number out of
float | softmax | lambda s: float(s) | `float()` takes one number out of
torch.tensor | softmax | lambda s: torch.tensor([row.softmax(-1) for row in s])
    | `torch.tensor` takes numbers; `torch.stack` joins a list of tensors.
math.erf | gelu | lambda x: x / 2 * (1 + math.erf(x / 2**0.5))
    | `math.erf` takes one number; `torch.erf` takes a tensor.
math.sqrt | layer_norm | lambda x, weight, bias, eps: x / math.sqrt(x.var(-1) + eps)
    | `math.sqrt` takes one number; `torch.sqrt` takes a tensor.
math.exp | softmax | lambda s: math.exp(s) / math.exp(s).sum(-1, keepdim=True)
    | `math.exp` takes one number; `torch.exp` takes a tensor.
torch.sqrt | attention | lambda x, W_Q, W_K, W_V: x @ W_Q / torch.sqrt(W_Q.shape[1])
    | `torch.sqrt` takes a tensor; for one number there is `math.sqrt`.
if | gelu | lambda x: x if x > 0 else 0 * x | One True or False is needed here
max | gelu | lambda x: max(0, x) | Python's own `max` chooses one of its
leaf | gelu | leaf_in_place | A tensor whose gradient is wanted is changed in
list | softmax | lambda s: s - [row.max() for row in s]
    | A Python list is no tensor: `torch.tensor` makes one of numbers
not in a list | softmax | lambda s: torch.cat(s)
    | The tensors to be joined stand in a list, in [ ].
dictionary | mlp | lambda x, W1, b1, W2, b2: x @ {"W1": W1}
    | A whole dictionary stands where one of its tensors is meant
all sizes | attention | lambda x, W_Q, W_K, W_V: x / W_Q.shape**0.5
    | `shape` holds the sizes of all axes; one of them is `shape[-1]`.
no return | gelu | of_none | Something here is None: is it the result of a
too few | layer_norm | lambda x, weight, bias: x
    | The check gives your function 4 arguments (x, weight, bias, eps), by position; it
    takes 3 arguments (x, weight, bias).
order | cross_entropy | lambda targets, logits: F.cross_entropy(logits, targets)
    | Your function takes (targets, logits) and is given (logits, targets) by position:
    the order counts, not the names.
axis letter | attention | lambda x, W_Q, W_K, W_V: x @ W_Q + torch.ones(T, T)
    | T is no argument of this task; your program finds it as a size: axis 1 of x,
    `shape[1]`.
key | heads | lambda x, weights, H: x @ weights["W_q"]
    | `weights` has no key 'W_q'; it has 'W_Q', 'b_Q'
attribute | heads | lambda x, weights, H: x @ weights.W_Q
    | A dictionary is asked by key: `weights['W_Q']`.
size[0] | softmax | lambda s: s.size[0]
    | `s.size` is a method: it is called, `s.size(…)`, with round brackets.
shape(0) | softmax | lambda s: s.shape(0) | `shape` is not called: `shape[0]`
x(0) | softmax | lambda s: s(0) | Round brackets after a tensor call it
endless | gelu | endless | A function of yours calls itself without end.
""")

# A name, a right program, what is written instead of what, and what is said of it.
EDITED = rows_of("""
max subtracted | workbook/softmax | amax | max | `max` gives a pair here
pair of a model | right/train_while | _, loss = | loss =
    | `loss` is a pair, (logits, loss): take it apart, `logits, loss = model(…)`.
dropped last | right/top_k_threshold | [:, -1:] | [:, -1]
    | gives one number for each row and drops the axis; `[:, -1:]` keeps it
star before a mask | right/attention_tril | q @ k.transpose(1, 2) | q * k
    | `q * k` multiplies entry by entry and has shape (1, 3, 2): no score for each two
    positions. Those are a matrix product, `q @ k.mT`.
keepdim | right/layer_norm_var | dim=-1, keepdim=True | -1
    | `mean` over axis -1 drops that axis: a tensor of shape (1, 2) meets one of shape
    (1, 2, 3). With `keepdim=True` the axis stays, with size 1: (1, 2, 1).
last column kept | workbook/generate | new = | logits = logits[:, -1]; new =
    | `logits[:, -1]` is taken of a tensor
view | right/heads_view | reshape | view
    | `view` cannot regroup numbers that `transpose`
size | right/heads_view | C // num_heads | C
    | The tensor of shape (1, 3, 6) holds 18 numbers, and the shape (1, 3, 2, 6) asks
    for 36.
names | right/embedding_in_place | B, T = | _, T, _ =
    | The line has 3 names for the shape (2, 3), which has 2 axes.
mask of ones | right/attention_tril | mask == 0 | 1 - mask
    | A mask must hold True and False
""")
CRASHES, EDITED = ({name: case for name, *case in rows} for rows in (CRASHES, EDITED))


def crashing(name):
    """The task of a case, its program, and what is said of it."""
    if name in EDITED:
        source, old, new, said = EDITED[name]
        return task_of(source), edited(source, old, new), said
    task, program, said = CRASHES[name]
    return task, written(program, globals()), said


@pytest.mark.parametrize("name", [*CRASHES, *EDITED])
def test_a_crash_is_told_in_plain_words_and_then_in_pytorchs(name):
    task, program, said = crashing(name)
    errors = [each.error for each in Submission(check.TASKS[task], program).outcomes]
    assert said in cause_of(next(filter(None, errors)), check.TASKS[task], program)


@pytest.mark.parametrize("name", ["max subtracted", "keepdim", "too few", "endless"])
def test_the_plain_words_come_before_pytorchs(name):
    task, program, said = crashing(name)
    result = getattr(check, task)(program)
    assert result.stage == "run"
    plain, words = result.message.split(" Your program stopped with ")
    assert said in plain
    assert "Error: " in words


@pytest.mark.parametrize(
    ("program", "said", "words"),
    [
        (
            overwritten,
            "Something that the gradient needs is overwritten",
            "modified by",
        ),
        (
            lambda x: F.gelu(x) + 0 * torch.from_numpy(np.tanh(x.numpy())),
            "NumPy knows nothing of gradients: use torch's function of the same name.",
            "Can't call numpy() on Tensor that requires grad",
        ),
    ],
)
def test_a_crash_of_the_gradients_alone_is_told_too(program, said, words):
    result = check.gelu(program)
    assert result.stage == "gradient"
    plain, error = result.message.split(
        "when gradients are wanted your program stops with RuntimeError"
    )
    assert plain.startswith(said)
    assert words in error


def test_a_flat_argmax_is_named_where_there_is_one():
    said = "`argmax` without a dim counts through the whole tensor"
    flat = generating(lambda logits: logits.argmax().expand(len(logits), 1))
    assert said not in check.generate(flat).message  # it stands in another function

    def generate(step, ids, max_new_tokens):
        new, cache = ids, None
        for _ in range(max_new_tokens):
            logits, cache = step(new, cache)
            new = logits.argmax().expand(len(ids), 1)
            ids = torch.cat([ids, new], 1)
        return ids

    assert said in check.generate(generate).message


def test_a_missing_import_is_told(tmp_path):
    names = {}
    exec("def gelu(x):\n    return F.gelu(x)", names)
    result = check.gelu(names["gelu"])
    assert result.message.startswith("`import torch.nn.functional as F` is missing.")


# What is not said, since it would not be true.


def crash(program, *values, task="softmax"):
    try:
        program(*values)
    except Exception as error:
        return cause_of(error, check.TASKS[task], program)
    raise AssertionError("expected an error")


def test_keepdim_is_not_asked_for_where_it_would_not_help():
    def other_axis(s):
        return s - s.sum(-1)[:2]

    assert "keepdim" not in crash(other_axis, torch.ones(5, 4))


def test_a_matrix_product_is_not_proposed_where_it_would_not_fit():
    assert "`@`" not in crash(lambda s: s * s[:2], torch.ones(3, 4))


def test_a_table_is_not_called_one_of_positions_without_a_sign_of_it():
    assert "text" not in crash(lambda s: s[:3] + s, torch.ones(5, 4))


def test_a_name_that_was_set_again_is_not_looked_at():
    def set_again(s):
        k = torch.ones(2, 3, 4)
        turned = k.T
        k = torch.ones(5, 6, 7, 8)
        return turned @ s

    assert "axes round" not in crash(set_again, torch.ones(9, 9))


def test_a_column_of_ids_is_none_of_logits():
    def column(ids):
        return torch.cat([ids, ids[:, -1]], 1)

    assert "two axes and gives" not in crash(column, torch.ones(2, 3).long())


def test_nothing_of_the_readers_is_called_again():
    calls = []

    def counted(s):
        calls.append(s)
        return s.mean(-1)

    def program(s):
        return s - counted(s)

    assert "keepdim" not in crash(program, torch.ones(2, 3))
    assert len(calls) == 1

    def with_a_method(s):
        return s - s.copy_(torch.zeros(1)).mean(-1)

    ones = torch.ones(2, 3)
    try:
        with_a_method(ones)
    except RuntimeError as error:
        ones.fill_(1)
        place = ErrorSite(error, check.TASKS["softmax"])
        call = ast.parse("s.copy_(s * 0)", mode="eval").body
        with pytest.raises(NotKnown):
            place.value(call)
    assert ones.sum() == 6


def test_a_program_without_a_source_gets_the_error_alone():
    names = {"torch": torch}
    exec("def softmax(s):\n    return s - s.mean(-1)", names)
    result = check.softmax(names["softmax"])
    assert result.message.startswith("Your program stopped with RuntimeError: The size")
