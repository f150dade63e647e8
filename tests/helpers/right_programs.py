"""Right programs for every task of `mygpt.check`, each of another structure.

Most are built from independent choices: of layout, of masks, of the order of
operations, of the form of a cache. They are code that a reader may write; no choice is
a name or a number. The right programs that are a file each, from which the sets of
wrong programs are made, stand in `tests/check/right/` and the workbook: they are parts
here, and none is repeated.
"""

import bisect
import copy
import heapq
import itertools
import math
import operator
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import torch
import torch.nn.functional as F
from helpers.cells import edited
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vjp, vmap

from mygpt.check.compare import convert
from tools.mends.programs import right_sources, task_of

INF = math.inf


@dataclass(frozen=True)
class Right:
    """A right program and the choices that make it; the first is its style.

    parameters: which attribute of a class holds which weight, if it is a class.
    """

    task: str
    choices: tuple[str, ...]
    program: Callable[..., Any]
    parameters: dict[str, str] | None = None


PROGRAMS: list[Right] = []
# Programs by task and style, then by name.
ONE_BY_ONE: dict[tuple[str, str], dict[str, Callable]] = {}
# Classes by task, then by name, each with the attributes that hold its weights.
CLASSES: dict[str, dict[str, tuple[Callable, dict[str, str]]]] = {}


def right(
    task: str, style: str, **axes: Mapping[str, Any] | Sequence[str]
) -> Callable[[Callable], Callable]:
    """Add the decorated program with each combination of choices as its keywords."""

    def add(program: Callable[..., Any]) -> Callable[..., Any]:
        named = [
            axis if isinstance(axis, Mapping) else {name: name for name in axis}
            for axis in axes.values()
        ]
        for chosen in itertools.product(*(axis.items() for axis in named)):
            names, values = zip(*chosen, strict=True)
            made = partial(program, **dict(zip(axes, values, strict=True)))
            PROGRAMS.append(Right(task, (style, *names), made))
        return program

    return add


def pick(axis: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The choices of an axis that have the names."""
    return {name: axis[name] for name in names}


def by_name(*programs: Callable) -> dict[str, Callable]:
    """An axis of functions or classes, each under its own name."""
    return {program.__name__: program for program in programs}


def beginning(start: str) -> dict[str, Callable]:
    """An axis of the functions and classes above whose names begin so."""
    return {name: each for name, each in globals().items() if name.startswith(start)}


def in_float32(program: Callable) -> Callable:
    """Compute in float32 and return float64: a program that saves memory."""
    return lambda *given: convert(
        program(*convert(given, torch.float32)), torch.float64
    )


def own_backward(forward: Callable, backward: Callable) -> Callable:
    """Make an `autograd.Function` of a result with what to keep, and its gradients."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *values):
            y, *kept = forward(*values)
            ctx.save_for_backward(*kept)
            return y

        @staticmethod
        def backward(ctx, dy):
            return backward(dy, *ctx.saved_tensors)

    return Own.apply


# A program for one row, text or position, run on all of them


def filled(rows, of_row, empty):
    y = empty(rows)
    for i in range(len(rows)):
        y[i] = of_row(rows[i])
    return y


def own_float32_zeros(like: Tensor) -> Tensor:
    return torch.zeros(like.shape)


ROWS = {
    "stacked": lambda rows, of_row: torch.stack([of_row(row) for row in rows]),
    "vmap": lambda rows, of_row: vmap(of_row)(rows),
    "zeros_like": partial(filled, empty=torch.zeros_like),
    "own float32": partial(filled, empty=own_float32_zeros),
}


def by_texts(program: Callable, *orders: str) -> dict[str, Callable]:
    """A program that is run on each text of a batch alone, by the order of rows."""

    def run(x, *rest, order):
        return order(x, lambda text: program(text[None], *rest)[0])

    return {name: partial(run, order=ROWS[name]) for name in orders}


def by_numbers(of_one: Callable, *orders: str) -> dict[str, Callable]:
    """A program that is run on each number of a tensor alone, by the order of rows."""

    def run(x, order):
        return order(x.flatten(), of_one).view_as(x)

    return {name: partial(run, order=ROWS[name]) for name in orders}


# A row times a matrix


def rows_in_place(x, W):
    total = torch.zeros_like(W[0])
    for i in range(len(x)):
        total += x[i] * W[i]
    return total


ONE_BY_ONE["row_times_matrix", "matrix product"] = {
    "@": lambda x, W: x @ W,
    "W.T @ x": lambda x, W: W.T @ x,
    "mv": lambda x, W: torch.mv(W.t(), x),
    "bmm": lambda x, W: torch.bmm(x[None, None], W[None])[0, 0],
    "F.linear": lambda x, W: F.linear(x, W.T),
    "addmv": lambda x, W: torch.addmv(torch.zeros_like(W[0]), W.T, x),
    "addmv, own float32": lambda x, W: torch.addmv(torch.zeros(W.shape[1]), W.T, x),
    "diagonal matrix": lambda x, W: (torch.diag(x) @ W).sum(0),
    "ones from the left": lambda x, W: torch.ones(len(x)) @ (x[:, None] * W),
}
ONE_BY_ONE["row_times_matrix", "einsum"] = {
    "i,ij->j": lambda x, W: torch.einsum("i,ij->j", x, W),
    "ij,i": lambda x, W: torch.einsum("ij,i->j", W, x),
    "of a row": lambda x, W: torch.einsum("bi,ij->bj", x[None], W)[0],
    "tensordot": lambda x, W: torch.tensordot(x, W, dims=1),
    "tensordot of axes": lambda x, W: torch.tensordot(W, x, dims=([0], [0])),
}
ONE_BY_ONE["row_times_matrix", "broadcasting"] = {
    "columns": lambda x, W: (W.T * x).sum(-1),
    "expanded": lambda x, W: (x.view(-1, 1).expand_as(W) * W).sum(dim=0),
    "running sum": lambda x, W: (x[:, None] * W).cumsum(0)[-1],
    "inner": lambda x, W: torch.inner(x, W.T),
}
ONE_BY_ONE["row_times_matrix", "loops"] = {
    "rows added": lambda x, W: sum(map(torch.mul, x, W)),
    "rows in place": rows_in_place,
    "own float32 zeros": edited("right/row_times_matrix_loops", ", dtype=x.dtype", ""),
    "columns stacked": lambda x, W: torch.stack([x.dot(w) for w in W.T]),
    "entries summed": lambda x, W: torch.stack(
        [sum(map(torch.mul, x, w)) for w in W.T]
    ),
    "vmap of dot": lambda x, W: vmap(torch.dot, in_dims=(None, 1))(x, W),
    "vmap over rows": lambda x, W: vmap(torch.mul)(x, W).sum(0),
}
ONE_BY_ONE["row_times_matrix", "own backward"] = {
    "autograd.Function": own_backward(
        lambda x, W: (W.T @ x, x, W), lambda dy, x, W: (W @ dy, torch.outer(x, dy))
    )
}
ONE_BY_ONE["row_times_matrix", "float32"] = {
    "inside": in_float32(lambda x, W: x @ W),
    "own result": lambda x, W: (x @ W).float(),
}
# Before gradients are taught, nothing must lead back.
ONE_BY_ONE["row_times_matrix", "numbers of Python"] = {
    "lists": lambda x, W: torch.tensor(
        [sum(map(operator.mul, x.tolist(), w)) for w in W.T.tolist()]
    ),
    "items": lambda x, W: torch.tensor([(x * w).sum().item() for w in W.T]),
    "floats": lambda x, W: torch.tensor([float(x @ w) for w in W.T]),
    "numpy": lambda x, W: torch.from_numpy(x.numpy() @ W.numpy()),
    "no_grad": torch.no_grad()(lambda x, W: x @ W),
}


# Softmax

by_hand = edited("workbook/softmax")
running = edited("right/softmax_running")
SOFTMAXES = {
    "torch": lambda scores: torch.softmax(scores, dim=-1),
    "by hand": by_hand,
    "logsumexp": edited("right/softmax_logsumexp"),
    "log_softmax": lambda scores: F.log_softmax(scores, dim=-1).exp(),
}
SHIFTS = {
    "amax": lambda row: row - row.amax(-1, keepdim=True),
    "detached": lambda row: row - row.detach().max(-1, keepdim=True)[0],
    "sorted": lambda row: row - row.sort(-1).values[..., -1:],
    "logsumexp": lambda row: row - row.logsumexp(-1, keepdim=True),
}
SHARES = {
    "/": lambda powers: powers / powers.sum(-1, keepdim=True),
    "reciprocal": lambda powers: powers * powers.sum(-1, keepdim=True).reciprocal(),
    "F.normalize": lambda powers: F.normalize(powers, p=1.0, dim=-1),
    "log": lambda powers: (powers.log() - powers.sum(-1, keepdim=True).log()).exp(),
}


@right("softmax", "by hand", shift=SHIFTS, share=SHARES)
def softmax_by_hand(scores, *, shift, share):
    return share(torch.exp(shift(scores)))


@right(
    "softmax",
    "loops",
    of_row={
        "by hand": by_hand,
        "online": lambda row: running(row[None])[0],
        "torch": SOFTMAXES["torch"],
    },
    rows=pick(ROWS, "stacked", "zeros_like", "own float32"),
)
def softmax_by_rows(scores, *, of_row, rows):
    return rows(scores, of_row)


ONE_BY_ONE["softmax", "fused"] = {
    "F.softmax": lambda scores: F.softmax(scores, dim=1),
    "nn.Softmax": nn.Softmax(dim=-1),
    "method": lambda scores: scores.softmax(-1),
    "transposed": lambda scores: scores.T.softmax(0).T,
    "log_softmax": SOFTMAXES["log_softmax"],
    "vmap": lambda scores: vmap(partial(torch.softmax, dim=0))(scores),
    "Categorical": lambda s: torch.distributions.Categorical(logits=s).probs,
}
ONE_BY_ONE["softmax", "einsum"] = {
    "differences": lambda s: 1 / (s[:, None, :] - s[:, :, None]).exp().sum(-1),
    "ones": lambda s: torch.einsum(
        "nv,n->nv",
        (s - s.amax(1, keepdim=True)).exp(),
        1 / torch.einsum("nv->n", (s - s.amax(1, keepdim=True)).exp()),
    ),
}
ONE_BY_ONE["softmax", "own backward"] = {
    "autograd.Function": own_backward(
        lambda scores: 2 * (by_hand(scores),),
        lambda dy, y: y * (dy - (dy * y).sum(-1, keepdim=True)),
    )
}
ONE_BY_ONE["softmax", "float32"] = {
    "inside": in_float32(by_hand),
    "logsumexp inside": in_float32(SOFTMAXES["logsumexp"]),
    "dtype": lambda scores: torch.softmax(scores, -1, dtype=torch.float32),
}


# Cross-entropy


def shifted_logs(shifted):
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


LOGS = {
    "log_softmax": lambda logits: logits.log_softmax(-1),
    "by hand": lambda logits: shifted_logs(logits - logits.amax(-1, keepdim=True)),
    "logsumexp": lambda logits: logits - logits.logsumexp(-1, keepdim=True),
}
PICKS = {
    "index": lambda logs, targets: logs[torch.arange(len(targets)), targets],
    "gather": lambda logs, targets: logs.gather(1, targets[:, None]).squeeze(1),
    "one_hot": lambda logs, targets: (logs * F.one_hot(targets, logs.shape[1])).sum(1),
    "where": lambda logs, targets: torch.where(
        torch.arange(logs.shape[1]) == targets[:, None], logs, 0.0
    ).sum(-1),
    "diagonal": lambda logs, targets: logs[:, targets].diagonal(),
    "eye": lambda logs, targets: torch.einsum(
        "nv,nv->n", logs, torch.eye(logs.shape[1])[targets]
    ),
    "list": lambda logs, targets: torch.stack(
        [row[target] for row, target in zip(logs, targets, strict=True)]
    ),
}


@right("cross_entropy", "by hand", log=LOGS, pick=PICKS)
def cross_entropy_by_hand(logits, targets, *, log, pick):
    return -pick(log(logits), targets).mean()


@right("cross_entropy", "sums", pick=PICKS)
def cross_entropy_by_sums(logits, targets, *, pick):
    return (logits.logsumexp(-1).sum() - pick(logits, targets).sum()) / len(targets)


def rows_into_zeros(logits, targets):
    losses = torch.zeros(len(targets))
    for i, target in enumerate(targets.tolist()):
        losses[i] = logits[i].logsumexp(0) - logits[i, target]
    return losses.mean()


def one_hot_like(logits, targets):
    return F.one_hot(targets, logits.shape[1]).to(logits)


ONE_BY_ONE["cross_entropy", "loops"] = {
    "mean of list": lambda logits, targets: torch.stack(
        [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
    ).mean(),
    "own float32 zeros": rows_into_zeros,
    "vmap": lambda logits, targets: vmap(F.cross_entropy)(logits, targets).mean(),
}
ONE_BY_ONE["cross_entropy", "fused"] = {
    "F.cross_entropy": F.cross_entropy,
    "nn.CrossEntropyLoss": nn.CrossEntropyLoss(),
    "sum": lambda logits, t: F.cross_entropy(logits, t, reduction="sum") / len(t),
    "none": lambda logits, t: F.cross_entropy(logits, t, reduction="none").mean(),
    "nll_loss": lambda logits, t: F.nll_loss(F.log_softmax(logits, 1), t),
    "probabilities": lambda logits, t: F.cross_entropy(logits, one_hot_like(logits, t)),
    "Categorical": lambda logits, t: (
        -torch.distributions.Categorical(logits=logits).log_prob(t).mean()
    ),
    "kl_div": lambda logits, t: F.kl_div(
        logits.log_softmax(-1), one_hot_like(logits, t), reduction="batchmean"
    ),
    "logsumexp minus": lambda logits, t: (
        logits.logsumexp(1).mean() - logits[range(len(t)), t].mean()
    ),
}
ONE_BY_ONE["cross_entropy", "own backward"] = {
    "autograd.Function": own_backward(
        lambda logits, t: (F.cross_entropy(logits, t), logits, t),
        lambda dy, logits, t: (
            dy * (logits.softmax(-1) - one_hot_like(logits, t)) / len(t),
            None,
        ),
    )
}
ONE_BY_ONE["cross_entropy", "float32"] = {"inside": in_float32(F.cross_entropy)}


# Embedding

LOOKUPS = {
    "index": lambda ids, table: table[ids],
    "F.embedding": F.embedding,
    "one_hot": lambda ids, table: F.one_hot(ids, len(table)).to(table) @ table,
    "index_select": lambda ids, table: table.index_select(0, ids.flatten()).view(
        *ids.shape, -1
    ),
    "stack": lambda ids, table: torch.stack(
        [torch.stack([table[i] for i in row]) for row in ids.tolist()]
    ),
    "own float32 one_hot": lambda ids, table: (
        F.one_hot(ids, len(table)).float() @ table
    ),
    "own float32 eye": lambda ids, table: torch.eye(len(table))[ids] @ table,
    "gather": lambda ids, table: table.expand(len(ids), -1, -1).gather(
        1, ids[:, :, None].expand(-1, -1, table.shape[1])
    ),
}
PLACES = {
    "slice": lambda ids, table: table[: ids.shape[1]],
    "arange": lambda ids, table: table[torch.arange(ids.shape[1])],
    "arange like ids": lambda ids, table: F.embedding(
        torch.arange(ids.shape[1]).expand_as(ids), table
    ),
    "narrow": lambda ids, table: table.narrow(0, 0, ids.shape[1]).unsqueeze(0),
    "cumsum": lambda ids, table: table[torch.ones_like(ids).cumsum(1) - 1],
    "eye": lambda ids, table: (
        torch.eye(ids.shape[1], len(table), dtype=table.dtype) @ table
    ),
}


@right(
    "embedding",
    "lookups",
    lookup=LOOKUPS,
    place=pick(PLACES, "slice", "arange like ids", "cumsum", "eye"),
)
@right(
    "embedding",
    "places",
    lookup=pick(LOOKUPS, "index", "F.embedding"),
    place=pick(PLACES, "arange", "narrow"),
)
def embedding_by_lookups(ids, tokens, positions, *, lookup, place=PLACES["slice"]):
    return lookup(ids, tokens) + place(ids, positions)


embed = edited("workbook/embedding")
ONE_BY_ONE["embedding", "loops"] = {
    "own float32 zeros": edited(
        "right/embedding_loops", ", dtype=token_table.dtype", ""
    ),
    "float64 zeros": edited(
        "right/embedding_loops", "token_table.dtype", "torch.float64"
    ),
    **by_texts(embed, "vmap"),
}


class TwoTables(nn.Module):
    def __init__(self, V, C, N):
        super().__init__()
        self.position = nn.Embedding(N, C)
        self.token = nn.Embedding(V, C)
        self.register_buffer("places", torch.arange(N))

    def forward(self, ids):
        return self.token(ids) + self.position(self.places[: ids.shape[1]])


class TwoParameters(nn.Module):
    def __init__(self, V, C, N):
        super().__init__()
        self.wte = nn.Parameter(torch.empty(V, C))
        self.wpe = nn.Parameter(torch.zeros(1, C, N).squeeze(0))
        self.drop = nn.Dropout(0.1)

    def forward(self, ids):
        return self.drop(self.wte[ids] + self.wpe[:, : ids.shape[1]].T)


class OneHotLinear(nn.Module):
    def __init__(self, V, C, N):
        super().__init__()
        self.token = nn.Linear(V, C, bias=False)
        self.position = nn.Parameter(torch.randn(N, C))

    def forward(self, ids):
        one_hot = F.one_hot(ids, self.token.in_features).to(self.position.dtype)
        return self.token(one_hot) + self.position[: ids.shape[1]]


def tables(token, position):
    return {"token_table": token, "position_table": position}


CLASSES["embedding"] = {
    "nn.Embedding": (TwoTables, tables("token.weight", "position.weight")),
    "parameters, one transposed": (TwoParameters, tables("wte", "wpe.T")),
    "nn.Linear": (OneHotLinear, tables("token.weight.T", "position")),
}
ONE_BY_ONE["embedding", "float32"] = {"inside": in_float32(embed)}


# Attention


def written_over(scores):
    scores = scores.clone()
    for t in range(scores.shape[-1]):
        scores[..., t, t + 1 :] = -INF
    return scores


def ones_of(scores):
    return torch.ones(scores.shape[-2:])


MASKS = {
    "masked_fill": lambda s: s.masked_fill(ones_of(s).tril() == 0, -INF),
    "masked_fill -1e9": lambda s: s.masked_fill(ones_of(s).triu(1).bool(), -1e9),
    "where": lambda s: torch.where(ones_of(s).tril().bool(), s, -INF),
    "added triu": lambda s: s + torch.full(s.shape[-2:], -INF).triu(1),
    "added -1e9": lambda s: s - 1e9 * ones_of(s).triu(diagonal=1),
    "places compared": lambda s: s.masked_fill(
        torch.arange(s.shape[-1])[None] > torch.arange(s.shape[-2])[:, None], -INF
    ),
    "written over": written_over,
}


def weigh_by(mask: str, softmax: str = "torch") -> Callable[[Tensor], Tensor]:
    return lambda scores: SOFTMAXES[softmax](MASKS[mask](scores))


causal_softmax = weigh_by("where")


def masked_powers(scores):
    return SHARES["/"]((scores - scores.amax(-1, keepdim=True)).exp().tril())


def cut_and_shared_again(scores):
    return SHARES["/"](scores.softmax(-1) * torch.ones_like(scores).tril())


def rows_padded(scores):
    T = scores.shape[-1]
    rows = [
        F.pad(scores[..., t, : t + 1].softmax(-1), (0, T - t - 1)) for t in range(T)
    ]
    return torch.stack(rows, dim=-2)


def rows_into_own_zeros(scores):
    weights = torch.zeros(scores.shape)
    for t in range(scores.shape[-1]):
        weights[..., t, : t + 1] = by_hand(scores[..., t, : t + 1])
    return weights


def divided_by_running_sum(scores):
    """The denominator of each row from logcumsumexp over its masked scores."""
    masked = MASKS["where"](scores)
    return (masked - masked.logcumsumexp(-1)[..., -1:]).exp()


CONTRACTIONS = {
    "matmul": (lambda q, k: q @ k.transpose(-2, -1), lambda w, v: w @ v),
    "einsum": (
        lambda q, k: torch.einsum("...td,...sd->...ts", q, k),
        lambda w, v: torch.einsum("...ts,...sd->...td", w, v),
    ),
    "broadcasting": (
        lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1),
        lambda w, v: (w.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2),
    ),
}
SCALES = {
    "scores divided": lambda q, k, dot: dot(q, k) / math.sqrt(q.shape[-1]),
    "scores multiplied": lambda q, k, dot: dot(q, k) * k.size(-1) ** -0.5,
    "queries": lambda q, k, dot: dot(q / q.shape[-1] ** 0.5, k),
    "keys": lambda q, k, dot: dot(q, k / math.sqrt(k.shape[-1])),
    "both": lambda q, k, dot: dot(q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25),
    "root of a tensor": lambda q, k, dot: (
        dot(q, k) / torch.sqrt(torch.tensor(q.shape[-1]))
    ),
}


def mixed(q, k, v, weigh, scale="scores divided", contraction="matmul"):
    dot, mean = CONTRACTIONS[contraction]
    return mean(weigh(SCALES[scale](q, k, dot)), v)


@right("attention", "masks", contraction=tuple(CONTRACTIONS), mask=tuple(MASKS))
@right(
    "attention",
    "softmaxes",
    softmax=("by hand", "logsumexp", "log_softmax"),
    mask=("where", "added -1e9"),
)
def attention_with_masks(x, Q, K, V, *, mask, softmax="torch", contraction="matmul"):
    weigh = weigh_by(mask, softmax)
    return mixed(x @ Q, x @ K, x @ V, weigh, contraction=contraction)


@right(
    "attention",
    "scales",
    scale=tuple(SCALES),
    weigh=by_name(masked_powers, cut_and_shared_again),
)
def attention_with_scales(x, Q, K, V, *, scale, weigh):
    return mixed(x @ Q, x @ K, x @ V, weigh, scale)


def by_position(q, k, v, t):
    """One position of one text, or of all."""
    scores = (k[..., : t + 1, :] * q[..., t : t + 1, :]).sum(-1) / q.shape[-1] ** 0.5
    return (scores.softmax(-1)[..., None] * v[..., : t + 1, :]).sum(-2)


def by_running_sums(q, k, v, t):
    """Without the scores of more than one key at a time."""
    total = mean = torch.zeros_like(v[..., t, :1])
    largest = total - INF
    for s in range(t + 1):
        score = (q[..., t, :] * k[..., s, :]).sum(-1, keepdim=True)
        score = score / math.sqrt(q.shape[-1])
        new = torch.maximum(largest, score)
        old, now = (largest - new).exp(), (score - new).exp()
        total, mean = total * old + now, mean * old + now * v[..., s, :]
        largest = new
    return mean / total


def one_query(q, k, v, t):
    """With matrices: the query as a column."""
    scores = k[..., : t + 1, :] @ q[..., t, :, None] * q.shape[-1] ** -0.5
    return (v[..., : t + 1, :].mT @ scores.softmax(-2)).squeeze(-1)


def of_positions(q, k, v, one):
    return torch.stack([one(q, k, v, t) for t in range(q.shape[-2])], dim=-2)


def of_texts(q, k, v, one):
    return torch.stack([of_positions(*text, one) for text in zip(q, k, v, strict=True)])


def into_zeros(q, k, v, one, empty):
    out = empty(v)
    for t in range(q.shape[1]):
        out[:, t] = one(q, k, v, t)
    return out


@right(
    "attention",
    "loops",
    one=by_name(by_position, by_running_sums, one_query),
    order={
        "texts": of_texts,
        "positions": of_positions,
        "zeros": partial(into_zeros, empty=torch.zeros_like),
        "own float32": partial(into_zeros, empty=own_float32_zeros),
    },
)
def attention_by_loops(x, Q, K, V, *, one, order):
    return order(x @ Q, x @ K, x @ V, one)


def future_of(q):
    """The mask of minus infinities that is added to the scores, in float32."""
    return torch.full((q.shape[1], q.shape[1]), -INF).triu(1)


def attention_forward(q, k, v):
    weights = causal_softmax(q @ k.mT / q.shape[-1] ** 0.5)
    return weights @ v, q, k, v, weights


def attention_backward(dy, q, k, v, weights):
    dw = dy @ v.mT
    ds = weights * (dw - (dw * weights).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
    return ds @ k, ds.mT @ q, weights.mT @ dy


sdpa = F.scaled_dot_product_attention
causal = partial(sdpa, is_causal=True)
own_attention = own_backward(attention_forward, attention_backward)
FUSED = {
    "is_causal": causal,
    "boolean mask": lambda q, k, v: sdpa(q, k, v, attn_mask=future_of(q) == 0),
    "own float32 mask": lambda q, k, v: sdpa(q, k, v, attn_mask=future_of(q)),
    "nn's mask": lambda q, k, v: sdpa(
        q, k, v, nn.Transformer.generate_square_subsequent_mask(q.shape[1]).to(q)
    ),
    "own scale": lambda q, k, v: causal(q / q.shape[-1] ** 0.5, k, v, scale=1.0),
    "an axis for the head": lambda q, k, v: causal(
        q[:, None], k[:, None], v[:, None]
    ).squeeze(1),
    "baddbmm": lambda q, k, v: torch.bmm(
        torch.baddbmm(future_of(q).to(q), q, k.mT, alpha=q.shape[-1] ** -0.5).softmax(
            -1
        ),
        v,
    ),
}
OTHER_ORDERS = {
    "keys first": lambda q, k, v: (
        causal_softmax((k @ q.mT).mT / q.shape[-1] ** 0.5) @ v
    ),
    "logcumsumexp": partial(mixed, weigh=divided_by_running_sum),
    "rows of weights in own zeros": partial(mixed, weigh=rows_into_own_zeros),
    "column softmax": lambda q, k, v: (
        (
            v.mT
            @ (k @ q.mT / q.shape[-1] ** 0.5)
            .masked_fill(ones_of(k @ q.mT).tril(-1) > 0, -INF)
            .softmax(1)
        ).mT
    ),
}


@right("attention", "fused", mix=FUSED)
@right("attention", "other orders", mix=OTHER_ORDERS)
@right("attention", "own backward", mix={"autograd.Function": own_attention})
def attention_mixed(x, Q, K, V, *, mix):
    return mix(x @ Q, x @ K, x @ V)


def merged(x, Q, K, V):
    return causal(*(x @ torch.cat([Q, K, V], dim=1)).chunk(3, dim=-1))


def one_long_text(x, Q, K, V):
    """All texts in one sequence, with a mask of blocks."""
    B, T = x.shape[:2]
    rows = x.reshape(B * T, -1)
    allowed = torch.block_diag(*[torch.ones(T, T).tril()] * B).bool()
    scores = rows @ Q @ (rows @ K).T / Q.shape[1] ** 0.5
    return (scores.masked_fill(~allowed, -INF).softmax(-1) @ rows @ V).view(B, T, -1)


ONE_BY_ONE["attention", "fused"] = {
    "merged matrices": merged,
    "F.linear": lambda x, Q, K, V: causal(*(F.linear(x, W.T) for W in (Q, K, V))),
}
ONE_BY_ONE["attention", "other orders"] = {
    "one matrix of queries and keys": lambda x, Q, K, V: (
        causal_softmax(x @ (Q @ K.T) @ x.mT / math.sqrt(Q.shape[1])) @ x @ V
    ),
    "values last": lambda x, Q, K, V: (
        mixed(x @ Q, x @ K, x, weigh_by("added triu")) @ V
    ),
    "matrix scaled": lambda x, Q, K, V: (
        rows_padded(x @ (Q * Q.shape[1] ** -0.5) @ (x @ K).mT) @ (x @ V)
    ),
    "transposed": lambda x, Q, K, V: (
        (V.T @ x.mT @ causal_softmax(x @ Q @ (K.T @ x.mT) / Q.shape[1] ** 0.5).mT).mT
    ),
}
ONE_BY_ONE["attention", "batches"] = {
    **by_texts(partial(attention_with_masks, mask="added triu"), "vmap", "stacked"),
    "flat": lambda x, Q, K, V: mixed(
        *(torch.mm(x.flatten(0, 1), W).view(*x.shape[:2], -1) for W in (Q, K, V)),
        masked_powers,
    ),
    "whole batch as one text": one_long_text,
}
ONE_BY_ONE["attention", "float32"] = {
    "inside": in_float32(merged),
    "softmax": lambda x, Q, K, V: (
        MASKS["where"]((x @ Q) @ (x @ K).mT / Q.shape[1] ** 0.5)
        .softmax(-1, dtype=torch.float32)
        .to(x)
        @ (x @ V)
    ),
}


class HeadOfLinears(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.value = nn.Linear(C, D, bias=False)
        self.key = nn.Linear(C, D, bias=False)
        self.query = nn.Linear(C, D, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(64, 64)))

    def forward(self, x):
        T = x.shape[1]
        q, k = self.query(x), self.key(x)
        scores = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        scores = scores.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ self.value(x)


class HeadOfParameters(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.w = nn.ParameterDict({n: nn.Parameter(torch.randn(C, D)) for n in "kqv"})

    def forward(self, x):
        return causal(*(x @ self.w[name] for name in "qkv"))


class HeadOfList(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(C, D, bias=False) for _ in range(3))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.layers)
        return self.dropout(of_positions(q, k, v, by_position))


def of_head(query, key, value):
    return {"W_Q": query, "W_K": key, "W_V": value}


CLASSES["attention"] = {
    "linears and a buffer": (
        HeadOfLinears,
        of_head("query.weight.T", "key.weight.T", "value.weight.T"),
    ),
    "parameters": (HeadOfParameters, of_head("w.q", "w.k", "w.v")),
    "list": (HeadOfList, of_head(*(f"layers.{i}.weight.T" for i in range(3)))),
}


# Many heads

LINEARS = {
    "@": lambda x, W, b: x @ W + b,
    "F.linear": lambda x, W, b: F.linear(x, W.T, b),
    "einsum": lambda x, W, b: torch.einsum("...i,ij->...j", x, W) + b,
    "addmm": lambda x, W, b: torch.addmm(b, x.flatten(0, -2), W).view(
        *x.shape[:-1], -1
    ),
}
SPLITS = {
    "view": (
        lambda x, H: x.view(*x.shape[:2], H, -1).transpose(1, 2),
        lambda y: y.transpose(1, 2).contiguous().view(y.shape[0], y.shape[2], -1),
    ),
    "unflatten": (
        lambda x, H: x.unflatten(-1, (H, -1)).permute(0, 2, 1, 3),
        lambda y: y.permute(0, 2, 1, 3).flatten(2),
    ),
    "stack and cat": (
        lambda x, H: torch.stack(x.chunk(H, dim=-1), dim=1),
        lambda y: torch.cat(y.unbind(1), dim=-1),
    ),
    "einsum": (
        lambda x, H: torch.einsum("bthd->bhtd", x.unflatten(-1, (H, -1))),
        lambda y: torch.einsum("bhtd->bthd", y).reshape(y.shape[0], y.shape[2], -1),
    ),
}


def projections(x, w, linear=LINEARS["@"]):
    return [linear(x, w[f"W_{name}"], w[f"b_{name}"]) for name in "QKV"]


@right(
    "heads",
    "matrices",
    split=SPLITS,
    weigh=by_name(masked_powers, rows_padded) | {"added triu": weigh_by("added triu")},
)
@right("heads", "linears", linear=pick(LINEARS, "F.linear", "einsum", "addmm"))
def heads_of_matrices(
    x, w, H, *, split=SPLITS["view"], weigh=causal_softmax, linear=LINEARS["@"]
):
    cut, join = split
    q, k, v = (cut(each, H) for each in projections(x, w, linear))
    return linear(join(mixed(q, k, v, weigh)), w["W_O"], w["b_O"])


def slices(x, H):
    """The channels of each head."""
    D = x.shape[-1] // H
    return [slice(h * D, (h + 1) * D) for h in range(H)]


def heads_sliced_after(x, w, H):
    found = projections(x, w)
    return [[each[..., part] for each in found] for part in slices(x, H)]


def heads_projected_alone(x, w, H):
    for part in slices(x, H):
        yield [x @ w[f"W_{n}"][:, part] + w[f"b_{n}"][part] for n in "QKV"]


def heads_chunked(x, w, H):
    parts = (each.chunk(H, dim=-1) for each in projections(x, w, LINEARS["F.linear"]))
    return zip(*parts, strict=True)


def joined(outputs, w):
    return torch.cat(outputs, dim=-1) @ w["W_O"] + w["b_O"]


def rows_of_output_matrix(outputs, w):
    rows = w["W_O"].chunk(len(outputs))
    return w["b_O"] + sum(map(torch.matmul, outputs, rows))


def into_own_zeros(outputs, w, like=None):
    B, T, D = outputs[0].shape
    out = torch.zeros(B, T, D * len(outputs), dtype=like)
    for part, y in zip(slices(out, len(outputs)), outputs, strict=True):
        out[:, :, part] = y
    return out @ w["W_O"] + w["b_O"]


@right(
    "heads",
    "loops",
    cut=by_name(heads_sliced_after, heads_projected_alone, heads_chunked),
    join={
        "cat": joined,
        "rows of W_O": rows_of_output_matrix,
        "own float32 zeros": into_own_zeros,
        "own float64 zeros": partial(into_own_zeros, like=torch.float64),
    },
)
def heads_by_loops(x, w, H, *, cut, join, attend=causal):
    return join([attend(*qkv) for qkv in cut(x, w, H)], w)


@right(
    "heads",
    "positions",
    cut=by_name(heads_sliced_after, heads_projected_alone),
    one=by_name(by_position, by_running_sums, one_query),
)
def heads_by_positions(x, w, H, *, cut, one):
    attend = partial(of_positions, one=one)
    return heads_by_loops(x, w, H, cut=cut, join=joined, attend=attend)


@right(
    "heads",
    "einsum",
    mask=pick(MASKS, "masked_fill", "places compared", "written over"),
    softmax=pick(SOFTMAXES, "torch", "logsumexp"),
)
def heads_by_einsum(x, w, H, *, mask, softmax):
    q, k, v = (
        torch.einsum("btc,chd->bhtd", x, w[f"W_{n}"].unflatten(1, (H, -1)))
        + w[f"b_{n}"].unflatten(0, (H, 1, -1))
        for n in "QKV"
    )
    scores = torch.einsum("bhtd,bhsd->bhts", q * q.shape[-1] ** -0.5, k)
    W_O = w["W_O"].unflatten(0, (H, -1))
    return torch.einsum("bhts,bhsd,hdc->btc", softmax(mask(scores)), v, W_O) + w["b_O"]


def in_one_matrix(w):
    """The matrices of queries, keys and values as one, and the biases."""
    return [torch.cat([w[f"{kind}_{n}"] for n in "QKV"], dim=-1) for kind in "Wb"]


def merged_heads(x, w, H):
    W, b = in_one_matrix(w)
    q, k, v = (x @ W + b).unflatten(-1, (3, H, -1)).permute(2, 0, 3, 1, 4)
    y = causal(q, k, v).transpose(1, 2).flatten(2)
    return y @ w["W_O"] + w["b_O"]


def torch_heads(x, w, H):
    (T, C), x, (W, b) = x.shape[1:], x.transpose(0, 1), in_one_matrix(w)
    given = (x, x, x, C, H, W.T, b, None, None, False, 0.0, w["W_O"].T, w["b_O"])
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    options = {"training": False, "need_weights": False, "attn_mask": mask}
    return F.multi_head_attention_forward(*given, **options)[0].transpose(0, 1)


def flat_heads(x, w, H):
    """Heads and texts on one axis."""
    cut, join = SPLITS["view"]
    q, k, v = (
        cut(each, H).flatten(0, 1) for each in projections(x, w, LINEARS["addmm"])
    )
    y = FUSED["baddbmm"](q, k, v).unflatten(0, (len(x), H))
    return join(y) @ w["W_O"] + w["b_O"]


def heads_by_vmap(x, w, H):
    q, k, v = (each.unflatten(-1, (H, -1)) for each in projections(x, w))
    y = vmap(causal, in_dims=2, out_dims=2)(q, k, v)
    return y.flatten(2) @ w["W_O"] + w["b_O"]


def masked_channels(x, w, H):
    """Every head at full width, with the other heads' channels set to zero."""
    q, k, v = projections(x, w)
    y = torch.zeros_like(x)
    for part in slices(x, H):
        mine = torch.zeros_like(x[0, 0])
        mine[part] = 1
        scores = (q * mine) @ k.mT / math.sqrt(x.shape[-1] // H)
        y = y + weigh_by("masked_fill -1e9")(scores) @ (v * mine)
    return y @ w["W_O"] + w["b_O"]


def output_matrix_first(x, w, H):
    each = zip(heads_sliced_after(x, w, H), w["W_O"].chunk(H), strict=True)
    parts = (mixed(q, k, v @ rows, causal_softmax) for (q, k, v), rows in each)
    return w["b_O"] + sum(parts)


ONE_BY_ONE["heads", "fused"] = {
    "one matrix": merged_heads,
    "multi_head_attention_forward": torch_heads,
    "texts and heads on one axis": flat_heads,
    "vmap": heads_by_vmap,
    **by_texts(merged_heads, "stacked"),
    "own backward": partial(
        heads_by_loops, cut=heads_chunked, join=joined, attend=own_attention
    ),
    "channels masked": masked_channels,
    "output matrix first": output_matrix_first,
    "float32 inside": in_float32(merged_heads),
}


class ManyHeads(nn.Module):
    def __init__(self, C, num_heads):
        super().__init__()
        self.H = num_heads
        self.proj = nn.Linear(C, C)
        self.q, self.k, self.v = (nn.Linear(C, C) for _ in range(3))
        self.register_buffer("mask", torch.full((32, 32), -INF).triu(1), False)

    def projected(self, x):
        cut, _ = SPLITS["view"]
        return [cut(layer(x), self.H) for layer in (self.q, self.k, self.v)]

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.projected(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + self.mask[:T, :T]
        return self.proj(SPLITS["view"][1](scores.softmax(dim=-1) @ v))


class ManyHeadsOfParameters(nn.Module):
    def __init__(self, C, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in "OVKQ":
            setattr(self, f"bias_{name}", nn.Parameter(torch.zeros(C)))
            setattr(self, f"matrix_{name}", nn.Parameter(torch.randn(C, C)))

    def forward(self, x):
        w = {f"W_{name}": getattr(self, f"matrix_{name}") for name in "QKVO"}
        w |= {f"b_{name}": getattr(self, f"bias_{name}") for name in "QKVO"}
        return merged_heads(x, w, self.num_heads)


class HeadsInside(nn.Module):
    """Inner modules, a mixture of linears and parameters."""

    def __init__(self, C, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.into = nn.ModuleDict({name: nn.Linear(C, C) for name in "VKQ"})
        self.out = nn.Sequential(nn.Linear(C, C), nn.Dropout(0.1))

    def forward(self, x):
        parts = [self.into[name](x).chunk(self.num_heads, -1) for name in "QKV"]
        each = zip(*parts, strict=True)
        return self.out(torch.cat([mixed(*qkv, rows_padded) for qkv in each], -1))


def of_linears(**paths):
    """The weights of linear layers, which are stored transposed, and their biases."""
    return {
        f"{kind}{name}": f"{path}.{stored}"
        for name, path in paths.items()
        for kind, stored in (("W", "weight.T"), ("b", "bias"))
    }


CLASSES["heads"] = {
    "linears and a buffer": (ManyHeads, of_linears(_Q="q", _K="k", _V="v", _O="proj")),
    "parameters backwards": (
        ManyHeadsOfParameters,
        {f"W_{n}": f"matrix_{n}" for n in "QKVO"}
        | {f"b_{n}": f"bias_{n}" for n in "QKVO"},
    ),
    "modules inside": (
        lambda C, num_heads: HeadsInside(C, num_heads),
        of_linears(_Q="into.Q", _K="into.K", _V="into.V", _O="out.0"),
    ),
}


# GELU in both forms

CUMULATIVE = {
    "erf": lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    "erfc": lambda x: torch.erfc(-x * math.sqrt(0.5)) / 2,
    "ndtr": torch.special.ndtr,
    "Normal": lambda x: torch.distributions.Normal(0.0, 1.0).cdf(x),
    "one minus": lambda x: 1 - 0.5 * torch.special.erfc(x / 2**0.5),
    "tensor root": lambda x: (torch.erf(x / torch.tensor(2.0).sqrt()) + 1).div(2),
}
PRODUCTS = {
    "x cdf": lambda x, cdf: x * cdf(x),
    "einsum": lambda x, cdf: torch.einsum("...,...->...", x, cdf(x)),
    "minus the rest": lambda x, cdf: x - x * cdf(-x),
    "addcmul": lambda x, cdf: torch.addcmul(torch.zeros_like(x), x, cdf(x)),
}


@right("gelu", "formula", cumulative=CUMULATIVE, product=PRODUCTS)
def gelu_by_formula(x, *, cumulative, product):
    return product(x, cumulative)


def erf_of_one(x):
    return x / 2 + x / 2 * torch.erf(x / math.sqrt(2))


def gelu_backward(dy, x):
    density = torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return dy * (CUMULATIVE["erf"](x) + x * density)


own_gelu = own_backward(lambda x: (x * CUMULATIVE["erf"](x), x), gelu_backward)
tanh_of_one = edited("workbook/gelu_tanh")
ONE_BY_ONE["gelu", "loops"] = {
    "rows": lambda x: torch.stack([F.gelu(row) for row in x]),
    **by_numbers(erf_of_one, "zeros_like", "own float32", "vmap"),
}
ONE_BY_ONE["gelu_tanh", "loops"] = by_numbers(
    tanh_of_one, "stacked", "own float32", "vmap"
)
ONE_BY_ONE["gelu", "fused"] = {
    "F.gelu": F.gelu,
    "nn.GELU": nn.GELU(),
    "float32 inside": in_float32(F.gelu),
    "own backward": own_gelu,
}

INNERS = {
    "cube": lambda x: x + 0.044715 * x**3,
    "pow": lambda x: x.add(torch.pow(x, 3), alpha=0.044715),
    "factored": lambda x: x * (1 + 0.044715 * x * x),
    "products": lambda x: x + 0.044715 * x * x * x,
    "addcmul": lambda x: torch.addcmul(x, x.square(), x, value=0.044715),
}
BENDS = {
    "tanh": lambda x, z: 0.5 * x * (1 + torch.tanh(z)),
    "expanded": lambda x, z: x / 2 + x * z.tanh() / 2,
    "sigmoid": lambda x, z: x * torch.sigmoid(2 * z),
    "exp": lambda x, z: x / (1 + torch.exp(-2 * z)),
}
ROOTS = {
    "of a float": lambda inner: math.sqrt(2 / math.pi) * inner,
    "of a tensor": lambda inner: torch.sqrt(torch.tensor(2.0 / torch.pi)) * inner,
}


@right("gelu_tanh", "formula", inner=INNERS, bend=BENDS, root=ROOTS)
def tanh_by_formula(x, *, inner, bend, root):
    return bend(x, root(inner(x)))


def tanh_forward(x):
    t = torch.tanh((2 / math.pi) ** 0.5 * INNERS["cube"](x))
    return 0.5 * x * (1 + t), x, t


def tanh_backward(dy, x, t):
    slope = (2 / math.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


ONE_BY_ONE["gelu_tanh", "fused"] = {
    "F.gelu": partial(F.gelu, approximate="tanh"),
    "nn.GELU": nn.GELU(approximate="tanh"),
    "own backward": own_backward(tanh_forward, tanh_backward),
    "float32 inside": in_float32(tanh_of_one),
}


# The feed-forward network

GELUS = {
    "F.gelu": F.gelu,
    "F.gelu tanh": partial(F.gelu, approximate="tanh"),
    "erf by hand": erf_of_one,
    "tanh by hand": tanh_of_one,
    "sigmoid": edited("right/gelu_tanh_sigmoid"),
    "own backward": own_gelu,
}


@right("mlp", "matrices", linear=LINEARS, gelu=GELUS)
def mlp_of_matrices(x, W1, b1, W2, b2, *, linear=LINEARS["@"], gelu):
    return linear(gelu(linear(x, W1, b1)), W2, b2)


def mlp_by_rows(x, *weights, gelu, order):
    return order(x, lambda row: mlp_of_matrices(row, *weights, gelu=gelu))


def mlp_by_neurons(x, W1, b1, W2, b2, *, gelu):
    y = b2.expand_as(x).clone()
    for into, bias, out in zip(W1.T, b1, W2, strict=True):
        y += gelu(x @ into + bias)[..., None] * out
    return y


def mlp_by_chunks(x, W1, b1, W2, b2, *, gelu):
    parts = zip(*(w.chunk(2, -1) for w in (W1, b1, W2.T)), strict=True)
    return sum(gelu(x @ into + bias) @ out.T for into, bias, out in parts) + b2


def mlp_with_biases_as_rows(x, W1, b1, W2, b2, *, gelu):
    def beside_ones(h):
        return F.pad(h, (0, 1), value=1.0)

    h = gelu(beside_ones(x) @ torch.cat([W1, b1[None]]))
    return beside_ones(h) @ torch.cat([W2, b2[None]])


ORDERS = {
    "positions": lambda x, one: ROWS["stacked"](x.flatten(0, 1), one).view_as(x),
    "own float32 zeros": lambda x, one: ROWS["own float32"](
        x.transpose(0, 1), one
    ).transpose(0, 1),
    "texts": ROWS["stacked"],
    "vmap": lambda x, one: vmap(vmap(one))(x),
}


@right(
    "mlp",
    "loops",
    of={name: partial(mlp_by_rows, order=order) for name, order in ORDERS.items()}
    | {
        "neurons in place": mlp_by_neurons,
        "chunks of neurons": mlp_by_chunks,
        "bias as a row": mlp_with_biases_as_rows,
    },
    gelu=pick(GELUS, "F.gelu", "tanh by hand"),
)
def mlp_by_loops(*given, of, gelu):
    return of(*given, gelu=gelu)


ONE_BY_ONE["mlp", "float32"] = {
    "inside": in_float32(partial(mlp_by_chunks, gelu=F.gelu))
}


class TwoLinears(nn.Module):
    def __init__(self, C, F):
        super().__init__()
        self.fc2 = nn.Linear(F, C)
        self.fc1 = nn.Linear(C, F)
        self.act = nn.GELU()

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class FourParameters(nn.Module):
    def __init__(self, C, F):
        super().__init__()
        self.b = nn.ParameterList([torch.zeros(F), torch.zeros(C)])
        self.w = nn.ParameterList([torch.randn(C, F), torch.randn(C, F)])

    def forward(self, x):
        h = F.gelu(x @ self.w[0] + self.b[0], approximate="tanh")
        return torch.einsum("btf,cf->btc", h, self.w[1]) + self.b[1]


def in_a_row(C, F):
    return nn.Sequential(
        nn.Linear(C, F), nn.GELU(approximate="tanh"), nn.Linear(F, C), nn.Dropout(0.1)
    )


class Convolutions(nn.Module):
    """A network whose layers are convolutions of width one."""

    def __init__(self, C, F):
        super().__init__()
        self.up, self.down = nn.Conv1d(C, F, 1), nn.Conv1d(F, C, 1)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x.mT))).mT


CLASSES["mlp"] = {
    "linears": (TwoLinears, of_linears(**{"1": "fc1", "2": "fc2"})),
    "lists of parameters": (
        FourParameters,
        {"W1": "w.0", "b1": "b.0", "W2": "w.1.T", "b2": "b.1"},
    ),
    "nn.Sequential": (in_a_row, of_linears(**{"1": "0", "2": "2"})),
    "convolutions": (
        Convolutions,
        of_linears(**{"1": "up", "2": "down"})
        | {"W1": "up.weight.squeeze(-1).T", "W2": "down.weight.squeeze(2).T"},
    ),
}


# The wiring of a block

SUMS = {
    "+": lambda x, branch: x + branch,
    "stack": lambda x, branch: torch.stack([x, branch]).sum(0),
    "sum": lambda x, branch: sum([x, branch]),
    "own copy in place": lambda x, branch: x.clone().add_(branch),
}


def two_lines(x, attention, mlp, ln1, ln2, *, add):
    x = add(x, attention(ln1(x)))
    return add(x, mlp(ln2(x)))


def residual_helper(x, attention, mlp, ln1, ln2, *, add):
    def residual(norm, branch):
        return lambda x: add(x, branch(norm(x)))

    return residual(ln2, mlp)(residual(ln1, attention)(x))


def reduced(x, attention, mlp, ln1, ln2, *, add):
    pairs = [(ln1, attention), (ln2, mlp)]
    return reduce(lambda x, pair: add(x, pair[1](pair[0](x))), pairs, x)


def changes_kept_apart(x, attention, mlp, ln1, ln2, *, add):
    first = attention(ln1(x))
    second = mlp(ln2(add(x, first)))
    return add(x, add(first, second))


def module_made_inside(x, attention, mlp, ln1, ln2, *, add):
    class Residual(nn.Module):
        def __init__(self, norm, branch):
            super().__init__()
            self.norm, self.branch = norm, branch

        def forward(self, x):
            return add(x, self.branch(self.norm(x)))

    return nn.Sequential(Residual(ln1, attention), Residual(ln2, mlp))(x)


WIRINGS = by_name(
    two_lines,
    residual_helper,
    reduced,
    changes_kept_apart,
    module_made_inside,
)


@right("wiring", "functions", wiring=WIRINGS, add=SUMS)
def wired(*given, wiring=two_lines, add=torch.add):
    return wiring(*given, add=add)


class Wired:
    """A block that is an object."""

    def __init__(self, attention, mlp, ln1, ln2):
        self.attention, self.mlp, self.ln1, self.ln2 = attention, mlp, ln1, ln2

    def __call__(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


ONE_BY_ONE["wiring", "object"] = {"made and called": lambda x, *parts: Wired(*parts)(x)}
ONE_BY_ONE["wiring", "batches"] = by_texts(
    wired, "stacked", "zeros_like", "own float32"
)


# Layer normalisation

CENTRES = {
    "mean": lambda x: x.mean(-1, keepdim=True),
    "sum": lambda x: x.sum(dim=-1, keepdim=True) / x.shape[-1],
    "einsum": lambda x: torch.einsum("...c->...", x)[..., None] / x.size(-1),
}
SPREADS = {
    "var": lambda x, mean: x.var(-1, correction=0, keepdim=True),
    "squares": lambda x, mean: ((x - mean) ** 2).mean(-1, keepdim=True),
    "mean of squares": lambda x, mean: x.square().mean(-1, keepdim=True) - mean**2,
    "n - 1 undone": lambda x, mean: (
        x.var(-1, keepdim=True) * (x.shape[-1] - 1) / x.shape[-1]
    ),
    "products": lambda x, mean: (
        torch.einsum("...c,...c->...", x - mean, x - mean)[..., None] / x.shape[-1]
    ),
    "norm": lambda x, mean: (
        torch.linalg.vector_norm(x - mean, dim=-1, keepdim=True) ** 2 / x.shape[-1]
    ),
}
DIVISIONS = {
    "sqrt": lambda x, variance: x / torch.sqrt(variance),
    "rsqrt": lambda x, variance: x * torch.rsqrt(variance),
    "power": lambda x, variance: x * variance**-0.5,
}
AFFINES = {
    "* +": lambda n, weight, bias: n * weight + bias,
    "addcmul": lambda n, weight, bias: torch.addcmul(bias, n, weight),
    "diagonal": lambda n, weight, bias: F.linear(n, torch.diag(weight), bias),
}


@right(
    "layer_norm",
    "formula",
    centre=tuple(CENTRES),
    # Loses its digits where the numbers lie far from 0; the task asks for them.
    spread=tuple(name for name in SPREADS if name != "mean of squares"),
)
@right(
    "layer_norm",
    "order",
    spread=("squares",),
    division=tuple(DIVISIONS),
    affine=tuple(AFFINES),
)
def norm_by(
    x, weight, bias, eps, *, centre="mean", spread, division="sqrt", affine="* +"
):
    mean = CENTRES[centre](x)
    variance = SPREADS[spread](x, mean) + eps
    return AFFINES[affine](DIVISIONS[division](x - mean, variance), weight, bias)


def number_by_number(x, weight, bias, eps):
    mean = sum(number for number in x) / len(x)
    std = (sum((number - mean) ** 2 for number in x) / len(x) + eps) ** 0.5
    normed = [(number - mean) / std for number in x]
    each = zip(normed, weight, bias, strict=True)
    return torch.stack([n * scale + shift for n, scale, shift in each])


normed_vector = edited("workbook/layer_norm")


@right(
    "layer_norm",
    "loops",
    of_one=by_name(number_by_number)
    | {
        "normed_vector": normed_vector,
        "running_vector": edited("right/layer_norm_running"),
    },
    rows=pick(ROWS, "stacked", "vmap", "own float32"),
)
def norm_by_loops(x, *rest, of_one=normed_vector, rows=ROWS["stacked"]):
    return rows(x.flatten(0, 1), lambda v: of_one(v, *rest)).view_as(x)


def norm_forward(x, weight, bias, eps):
    std = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n = (x - x.mean(-1, keepdim=True)) / std
    return n * weight + bias, n, std, weight


def norm_backward(dy, n, std, weight):
    g = dy * weight
    dx = g - g.mean(-1, keepdim=True) - n * (g * n).mean(-1, keepdim=True)
    return dx / std, (dy * n).sum((0, 1)), dy.sum((0, 1)), None


def fused_norm(x, weight, bias, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def centring_matrix(x, weight, bias, eps):
    centred = x @ (torch.eye(x.shape[-1]) - 1 / x.shape[-1])
    std = (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return centred / std * weight + bias


def batch_norm(x, weight, bias, eps):
    """Positions as the channels of a batch norm in training."""
    y = F.batch_norm(x.flatten(0, 1).T, None, None, training=True, eps=eps)
    return y.T.view_as(x) * weight + bias


def in_place(x, weight, bias, eps):
    y = x - x.mean(-1, keepdim=True)
    y = y * (y.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * weight
    y += bias
    return y


ONE_BY_ONE["layer_norm", "fused"] = {
    "F.layer_norm": fused_norm,
    "affine apart": lambda x, weight, bias, eps: (
        F.layer_norm(x, weight.shape, eps=eps) * weight + bias
    ),
    "native": lambda x, weight, bias, eps: torch.native_layer_norm(
        x, list(weight.shape), weight, bias, eps
    )[0],
    "group_norm": lambda x, weight, bias, eps: F.group_norm(
        x.flatten(0, 1), 1, weight, bias, eps
    ).view_as(x),
    "instance_norm": lambda x, weight, bias, eps: (
        F.instance_norm(x, eps=eps) * weight + bias
    ),
    "batch_norm": batch_norm,
    "centring matrix": centring_matrix,
    "in place": in_place,
    "own backward": own_backward(norm_forward, norm_backward),
    "float32 inside": in_float32(fused_norm),
    "normed in float32": lambda x, weight, bias, eps: (
        F.layer_norm(x.float(), weight.shape, eps=eps).to(x.dtype) * weight + bias
    ),
}


class OwnNorm(nn.Module):
    def __init__(self, C, eps=1e-5):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(C))
        self.scale = nn.Parameter(torch.ones(C))
        self.eps = eps

    def forward(self, x):
        return norm_by(
            x, self.scale, self.shift, self.eps, spread="squares", division="rsqrt"
        )


class NormInside(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.norm = nn.LayerNorm(C)

    def forward(self, x):
        return self.norm(x)


def of_norm(weight, bias):
    return {"weight": weight, "bias": bias}


CLASSES["layer_norm"] = {
    "nn.LayerNorm": (nn.LayerNorm, of_norm("weight", "bias")),
    "parameters": (OwnNorm, of_norm("scale", "shift")),
    "module inside": (NormInside, of_norm("norm.weight", "norm.bias")),
}


# Its gradient

REDUCTIONS = {
    "sum of axes": lambda dy: dy.sum((0, 1)),
    "flatten": lambda dy: dy.flatten(0, 1).sum(0),
    "einsum": lambda dy: torch.einsum("btc->c", dy),
    "loop": lambda dy: sum(v for text in dy for v in text),
    "ones": lambda dy: (
        torch.ones(dy.shape[0] * dy.shape[1]).to(dy) @ dy.view(-1, dy.shape[-1])
    ),
}


def dx_by_means(g, n, std):
    return (g - g.mean(-1, keepdim=True) - n * (g * n).mean(-1, keepdim=True)) / std


def dx_by_sums(g, n, std):
    C = g.shape[-1]
    inner = C * g - g.sum(-1, keepdim=True) - n * (g * n).sum(-1, keepdim=True)
    return inner / (C * std)


def dx_by_jacobian(g, n, std):
    C = g.shape[-1]
    J = torch.eye(C).to(g) - 1 / C - n[..., :, None] * n[..., None, :] / C
    return torch.einsum("btij,bti->btj", J, g) / std


def dx_by_chain(g, n, std):
    """Through variance and mean, one after the other."""
    C = g.shape[-1]
    centred = n * std
    dvar = (g * centred).sum(-1, keepdim=True) * -0.5 * std**-3
    dmean = -g.sum(-1, keepdim=True) / std - dvar * 2 * centred.mean(-1, keepdim=True)
    return g / std + dvar * 2 * centred / C + dmean / C


def dx_by_position(g, n, std):
    dx = torch.zeros_like(g)
    for b in range(len(g)):
        for t in range(g.shape[1]):
            row, unit = g[b, t], n[b, t]
            dx[b, t] = row - row.mean() - unit * row.dot(unit) / len(row)
            dx[b, t] /= std[b, t]
    return dx


@right("layer_norm_gradient", "formula", dx=beginning("dx_by_"), reduction=REDUCTIONS)
def gradient_by_formula(dy, x, weight, eps, *, dx, reduction):
    std = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n = (x - x.mean(-1, keepdim=True)) / std
    return dx(dy * weight, n, std), reduction(dy * n), reduction(dy)


def backward_called(norm, dy, x, weight, bias):
    inputs = [each.clone().requires_grad_() for each in (x, weight, bias)]
    norm(*inputs).backward(dy)
    return [each.grad for each in inputs]


def grad_called(norm, dy, *inputs):
    inputs = [each.detach().requires_grad_() for each in inputs]
    return torch.autograd.grad((norm(*inputs) * dy).sum(), inputs)


def vjp_called(norm, dy, *inputs):
    return vjp(norm, *inputs)[1](dy)


def jacobian_called(norm, dy, *inputs):
    found = jacrev(norm, argnums=(0, 1, 2))(*inputs)
    return [torch.tensordot(dy, J, dims=3) for J in found]


@right(
    "layer_norm_gradient",
    "autograd",
    call=by_name(backward_called, grad_called, vjp_called, jacobian_called),
    norm={
        "F.layer_norm": fused_norm,
        "squares": partial(norm_by, spread="squares"),
        "mean of squares": partial(norm_by, spread="mean of squares", division="rsqrt"),
    },
)
def gradient_by_autograd(dy, x, weight, eps, *, call, norm):
    return call(partial(norm, eps=eps), dy, x, weight, torch.zeros_like(weight))


def native_gradient(dy, x, weight, eps):
    shape, bias = list(weight.shape), torch.zeros_like(weight)
    _, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, eps)
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, shape, mean, rstd, weight, bias, [True, True, True]
    )


ONE_BY_ONE["layer_norm_gradient", "fused"] = {
    "native": native_gradient,
    "own float32 loops": edited(
        "right/layer_norm_gradient_positions",
        *("zeros_like(x)", "zeros(x.shape)"),
        *("zeros_like(weight)", "zeros(weight.shape)"),
    ),
    "float32": lambda *given: gradient_by_formula(
        *convert(given, torch.float32), dx=dx_by_sums, reduction=REDUCTIONS["einsum"]
    ),
}


# The whole block

BLOCK_NORMS = {
    "F.layer_norm": fused_norm,
    "squares": partial(norm_by, spread="squares", division="rsqrt", affine="addcmul"),
    "mean of squares": partial(norm_by, centre="sum", spread="mean of squares"),
    "loops": norm_by_loops,
}
BLOCK_HEADS = {
    "matrices": partial(heads_of_matrices, weigh=weigh_by("added triu")),
    "loop": partial(
        heads_by_loops,
        cut=heads_projected_alone,
        join=rows_of_output_matrix,
        attend=partial(mixed, weigh=rows_padded),
    ),
    "einsum": partial(
        heads_by_einsum, mask=MASKS["places compared"], softmax=SOFTMAXES["by hand"]
    ),
    "sdpa": merged_heads,
}
mlp_by_tanh = partial(mlp_of_matrices, gelu=GELUS["F.gelu tanh"])


@right("block", "pieces", heads=BLOCK_HEADS)
@right(
    "block",
    "norms",
    norm=pick(BLOCK_NORMS, "squares", "mean of squares", "loops"),
    heads=pick(BLOCK_HEADS, "matrices", "sdpa"),
    mlp={"erf in chunks": partial(mlp_by_chunks, gelu=erf_of_one)},
)
@right("block", "wirings", wiring=WIRINGS)
def block_by(
    x, w, H, *, norm=fused_norm, heads=merged_heads, mlp=mlp_by_tanh, wiring=two_lines
):
    return wiring(
        x,
        lambda x: heads(x, w, H),
        lambda x: mlp(x, w["W1"], w["b1"], w["W2"], w["b2"]),
        lambda x: norm(x, w["ln1_weight"], w["ln1_bias"], 1e-5),
        lambda x: norm(x, w["ln2_weight"], w["ln2_bias"], 1e-5),
        add=torch.add,
    )


block_in_one_function = edited("right/block_flat")
ONE_BY_ONE["block", "one function"] = {
    **by_texts(block_in_one_function, "stacked", "vmap", "own float32"),
    "float32 inside": in_float32(block_in_one_function),
}


class BlockOfModules(nn.Module):
    def __init__(self, C, num_heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.attn = ManyHeads(C, num_heads)
        self.mlp = in_a_row(C, 4 * C)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


OF_MODULES = of_linears(
    _Q="attn.q",
    _K="attn.k",
    _V="attn.v",
    _O="attn.proj",
    **{"1": "mlp.0", "2": "mlp.2"},
) | {f"ln{i}_{part}": f"ln_{i}.{part}" for i in (1, 2) for part in ("weight", "bias")}


class BlockOfParameters(nn.Module):
    """The function's dict, as parameters."""

    def __init__(self, C, num_heads):
        super().__init__()
        self.num_heads = num_heads
        sizes = {"W1": (C, 4 * C), "W2": (4 * C, C), "b1": (4 * C,)}
        sizes |= {f"W_{name}": (C, C) for name in "QKVO"}
        self.w = nn.ParameterDict(
            {name: torch.randn(sizes.get(name, (C,))) for name in reversed(OF_MODULES)}
        )

    def forward(self, x):
        return block_in_one_function(x, self.w, self.num_heads)


class BlockWithOwnNorms(nn.Module):
    """Modules in lists."""

    def __init__(self, C, num_heads):
        super().__init__()
        self.feed = TwoLinears(C, 4 * C)
        self.norms = nn.ModuleList([OwnNorm(C), OwnNorm(C)])
        self.heads = HeadsInside(C, num_heads)

    def forward(self, x):
        for norm, branch in zip(self.norms, (self.heads, self.feed), strict=True):
            x = x + branch(norm(x))
        return x


OF_PARAMETERS = {name: f"w.{name}" for name in OF_MODULES}
OF_LISTS = of_linears(
    **{f"_{n}": f"heads.into.{n}" for n in "QKV"},
    **{"_O": "heads.out.0", "1": "feed.fc1", "2": "feed.fc2"},
) | {
    f"ln{i}_{part}": f"norms.{i - 1}.{own}"
    for i in (1, 2)
    for part, own in (("weight", "scale"), ("bias", "shift"))
}
CLASSES["block"] = {
    "modules": (BlockOfModules, OF_MODULES),
    "parameters": (BlockOfParameters, OF_PARAMETERS),
    "lists": (BlockWithOwnNorms, OF_LISTS),
}


# Facts that are written

for style, squares in {
    "norm": "away.norm(dim=1)[:, None] ** 2",
    "diagonal": "(away @ away.T).diag()[:, None]",
    "products": "(away[:, None] @ away[..., None])[:, 0]",
}.items():
    made = edited("workbook/write_facts", "(away**2).sum(-1, keepdim=True)", squares)
    ONE_BY_ONE["write_facts", style] = {"float64": made, "float32": in_float32(made)}
own_zeros = edited("right/write_facts_loops", ", dtype=keys.dtype", "")
ONE_BY_ONE["write_facts", "loops"] = {"own float32 zeros": own_zeros}


# After the GPT

for task, style, old, new in (
    ("translate", "split", "array.chunk(3)", "array.split(len(array) // 3)"),
    ("translate", "unflatten", "array.chunk(3)", "array.unflatten(0, (3, -1))"),
    ("translate", "copy", "array = array.T", "array = array.T.clone()"),
    ("rotate", "exp", "10_000.0 ** -(", "torch.exp(-9.210340371976184 * "),
    ("rotate", "range", "start + torch.arange(T)", "torch.arange(T + start)[start:]"),
    ("rotate", "double", "torch.arange(half)", "torch.arange(half).double()"),
    ("ring", "backwards", "in range(n)", "in reversed(range(n))"),
    ("ring", "negative", "(worker + 1) % n", "worker + 1 - n"),
    ("ring", "sum", "team.clone()", "team + 0.0"),
):
    ONE_BY_ONE[task, style] = {new: edited(f"workbook/{task}", old, new)}


# A GPT

NEXT = {
    "flat": lambda logits, ids: F.cross_entropy(
        logits.view(-1, logits.shape[-1]), ids.view(-1)
    ),
    "transposed": lambda logits, ids: F.cross_entropy(logits.transpose(1, 2), ids),
    "gather": lambda logits, ids: (
        -logits.log_softmax(-1).gather(-1, ids[..., None]).mean()
    ),
    "texts": lambda logits, ids: (
        sum(F.cross_entropy(*text) for text in zip(logits, ids, strict=True)) / len(ids)
    ),
}
HEADS = {
    "@": lambda x, table: x @ table.T,
    "F.linear": F.linear,
    "einsum": lambda x, table: torch.einsum("btc,vc->btv", x, table),
}


def gpt_by(
    ids, targets, w, H, *, block, norm=fused_norm, start=embed, head="@", loss="flat"
):
    x = start(ids, w["token"], w["position"])
    for each in w["blocks"]:
        x = block(x, each, H)
    x = norm(x, w["ln_f_weight"], w["ln_f_bias"], 1e-5)
    logits = HEADS[head](x, w["token"])
    return logits, NEXT[loss](logits, targets)


def gpt_of_rows(ids, targets, w, H):
    """Positions of all texts as the rows of one matrix; a list as result."""
    B, T = ids.shape
    allowed = torch.block_diag(*[torch.ones(T, T).tril()] * B) > 0

    def heads(x, w, H):
        found = projections(x, w)
        q, k, v = (each.unflatten(-1, (H, -1)).transpose(0, 1) for each in found)
        y = sdpa(q, k, v, attn_mask=allowed).transpose(0, 1).flatten(1)
        return torch.addmm(w["b_O"], y, w["W_O"])

    logits, loss = gpt_by(
        ids,
        targets,
        w,
        H,
        block=partial(
            block_by, heads=heads, mlp=partial(mlp_by_tanh, linear=LINEARS["addmm"])
        ),
        start=lambda *tables: embed(*tables).flatten(0, 1),
    )
    return [logits.view(B, T, -1), loss]


gpt_in_one_function = partial(gpt_by, block=block_in_one_function)
gpt_by_loops = partial(
    gpt_by,
    block=partial(
        block_by,
        heads=BLOCK_HEADS["loop"],
        mlp=partial(mlp_by_chunks, gelu=tanh_of_one),
    ),
)
ONE_BY_ONE["gpt", "functions"] = {
    "in one function": partial(gpt_in_one_function, head="F.linear", loss="transposed"),
    "rows of all texts": gpt_of_rows,
}
ONE_BY_ONE["gpt", "loops"] = {
    "heads and texts": partial(gpt_by_loops, loss="texts"),
    "own float32 one_hot": partial(
        gpt_in_one_function,
        start=partial(embedding_by_lookups, lookup=LOOKUPS["own float32 eye"]),
    ),
    "own float32 result": lambda *given: convert(
        gpt_in_one_function(*given), torch.float32
    ),
}


class GPTOfModules(nn.Module):
    def __init__(self, V, N, C, num_heads, num_layers):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(N, C)
        self.h = nn.ModuleList(BlockOfModules(C, num_heads) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(C)
        self.lm_head = nn.Linear(C, V, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, ids, targets=None):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, None if targets is None else NEXT["flat"](logits, targets)


class GPTOfParameters(nn.Module):
    def __init__(self, V, N, C, num_heads, num_layers):
        super().__init__()
        blocks = [BlockOfParameters(C, num_heads) for _ in range(num_layers)]
        self.norm, self.stack = OwnNorm(C), nn.Sequential(*blocks)
        self.tables = nn.ParameterList([torch.randn(N, C), torch.randn(V, C)])

    def forward(self, ids, targets):
        positions, tokens = self.tables
        x = self.stack(F.embedding(ids, tokens) + positions[: ids.shape[1]])
        logits = self.norm(x) @ tokens.T
        return logits, NEXT["gather"](logits, targets)


def of_gpt(token, position, scale, shift, block, paths):
    named = {"token": token, "position": position}
    named |= {"ln_f_weight": scale, "ln_f_bias": shift}
    return named | {f"blocks.{{i}}.{n}": f"{block}.{p}" for n, p in paths.items()}


CLASSES["gpt"] = {
    "modules, tied head": (
        GPTOfModules,
        of_gpt(
            *("lm_head.weight", "wpe.weight", "ln_f.weight", "ln_f.bias", "h.{i}"),
            OF_MODULES,
        ),
    ),
    "parameters": (
        GPTOfParameters,
        of_gpt(
            *("tables.1", "tables.0", "norm.scale", "norm.shift", "stack.{i}"),
            OF_PARAMETERS,
        ),
    ),
}


# Byte-pair encoding: training

pairs_in_dict = edited("right/bpe_train_index").__globals__["count_pairs"]


def pairs_counted(words):
    return Counter(pair for ids in words for pair in itertools.pairwise(ids))


def pairs_in_defaultdict(words):
    counts = defaultdict(int)
    for ids in words:
        left = None
        for right in ids:
            if left is not None:
                counts[left, right] += 1
            left = right
    return counts


def pairs_sorted(words):
    """Sort all pairs, then count runs of equal ones."""
    pairs = sorted(pair for ids in words for pair in itertools.pairwise(ids))
    return {pair: len(list(run)) for pair, run in itertools.groupby(pairs)}


def pairs_in_tensor(words):
    pairs = [list(pair) for ids in words for pair in itertools.pairwise(ids)]
    if not pairs:
        return {}
    found, times = torch.tensor(pairs).unique(dim=0, return_counts=True)
    return dict(zip(map(tuple, found.tolist()), times.tolist(), strict=True))


def best_by_loop(counts):
    best = None
    for pair, count in counts.items():
        if best is None or (-count, pair) < (-counts[best], best):
            best = pair
    return best


CHOICES = {
    "min of key": lambda counts: min(counts, key=lambda p: (-counts[p], p)),
    "sorted": lambda counts: sorted(counts.items(), key=lambda i: (-i[1], i[0]))[0][0],
    "max, then min": lambda counts: min(
        p for p, n in counts.items() if n == max(counts.values())
    ),
    "stable sorts": lambda n: sorted(sorted(n), key=n.get, reverse=True)[0],
    "first maximum of sorted": lambda counts: max(sorted(counts), key=counts.get),
    "negated pair": lambda counts: max(counts, key=lambda p: (counts[p], -p[0], -p[1])),
    "heap": lambda n: heapq.nsmallest(1, ((-i, p) for p, i in n.items()))[0][1],
    "loop": best_by_loop,
}

joined_by_index = edited("right/bpe_train_index").__globals__["merge"]


def joined_in_place(ids, pair, new):
    ids, i = list(ids), 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new]
        i += 1
    return ids


def joined_by_stack(ids, pair, new):
    """Whether the last id may still be joined is kept beside the stack."""
    out, free = [], False
    for i in ids:
        if free and (out[-1], i) == pair:
            out[-1], free = new, False
        else:
            out.append(i)
            free = True
    return out


def joined_by_recursion(ids, pair, new):
    if len(ids) < 2:
        return list(ids)
    if (ids[0], ids[1]) == pair:
        return [new, *joined_by_recursion(ids[2:], pair, new)]
    return [ids[0], *joined_by_recursion(ids[1:], pair, new)]


def joined_as_text(ids, pair, new):
    """Ids as characters of a string, so that `replace` does it."""
    text = "".join(map(chr, ids)).replace("".join(map(chr, pair)), chr(new))
    return list(map(ord, text))


JOINS = beginning("joined_")


@right(
    "bpe_train",
    "counted again",
    count=beginning("pairs_"),
    choose=CHOICES,
    join=pick(JOINS, "joined_by_index", "joined_by_stack"),
)
def train_counting(words, num_merges, *, count, choose, join):
    words = [list(word.encode("utf-8")) for word in words]
    merges = []
    for new in range(256, 256 + num_merges):
        counts = count(words)
        if max(counts.values(), default=0) < 2:
            break
        merges.append(choose(counts))
        words = [join(ids, merges[-1], new) for ids in words]
    return merges


@right("bpe_train", "words once", join=JOINS, choose=pick(CHOICES, "loop", "sorted"))
def train_of_unique_words(words, num_merges, *, join, choose):
    """Each word once, with how often it occurs."""
    texts = {tuple(w.encode()): n for w, n in Counter(words).items()}
    merges = []
    while len(merges) < num_merges:
        counts = Counter()
        for ids, times in texts.items():
            for pair in itertools.pairwise(ids):
                counts[pair] += times
        if not counts or max(counts.values()) < 2:
            break
        merges.append(choose(counts))
        new = 255 + len(merges)
        texts = {tuple(join(list(ids), merges[-1], new)): n for ids, n in texts.items()}
    return merges


@right(
    "bpe_train", "incremental", join=JOINS, choose=pick(CHOICES, "heap", "min of key")
)
def train_incrementally(words, num_merges, *, join, choose):
    """Only words that change are counted again."""
    words = [list(word.encode()) for word in words]
    counts = pairs_counted(words)
    merges = []
    while len(merges) < num_merges and counts:
        pair = choose(counts)
        if counts[pair] == 1:
            break
        merges.append(pair)
        for i, ids in enumerate(words):
            if pair in itertools.pairwise(ids):
                counts.subtract(itertools.pairwise(ids))
                words[i] = join(ids, pair, 255 + len(merges))
                counts.update(itertools.pairwise(words[i]))
        counts = +counts
    return merges


def train_recursively(words, num_merges, new=256):
    if isinstance(words[0], str):
        words = [list(word.encode()) for word in words]
    counts = pairs_in_dict(words)
    if not num_merges or max(counts.values(), default=0) < 2:
        return []
    pair = best_by_loop(counts)
    words = [joined_by_stack(ids, pair, new) for ids in words]
    return [pair, *train_recursively(words, num_merges - 1, new + 1)]


def train_of_one_text(words, num_merges):
    """All words in one list, with a mark between them."""
    ids = [i for word in words for i in [*word.encode(), None]]
    merges = []
    for new in range(256, 256 + num_merges):
        counts = Counter(p for p in itertools.pairwise(ids) if None not in p)
        often = [pair for pair, n in counts.items() if n > 1]
        if not often:
            break
        merges.append(min(often, key=lambda p: (-counts[p], p)))
        ids = joined_by_index(ids, merges[-1], new)
    return merges


ONE_BY_ONE["bpe_train", "other forms"] = {
    "recursion": train_recursively,
    "one text with marks": train_of_one_text,
    "pairs as lists": lambda *given: tuple(map(list, train_of_one_text(*given))),
}


# Byte-pair encoding: encoding


@right("bpe_encode", "in order", join=JOINS)
def encode_in_order(text, merges, *, join):
    ids = list(text.encode("utf-8"))
    for i, pair in enumerate(merges):
        ids = join(ids, pair, 256 + i)
    return ids


RANKED = {
    "dict": lambda pairs, merges: min(
        pairs & set(merges),
        key={p: i for i, p in reversed(list(enumerate(merges)))}.get,
        default=None,
    ),
    "index": lambda pairs, merges: min(
        (p for p in pairs if p in merges), key=merges.index, default=None
    ),
    "first of merges": lambda pairs, merges: next(
        (p for p in merges if p in pairs), None
    ),
    "infinity": lambda pairs, merges: min(
        pairs, key=lambda p: merges.index(p) if p in merges else INF, default=None
    ),
    "sorted": lambda pairs, merges: next(
        iter(sorted(pairs & set(merges), key=merges.index)), None
    ),
}


@right("bpe_encode", "by rank", ranked=RANKED, join=JOINS)
def encode_by_rank(text, merges, *, ranked, join):
    ids = list(text.encode())
    while (pair := ranked(set(itertools.pairwise(ids)), merges)) in merges:
        ids = join(ids, pair, 256 + merges.index(pair))
    return ids


def encode_one_place_at_a_time(text, merges):
    """The leftmost place of the lowest rank, again and again."""
    ranks = {pair: i for i, pair in enumerate(merges)}
    ids = list(text.encode())
    while places := [
        (ranks[p], i) for i, p in enumerate(itertools.pairwise(ids)) if p in ranks
    ]:
        rank, i = min(places)
        ids[i : i + 2] = [256 + rank]
    return ids


def encode_by_heap(text, merges):
    """A linked list of ids, and a heap of the pairs that may be merged.

    At its end stands None, which is also before its beginning.
    """
    ranks = {pair: i for i, pair in enumerate(merges)}
    ids = [*text.encode(), None]
    after, before = [*range(1, len(ids)), -1], [*range(-1, len(ids) - 1)]
    heap = []

    def push(i):
        pair = (ids[i], ids[after[i]])
        if pair in ranks:
            heapq.heappush(heap, (ranks[pair], i, pair))

    for i in range(len(ids)):
        push(i)
    while heap:
        rank, i, pair = heapq.heappop(heap)
        j = after[i]
        if (ids[i], ids[j]) == pair:
            ids[i], ids[j] = 256 + rank, None
            after[i], before[after[j]] = after[j], i
            push(before[i])
            push(i)
    return [i for i in ids if i is not None]


def encode_recursively(text, merges):
    def merged(ids):
        pair = RANKED["first of merges"](set(itertools.pairwise(ids)), merges)
        if pair is None:
            return ids
        return merged(joined_by_stack(ids, pair, 256 + merges.index(pair)))

    return merged(list(text.encode()))


def encode_parts(text, merges):
    """Tokens as bytes until the end, as in GPT-2's own program."""
    parts = {i: bytes([i]) for i in range(256)}
    for i, (a, b) in enumerate(merges):
        parts[256 + i] = parts[a] + parts[b]
    tokens = [(bytes([i]), i) for i in text.encode()]
    for i, (a, b) in enumerate(merges):
        out = []
        for token in tokens:
            if out and out[-1][1] == a and token[1] == b:
                out[-1] = (parts[256 + i], 256 + i)
            else:
                out.append(token)
        tokens = out
    return [i for _, i in tokens]


ONE_BY_ONE["bpe_encode", "other forms"] = {
    "one place at a time": encode_one_place_at_a_time,
    "heap": encode_by_heap,
    "recursion": encode_recursively,
    "bytes beside ids": encode_parts,
    "tuple": lambda text, merges: tuple(encode_by_heap(text, merges)),
}


# AdamW's step

AVERAGES = {
    "products": lambda old, new, beta: beta * old + (1 - beta) * new,
    "lerp": lambda old, new, beta: torch.lerp(new, old, beta),
    "difference": lambda old, new, beta: old + (1 - beta) * (new - old),
    "in place": lambda old, new, beta: old.clone().mul_(beta).add_(new, alpha=1 - beta),
}
DECAYS = {
    "factor": lambda p, rate: p * (1 - rate),
    "subtracted": lambda p, rate: p - rate * p,
    "sub": lambda p, rate: p.sub(p, alpha=rate),
    "mul_ of a copy": lambda p, rate: p.clone().mul_(1 - rate),
}
STEPS = {
    "corrected averages": lambda m, v, c1, c2, eps: (m / c1) / ((v / c2).sqrt() + eps),
    "corrected root": lambda m, v, c1, c2, eps: (
        m / c1 / (v.sqrt() / math.sqrt(c2) + eps)
    ),
    "corrected rate": lambda m, v, c1, c2, eps: (
        math.sqrt(c2) / c1 * m / (v.sqrt() + eps * math.sqrt(c2))
    ),
    "addcdiv": lambda m, v, c1, c2, eps: torch.addcdiv(
        torch.zeros_like(m), m, v.div(c2).sqrt_().add_(eps), value=1 / c1
    ),
}


@right("adamw_step", "formula", average=AVERAGES, decay=DECAYS, step=STEPS)
def adamw_by_formula(
    p, g, m, v, t, lr, beta1, beta2, eps, rate, *, average, decay, step
):
    if p.ndim >= 2:
        p = decay(p, lr * rate)
    m, v = average(m, g, beta1), average(v, g * g, beta2)
    return p - lr * step(m, v, 1 - beta1**t, 1 - beta2**t, eps), m, v


def adamw_of_arrays(p, g, m, v, t, lr, beta1, beta2, eps, rate):
    p, g, m, v = (each.numpy() for each in (p, g, m, v))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    shrunk = p * (1 - lr * rate * (p.ndim > 1))
    p = shrunk - lr * m / (1 - beta1**t) / ((v / (1 - beta2**t)) ** 0.5 + eps)
    return tuple(map(torch.from_numpy, (p, m, v)))


adamw = edited("workbook/adamw_step")


def adamw_into_own_zeros(p, g, m, v, *rest):
    new = [torch.zeros(p.shape) for _ in range(3)]
    for i in range(p.numel()):
        one = (each.reshape(-1)[i].view([1] * p.ndim) for each in (p, g, m, v))
        for zeros, number in zip(new, adamw(*one, *rest), strict=True):
            zeros.view(-1)[i] = number
    return new


def adamw_all_at_once(p, g, m, v, t, lr, beta1, beta2, eps, rate):
    """The decay and the step from the old parameter in one line."""
    m = m + (g - m) * (1 - beta1)
    v = v + (g.square() - v) * (1 - beta2)
    ratio = m / (1 - beta1**t) / (torch.sqrt(v / (1 - beta2**t)) + eps)
    decays = rate * p if p.dim() > 1 else torch.zeros_like(p)
    return p - lr * (ratio + decays), m, v


def adamw_by_foreach(p, g, m, v, t, lr, beta1, beta2, eps, rate):
    params, ms, vs = [p.clone()], [m.clone()], [v.clone()]
    if p.dim() >= 2:
        torch._foreach_mul_(params, 1 - lr * rate)
    torch._foreach_lerp_(ms, [g], 1 - beta1)
    torch._foreach_mul_(vs, beta2)
    torch._foreach_addcmul_(vs, [g], [g], 1 - beta2)
    roots = torch._foreach_sqrt(torch._foreach_div(vs, 1 - beta2**t))
    torch._foreach_add_(roots, eps)
    torch._foreach_addcdiv_(params, ms, roots, -lr / (1 - beta1**t))
    return params[0], ms[0], vs[0]


def adamw_of_rows(p, g, m, v, *rest):
    """Rows of a matrix one after the other, each with the decay of a matrix."""
    if p.ndim == 1:
        return adamw(p, g, m, v, *rest)
    rows = zip(*(each.split(1) for each in (p, g, m, v)), strict=True)
    parts = zip(*(adamw(*row, *rest) for row in rows), strict=True)
    return tuple(map(torch.cat, parts))


ONE_BY_ONE["adamw_step", "other forms"] = {
    "numpy": adamw_of_arrays,
    "own float32 zeros": adamw_into_own_zeros,
    "all at once": adamw_all_at_once,
    "foreach": adamw_by_foreach,
    "rows": adamw_of_rows,
}


@right(
    "adamw_step",
    "torch.optim",
    optimizer=("AdamW", "Adam after own decay", "Adam, decoupled"),
    state=("set", "loaded"),
    loop=("foreach", "loop"),
)
def adamw_of_torch(
    p, g, m, v, t, lr, beta1, beta2, eps, rate, *, optimizer, state, loop
):
    rate = rate if p.dim() > 1 else 0.0
    options = {
        "lr": lr,
        "betas": (beta1, beta2),
        "eps": eps,
        "foreach": loop == "foreach",
    }
    after = optimizer == "Adam after own decay"
    trained = nn.Parameter(p * (1 - lr * rate) if after else p.clone())
    trained.grad = g
    if after:
        made = torch.optim.Adam([trained], **options)
    elif optimizer == "AdamW":
        made = torch.optim.AdamW([trained], weight_decay=rate, **options)
    else:
        groups = [{"params": [trained], "weight_decay": rate}]
        made = torch.optim.AdamW(groups, **options)
    kept = {
        "step": torch.tensor(t - 1.0),
        "exp_avg": m.clone(),
        "exp_avg_sq": v.clone(),
    }
    if state == "set":
        made.state[trained].update(kept)
    else:
        made.load_state_dict(made.state_dict() | {"state": {0: kept}})
    made.step()
    kept = made.state[trained]
    return trained.detach(), kept["exp_avg"], kept["exp_avg_sq"]


# The training loop


def zero_params(model, optimizer):
    for parameter in model.parameters():
        parameter.grad = None


def fill_zeros(model, optimizer):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()


ZEROS = {
    "optimizer": lambda model, optimizer: optimizer.zero_grad(),
    "set to zero": lambda model, optimizer: optimizer.zero_grad(set_to_none=False),
    "model": lambda model, optimizer: model.zero_grad(),
    "None": zero_params,
    "zero_": fill_zeros,
}
ITEMS = {
    "item": lambda loss: loss.item(),
    "float": lambda loss: float(loss.detach()),
    "tensor": lambda loss: loss.detach(),
}
CUTS = {
    "narrow": lambda rows: [rows.narrow(1, i, rows.shape[1] - 1) for i in (0, 1)],
    "unbind": lambda rows: (
        torch.stack(rows.unbind(1)[:-1], 1),
        torch.stack(rows.unbind(1)[1:], 1),
    ),
}


def loss_of(model, rows):
    """The loss of a model on the rows of a batch, each of which is a whole text."""
    return model(rows[:, :-1], rows[:, 1:])[1]


@right(
    "train",
    "for",
    zero=ZEROS,
    when=("before forward", "before backward", "after step"),
    item=ITEMS,
)
def train_by_for(model, batches, optimizer, *, zero, when, item):
    model.train()
    losses = []
    for rows in batches:
        if when == "before forward":
            zero(model, optimizer)
        loss = loss_of(model, rows)
        if when == "before backward":
            zero(model, optimizer)
        loss.backward()
        optimizer.step()
        if when == "after step":
            zero(model, optimizer)
        losses.append(item(loss))
    return losses


def loop_of_iterator(batches, step):
    batches, losses = iter(batches), []
    while (rows := next(batches, None)) is not None:
        losses += [step(rows)]
    return losses


def loop_by_recursion(batches, step):
    if not batches:
        return []
    return [step(batches[0]), *loop_by_recursion(batches[1:], step)]


LOOPS = {
    "list comprehension": lambda batches, step: [step(rows) for rows in batches],
    "map": lambda batches, step: list(map(step, batches)),
    "iterator": loop_of_iterator,
    "recursion": loop_by_recursion,
}


def backward_and_step(model, optimizer, inputs, targets):
    optimizer.zero_grad(set_to_none=True)
    loss = model(inputs, targets)[1]
    loss.backward()
    optimizer.step()
    return loss.item()


def step_of_closure(model, optimizer, inputs, targets):
    def closure():
        optimizer.zero_grad()
        loss = model(inputs, targets)[1]
        loss.backward()
        return loss

    return optimizer.step(closure).item()


def own_gradients(model, optimizer, inputs, targets):
    loss = model(inputs, targets)[1]
    parameters = list(model.parameters())
    found = torch.autograd.grad(loss, parameters)
    for parameter, gradient in zip(parameters, found, strict=True):
        parameter.grad = gradient
    optimizer.step()
    return loss.item()


def loss_of_logits(model, optimizer, inputs, targets):
    logits, _ = model(inputs, targets)
    loss = NEXT["transposed"](logits, targets)
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
    return loss.detach().item()


@right(
    "train",
    "steps",
    loop=LOOPS,
    step=by_name(backward_and_step, step_of_closure, own_gradients, loss_of_logits),
    cut=CUTS,
)
def train_by_steps(model, batches, optimizer, *, loop, step, cut):
    model.train(True)
    return loop(batches, lambda rows: step(model, optimizer, *cut(rows)))


def train_by_generator(model, batches, optimizer):
    def steps() -> Iterator[float]:
        for rows in batches:
            model.train()
            loss = loss_of(model, rows)
            yield loss.item()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return list(steps())


def losses_made_numbers_at_the_end(model, batches, optimizer):
    losses = []
    with torch.enable_grad():
        for rows in batches:
            losses.append(loss_of(model.train(), rows))
            optimizer.zero_grad()
            losses[-1].backward()
            optimizer.step()
            losses[-1] = losses[-1].detach()
    return torch.stack(losses).tolist()


class Trainer:
    """A loop that is an object, and leaves the model in its old mode."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.losses = model, optimizer, []

    def step(self, rows):
        loss = loss_of(self.model, rows)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())

    def fit(self, batches):
        before = self.model.training
        self.model.train()
        try:
            for rows in batches:
                self.step(rows)
        finally:
            self.model.train(before)
        return self.losses


ONE_BY_ONE["train", "other forms"] = {
    "generator": train_by_generator,
    "numbers at the end": losses_made_numbers_at_the_end,
    "object": lambda model, batches, optimizer: Trainer(model, optimizer).fit(batches),
}


# Evaluation


def put_back(model, mean):
    before = model.training
    model.eval()
    found = mean()
    model.train(before)
    return found


@contextmanager
def evaluation_of(model):
    before = model.training
    model.eval()
    yield model
    model.train(before)


def put_back_by_context(model, mean):
    with evaluation_of(model):
        return mean()


def modules_put_back(model, mean):
    """Each module by itself."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    found = mean()
    for module, mode in before.items():
        module.training = mode
    return found


def targets_in(rows):
    return rows[:, 1:].numel()


def running_total(model, batches):
    total = count = 0
    for rows in batches:
        total += loss_of(model, rows).item() * targets_in(rows)
        count += targets_in(rows)
    return total / count


def weighted_mean(model, batches):
    losses = [float(loss_of(model, rows)) for rows in batches]
    return statistics.fmean(losses, map(targets_in, batches))


def dot_of_tensors(model, batches):
    losses = torch.stack([loss_of(model, rows) for rows in batches])
    counts = torch.tensor([targets_in(rows) for rows in batches]).to(losses)
    return losses @ counts / counts.sum()


def mean_of_rows(model, batches):
    losses = [
        loss_of(model, row).expand(targets_in(row))
        for rows in batches
        for row in rows.split(1)
    ]
    return torch.cat(losses).mean().item()


def running_mean(model, batches):
    mean = seen = 0
    for rows in batches:
        seen += targets_in(rows)
        mean += (loss_of(model, rows).item() - mean) * targets_in(rows) / seen
    return mean


def losses_by_logits(model, rows, reduction):
    logits, _ = model(rows[:, :-1], rows[:, 1:])
    return F.cross_entropy(logits.mT, rows[:, 1:], reduction=reduction)


def sums_of_logits(model, batches):
    total = torch.zeros(())
    for rows in batches:
        total += losses_by_logits(model, rows, "sum")
    return (total / sum(map(targets_in, batches))).item()


def all_losses(model, batches):
    each = [losses_by_logits(model, rows, "none").flatten() for rows in batches]
    return torch.cat(each).mean()


EVALUATIONS = by_name(
    running_total,
    weighted_mean,
    dot_of_tensors,
    mean_of_rows,
    running_mean,
    sums_of_logits,
    all_losses,
)


@right(
    "evaluate",
    "loops",
    mode=beginning("put_back") | by_name(modules_put_back),
    mean=EVALUATIONS,
    recording={"no_grad": torch.no_grad, "inference_mode": torch.inference_mode},
)
def evaluated(model, batches, *, mode, mean, recording):
    with recording():
        return mode(model, lambda: mean(model, batches))


@right("evaluate", "copy", mean=EVALUATIONS)
def evaluated_copy(model, batches, *, mean):
    """A copy in evaluation mode; the model stays as it is."""
    with torch.no_grad():
        return mean(copy.deepcopy(model).eval(), batches)


def evaluate_with_grad_mode(model, batches):
    torch.set_grad_enabled(False)
    try:
        return put_back(model, lambda: running_total(model, batches))
    finally:
        torch.set_grad_enabled(True)


def evaluate_with_detached(model, batches):
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def detached(*ids):
        return functional_call(model, parameters, ids)

    return put_back(model, lambda: running_mean(detached, batches))


ONE_BY_ONE["evaluate", "other forms"] = {
    "set_grad_enabled": evaluate_with_grad_mode,
    "functional_call": evaluate_with_detached,
}


# Top-k


def keeping(source: str) -> Callable[[Tensor, Any], Tensor]:
    """What the program of a file keeps, for other ends of it."""
    program = edited(source)
    return lambda logits, limit: program(logits, limit) > 0


kept_by_threshold = keeping("right/top_k_threshold")
kept_by_sort = keeping("right/top_k_sort")
kept_by_scatter = keeping("workbook/top_k")
kept_by_comparison = keeping("right/top_k_ranks")
kept_one_by_one = keeping("right/top_k_loop")


def kept_by_kthvalue(logits, k):
    V = logits.shape[-1]
    return logits >= logits.kthvalue(V - min(k, V) + 1, dim=-1, keepdim=True).values


def kept_by_rank(logits, k):
    return logits.argsort(-1, descending=True).argsort(-1) < k


def kept_by_one_hot(logits, k):
    best = logits.argsort(-1, descending=True)[:, :k]
    return F.one_hot(best, logits.shape[-1]).sum(1).bool()


def kept_by_heap(logits, k):
    keep = torch.zeros(logits.shape, dtype=torch.bool)
    for row, kept in zip(logits.tolist(), keep, strict=True):
        kept[heapq.nlargest(k, range(len(row)), key=row.__getitem__)] = True
    return keep


def written_infinity(logits, keep):
    logits = logits.clone()
    logits[~keep] = float("-inf")
    return F.softmax(logits, dim=-1)


def rows_of_kept(logits, keep):
    out = torch.zeros(logits.shape)
    for row, kept, y in zip(logits, keep, out, strict=True):
        y[kept] = row[kept].softmax(-1)
    return out


def added_infinity(logits, keep):
    return (logits + torch.zeros(keep.shape).masked_fill(~keep, -INF)).softmax(1)


ENDS = {
    "masked_fill": lambda s, keep: s.masked_fill(~keep, -INF).softmax(-1),
    "where -1e9": lambda s, keep: by_hand(torch.where(keep, s, -1e9)),
    "written": written_infinity,
    "shared again": lambda s, keep: SHARES["/"](s.softmax(-1) * keep),
    "exponentials": lambda s, keep: SHARES["/"](
        torch.where(keep, (s - s.amax(-1, keepdim=True)).exp(), 0.0)
    ),
    "rows, own float32": rows_of_kept,
    "added": added_infinity,
}


@right("top_k", "masks", keep=beginning("kept_"), end=ENDS)
def top_k_by_mask(logits, k, *, keep, end):
    return end(logits, keep(logits, k))


def scattered(logits, k, empty=torch.zeros_like):
    values, places = logits.topk(min(k, logits.size(-1)))
    return empty(logits).scatter_(-1, places, values.softmax(-1))


def infinities_scattered(logits, k):
    values, places = logits.topk(min(k, logits.size(-1)))
    return torch.full_like(logits, -INF).scatter(1, places, values).softmax(-1)


ONE_BY_ONE["top_k", "scattered"] = {
    "probabilities": scattered,
    "own float32": partial(scattered, empty=own_float32_zeros),
    "infinities": infinities_scattered,
    **by_texts(scattered, "stacked"),
    "sorted and put back": lambda logits, k: (
        logits.sort(-1, descending=True)
        .values.masked_fill(torch.arange(logits.shape[1]) >= k, -INF)
        .softmax(-1)
        .gather(1, logits.argsort(-1, descending=True).argsort(-1))
    ),
}
ONE_BY_ONE["top_k", "loops"] = by_texts(scattered, "vmap")
ONE_BY_ONE["top_k", "float32"] = {"inside": in_float32(scattered)}


# Top-p

nucleus_by_scatter = keeping("right/top_p_cumsum")
nucleus_shifted = keeping("right/top_p_shifted")
nucleus_by_comparison = keeping("right/top_p_comparison")
nucleus_by_loop = keeping("workbook/top_p")
nucleus_taken_out = keeping("right/top_p_taken_out")


def nucleus_ascending(logits, p):
    """From the least likely on: those whose sum stays within 1 - p go."""
    ordered, places = logits.softmax(-1).sort(dim=-1)
    remove = ordered.cumsum(-1) <= 1 - p
    remove[:, -1] = False
    return ~remove.gather(1, places.argsort(-1))


def nucleus_by_search(logits, p):
    ordered = logits.softmax(-1).sort(-1, descending=True).values
    limits = torch.full((len(logits), 1), p, dtype=ordered.dtype)
    last = torch.searchsorted(ordered.cumsum(-1), limits)
    last = last.clamp(max=logits.shape[-1] - 1)
    return logits.softmax(-1) >= ordered.gather(1, last)


def nucleus_by_rank(logits, p):
    ordered = logits.softmax(-1).sort(-1, descending=True).values
    count = 1 + (ordered.cumsum(-1) < p).sum(-1, keepdim=True)
    return logits.argsort(-1, descending=True).argsort(-1) < count


def nucleus_by_bisect(logits, p):
    keep = []
    for row in logits.softmax(-1).tolist():
        order = sorted(range(len(row)), key=row.__getitem__, reverse=True)
        sums = list(itertools.accumulate(row[i] for i in order))
        kept = set(order[: bisect.bisect_left(sums, p) + 1])
        keep.append([i in kept for i in range(len(row))])
    return torch.tensor(keep)


@right("top_p", "masks", keep=beginning("nucleus_"), end=ENDS)
def top_p_by_mask(logits, p, *, keep, end):
    return end(logits, keep(logits, p))


def of_row(row, p):
    ordered, places = row.softmax(-1).sort(descending=True)
    count = int((ordered.cumsum(0) < p).sum()) + 1
    out = torch.zeros_like(row)
    out[places[:count]] = ordered[:count] / ordered[:count].sum()
    return out


def with_python(logits, p):
    rows = []
    for row in logits.tolist():
        powers = [math.exp(score - max(row)) for score in row]
        limit, total, kept = p * sum(powers), 0.0, {}
        for power, i in sorted(zip(powers, range(len(row)), strict=True))[::-1]:
            if total >= limit and kept:
                break
            kept[i] = power
            total += power
        rows.append([kept.get(i, 0.0) / total for i in range(len(row))])
    return torch.tensor(rows)


def sorted_and_put_back(logits, p):
    ordered, places = logits.sort(-1, descending=True)
    shares = ENDS["exponentials"](ordered, nucleus_by_scatter(ordered, p))
    return torch.zeros_like(logits).scatter(1, places, shares)


ONE_BY_ONE["top_p", "loops"] = {
    "rows": lambda logits, p: ROWS["stacked"](logits, partial(of_row, p=p)),
    "Python's numbers": with_python,
    "own float32 zeros": lambda logits, p: ROWS["own float32"](
        logits, partial(of_row, p=p)
    ),
}
ONE_BY_ONE["top_p", "float32"] = {
    "inside": in_float32(
        partial(top_p_by_mask, keep=nucleus_shifted, end=ENDS["written"])
    )
}
ONE_BY_ONE["top_p", "sorted"] = {"put back": sorted_and_put_back}


# A step with a cache


class CacheOfTuples:
    """A list with a tuple of keys and values for each block."""

    def __init__(self, w, B, H):
        self.kept = [None] * len(w["blocks"])

    def length(self):
        return self.kept[0][0].shape[2] if self.kept[0] else 0

    def put(self, i, k, v):
        if self.kept[i]:
            old_k, old_v = self.kept[i]
            k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
        self.kept[i] = (k, v)
        return k, v


class CacheOfNames:
    """A dict of tensors, and the length beside them."""

    def __init__(self, w, B, H):
        self.kept = {"length": 0}

    def length(self):
        return self.kept["length"]

    def put(self, i, k, v):
        for name, new in ((f"k{i}", k), (f"v{i}", v)):
            old = self.kept.get(name, new[:, :, :0])
            self.kept[name] = torch.cat((old, new), -2)
        self.kept["length"] = self.kept[f"k{len(self.kept) // 2 - 1}"].shape[2]
        return self.kept[f"k{i}"], self.kept[f"v{i}"]


class CacheMadeBefore:
    """Tensors as long as the position table, filled from the front."""

    dtype = None

    def __init__(self, w, B, H):
        N, C = w["position"].shape
        shape = (2, len(w["blocks"]), B, H, N, C // H)
        self.room = torch.zeros(shape, dtype=self.dtype or w["position"].dtype)
        self.filled = [0] * len(w["blocks"])

    def length(self):
        return self.filled[-1]

    def put(self, i, k, v):
        start, self.filled[i] = self.filled[i], self.filled[i] + k.shape[2]
        self.room[:, i, :, :, start : self.filled[i]] = torch.stack([k, v])
        return self.room[:, i, :, :, : self.filled[i]]


class CacheInFloat32(CacheMadeBefore):
    """Made by `torch.zeros` without a type."""

    dtype = torch.float32


class CacheOfPositions:
    """A list of vectors for each block, one for each position."""

    def __init__(self, w, B, H):
        self.keys = [[] for _ in w["blocks"]]
        self.values = [[] for _ in w["blocks"]]

    def length(self):
        return len(self.keys[-1])

    def put(self, i, k, v):
        self.keys[i] += k.unbind(2)
        self.values[i] += v.unbind(2)
        return torch.stack(self.keys[i], 2), torch.stack(self.values[i], 2)


@dataclass
class CacheOfFields:
    """A dataclass, with keys and values together in one tensor for each block."""

    w: dict
    B: int
    H: int
    both: dict = field(default_factory=dict)

    def length(self):
        return next(reversed(self.both.values())).shape[3] if self.both else 0

    def put(self, i, k, v):
        both = torch.stack([k, v])
        if i in self.both:
            both = torch.cat([self.both[i], both], dim=3)
        self.both[i] = both
        return both.unbind(0)


def masked_by_tril(q, k, v):
    T, S = q.shape[2], k.shape[2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    allowed = torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)
    return scores.masked_fill(~allowed, -INF).softmax(-1) @ v


def masked_by_places(q, k, v):
    T, S = q.shape[2], k.shape[2]
    late = torch.arange(S) > torch.arange(S - T, S)[:, None]
    scores = torch.einsum("bhtd,bhsd->bhts", q / math.sqrt(q.shape[-1]), k)
    return torch.einsum("bhts,bhsd->bhtd", by_hand(scores + late * -1e9), v)


def masked_rows_of_square(q, k, v):
    """The last rows of the mask of the whole text."""
    return sdpa(q, k, v, attn_mask=future_of(k[0, 0][None])[-q.shape[2] :].to(q.dtype))


def query_by_query(q, k, v):
    past = k.shape[2] - q.shape[2]
    out = [
        sdpa(q[:, :, t : t + 1], k[:, :, : past + t + 1], v[:, :, : past + t + 1])
        for t in range(q.shape[2])
    ]
    return torch.cat(out, dim=2)


@right(
    "cached_step",
    "masks",
    made=by_name(CacheOfTuples, CacheInFloat32),
    attend=by_name(masked_by_places, masked_rows_of_square),
)
@right(
    "cached_step",
    "caches",
    made=beginning("Cache"),
    attend=by_name(masked_by_tril, query_by_query),
)
def step_with_cache(ids, w, H, cache, *, made, attend=masked_by_tril):
    cache = copy.deepcopy(cache) if cache else made(w, len(ids), H)
    start, (cut, join) = cache.length(), SPLITS["view"]
    x = w["token"][ids] + w["position"][start : start + ids.shape[1]]
    for i, b in enumerate(w["blocks"]):

        def heads(n, b, H, i=i):
            q, k, v = (cut(each, H) for each in projections(n, b))
            return joined([join(attend(q, *cache.put(i, k, v)))], b)

        x = block_by(x, b, H, heads=heads)
    x = fused_norm(x[:, -1], w["ln_f_weight"], w["ln_f_bias"], 1e-5)
    return x @ w["token"].T, cache


def text_by_text(ids, w, H, cache):
    """A cache for each text of the batch."""
    step = partial(step_with_cache, made=CacheOfTuples)
    cache = cache or [None] * len(ids)
    found = [step(row[None], w, H, old) for row, old in zip(ids, cache, strict=True)]
    return torch.cat([logits for logits, _ in found]), [new for _, new in found]


class CachedBlock(BlockOfModules):
    """A block that takes what it kept, and gives what to keep."""

    def __init__(self, w, H):
        super().__init__(len(w["b_Q"]), H)
        self.mlp = nn.Sequential(self.mlp[0], nn.GELU(), self.mlp[2])
        for name, path in OF_MODULES.items():
            module, _, attribute = path.removesuffix(".T").rpartition(".")
            weight = w[name].T if path.endswith(".T") else w[name]
            setattr(self.get_submodule(module), attribute, nn.Parameter(weight))

    def forward(self, x, kept):
        q, k, v = self.attn.projected(self.ln_1(x))
        if kept is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(kept, (k, v), strict=True))
        y = masked_by_places(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.attn.proj(y)
        return x + self.mlp(self.ln_2(x)), (k, v)


def step_of_modules(ids, w, H, cache):
    """Modules made from the weights, and no gradients."""
    with torch.inference_mode():
        start = cache[0][0].shape[2] if cache else 0
        places = torch.arange(start, start + ids.shape[1])
        x = F.embedding(ids, w["token"]) + F.embedding(places, w["position"])
        new = []
        for i, b in enumerate(w["blocks"]):
            x, kept = CachedBlock(b, H)(x, cache[i] if cache else None)
            new.append(kept)
        x = fused_norm(x, w["ln_f_weight"], w["ln_f_bias"], 1e-5)
        return F.linear(x, w["token"])[:, -1, :], new


ONE_BY_ONE["cached_step", "other forms"] = {
    # Calls share the room: each writes behind what it was given.
    "shared room": edited("right/cached_step_room", ".clone()", ""),
    "text by text": text_by_text,
    "modules": step_of_modules,
}
ONE_BY_ONE["cached_step", "no gradients"] = {
    "no_grad": torch.no_grad()(
        partial(step_with_cache, made=CacheMadeBefore, attend=query_by_query)
    ),
    "inference_mode": torch.inference_mode()(
        partial(step_with_cache, made=CacheOfNames)
    ),
    "a list as result": lambda *values: list(
        step_with_cache(*values, made=CacheOfPositions)
    ),
}


# Generation

LIKELIEST = {
    "argmax": lambda logits: logits.argmax(dim=-1, keepdim=True),
    "max": lambda logits: torch.max(logits, dim=-1, keepdim=True).indices,
    "topk": lambda logits: torch.topk(logits, 1).indices,
    "sort": lambda logits: logits.argsort(-1, descending=True)[:, :1],
    "softmax": lambda logits: logits.softmax(-1).argmax(-1).unsqueeze(1),
    "list": lambda logits: torch.tensor(
        [[max(range(len(row)), key=row.__getitem__)] for row in logits.tolist()]
    ),
}


def choosing(source: str, old: str, new: str = "choose(logits)") -> Callable:
    """The loop of a file, to which the choice of the next ids is given."""
    return edited(source, "s, max_new_tokens", "s, max_new_tokens, choose", old, new)


FIRST = "choose(logits)[:, 0]"
generate_for = choosing("workbook/generate", "logits.argmax(-1, keepdim=True)")
generate_while = choosing(
    "right/generate_while", "logits.max(dim=-1, keepdim=True).indices"
)
generate_into_room = choosing("right/generate_room", "logits.argmax(dim=-1)", FIRST)
generate_in_columns = choosing(
    "right/generate_columns", "logits.topk(1).indices[:, 0]", FIRST
)
generate_rows = choosing(
    "right/generate_rows", "torch.tensor([[int(logits[0].argmax())]])"
)


def generate_list(step, ids, n, likeliest):
    """With a step too many at the end, which is not read."""
    parts = [ids]
    logits, cache = step(ids, None)
    for _ in range(n):
        parts.append(likeliest(logits))
        logits, cache = step(parts[-1], cache)
    return torch.cat(parts, -1)


def generate_recursively(step, ids, n, likeliest, cache=None):
    if n == 0:
        return ids
    logits, cache = step(ids, cache)
    rest = generate_recursively(step, likeliest(logits), n - 1, likeliest, cache)
    return torch.cat([ids, rest], dim=1)


def generate_lazily(step, ids, n, likeliest):
    def stream():
        new, cache = ids, None
        while True:
            yield new
            logits, cache = step(new, cache)
            new = likeliest(logits)

    return torch.cat(list(itertools.islice(stream(), n + 1)), dim=1)


def generate_by_reduce(step, ids, n, likeliest):
    def further(state, _):
        whole, new, cache = state
        logits, cache = step(new, cache)
        new = likeliest(logits)
        return torch.cat([whole, new], 1), new, cache

    return reduce(further, range(n), (ids, ids, None))[0]


def generate_id_by_id(step, ids, n, likeliest):
    """The prompt too is given one id at a time."""
    cache = None
    for t in range(ids.shape[1] + n - 1):
        logits, cache = step(ids[:, t : t + 1], cache)
        if t + 1 == ids.shape[1]:
            ids = torch.cat([ids, likeliest(logits)], dim=1)
    return ids


GENERATIONS = beginning("generate_")


@right(
    "generate",
    "loops",
    loop=pick(
        GENERATIONS,
        *("generate_for", "generate_while", "generate_into_room"),
        *("generate_list", "generate_in_columns"),
    ),
    likeliest=LIKELIEST,
)
@right(
    "generate",
    "functions",
    loop=by_name(generate_recursively, generate_lazily, generate_by_reduce),
    likeliest=LIKELIEST,
)
@right(
    "generate",
    "batches",
    loop=pick(GENERATIONS, "generate_rows", "generate_id_by_id"),
    likeliest=LIKELIEST,
)
def generating(step, ids, n, *, loop, likeliest=LIKELIEST["argmax"]):
    return loop(step, ids, n, likeliest)


ONE_BY_ONE["generate", "no gradients"] = {
    "no_grad": torch.no_grad()(partial(generating, loop=generate_for)),
    "inference_mode": torch.inference_mode()(
        partial(generating, loop=generate_while, likeliest=LIKELIEST["max"])
    ),
    "int32": lambda step, ids, n: generate_rows(step, ids, n, LIKELIEST["topk"]).int(),
}


# An answer of a trained model


def answer_of_whole_text(prompt, model, n, *, forward):
    """Read the whole text again for each token."""
    ids = torch.tensor([model.encode(prompt)])
    new = []
    for _ in range(n):
        logits, _ = forward(ids, ids, model.weights, model.num_heads)
        new.append(logits[0, -1].argmax().item())
        ids = torch.cat([ids, torch.tensor([new[-1:]])], dim=1)
    return model.decode(new)


@right(
    "answer",
    "cache",
    made=by_name(CacheOfTuples, CacheMadeBefore, CacheOfPositions),
    loop=pick(GENERATIONS, "generate_while", "generate_into_room"),
)
def answer_with_cache(prompt, model, n, *, made, loop):
    def step(ids, cache):
        return step_with_cache(ids, model.weights, model.num_heads, cache, made=made)

    ids = torch.tensor([model.encode(prompt)])
    text = generating(step, ids, n, loop=loop)
    return model.decode(text[0, ids.shape[1] :].tolist())


def answer_recursively(prompt, model, n):
    block = partial(block_by, heads=BLOCK_HEADS["einsum"])

    def further(ids, left):
        if not left:
            return []
        text = torch.tensor([ids])
        with torch.inference_mode():
            logits, _ = gpt_by(
                text, text, model.weights, model.num_heads, block=block, head="einsum"
            )
        i = int(logits[0, -1].argmax())
        return [i, *further([*ids, i], left - 1)]

    return model.decode(further(list(model.encode(prompt)), n))


ONE_BY_ONE["answer", "whole text"] = {
    "fused": partial(answer_of_whole_text, forward=partial(gpt_by, block=block_by)),
    "rows": partial(answer_of_whole_text, forward=gpt_of_rows),
    "loop over heads": partial(answer_of_whole_text, forward=gpt_by_loops),
}
ONE_BY_ONE["answer", "recursion"] = {"einsum": answer_recursively}


for (task, style), programs in ONE_BY_ONE.items():
    PROGRAMS += [Right(task, (style, name), made) for name, made in programs.items()]
for task, classes in CLASSES.items():
    for name, (made, paths) in classes.items():
        PROGRAMS.append(Right(task, ("class", name), made, paths))


FILES = [
    Right(task_of(source), ("file", source), edited(source))
    for source in right_sources()
]
