"""Right programs for every task of `mygpt.check`, each of another structure.

Most are built from independent choices: of layout, of masks, of the order of
operations, of the form of a cache. They are code that a reader may write; no choice is
a name or a number. Those that are a file each, from which the sets of wrong programs
are made, stand in `tests/check/mends/right/` and the workbook; none is repeated here.
"""

import bisect
import copy
import heapq
import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vjp, vmap

from mygpt import check
from tools.mends.programs import function_of, right_sources, task_of, text_of

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
# Classes by task and name, each with the attributes that hold its weights.
CLASSES: dict[tuple[str, str], tuple[Callable, dict[str, str]]] = {}


def right(
    task: str, style: str, **axes: Mapping[str, Any] | Sequence[str]
) -> Callable[[Callable], Callable]:
    """Add what the decorated function makes of each combination of choices."""

    def add(make: Callable[..., Callable]) -> Callable[..., Callable]:
        named = [
            axis if isinstance(axis, Mapping) else {name: name for name in axis}
            for axis in axes.values()
        ]
        for chosen in itertools.product(*(axis.items() for axis in named)):
            names, values = zip(*chosen, strict=True)
            PROGRAMS.append(Right(task, (style, *names), make(*values)))
        return make

    return add


def pick(axis: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: axis[name] for name in names}


def by_name(*makers: Callable) -> dict[str, Callable]:
    return {maker.__name__: maker for maker in makers}


def in_float32(program: Callable) -> Callable:
    """Compute in float32, give back what came: a program that saves memory."""

    def narrow(value):
        if isinstance(value, Tensor) and value.is_floating_point():
            return value.float()
        if isinstance(value, dict):
            return {name: narrow(part) for name, part in value.items()}
        if isinstance(value, list):
            return [narrow(part) for part in value]
        return value

    def narrowed(*values):
        return program(*map(narrow, values)).to(torch.float64)

    return narrowed


def own_float32_zeros(like: Tensor) -> Tensor:
    return torch.zeros(like.shape)


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


# A row times a matrix


def scaled_rows_added(x, W):
    total = 0
    for number, row in zip(x, W, strict=True):
        total = total + number * row
    return total


def rows_in_place(x, W):
    total = torch.zeros_like(W[0])
    for i in range(len(x)):
        total += x[i] * W[i]
    return total


def entries_in_own_zeros(x, W):
    y = torch.zeros(W.shape[1])
    for j in range(W.shape[1]):
        for i in range(W.shape[0]):
            y[j] += x[i] * W[i, j]
    return y


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
    "rows": lambda x, W: (x[:, None] * W).sum(0),
    "columns": lambda x, W: (W.T * x).sum(-1),
    "expanded": lambda x, W: (x.view(-1, 1).expand_as(W) * W).sum(dim=0),
    "running sum": lambda x, W: (x[:, None] * W).cumsum(0)[-1],
    "inner": lambda x, W: torch.inner(x, W.T),
}
ONE_BY_ONE["row_times_matrix", "loops"] = {
    "rows added": scaled_rows_added,
    "rows in place": rows_in_place,
    "own float32 zeros": entries_in_own_zeros,
    "columns stacked": lambda x, W: torch.stack([x.dot(w) for w in W.T]),
    "entries summed": lambda x, W: torch.stack(
        [sum(x[i] * W[i, j] for i in range(len(x))) for j in range(W.shape[1])]
    ),
    "reduce": lambda x, W: reduce(torch.add, map(torch.mul, x, W)),
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


# Softmax


def by_hand(scores):
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


def online(scores):
    """Of one row, with a running maximum."""
    largest, total = scores[0], torch.ones_like(scores[0])
    for score in scores[1:]:
        new = torch.maximum(largest, score)
        total = total * (largest - new).exp() + (score - new).exp()
        largest = new
    return (scores - largest).exp() / total


def softmax_forward(scores):
    y = by_hand(scores)
    return y, y


SOFTMAXES = {
    "torch": lambda scores: torch.softmax(scores, dim=-1),
    "by hand": by_hand,
    "logsumexp": lambda s: torch.exp(s - torch.logsumexp(s, -1, keepdim=True)),
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


def filled(scores, of_row, empty):
    y = empty(scores)
    for i in range(len(scores)):
        y[i] = of_row(scores[i])
    return y


ROWS = {
    "stacked": lambda scores, of_row: torch.stack([of_row(row) for row in scores]),
    "vmap": lambda scores, of_row: vmap(of_row)(scores),
    "zeros_like": partial(filled, empty=torch.zeros_like),
    "own float32": partial(filled, empty=own_float32_zeros),
}


@right("softmax", "by hand", shift=SHIFTS, share=SHARES)
def softmax_by_hand(shift, share):
    return lambda scores: share(torch.exp(shift(scores)))


@right(
    "softmax",
    "loops",
    of_row={"by hand": by_hand, "online": online, "torch": SOFTMAXES["torch"]},
    rows=pick(ROWS, "stacked", "zeros_like", "own float32"),
)
def softmax_by_rows(of_row, rows):
    return lambda scores: rows(scores, of_row)


ONE_BY_ONE["softmax", "fused"] = {
    "F.softmax": lambda scores: F.softmax(scores, dim=1),
    "nn.Softmax": nn.Softmax(dim=-1),
    "method": lambda scores: scores.softmax(-1),
    "transposed": lambda scores: scores.T.softmax(0).T,
    "log_softmax": SOFTMAXES["log_softmax"],
    "special": lambda scores: torch.special.softmax(scores, -1),
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
        softmax_forward, lambda dy, y: y * (dy - (dy * y).sum(-1, keepdim=True))
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
def cross_entropy_by_hand(log, pick):
    return lambda logits, targets: -pick(log(logits), targets).mean()


@right("cross_entropy", "sums", pick=PICKS)
def cross_entropy_by_sums(pick):
    return lambda logits, targets: (
        (logits.logsumexp(-1).sum() - pick(logits, targets).sum()) / len(targets)
    )


def rows_into_zeros(logits, targets):
    losses = torch.zeros(len(targets))
    for i, target in enumerate(targets.tolist()):
        losses[i] = logits[i].logsumexp(0) - logits[i, target]
    return losses.mean()


def cross_entropy_backward(grad, logits, targets):
    d = logits.softmax(-1)
    d[torch.arange(len(d)), targets] -= 1
    return grad * d / len(d), None


ONE_BY_ONE["cross_entropy", "loops"] = {
    "mean of list": lambda logits, targets: torch.stack(
        [F.cross_entropy(row, t) for row, t in zip(logits, targets, strict=True)]
    ).mean(),
    "own float32 zeros": rows_into_zeros,
    "vmap": lambda logits, targets: vmap(F.cross_entropy)(logits, targets).mean(),
}
ONE_BY_ONE["cross_entropy", "fused"] = {
    "F.cross_entropy": F.cross_entropy,
    "nn.CrossEntropyLoss": lambda logits, t: nn.CrossEntropyLoss()(logits, t),
    "sum": lambda logits, t: F.cross_entropy(logits, t, reduction="sum") / len(t),
    "none": lambda logits, t: F.cross_entropy(logits, t, reduction="none").mean(),
    "nll_loss": lambda logits, t: F.nll_loss(F.log_softmax(logits, 1), t),
    "probabilities": lambda logits, t: F.cross_entropy(
        logits, F.one_hot(t, logits.shape[1]).to(logits)
    ),
    "Categorical": lambda logits, t: (
        -torch.distributions.Categorical(logits=logits).log_prob(t).mean()
    ),
    "kl_div": lambda logits, t: F.kl_div(
        logits.log_softmax(-1),
        F.one_hot(t, logits.shape[1]).to(logits),
        reduction="batchmean",
    ),
    "logsumexp minus": lambda logits, t: (
        logits.logsumexp(1).mean() - logits[range(len(t)), t].mean()
    ),
}
ONE_BY_ONE["cross_entropy", "own backward"] = {
    "autograd.Function": own_backward(
        lambda logits, t: (F.cross_entropy(logits, t), logits, t),
        cross_entropy_backward,
    )
}
ONE_BY_ONE["cross_entropy", "float32"] = {"inside": in_float32(F.cross_entropy)}


# Embedding


def one_hot_times(ids, table):
    return F.one_hot(ids, len(table)).to(table.dtype) @ table


LOOKUPS = {
    "index": lambda ids, table: table[ids],
    "F.embedding": F.embedding,
    "one_hot": one_hot_times,
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
def embedding_by_lookups(lookup, place):
    return lambda ids, tokens, positions: lookup(ids, tokens) + place(ids, positions)


right(
    "embedding",
    "places",
    lookup=pick(LOOKUPS, "index", "F.embedding"),
    place=pick(PLACES, "arange", "narrow"),
)(embedding_by_lookups)


def embedding_into(empty):
    def embed(ids, tokens, positions):
        out = empty(*ids.shape, tokens.shape[1])
        for b, row in enumerate(ids):
            for t, i in enumerate(row):
                out[b, t] = tokens[i] + positions[t]
        return out

    return embed


ONE_BY_ONE["embedding", "loops"] = {
    "own float32 zeros": embedding_into(torch.zeros),
    "float64 zeros": embedding_into(partial(torch.zeros, dtype=torch.float64)),
    "vmap": lambda ids, tokens, positions: vmap(
        lambda row: tokens[row] + positions[: len(row)]
    )(ids),
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
        self.V = V
        self.token = nn.Linear(V, C, bias=False)
        self.position = nn.Parameter(torch.randn(N, C))

    def forward(self, ids):
        one_hot = F.one_hot(ids, self.V).to(self.position.dtype)
        return self.token(one_hot) + self.position[: ids.shape[1]]


def tables(token, position):
    return {"token_table": token, "position_table": position}


CLASSES["embedding", "nn.Embedding"] = (
    TwoTables,
    tables("token.weight", "position.weight"),
)
CLASSES["embedding", "parameters, one transposed"] = (
    TwoParameters,
    tables("wte", "wpe.T"),
)
CLASSES["embedding", "nn.Linear"] = OneHotLinear, tables("token.weight.T", "position")
ONE_BY_ONE["embedding", "float32"] = {
    "inside": in_float32(lambda ids, t, p: t[ids] + p[: ids.shape[1]])
}


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


def masked_powers(scores):
    powers = (scores - scores.amax(-1, keepdim=True)).exp().tril()
    return powers / powers.sum(-1, keepdim=True)


def cut_and_shared_again(scores):
    weights = scores.softmax(-1) * torch.ones_like(scores).tril()
    return weights / weights.sum(-1, keepdim=True)


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


WEIGHINGS = by_name(masked_powers, cut_and_shared_again, rows_padded)


def weigh_by(mask: str, softmax: str = "torch") -> Callable[[Tensor], Tensor]:
    return lambda scores: SOFTMAXES[softmax](MASKS[mask](scores))


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


@right(
    "attention",
    "masks",
    contraction=("matmul", "einsum", "broadcasting"),
    mask=tuple(MASKS),
)
def attention_with_masks(contraction, mask):
    return lambda x, Q, K, V: mixed(
        x @ Q, x @ K, x @ V, weigh_by(mask), contraction=contraction
    )


@right(
    "attention",
    "softmaxes",
    softmax=("by hand", "logsumexp", "log_softmax"),
    mask=("where", "added -1e9"),
)
def attention_with_softmaxes(softmax, mask):
    return lambda x, Q, K, V: mixed(x @ Q, x @ K, x @ V, weigh_by(mask, softmax))


@right(
    "attention",
    "scales",
    scale=tuple(SCALES),
    weighing=by_name(masked_powers, cut_and_shared_again),
)
def attention_with_scales(scale, weighing):
    return lambda x, Q, K, V: mixed(x @ Q, x @ K, x @ V, weighing, scale)


def by_position(q, k, v, t):
    """One position of one text, or of all."""
    scores = (k[..., : t + 1, :] * q[..., t : t + 1, :]).sum(-1) / q.shape[-1] ** 0.5
    return (scores.softmax(-1)[..., None] * v[..., : t + 1, :]).sum(-2)


def by_running_sums(q, k, v, t):
    """Without the scores of more than one key at a time."""
    largest = total = mean = None
    for s in range(t + 1):
        score = (q[..., t, :] * k[..., s, :]).sum(-1, keepdim=True) / math.sqrt(
            q.shape[-1]
        )
        if largest is None:
            largest, total, mean = score, torch.ones_like(score), v[..., s, :]
            continue
        new = torch.maximum(largest, score)
        old, now = (largest - new).exp(), (score - new).exp()
        total, mean = total * old + now, mean * old + now * v[..., s, :]
        largest = new
    return mean / total


def one_query(q, k, v, t):
    """With matrices: the query as a column."""
    scores = k[..., : t + 1, :] @ q[..., t, :, None] * q.shape[-1] ** -0.5
    return (v[..., : t + 1, :].mT @ scores.softmax(-2)).squeeze(-1)


def of_texts(q, k, v, one):
    texts = zip(q, k, v, strict=True)
    return torch.stack(
        [torch.stack([one(*text, t) for t in range(len(text[0]))]) for text in texts]
    )


def of_positions(q, k, v, one):
    return torch.stack([one(q, k, v, t) for t in range(q.shape[1])], dim=1)


def into_zeros(q, k, v, one, dtype=None):
    out = torch.zeros(v.shape, dtype=dtype or v.dtype)
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
        "zeros": into_zeros,
        "own float32": partial(into_zeros, dtype=torch.float32),
    },
)
def attention_by_loops(one, order):
    return lambda x, Q, K, V: order(x @ Q, x @ K, x @ V, one)


def merged(x, Q, K, V):
    q, k, v = (x @ torch.cat([Q, K, V], dim=1)).chunk(3, dim=-1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def queries_and_keys_in_one_matrix(x, Q, K, V):
    scores = x @ (Q @ K.T) @ x.mT / math.sqrt(Q.shape[1])
    return weigh_by("where")(scores) @ x @ V


sdpa = F.scaled_dot_product_attention
ONE_BY_ONE["attention", "fused"] = {
    "is_causal": lambda x, Q, K, V: sdpa(x @ Q, x @ K, x @ V, is_causal=True),
    "boolean mask": lambda x, Q, K, V: sdpa(
        x @ Q,
        x @ K,
        x @ V,
        attn_mask=torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(),
    ),
    "own float32 mask": lambda x, Q, K, V: sdpa(
        x @ Q,
        x @ K,
        x @ V,
        attn_mask=torch.full((x.shape[1], x.shape[1]), -INF).triu(1),
    ),
    "nn's mask": lambda x, Q, K, V: sdpa(
        x @ Q,
        x @ K,
        x @ V,
        nn.Transformer.generate_square_subsequent_mask(x.shape[1]).to(x),
    ),
    "own scale": lambda x, Q, K, V: sdpa(
        x @ Q / Q.shape[1] ** 0.5, x @ K, x @ V, is_causal=True, scale=1.0
    ),
    "an axis for the head": lambda x, Q, K, V: sdpa(
        (x @ Q)[:, None], (x @ K)[:, None], (x @ V)[:, None], is_causal=True
    ).squeeze(1),
    "merged matrices": merged,
    "F.linear": lambda x, Q, K, V: sdpa(
        *(F.linear(x, W.T) for W in (Q, K, V)), is_causal=True
    ),
    "baddbmm": lambda x, Q, K, V: torch.bmm(
        torch.baddbmm(
            torch.full((x.shape[1], x.shape[1]), -INF).triu(1).to(x),
            x @ Q,
            (x @ K).mT,
            alpha=Q.shape[1] ** -0.5,
        ).softmax(-1),
        x @ V,
    ),
}
ONE_BY_ONE["attention", "other orders"] = {
    "one matrix of queries and keys": queries_and_keys_in_one_matrix,
    "values last": lambda x, Q, K, V: (
        mixed(x @ Q, x @ K, x, weigh_by("added triu")) @ V
    ),
    "keys first": lambda x, Q, K, V: (
        SOFTMAXES["torch"](
            MASKS["where"](((x @ K) @ (x @ Q).mT).mT / Q.shape[1] ** 0.5)
        )
        @ (x @ V)
    ),
    "matrix scaled": lambda x, Q, K, V: (
        rows_padded(x @ (Q * Q.shape[1] ** -0.5) @ (x @ K).mT) @ (x @ V)
    ),
    "logcumsumexp": lambda x, Q, K, V: mixed(
        x @ Q, x @ K, x @ V, divided_by_running_sum
    ),
    "rows of weights in own zeros": lambda x, Q, K, V: (
        rows_into_own_zeros((x @ Q) @ (x @ K).mT / Q.shape[1] ** 0.5) @ (x @ V)
    ),
    "transposed": lambda x, Q, K, V: (
        (
            (V.T @ x.mT)
            @ MASKS["where"]((x @ Q) @ (K.T @ x.mT) / Q.shape[1] ** 0.5).softmax(-1).mT
        ).mT
    ),
    "column softmax": lambda x, Q, K, V: (
        (
            (x @ V).mT
            @ ((x @ K) @ (x @ Q).mT / Q.shape[1] ** 0.5)
            .masked_fill(torch.ones(x.shape[1], x.shape[1]).tril(-1) > 0, -INF)
            .softmax(1)
        ).mT
    ),
}


def attention_forward(q, k, v):
    weights = weigh_by("where")(q @ k.mT / q.shape[-1] ** 0.5)
    return weights @ v, q, k, v, weights


def attention_backward(dy, q, k, v, weights):
    dw = dy @ v.mT
    ds = weights * (dw - (dw * weights).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
    return ds @ k, ds.mT @ q, weights.mT @ dy


OWN_ATTENTION = own_backward(attention_forward, attention_backward)


def of_each_text(x, Q, K, V):
    def one(text):
        return mixed(text @ Q, text @ K, text @ V, weigh_by("added triu"))

    return vmap(one)(x)


ONE_BY_ONE["attention", "batches"] = {
    "vmap": of_each_text,
    "list of texts": lambda x, Q, K, V: torch.cat(
        [mixed(text @ Q, text @ K, text @ V, masked_powers) for text in x.split(1)]
    ),
    "flat": lambda x, Q, K, V: mixed(
        *(torch.mm(x.flatten(0, 1), W).view(*x.shape[:2], -1) for W in (Q, K, V)),
        masked_powers,
    ),
    "whole batch as one text": lambda x, Q, K, V: one_long_text(x, Q, K, V),
}


def one_long_text(x, Q, K, V):
    """All texts in one sequence, with a mask of blocks."""
    B, T = x.shape[:2]
    rows = x.reshape(B * T, -1)
    allowed = torch.block_diag(*[torch.ones(T, T).tril()] * B).bool()
    scores = rows @ Q @ (rows @ K).T / Q.shape[1] ** 0.5
    return (scores.masked_fill(~allowed, -INF).softmax(-1) @ rows @ V).view(B, T, -1)


ONE_BY_ONE["attention", "own backward"] = {
    "autograd.Function": lambda x, Q, K, V: OWN_ATTENTION(x @ Q, x @ K, x @ V)
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
        return sdpa(*(x @ self.w[name] for name in "qkv"), is_causal=True)


class HeadOfList(nn.Module):
    def __init__(self, C, D):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(C, D, bias=False) for _ in range(3))
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        q, k, v = (layer(x) for layer in self.layers)
        return self.dropout(of_positions(q, k, v, by_position))


CLASSES["attention", "linears and a buffer"] = (
    HeadOfLinears,
    {"W_Q": "query.weight.T", "W_K": "key.weight.T", "W_V": "value.weight.T"},
)
CLASSES["attention", "parameters"] = (
    HeadOfParameters,
    {f"W_{n}": f"w.{n.lower()}" for n in "QKV"},
)
CLASSES["attention", "list"] = (
    HeadOfList,
    {f"W_{n}": f"layers.{i}.weight.T" for i, n in enumerate("QKV")},
)


# Many heads

LINEARS = {
    "@": lambda x, W, b: x @ W + b,
    "F.linear": lambda x, W, b: F.linear(x, W.T, b),
    "einsum": lambda x, W, b: torch.einsum("...i,ij->...j", x, W) + b,
    "addmm": lambda x, W, b: torch.addmm(b, x.flatten(0, -2), W).view(
        *x.shape[:-1], -1
    ),
}


def chunks_stacked(x, H):
    return torch.stack(x.chunk(H, dim=-1), dim=1)


SPLITS = {
    "view": (
        lambda x, H: x.view(*x.shape[:2], H, -1).transpose(1, 2),
        lambda y: y.transpose(1, 2).contiguous().view(y.shape[0], y.shape[2], -1),
    ),
    "unflatten": (
        lambda x, H: x.unflatten(-1, (H, -1)).permute(0, 2, 1, 3),
        lambda y: y.permute(0, 2, 1, 3).flatten(2),
    ),
    "stack and cat": (chunks_stacked, lambda y: torch.cat(y.unbind(1), dim=-1)),
    "einsum": (
        lambda x, H: torch.einsum(
            "bthd->bhtd", x.reshape(x.shape[0], x.shape[1], H, x.shape[2] // H)
        ),
        lambda y: torch.einsum("bhtd->bthd", y).reshape(
            y.shape[0], y.shape[2], y.shape[1] * y.shape[3]
        ),
    ),
}


def projections(x, w, linear):
    return [linear(x, w[f"W_{name}"], w[f"b_{name}"]) for name in "QKV"]


@right(
    "heads",
    "matrices",
    split=SPLITS,
    weigh=by_name(masked_powers, rows_padded) | {"added triu": weigh_by("added triu")},
)
def heads_of_matrices(split, weigh, linear=LINEARS["@"]):
    cut, join = split

    def heads(x, w, H):
        q, k, v = (cut(each, H) for each in projections(x, w, linear))
        return linear(join(mixed(q, k, v, weigh)), w["W_O"], w["b_O"])

    return heads


@right("heads", "linears", linear=pick(LINEARS, "F.linear", "einsum", "addmm"))
def heads_of_linears(linear):
    return heads_of_matrices(SPLITS["view"], weigh_by("where"), linear)


def channels(w, name, h, D):
    """The part of a projection that belongs to a head."""
    part = slice(h * D, (h + 1) * D)
    return w[f"W_{name}"][:, part], w[f"b_{name}"][part]


def heads_sliced_after(x, w, H):
    q, k, v = projections(x, w, LINEARS["@"])
    D = x.shape[-1] // H
    for h in range(H):
        part = slice(h * D, (h + 1) * D)
        yield q[..., part], k[..., part], v[..., part]


def heads_projected_alone(x, w, H):
    D = x.shape[-1] // H
    for h in range(H):
        yield tuple(x @ W + b for W, b in (channels(w, n, h, D) for n in "QKV"))


def heads_chunked(x, w, H):
    parts = (each.chunk(H, dim=-1) for each in projections(x, w, LINEARS["F.linear"]))
    yield from zip(*parts, strict=True)


def joined(outputs, w):
    return torch.cat(outputs, dim=-1) @ w["W_O"] + w["b_O"]


def rows_of_output_matrix(outputs, w):
    D = outputs[0].shape[-1]
    return w["b_O"] + sum(
        y @ w["W_O"][h * D : (h + 1) * D] for h, y in enumerate(outputs)
    )


def into_own_zeros(outputs, w, like=None):
    B, T, D = outputs[0].shape
    out = torch.zeros(B, T, D * len(outputs), dtype=like)
    for h, y in enumerate(outputs):
        out[:, :, h * D : (h + 1) * D] = y
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
def heads_by_loops(cut, join, attend=None):
    attend = attend or partial(sdpa, is_causal=True)
    return lambda x, w, H: join([attend(*qkv) for qkv in cut(x, w, H)], w)


@right(
    "heads",
    "positions",
    cut=by_name(heads_sliced_after, heads_projected_alone),
    one=by_name(by_position, by_running_sums, one_query),
)
def heads_by_positions(cut, one):
    return heads_by_loops(cut, joined, lambda q, k, v: of_positions(q, k, v, one))


@right(
    "heads",
    "einsum",
    mask=pick(MASKS, "masked_fill", "places compared", "written over"),
    softmax=pick(SOFTMAXES, "torch", "logsumexp"),
)
def heads_by_einsum(mask, softmax):
    def heads(x, w, H):
        q, k, v = (
            torch.einsum("btc,chd->bhtd", x, w[f"W_{n}"].unflatten(1, (H, -1)))
            + w[f"b_{n}"].unflatten(0, (H, 1, -1))
            for n in "QKV"
        )
        scores = torch.einsum("bhtd,bhsd->bhts", q * q.shape[-1] ** -0.5, k)
        W_O = w["W_O"].unflatten(0, (H, -1))
        y = torch.einsum("bhts,bhsd,hdc->btc", softmax(mask(scores)), v, W_O)
        return y + w["b_O"]

    return heads


def merged_heads(x, w, H):
    W = torch.cat([w["W_Q"], w["W_K"], w["W_V"]], dim=1)
    b = torch.cat([w["b_Q"], w["b_K"], w["b_V"]])
    B, T, C = x.shape
    qkv = (x @ W + b).view(B, T, 3, H, C // H).permute(2, 0, 3, 1, 4)
    y = sdpa(qkv[0], qkv[1], qkv[2], is_causal=True)
    return y.transpose(1, 2).reshape(B, T, C) @ w["W_O"] + w["b_O"]


def torch_heads(x, w, H):
    T, C = x.shape[1:]
    y, _ = F.multi_head_attention_forward(
        x.transpose(0, 1),
        x.transpose(0, 1),
        x.transpose(0, 1),
        C,
        H,
        torch.cat([w[f"W_{name}"].T for name in "QKV"]),
        torch.cat([w[f"b_{name}"] for name in "QKV"]),
        None,
        None,
        False,
        0.0,
        w["W_O"].T,
        w["b_O"],
        training=False,
        need_weights=False,
        attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
    )
    return y.transpose(0, 1)


def flat_heads(x, w, H):
    """Heads and texts on one axis."""
    B, T, C = x.shape
    q, k, v = (
        each.view(B, T, H, C // H).transpose(1, 2).reshape(B * H, T, C // H)
        for each in projections(x, w, LINEARS["addmm"])
    )
    mask = torch.full((T, T), -INF, dtype=x.dtype).triu(1)
    scores = torch.baddbmm(mask, q, k.mT, alpha=(C // H) ** -0.5)
    y = torch.bmm(scores.softmax(-1), v).view(B, H, T, C // H).transpose(1, 2)
    return y.reshape(B, T, C) @ w["W_O"] + w["b_O"]


def heads_by_vmap(x, w, H):
    q, k, v = (each.unflatten(-1, (H, -1)) for each in projections(x, w, LINEARS["@"]))
    attend = partial(sdpa, is_causal=True)
    y = vmap(attend, in_dims=2, out_dims=2)(q, k, v)
    return y.flatten(2) @ w["W_O"] + w["b_O"]


def masked_channels(x, w, H):
    """Every head at full width, with the other heads' channels set to zero."""
    q, k, v = projections(x, w, LINEARS["@"])
    C = x.shape[-1]
    head_of = torch.arange(C) // (C // H)
    y = torch.zeros_like(x)
    for h in range(H):
        mine = (head_of == h).to(x)
        scores = (q * mine) @ k.mT / math.sqrt(C // H)
        y = y + weigh_by("masked_fill -1e9")(scores) @ (v * mine)
    return y @ w["W_O"] + w["b_O"]


ONE_BY_ONE["heads", "fused"] = {
    "one matrix": merged_heads,
    "multi_head_attention_forward": torch_heads,
    "texts and heads on one axis": flat_heads,
    "vmap": heads_by_vmap,
    "list of texts": lambda x, w, H: torch.cat(
        [merged_heads(text[None], w, H) for text in x]
    ),
    "own backward": lambda x, w, H: joined(
        [OWN_ATTENTION(*qkv) for qkv in heads_chunked(x, w, H)], w
    ),
    "channels masked": masked_channels,
    "output matrix first": lambda x, w, H: (
        w["b_O"]
        + sum(
            weigh_by("where")(q @ k.mT / q.shape[-1] ** 0.5) @ (v @ rows)
            for (q, k, v), rows in zip(
                heads_sliced_after(x, w, H), w["W_O"].chunk(H), strict=True
            )
        )
    ),
    "float32 inside": in_float32(merged_heads),
}


class ManyHeads(nn.Module):
    def __init__(self, C, num_heads):
        super().__init__()
        self.H, self.D = num_heads, C // num_heads
        self.proj = nn.Linear(C, C)
        self.q, self.k, self.v = (nn.Linear(C, C) for _ in range(3))
        self.register_buffer("mask", torch.full((32, 32), -INF).triu(1), False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            layer(x).view(B, T, self.H, self.D).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.D) + self.mask[:T, :T]
        y = scores.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


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


CLASSES["heads", "linears and a buffer"] = (
    ManyHeads,
    of_linears(_Q="q", _K="k", _V="v", _O="proj"),
)
CLASSES["heads", "parameters backwards"] = (
    ManyHeadsOfParameters,
    {f"W_{n}": f"matrix_{n}" for n in "QKVO"} | {f"b_{n}": f"bias_{n}" for n in "QKVO"},
)
CLASSES["heads", "modules inside"] = (
    lambda C, num_heads: HeadsInside(C, num_heads),
    of_linears(_Q="into.Q", _K="into.K", _V="into.V", _O="out.0"),
)


# GELU in both forms


def each_number(of_one, empty=torch.empty_like):
    def gelu(x):
        y = empty(x)
        for i in range(x.numel()):
            y.view(-1)[i] = of_one(x.reshape(-1)[i])
        return y

    return gelu


def listed(of_one):
    return lambda x: torch.stack([of_one(number) for number in x.flatten()]).view_as(x)


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
    "cdf x": lambda x, cdf: cdf(x).mul(x),
    "einsum": lambda x, cdf: torch.einsum("...,...->...", x, cdf(x)),
    "minus the rest": lambda x, cdf: x - x * cdf(-x),
    "addcmul": lambda x, cdf: torch.addcmul(torch.zeros_like(x), x, cdf(x)),
}


@right("gelu", "formula", cumulative=CUMULATIVE, product=PRODUCTS)
def gelu_by_formula(cumulative, product):
    return lambda x: product(x, cumulative)


def erf_of_one(x):
    return x / 2 + x / 2 * torch.erf(x / math.sqrt(2))


def gelu_backward(dy, x):
    density = torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return dy * (CUMULATIVE["erf"](x) + x * density)


OWN_GELU = own_backward(lambda x: (x * CUMULATIVE["erf"](x), x), gelu_backward)


ONE_BY_ONE["gelu", "loops"] = {
    "into empty": each_number(erf_of_one),
    "own float32": each_number(erf_of_one, own_float32_zeros),
    "rows": lambda x: torch.stack([F.gelu(row) for row in x]),
    "vmap": vmap(erf_of_one),
}
ONE_BY_ONE["gelu", "fused"] = {
    "F.gelu": F.gelu,
    "nn.GELU": nn.GELU(),
    "approximate none": lambda x: torch.nn.functional.gelu(x, approximate="none"),
    "float32 inside": in_float32(F.gelu),
    "own backward": OWN_GELU,
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
def tanh_by_formula(inner, bend, root):
    return lambda x: bend(x, root(inner(x)))


def tanh_of_one(x):
    return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def tanh_forward(x):
    t = torch.tanh((2 / math.pi) ** 0.5 * INNERS["cube"](x))
    return 0.5 * x * (1 + t), x, t


def tanh_backward(dy, x, t):
    slope = (2 / math.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


ONE_BY_ONE["gelu_tanh", "loops"] = {
    "stacked": listed(tanh_of_one),
    "own float32": each_number(tanh_of_one, own_float32_zeros),
    "vmap": vmap(tanh_of_one),
}
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
    "sigmoid": lambda x: BENDS["sigmoid"](x, ROOTS["of a float"](INNERS["cube"](x))),
    "own backward": OWN_GELU,
}


@right("mlp", "matrices", linear=LINEARS, gelu=GELUS)
def mlp_of_matrices(linear, gelu):
    return lambda x, W1, b1, W2, b2: linear(gelu(linear(x, W1, b1)), W2, b2)


def mlp_by_position(gelu):
    def mlp(x, W1, b1, W2, b2):
        rows = [[gelu(v @ W1 + b1) @ W2 + b2 for v in text] for text in x]
        return torch.stack([torch.stack(row) for row in rows])

    return mlp


def mlp_into_own_zeros(gelu):
    def mlp(x, W1, b1, W2, b2):
        y = torch.zeros(x.shape)
        for t in range(x.shape[1]):
            y[:, t] = gelu(x[:, t] @ W1 + b1) @ W2 + b2
        return y

    return mlp


def mlp_by_neurons(gelu):
    def mlp(x, W1, b1, W2, b2):
        y = b2.expand_as(x).clone()
        for into, bias, out in zip(W1.T, b1, W2, strict=True):
            y += gelu(x @ into + bias)[..., None] * out
        return y

    return mlp


def mlp_by_chunks(gelu):
    def mlp(x, W1, b1, W2, b2):
        parts = zip(*(w.chunk(2, -1) for w in (W1, b1, W2.T)), strict=True)
        return sum(gelu(x @ into + bias) @ out.T for into, bias, out in parts) + b2

    return mlp


@right(
    "mlp",
    "loops",
    order={
        "positions": mlp_by_position,
        "own float32 zeros": mlp_into_own_zeros,
        "neurons in place": mlp_by_neurons,
        "chunks of neurons": mlp_by_chunks,
        "texts": lambda gelu: (
            lambda x, W1, b1, W2, b2: torch.cat(
                [gelu(text @ W1 + b1) @ W2 + b2 for text in x.split(1)]
            )
        ),
        "vmap": lambda gelu: (
            lambda x, *w: vmap(vmap(lambda v: gelu(v @ w[0] + w[1]) @ w[2] + w[3]))(x)
        ),
        "bias as a row": lambda gelu: (
            lambda x, W1, b1, W2, b2: (
                F.pad(
                    gelu(F.pad(x, (0, 1), value=1.0) @ torch.cat([W1, b1[None]])),
                    (0, 1),
                    value=1.0,
                )
                @ torch.cat([W2, b2[None]])
            )
        ),
    },
    gelu=pick(GELUS, "F.gelu", "tanh by hand"),
)
def mlp_by_loops(order, gelu):
    return order(gelu)


ONE_BY_ONE["mlp", "float32"] = {"inside": in_float32(mlp_by_chunks(F.gelu))}


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


CLASSES["mlp", "linears"] = TwoLinears, of_linears(**{"1": "fc1", "2": "fc2"})
CLASSES["mlp", "lists of parameters"] = (
    FourParameters,
    {"W1": "w.0", "b1": "b.0", "W2": "w.1.T", "b2": "b.1"},
)
CLASSES["mlp", "nn.Sequential"] = in_a_row, of_linears(**{"1": "0", "2": "2"})
CLASSES["mlp", "convolutions"] = (
    Convolutions,
    of_linears(**{"1": "up", "2": "down"})
    | {"W1": "up.weight.squeeze(-1).T", "W2": "down.weight.squeeze(2).T"},
)


# The wiring of a block

SUMS = {
    "+": lambda x, branch: x + branch,
    "branch first": lambda x, branch: branch + x,
    "torch.add": torch.add,
    "stack": lambda x, branch: torch.stack([x, branch]).sum(0),
    "sum": lambda x, branch: sum([x, branch]),
    "own copy in place": lambda x, branch: x.clone().add_(branch),
}


def two_lines(add):
    def block(x, attention, mlp, ln1, ln2):
        x = add(x, attention(ln1(x)))
        return add(x, mlp(ln2(x)))

    return block


def named_steps(add):
    def block(x, attention, mlp, ln1, ln2):
        normed = ln1(x)
        middle = add(x, attention(normed))
        normed = ln2(middle)
        return add(middle, mlp(normed))

    return block


def loop_over_branches(add):
    def block(x, attention, mlp, ln1, ln2):
        for norm, branch in ((ln1, attention), (ln2, mlp)):
            x = add(x, branch(norm(x)))
        return x

    return block


def residual_helper(add):
    def residual(norm, branch):
        return lambda x: add(x, branch(norm(x)))

    return lambda x, attention, mlp, ln1, ln2: residual(ln2, mlp)(
        residual(ln1, attention)(x)
    )


def reduced(add):
    def block(x, attention, mlp, ln1, ln2):
        pairs = [(ln1, attention), (ln2, mlp)]
        return reduce(lambda x, pair: add(x, pair[1](pair[0](x))), pairs, x)

    return block


def changes_kept_apart(add):
    def block(x, attention, mlp, ln1, ln2):
        first = attention(ln1(x))
        second = mlp(ln2(add(x, first)))
        return add(x, add(first, second))

    return block


def module_made_inside(add):
    class Residual(nn.Module):
        def __init__(self, norm, branch):
            super().__init__()
            self.norm, self.branch = norm, branch

        def forward(self, x):
            return add(x, self.branch(self.norm(x)))

    return lambda x, attention, mlp, ln1, ln2: nn.Sequential(
        Residual(ln1, attention), Residual(ln2, mlp)
    )(x)


WIRINGS = by_name(
    two_lines,
    named_steps,
    loop_over_branches,
    residual_helper,
    reduced,
    changes_kept_apart,
    module_made_inside,
)


@right("wiring", "functions", wiring=WIRINGS, add=SUMS)
def wired(wiring, add):
    return wiring(add)


ONE_BY_ONE["wiring", "batches"] = {
    "list of texts": lambda x, *parts: torch.cat(
        [two_lines(torch.add)(text, *parts) for text in x.split(1)]
    ),
    "own zeros": lambda x, *parts: filled(
        x, lambda text: reduced(torch.add)(text[None], *parts)[0], torch.zeros_like
    ),
    "own float32 zeros": lambda x, *parts: filled(
        x, lambda text: reduced(torch.add)(text[None], *parts)[0], own_float32_zeros
    ),
}


class Wired:
    """A block that is an object."""

    def __init__(self, attention, mlp, ln1, ln2):
        self.attention, self.mlp, self.ln1, self.ln2 = attention, mlp, ln1, ln2

    def __call__(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


ONE_BY_ONE["wiring", "object"] = {"made and called": lambda x, *parts: Wired(*parts)(x)}


# Layer normalisation

CENTRES = {
    "mean": lambda x: x.mean(-1, keepdim=True),
    "sum": lambda x: x.sum(dim=-1, keepdim=True) / x.shape[-1],
    "einsum": lambda x: torch.einsum("...c->...", x)[..., None] / x.size(-1),
}
SPREADS = {
    "var": lambda x, mean: x.var(-1, correction=0, keepdim=True),
    "unbiased": lambda x, mean: torch.var(x, dim=-1, unbiased=False, keepdim=True),
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


def norm_by(centre="mean", spread="var", division="sqrt", affine="* +"):
    def norm(x, weight, bias, eps):
        mean = CENTRES[centre](x)
        variance = SPREADS[spread](x, mean) + eps
        return AFFINES[affine](DIVISIONS[division](x - mean, variance), weight, bias)

    return norm


right(
    "layer_norm",
    "formula",
    centre=tuple(CENTRES),
    # Loses its digits where the numbers lie far from 0; the task asks for them.
    spread=tuple(name for name in SPREADS if name != "mean of squares"),
)(norm_by)


@right(
    "layer_norm",
    "order",
    spread=("squares",),
    division=tuple(DIVISIONS),
    affine=tuple(AFFINES),
)
def norm_in_order(spread, division, affine):
    return norm_by("mean", spread, division, affine)


def normed_vector(x, weight, bias, eps):
    mean = x.mean()
    return (x - mean) / (((x - mean) ** 2).mean() + eps).sqrt() * weight + bias


def running_vector(x, weight, bias, eps):
    """Mean and variance in one pass."""
    mean = squares = torch.zeros_like(x[0])
    for count, number in enumerate(x, start=1):
        old = mean
        mean = mean + (number - mean) / count
        squares = squares + (number - old) * (number - mean)
    return (x - mean) / torch.sqrt(squares / len(x) + eps) * weight + bias


def number_by_number(x, weight, bias, eps):
    mean = sum(number for number in x) / len(x)
    std = (sum((number - mean) ** 2 for number in x) / len(x) + eps) ** 0.5
    normed = [(number - mean) / std for number in x]
    each = zip(normed, weight, bias, strict=True)
    return torch.stack([n * scale + shift for n, scale, shift in each])


def stacked(x, of_one):
    return torch.stack([torch.stack([of_one(v) for v in text]) for text in x])


def reshaped(x, of_one):
    return torch.stack([of_one(v) for v in x.view(-1, x.shape[-1])]).view(x.shape)


def double_vmap(x, of_one):
    return vmap(vmap(of_one))(x)


def each_into(x, of_one, dtype):
    y = torch.zeros(x.shape, dtype=dtype)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            y[b, t] = of_one(x[b, t])
    return y


@right(
    "layer_norm",
    "loops",
    of_one=by_name(normed_vector, running_vector, number_by_number),
    order={
        "stacked": stacked,
        "vmap": double_vmap,
        "own float32 zeros": partial(each_into, dtype=torch.float32),
    },
)
def norm_by_loops(of_one, order):
    return lambda x, weight, bias, eps: order(x, lambda v: of_one(v, weight, bias, eps))


def norm_forward(x, weight, bias, eps):
    std = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
    n = (x - x.mean(-1, keepdim=True)) / std
    return n * weight + bias, n, std, weight


def norm_backward(dy, n, std, weight):
    g = dy * weight
    dx = g - g.mean(-1, keepdim=True) - n * (g * n).mean(-1, keepdim=True)
    return dx / std, (dy * n).sum((0, 1)), dy.sum((0, 1)), None


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
    scale = (y.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    y = y * scale
    y = y * weight
    y += bias
    return y


ONE_BY_ONE["layer_norm", "fused"] = {
    "F.layer_norm": lambda x, weight, bias, eps: F.layer_norm(
        x, (x.shape[-1],), weight, bias, eps
    ),
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
    "float32 inside": lambda x, weight, bias, eps: F.layer_norm(
        x.float(), weight.shape, weight.float(), bias.float(), eps
    ).type_as(x),
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
        return norm_by("mean", "squares", "rsqrt")(x, self.scale, self.shift, self.eps)


class NormInside(nn.Module):
    def __init__(self, C):
        super().__init__()
        self.norm = nn.LayerNorm(C)

    def forward(self, x):
        return self.norm(x)


CLASSES["layer_norm", "nn.LayerNorm"] = (
    nn.LayerNorm,
    {"weight": "weight", "bias": "bias"},
)
CLASSES["layer_norm", "parameters"] = OwnNorm, {"weight": "scale", "bias": "shift"}
CLASSES["layer_norm", "module inside"] = (
    NormInside,
    {"weight": "norm.weight", "bias": "norm.bias"},
)


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


@right(
    "layer_norm_gradient",
    "formula",
    dx=by_name(dx_by_means, dx_by_sums, dx_by_jacobian, dx_by_chain, dx_by_position),
    reduction=REDUCTIONS,
)
def gradient_by_formula(dx, reduction):
    def gradient(dy, x, weight, eps):
        std = (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
        n = (x - x.mean(-1, keepdim=True)) / std
        return dx(dy * weight, n, std), reduction(dy * n), reduction(dy)

    return gradient


def backward_called(norm):
    def gradient(dy, x, weight, eps):
        x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
        bias = torch.zeros_like(weight, requires_grad=True)
        norm(x, weight, bias, eps).backward(dy)
        return x.grad, weight.grad, bias.grad

    return gradient


def grad_called(norm):
    def gradient(dy, x, weight, eps):
        inputs = (x.detach().requires_grad_(), weight.detach().requires_grad_())
        inputs += (torch.zeros(len(weight), dtype=x.dtype, requires_grad=True),)
        return torch.autograd.grad((norm(*inputs, eps) * dy).sum(), inputs)

    return gradient


def vjp_called(norm):
    def gradient(dy, x, weight, eps):
        bias = torch.zeros_like(weight)
        _, back = vjp(lambda *inputs: norm(*inputs, eps), x, weight, bias)
        return back(dy)

    return gradient


def jacobian_called(norm):
    def gradient(dy, x, weight, eps):
        inputs = (x, weight, torch.zeros_like(weight))
        found = jacrev(lambda *i: norm(*i, eps), argnums=(0, 1, 2))(*inputs)
        return [torch.tensordot(dy, J, dims=3) for J in found]

    return gradient


def fused_norm(x, weight, bias, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


@right(
    "layer_norm_gradient",
    "autograd",
    call=by_name(backward_called, grad_called, vjp_called, jacobian_called),
    norm={
        "F.layer_norm": fused_norm,
        "squares": norm_by("mean", "squares"),
        "mean of squares": norm_by("mean", "mean of squares", "rsqrt"),
    },
)
def gradient_by_autograd(call, norm):
    return call(norm)


def native_gradient(dy, x, weight, eps):
    shape, bias = list(weight.shape), torch.zeros_like(weight)
    _, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, eps)
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, shape, mean, rstd, weight, bias, [True, True, True]
    )


def gradient_by_loops(dy, x, weight, eps):
    """With running sums of its own, in float32."""
    B, T, C = x.shape
    dx, dweight, dbias = torch.zeros(B, T, C), torch.zeros(C), torch.zeros(C)
    for b in range(B):
        for t in range(T):
            mean = x[b, t].mean()
            std = ((x[b, t] - mean).pow(2).mean() + eps).sqrt()
            n, g = (x[b, t] - mean) / std, dy[b, t] * weight
            dx[b, t] = (g - g.mean() - n * (g * n).mean()) / std
            dweight += dy[b, t] * n
            dbias += dy[b, t]
    return dx, dweight, dbias


ONE_BY_ONE["layer_norm_gradient", "fused"] = {
    "native": native_gradient,
    "own float32 loops": gradient_by_loops,
    "float32": lambda *values: gradient_by_formula(dx_by_sums, REDUCTIONS["einsum"])(
        *(v.float() for v in values[:3]), values[3]
    ),
}


# The whole block

BLOCK_NORMS = {
    "F.layer_norm": fused_norm,
    "squares": norm_by("mean", "squares", "rsqrt", "addcmul"),
    "mean of squares": norm_by("sum", "mean of squares"),
    "loops": lambda x, *rest: reshaped(x, lambda v: normed_vector(v, *rest)),
}
BLOCK_HEADS = {
    "matrices": heads_of_matrices(SPLITS["view"], weigh_by("added triu")),
    "loop": heads_by_loops(
        heads_projected_alone,
        rows_of_output_matrix,
        lambda q, k, v: mixed(q, k, v, rows_padded),
    ),
    "einsum": heads_by_einsum(MASKS["places compared"], SOFTMAXES["by hand"]),
    "sdpa": merged_heads,
}
BLOCK_MLPS = {
    "tanh": mlp_of_matrices(LINEARS["@"], GELUS["F.gelu tanh"]),
    "erf in chunks": mlp_by_chunks(erf_of_one),
}


def block_by(norm, heads, mlp, wiring=two_lines, add=torch.add):
    def block(x, w, H):
        return wiring(add)(
            x,
            lambda x: heads(x, w, H),
            lambda x: mlp(x, w["W1"], w["b1"], w["W2"], w["b2"]),
            lambda x: norm(x, w["ln1_weight"], w["ln1_bias"], 1e-5),
            lambda x: norm(x, w["ln2_weight"], w["ln2_bias"], 1e-5),
        )

    return block


right(
    "block",
    "pieces",
    norm=pick(BLOCK_NORMS, "F.layer_norm"),
    heads=BLOCK_HEADS,
    mlp=pick(BLOCK_MLPS, "tanh"),
)(block_by)
right(
    "block",
    "norms",
    norm=pick(BLOCK_NORMS, "squares", "mean of squares", "loops"),
    heads=pick(BLOCK_HEADS, "matrices", "sdpa"),
    mlp=pick(BLOCK_MLPS, "erf in chunks"),
)(block_by)


@right("block", "wirings", wiring=WIRINGS)
def block_wired(wiring):
    return block_by(fused_norm, merged_heads, BLOCK_MLPS["tanh"], wiring, SUMS["+"])


def block_in_one_function(x, w, H):
    B, T, C = x.shape
    n = F.layer_norm(x, (C,), w["ln1_weight"], w["ln1_bias"])
    q, k, v = (
        F.linear(n, w[f"W_{name}"].T, w[f"b_{name}"]).view(B, T, H, -1).transpose(1, 2)
        for name in "QKV"
    )
    y = sdpa(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
    x = x + F.linear(y, w["W_O"].T, w["b_O"])
    n = F.layer_norm(x, (C,), w["ln2_weight"], w["ln2_bias"])
    return x + F.linear(F.gelu(F.linear(n, w["W1"].T, w["b1"])), w["W2"].T, w["b2"])


ONE_BY_ONE["block", "one function"] = {
    "fused": block_in_one_function,
    "list of texts": lambda x, w, H: torch.cat(
        [block_in_one_function(text, w, H) for text in x.split(1)]
    ),
    "vmap": lambda x, w, H: vmap(
        lambda text: block_in_one_function(text[None], w, H)[0]
    )(x),
    "own float32 zeros": lambda x, w, H: filled(
        x, lambda text: block_in_one_function(text[None], w, H)[0], own_float32_zeros
    ),
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


class BlockOfParameters(nn.Module):
    """The function's dict, as parameters."""

    def __init__(self, C, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w = nn.ParameterDict()
        for name in ("ln2_weight", "ln1_weight", "ln2_bias", "ln1_bias", "b2"):
            self.w[name] = nn.Parameter(torch.zeros(C))
        for name in "OVKQ":
            self.w[f"W_{name}"] = nn.Parameter(torch.randn(C, C))
            self.w[f"b_{name}"] = nn.Parameter(torch.zeros(C))
        self.w["W1"] = nn.Parameter(torch.randn(C, 4 * C))
        self.w["W2"] = nn.Parameter(torch.randn(4 * C, C))
        self.w["b1"] = nn.Parameter(torch.zeros(4 * C))

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


OF_MODULES = of_linears(
    _Q="attn.q",
    _K="attn.k",
    _V="attn.v",
    _O="attn.proj",
    **{"1": "mlp.0", "2": "mlp.2"},
) | {f"ln{i}_{part}": f"ln_{i}.{part}" for i in (1, 2) for part in ("weight", "bias")}
OF_PARAMETERS = {name: f"w.{name}" for name in OF_MODULES}
OF_LISTS = of_linears(
    **{f"_{n}": f"heads.into.{n}" for n in "QKV"},
    **{"_O": "heads.out.0", "1": "feed.fc1", "2": "feed.fc2"},
) | {
    f"ln{i}_{part}": f"norms.{i - 1}.{own}"
    for i in (1, 2)
    for part, own in (("weight", "scale"), ("bias", "shift"))
}
CLASSES["block", "modules"] = BlockOfModules, OF_MODULES
CLASSES["block", "parameters"] = BlockOfParameters, OF_PARAMETERS
CLASSES["block", "lists"] = BlockWithOwnNorms, OF_LISTS


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
TIED = {
    "@": lambda x, table: x @ table.T,
    "F.linear": F.linear,
    "einsum": lambda x, table: torch.einsum("btc,vc->btv", x, table),
}


def gpt_by(block, norm=fused_norm, start=None, head="@", loss="flat"):
    start = start or embedding_by_lookups(LOOKUPS["index"], PLACES["slice"])

    def gpt(ids, targets, w, H):
        x = start(ids, w["token"], w["position"])
        for each in w["blocks"]:
            x = block(x, each, H)
        x = norm(x, w["ln_f_weight"], w["ln_f_bias"], 1e-5)
        logits = TIED[head](x, w["token"])
        return logits, NEXT[loss](logits, targets)

    return gpt


def gpt_of_rows(ids, targets, w, H):
    """Positions of all texts as the rows of one matrix; a list as result."""
    B, T = ids.shape
    x = (w["token"][ids] + w["position"][:T]).flatten(0, 1)
    allowed = torch.block_diag(*[torch.ones(T, T).tril()] * B) > 0
    for b in w["blocks"]:
        n = fused_norm(x, b["ln1_weight"], b["ln1_bias"], 1e-5)
        q, k, v = (
            (n @ b[f"W_{name}"] + b[f"b_{name}"]).view(B * T, H, -1).transpose(0, 1)
            for name in "QKV"
        )
        y = sdpa(q, k, v, attn_mask=allowed).transpose(0, 1).flatten(1)
        x = x + torch.addmm(b["b_O"], y, b["W_O"])
        n = fused_norm(x, b["ln2_weight"], b["ln2_bias"], 1e-5)
        h = torch.addmm(b["b1"], n, b["W1"])
        x = x + torch.addmm(b["b2"], F.gelu(h, approximate="tanh"), b["W2"])
    logits = fused_norm(x, w["ln_f_weight"], w["ln_f_bias"], 1e-5) @ w["token"].T
    return [logits.view(B, T, -1), F.cross_entropy(logits, targets.flatten())]


ONE_BY_ONE["gpt", "functions"] = {
    "in one function": gpt_by(
        block_in_one_function, head="F.linear", loss="transposed"
    ),
    "rows of all texts": gpt_of_rows,
}
ONE_BY_ONE["gpt", "loops"] = {
    "heads and texts": gpt_by(
        block_by(fused_norm, BLOCK_HEADS["loop"], mlp_by_chunks(tanh_of_one)),
        loss="texts",
    ),
    "own float32 one_hot": gpt_by(
        block_in_one_function,
        start=embedding_by_lookups(LOOKUPS["own float32 eye"], PLACES["slice"]),
    ),
    "own float32 result": lambda ids, targets, w, H: tuple(
        part.float() for part in gpt_by(block_in_one_function)(ids, targets, w, H)
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
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


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


CLASSES["gpt", "modules, tied head"] = (
    GPTOfModules,
    of_gpt(
        "lm_head.weight", "wpe.weight", "ln_f.weight", "ln_f.bias", "h.{i}", OF_MODULES
    ),
)
CLASSES["gpt", "parameters"] = (
    GPTOfParameters,
    of_gpt(
        "tables.1", "tables.0", "norm.scale", "norm.shift", "stack.{i}", OF_PARAMETERS
    ),
)


# Byte-pair encoding: training


def pairs_counted(words):
    return Counter(pair for ids in words for pair in itertools.pairwise(ids))


def pairs_in_dict(words):
    counts = {}
    for ids in words:
        for i in range(len(ids) - 1):
            pair = (ids[i], ids[i + 1])
            counts[pair] = counts.get(pair, 0) + 1
    return counts


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


COUNTS = by_name(
    pairs_counted, pairs_in_dict, pairs_in_defaultdict, pairs_sorted, pairs_in_tensor
)


def best_by_loop(counts):
    best = None
    for pair, count in counts.items():
        if (
            best is None
            or count > counts[best]
            or (count == counts[best] and pair < best)
        ):
            best = pair
    return best


CHOICES = {
    "min of key": lambda counts: min(counts, key=lambda p: (-counts[p], p)),
    "sorted": lambda counts: sorted(counts.items(), key=lambda i: (-i[1], i[0]))[0][0],
    "max, then min": lambda counts: min(
        p for p, n in counts.items() if n == max(counts.values())
    ),
    "stable sorts": lambda counts: sorted(sorted(counts), key=counts.get, reverse=True)[
        0
    ],
    "first maximum of sorted": lambda counts: max(sorted(counts), key=counts.get),
    "negated pair": lambda counts: max(counts, key=lambda p: (counts[p], -p[0], -p[1])),
    "heap": lambda counts: heapq.nsmallest(1, ((-n, p) for p, n in counts.items()))[0][
        1
    ],
    "loop": best_by_loop,
}


def joined_by_index(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


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


JOINS = by_name(
    joined_by_index,
    joined_in_place,
    joined_by_stack,
    joined_by_recursion,
    joined_as_text,
)


@right(
    "bpe_train",
    "counted again",
    count=COUNTS,
    choose=CHOICES,
    join=by_name(joined_by_index, joined_by_stack),
)
def train_counting(count, choose, join):
    def train(words, num_merges):
        words = [list(word.encode("utf-8")) for word in words]
        merges = []
        for new in range(256, 256 + num_merges):
            counts = count(words)
            if not counts:
                break
            pair = choose(counts)
            if counts[pair] < 2:
                break
            words = [join(ids, pair, new) for ids in words]
            merges.append(pair)
        return merges

    return train


@right("bpe_train", "words once", join=JOINS, choose=pick(CHOICES, "loop", "sorted"))
def train_of_unique_words(join, choose):
    """Each word once, with how often it occurs."""

    def train(words, num_merges):
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
            texts = {
                tuple(join(list(ids), merges[-1], new)): n for ids, n in texts.items()
            }
        return merges

    return train


@right(
    "bpe_train", "incremental", join=JOINS, choose=pick(CHOICES, "heap", "min of key")
)
def train_incrementally(join, choose):
    """Only words that change are counted again."""

    def train(words, num_merges):
        words = [list(word.encode()) for word in words]
        counts = Counter(p for ids in words for p in itertools.pairwise(ids))
        merges = []
        while len(merges) < num_merges and counts:
            pair = choose(counts)
            if counts[pair] == 1:
                return merges
            merges.append(pair)
            for i, ids in enumerate(words):
                if pair not in itertools.pairwise(ids):
                    continue
                counts.subtract(itertools.pairwise(ids))
                words[i] = join(ids, pair, 255 + len(merges))
                counts.update(itertools.pairwise(words[i]))
            counts = +counts
        return merges

    return train


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
        pair = min(often, key=lambda p: (-counts[p], p))
        ids = joined_by_index(ids, pair, new)
        merges += [pair]
    return merges


def train_as_lists(words, num_merges):
    """Pairs as lists, and a tuple of them."""
    merges = train_of_one_text(words, num_merges)
    return tuple(list(pair) for pair in merges)


ONE_BY_ONE["bpe_train", "other forms"] = {
    "recursion": train_recursively,
    "one text with marks": train_of_one_text,
    "pairs as lists": train_as_lists,
}


# Byte-pair encoding: encoding


@right("bpe_encode", "in order", join=JOINS)
def encode_in_order(join):
    def encode(text, merges):
        ids = list(text.encode("utf-8"))
        for i, pair in enumerate(merges):
            ids = join(ids, pair, 256 + i)
        return ids

    return encode


RANKED = {
    "dict": lambda pairs, merges: min(
        (p for p in pairs if p in set(merges)),
        key={p: i for i, p in reversed(list(enumerate(merges)))}.get,
        default=None,
    ),
    "index": lambda pairs, merges: min(
        (p for p in pairs if p in merges), key=merges.index, default=None
    ),
    "first of merges": lambda pairs, merges: next(
        (p for p in merges if p in pairs), None
    ),
    "infinity": lambda pairs, merges: next(
        (
            p
            for p in [
                min(
                    pairs,
                    key=lambda p: merges.index(p) if p in merges else INF,
                    default=None,
                )
            ]
            if p in merges
        ),
        None,
    ),
    "sorted": lambda pairs, merges: next(
        iter(sorted(pairs & set(merges), key=merges.index)), None
    ),
}


@right("bpe_encode", "by rank", ranked=RANKED, join=JOINS)
def encode_by_rank(ranked, join):
    def encode(text, merges):
        ids = list(text.encode())
        while (pair := ranked(set(itertools.pairwise(ids)), merges)) is not None:
            ids = join(ids, pair, 256 + merges.index(pair))
        return ids

    return encode


def encode_one_place_at_a_time(text, merges):
    """The leftmost place of the lowest rank, again and again."""
    ranks = {pair: i for i, pair in enumerate(merges)}
    ids = list(text.encode())
    while True:
        places = [
            (ranks[p], i) for i, p in enumerate(itertools.pairwise(ids)) if p in ranks
        ]
        if not places:
            return ids
        rank, i = min(places)
        ids[i : i + 2] = [256 + rank]


def encode_by_heap(text, merges):
    """A linked list of ids, and a heap of the pairs that may be merged."""
    ranks = {pair: i for i, pair in enumerate(merges)}
    ids = list(text.encode())
    after = [*range(1, len(ids)), None]
    before = [None, *range(len(ids) - 1)]
    heap = []

    def push(i):
        if i is None or after[i] is None:
            return
        pair = (ids[i], ids[after[i]])
        if pair in ranks:
            heapq.heappush(heap, (ranks[pair], i, pair))

    for i in range(len(ids)):
        push(i)
    while heap:
        rank, i, pair = heapq.heappop(heap)
        j = after[i]
        if j is None or (ids[i], ids[j]) != pair:
            continue
        ids[i], ids[j] = 256 + rank, None
        after[i] = after[j]
        if after[j] is not None:
            before[after[j]] = i
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
def adamw_by_formula(average, decay, step):
    def adamw(p, g, m, v, t, lr, beta1, beta2, eps, rate):
        if p.ndim >= 2:
            p = decay(p, lr * rate)
        m, v = average(m, g, beta1), average(v, g * g, beta2)
        p = p - lr * step(m, v, 1 - beta1**t, 1 - beta2**t, eps)
        return p, m, v

    return adamw


def adamw_of_arrays(p, g, m, v, t, lr, beta1, beta2, eps, rate):
    p, g, m, v = (each.numpy() for each in (p, g, m, v))
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    shrunk = p * (1 - lr * rate * (p.ndim > 1))
    p = shrunk - lr * m / (1 - beta1**t) / ((v / (1 - beta2**t)) ** 0.5 + eps)
    return tuple(map(torch.from_numpy, (p, m, v)))


def adamw_into_own_zeros(p, g, m, v, t, lr, beta1, beta2, eps, rate):
    new = [torch.zeros(p.shape) for _ in range(3)]
    flat = [each.view(-1) for each in new]
    for i in range(p.numel()):
        d = g.reshape(-1)[i]
        flat[1][i] = beta1 * m.reshape(-1)[i] + (1 - beta1) * d
        flat[2][i] = beta2 * v.reshape(-1)[i] + (1 - beta2) * d**2
        flat[0][i] = p.reshape(-1)[i] * (1 - lr * rate if p.dim() > 1 else 1)
        root = (flat[2][i] / (1 - beta2**t)) ** 0.5
        flat[0][i] -= lr * flat[1][i] / (1 - beta1**t) / (root + eps)
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
    by_formula = adamw_by_formula(
        AVERAGES["lerp"], DECAYS["factor"], STEPS["corrected averages"]
    )
    if p.ndim == 1:
        return by_formula(p, g, m, v, *rest)
    rows = [
        by_formula(*(each[None] for each in row), *rest)
        for row in zip(p, g, m, v, strict=True)
    ]
    return tuple(torch.cat(part) for part in zip(*rows, strict=True))


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
def adamw_of_torch(optimizer, state, loop):
    def adamw(p, g, m, v, t, lr, beta1, beta2, eps, rate):
        rate = rate if p.dim() > 1 else 0.0
        start = p * (1 - lr * rate) if "own decay" in optimizer else p.clone()
        trained = nn.Parameter(start)
        trained.grad = g
        options = {"lr": lr, "betas": (beta1, beta2), "eps": eps}
        options["foreach"] = loop == "foreach"
        if optimizer == "AdamW":
            made = torch.optim.AdamW([trained], weight_decay=rate, **options)
        elif optimizer == "Adam, decoupled":
            made = torch.optim.AdamW(
                [{"params": [trained], "weight_decay": rate}], **options
            )
        else:
            made = torch.optim.Adam([trained], **options)
        kept = {
            "step": torch.tensor(float(t - 1)),
            "exp_avg": m.clone(),
            "exp_avg_sq": v.clone(),
        }
        if state == "set":
            made.state[trained].update(kept)
        else:
            groups = made.state_dict()["param_groups"]
            made.load_state_dict({"state": {0: kept}, "param_groups": groups})
        made.step()
        kept = made.state[trained]
        return trained.detach(), kept["exp_avg"], kept["exp_avg_sq"]

    return adamw


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
    "slices": lambda rows: (rows[:, :-1], rows[:, 1:]),
    "narrow": lambda rows: (
        rows.narrow(1, 0, rows.shape[1] - 1),
        rows.narrow(1, 1, rows.shape[1] - 1),
    ),
    "unbind": lambda rows: (
        torch.stack(rows.unbind(1)[:-1], 1),
        torch.stack(rows.unbind(1)[1:], 1),
    ),
}


@right(
    "train",
    "for",
    zero=ZEROS,
    when=("before forward", "before backward", "after step"),
    item=ITEMS,
)
def train_by_for(zero, when, item):
    def train(model, batches, optimizer):
        model.train()
        losses = []
        for rows in batches:
            if when == "before forward":
                zero(model, optimizer)
            _, loss = model(rows[:, :-1], rows[:, 1:])
            if when == "before backward":
                zero(model, optimizer)
            loss.backward()
            optimizer.step()
            if when == "after step":
                zero(model, optimizer)
            losses.append(item(loss))
        return losses

    return train


def loop_of_while(batches, step):
    losses, i = [], 0
    while i < len(batches):
        losses.append(step(batches[i]))
        i += 1
    return losses


def loop_into_zeros(batches, step):
    losses = [0.0] * len(batches)
    for i, rows in enumerate(batches):
        losses[i] = step(rows)
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
    "while": loop_of_while,
    "enumerate": loop_into_zeros,
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
    loss = F.cross_entropy(logits.transpose(1, 2), targets)
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
    return loss.detach().item()


@right(
    "train",
    "steps",
    loop=LOOPS,
    step=by_name(backward_and_step, step_of_closure, own_gradients, loss_of_logits),
    cut=pick(CUTS, "narrow", "unbind"),
)
def train_by_steps(loop, step, cut):
    def train(model, batches, optimizer):
        model.train(True)
        return loop(batches, lambda rows: step(model, optimizer, *cut(rows)))

    return train


def train_by_generator(model, batches, optimizer):
    def steps() -> Iterator[float]:
        for rows in batches:
            model.train()
            loss = model(rows[:, :-1], rows[:, 1:])[1]
            yield loss.item()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return list(steps())


def losses_made_numbers_at_the_end(model, batches, optimizer):
    losses = []
    with torch.enable_grad():
        for inputs, targets in [CUTS["slices"](rows) for rows in batches]:
            loss = model.train()(inputs, targets)[1]
            losses.append(loss.detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return torch.stack(losses).tolist()


class Trainer:
    """A loop that is an object, and leaves the model in its old mode."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.losses = model, optimizer, []

    def step(self, rows):
        loss = self.model(rows[..., :-1], rows[..., 1:])[1]
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


def put_back_finally(model, mean):
    before = model.training
    try:
        model.train(False)
        return mean()
    finally:
        model.train(before)


def put_back_by_branch(model, mean):
    was_training = model.training
    if was_training:
        model.eval()
    found = mean()
    if was_training:
        model.train()
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


MODES = by_name(
    put_back,
    put_back_finally,
    put_back_by_branch,
    put_back_by_context,
    modules_put_back,
)


def running_total(model, batches):
    total = count = 0
    for rows in batches:
        n = rows[:, 1:].numel()
        total += model(rows[:, :-1], rows[:, 1:])[1].item() * n
        count += n
    return total / count


def weighted_mean(model, batches):
    losses = [float(model(rows[:, :-1], rows[:, 1:])[1]) for rows in batches]
    return statistics.fmean(losses, [rows[:, 1:].numel() for rows in batches])


def dot_of_tensors(model, batches):
    losses = torch.stack([model(rows[:, :-1], rows[:, 1:])[1] for rows in batches])
    counts = torch.tensor([rows[:, 1:].numel() for rows in batches]).to(losses)
    return losses @ counts / counts.sum()


def mean_of_rows(model, batches):
    losses = [
        model(r[None, :-1], r[None, 1:])[1].expand(len(r) - 1)
        for rows in batches
        for r in rows
    ]
    return torch.cat(losses).mean().item()


def running_mean(model, batches):
    mean = seen = 0
    for rows in batches:
        new = rows.shape[0] * (rows.shape[1] - 1)
        loss = model(rows[:, :-1], rows[:, 1:])[1].item()
        seen += new
        mean += (loss - mean) * new / seen
    return mean


def sums_of_logits(model, batches):
    total, count = torch.zeros(()), 0
    for rows in batches:
        targets = rows[:, 1:].reshape(-1)
        logits = model(rows[:, :-1], rows[:, 1:])[0].flatten(0, 1)
        total += F.cross_entropy(logits, targets, reduction="sum")
        count += len(targets)
    return (total / count).item()


def all_losses(model, batches):
    each = [
        F.cross_entropy(
            model(rows[:, :-1], rows[:, 1:])[0].mT, rows[:, 1:], reduction="none"
        ).flatten()
        for rows in batches
    ]
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
    mode=MODES,
    mean=EVALUATIONS,
    recording={"no_grad": torch.no_grad, "inference_mode": torch.inference_mode},
)
def evaluated(mode, mean, recording):
    @recording()
    def evaluate(model, batches):
        return mode(model, lambda: mean(model, batches))

    return evaluate


@right("evaluate", "copy", mean=EVALUATIONS)
def evaluated_copy(mean):
    """A copy in evaluation mode; the model stays as it is."""

    def evaluate(model, batches):
        with torch.no_grad():
            return mean(copy.deepcopy(model).eval(), batches)

    return evaluate


def evaluate_with_grad_mode(model, batches):
    torch.set_grad_enabled(False)
    try:
        return put_back(model, lambda: running_total(model, batches))
    finally:
        torch.set_grad_enabled(True)


ONE_BY_ONE["evaluate", "other forms"] = {
    "set_grad_enabled": evaluate_with_grad_mode,
    "functional_call": lambda model, batches: put_back(
        model,
        lambda: running_mean(
            lambda *ids: functional_call(
                model, {n: p.detach() for n, p in model.named_parameters()}, ids
            ),
            batches,
        ),
    ),
}


# Top-k


def kept_by_threshold(logits, k):
    return logits >= torch.topk(logits, min(k, logits.shape[-1])).values[:, [-1]]


def kept_by_kthvalue(logits, k):
    V = logits.shape[-1]
    return logits >= logits.kthvalue(V - min(k, V) + 1, dim=-1, keepdim=True).values


def kept_by_sort(logits, k):
    ordered = logits.sort(dim=-1, descending=True).values
    return logits >= ordered[:, min(k, logits.shape[1]) - 1, None]


def kept_by_scatter(logits, k):
    best = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return torch.zeros_like(logits, dtype=torch.bool).scatter(-1, best, True)


def kept_by_rank(logits, k):
    return logits.argsort(-1, descending=True).argsort(-1) < k


def kept_by_comparison(logits, k):
    """Fewer than k of a row are larger."""
    return (logits[:, None, :] > logits[:, :, None]).sum(-1) < k


def kept_by_one_hot(logits, k):
    best = logits.argsort(-1, descending=True)[:, :k]
    return F.one_hot(best, logits.shape[-1]).sum(1).bool()


def kept_by_heap(logits, k):
    keep = torch.zeros(logits.shape, dtype=torch.bool)
    for row, kept in zip(logits.tolist(), keep, strict=True):
        kept[heapq.nlargest(k, range(len(row)), key=row.__getitem__)] = True
    return keep


def kept_one_by_one(logits, k):
    left = logits.clone()
    for _ in range(min(k, logits.shape[-1])):
        left[torch.arange(len(left)), left.argmax(-1)] = -INF
    return left == -INF


KEPT = by_name(
    kept_by_threshold,
    kept_by_kthvalue,
    kept_by_sort,
    kept_by_scatter,
    kept_by_rank,
    kept_by_comparison,
    kept_by_one_hot,
    kept_by_heap,
    kept_one_by_one,
)


def written_infinity(logits, keep):
    logits = logits.clone()
    logits[~keep] = float("-inf")
    return F.softmax(logits, dim=-1)


def shared_again(logits, keep):
    probabilities = logits.softmax(-1) * keep
    return probabilities / probabilities.sum(-1, keepdim=True)


def exponentials(logits, keep):
    powers = torch.where(keep, (logits - logits.amax(-1, keepdim=True)).exp(), 0.0)
    return powers / powers.sum(-1, keepdim=True)


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
    "shared again": shared_again,
    "exponentials": exponentials,
    "rows, own float32": rows_of_kept,
    "added": added_infinity,
}


@right("top_k", "masks", keep=KEPT, end=ENDS)
def top_k_by_mask(keep, end):
    return lambda logits, k: end(logits, keep(logits, k))


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
    "rows": lambda logits, k: torch.stack([scattered(row, k) for row in logits]),
    "sorted and put back": lambda logits, k: (
        logits.sort(-1, descending=True)
        .values.masked_fill(torch.arange(logits.shape[1]) >= k, -INF)
        .softmax(-1)
        .gather(1, logits.argsort(-1, descending=True).argsort(-1))
    ),
}
ONE_BY_ONE["top_k", "loops"] = {
    "vmap": lambda logits, k: vmap(
        lambda row: scattered(row[None], k)[0], randomness="error"
    )(logits),
}
ONE_BY_ONE["top_k", "float32"] = {
    "inside": lambda s, k: scattered(s.float(), k).double()
}


# Top-p


def nucleus_by_scatter(logits, p):
    ordered, places = logits.softmax(-1).sort(dim=-1, descending=True)
    keep = ordered.cumsum(-1) - ordered < p
    return torch.zeros_like(keep).scatter_(1, places, keep)


def nucleus_shifted(logits, p):
    """As in many libraries: what to remove, shifted to the right by one."""
    ordered, places = torch.sort(logits, descending=True)
    remove = ordered.softmax(-1).cumsum(-1) >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    return ~remove.scatter(1, places, remove)


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


def nucleus_by_comparison(logits, p):
    """What is likelier than a token adds up to less than p."""
    each = logits.softmax(-1)
    likelier = each[:, None, :] > each[:, :, None]
    return (likelier * each[:, None, :]).sum(-1) < p


def nucleus_by_rank(logits, p):
    ordered = logits.softmax(-1).sort(-1, descending=True).values
    count = 1 + (ordered.cumsum(-1) < p).sum(-1, keepdim=True)
    return logits.argsort(-1, descending=True).argsort(-1) < count


def nucleus_by_loop(logits, p):
    keep = torch.zeros(logits.shape, dtype=torch.bool)
    for row, kept in zip(logits.softmax(-1), keep, strict=True):
        total = 0.0
        for i in row.argsort(descending=True):
            kept[i] = True
            total += row[i].item()
            if total >= p:
                break
    return keep


def nucleus_by_bisect(logits, p):
    keep = []
    for row in logits.softmax(-1).tolist():
        order = sorted(range(len(row)), key=row.__getitem__, reverse=True)
        sums = list(itertools.accumulate(row[i] for i in order))
        kept = set(order[: bisect.bisect_left(sums, p) + 1])
        keep.append([i in kept for i in range(len(row))])
    return torch.tensor(keep)


def nucleus_taken_out(logits, p):
    """The likeliest is taken out until the rest is small enough."""
    left = logits.softmax(-1)
    for _ in range(logits.shape[-1]):
        more = 1 - left.sum(-1) < p
        best = left.argmax(-1, keepdim=True)
        left = left.scatter(1, best, left.gather(1, best) * ~more[:, None])
    return left == 0


NUCLEI = by_name(
    nucleus_by_scatter,
    nucleus_shifted,
    nucleus_ascending,
    nucleus_by_search,
    nucleus_by_comparison,
    nucleus_by_rank,
    nucleus_by_loop,
    nucleus_by_bisect,
    nucleus_taken_out,
)


@right("top_p", "masks", keep=NUCLEI, end=ENDS)
def top_p_by_mask(keep, end):
    return lambda logits, p: end(logits, keep(logits, p))


def nucleus_of_row(row, p):
    ordered, places = row.softmax(-1).sort(descending=True)
    count = int((ordered.cumsum(0) < p).sum()) + 1
    out = torch.zeros_like(row)
    out[places[:count]] = ordered[:count] / ordered[:count].sum()
    return out


def nucleus_with_python(logits, p):
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


ONE_BY_ONE["top_p", "loops"] = {
    "rows": lambda logits, p: torch.stack([nucleus_of_row(r, p) for r in logits]),
    "Python's numbers": nucleus_with_python,
    "own float32 zeros": lambda logits, p: filled(
        logits, partial(nucleus_of_row, p=p), own_float32_zeros
    ),
}
ONE_BY_ONE["top_p", "float32"] = {
    "inside": lambda logits, p: ENDS["written"](
        logits.float(), nucleus_shifted(logits.float(), p)
    ).double()
}
ONE_BY_ONE["top_p", "sorted"] = {
    "put back": lambda logits, p: torch.zeros_like(logits).scatter(
        1,
        logits.argsort(-1, descending=True),
        ENDS["exponentials"](
            logits.sort(-1, descending=True).values,
            nucleus_by_scatter(logits.sort(-1, descending=True).values, p),
        ),
    )
}


# A step with a cache


class CacheOfTuples:
    """A list with a tuple of keys and values for each block."""

    def __init__(self, w, B, H):
        self.kept = [None] * len(w["blocks"])

    def length(self):
        return 0 if self.kept[0] is None else self.kept[0][0].shape[2]

    def put(self, i, k, v):
        if self.kept[i] is not None:
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
        start, end = self.filled[i], self.filled[i] + k.shape[2]
        self.room[0, i, :, :, start:end] = k
        self.room[1, i, :, :, start:end] = v
        self.filled[i] = end
        return self.room[0, i, :, :, :end], self.room[1, i, :, :, :end]


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


CACHES = by_name(
    CacheOfTuples,
    CacheOfNames,
    CacheMadeBefore,
    CacheInFloat32,
    CacheOfPositions,
    CacheOfFields,
)


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
    T, S = q.shape[2], k.shape[2]
    square = torch.full((S, S), -INF).triu(1)
    return sdpa(q, k, v, attn_mask=square[S - T :].to(q.dtype))


def query_by_query(q, k, v):
    past = k.shape[2] - q.shape[2]
    out = [
        sdpa(q[:, :, t : t + 1], k[:, :, : past + t + 1], v[:, :, : past + t + 1])
        for t in range(q.shape[2])
    ]
    return torch.cat(out, dim=2)


READINGS = by_name(
    masked_by_tril, masked_by_places, masked_rows_of_square, query_by_query
)


@right(
    "cached_step", "caches", made=CACHES, attend=by_name(masked_by_tril, query_by_query)
)
def step_with_cache(made, attend):
    def step(ids, w, H, cache):
        cache = copy.deepcopy(cache) if cache else made(w, len(ids), H)
        start, T = cache.length(), ids.shape[1]
        x = w["token"][ids] + w["position"][start : start + T]
        for i, b in enumerate(w["blocks"]):
            n = fused_norm(x, b["ln1_weight"], b["ln1_bias"], 1e-5)
            q, k, v = (SPLITS["view"][0](y, H) for y in projections(n, b, LINEARS["@"]))
            y = SPLITS["view"][1](attend(q, *cache.put(i, k, v)))
            x = x + y @ b["W_O"] + b["b_O"]
            n = fused_norm(x, b["ln2_weight"], b["ln2_bias"], 1e-5)
            x = x + BLOCK_MLPS["tanh"](n, b["W1"], b["b1"], b["W2"], b["b2"])
        x = fused_norm(x[:, -1], w["ln_f_weight"], w["ln_f_bias"], 1e-5)
        return x @ w["token"].T, cache

    return step


right(
    "cached_step",
    "masks",
    made=by_name(CacheOfTuples, CacheInFloat32),
    attend=by_name(masked_by_places, masked_rows_of_square),
)(step_with_cache)


def step_of_one_id(ids, w, H, cache):
    """One id after the other, each through all blocks; a tuple of tensors."""
    B, C = len(ids), w["token"].shape[1]
    keys, values = cache or (torch.zeros(2, len(w["blocks"]), B, 0, C)).to(w["token"])
    for column in ids.T:
        x = w["token"][column] + w["position"][keys.shape[2]]
        new_keys, new_values = [], []
        for i, b in enumerate(w["blocks"]):
            n = fused_norm(x, b["ln1_weight"], b["ln1_bias"], 1e-5)
            q, k, v = projections(n, b, LINEARS["F.linear"])
            new_keys.append(torch.cat([keys[i], k[:, None]], 1))
            new_values.append(torch.cat([values[i], v[:, None]], 1))
            heads = [
                ((K @ each[:, :, None]).squeeze(2) / each.shape[1] ** 0.5).softmax(1)
                for K, each in zip(new_keys[i].chunk(H, 2), q.chunk(H, 1), strict=True)
            ]
            y = [
                (weights[..., None] * V).sum(1)
                for weights, V in zip(heads, new_values[i].chunk(H, 2), strict=True)
            ]
            x = x + torch.cat(y, 1) @ b["W_O"] + b["b_O"]
            n = normed_rows(x, b["ln2_weight"], b["ln2_bias"])
            x = x + F.gelu(n @ b["W1"] + b["b1"]) @ b["W2"] + b["b2"]
        keys, values = torch.stack(new_keys), torch.stack(new_values)
    logits = normed_rows(x, w["ln_f_weight"], w["ln_f_bias"]) @ w["token"].T
    return logits, (keys, values)


def normed_rows(x, weight, bias):
    return torch.stack([normed_vector(row, weight, bias, 1e-5) for row in x])


def text_by_text(ids, w, H, cache):
    """A cache for each text of the batch."""
    step = step_with_cache(CacheOfTuples, masked_by_tril)
    cache = cache or [None] * len(ids)
    found = [step(row[None], w, H, old) for row, old in zip(ids, cache, strict=True)]
    return torch.cat([logits for logits, _ in found]), [new for _, new in found]


class CachedBlock(nn.Module):
    """A block that takes what it kept, and gives what to keep."""

    def __init__(self, w, H):
        super().__init__()
        C, self.H = len(w["b_Q"]), H
        self.ln1, self.ln2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.q, self.k, self.v, self.o = (nn.Linear(C, C) for _ in range(4))
        self.fc1, self.fc2 = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)
        linears = {"1": self.fc1, "2": self.fc2}
        linears |= {f"_{n}": getattr(self, n.lower()) for n in "QKVO"}
        with torch.no_grad():
            for name, layer in linears.items():
                layer.weight = nn.Parameter(w[f"W{name}"].T)
                layer.bias = nn.Parameter(w[f"b{name}"])
            for name in ("ln1", "ln2"):
                getattr(self, name).weight = nn.Parameter(w[f"{name}_weight"])
                getattr(self, name).bias = nn.Parameter(w[f"{name}_bias"])

    def forward(self, x, kept):
        n = self.ln1(x)
        q, k, v = (
            layer(n).unflatten(-1, (self.H, -1)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        if kept is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(kept, (k, v), strict=True))
        y = masked_by_places(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.o(y)
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x)))), (k, v)


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


def step_into_room(ids, w, H, cache):
    """Room made before, which calls share: each writes behind what it was given."""
    (N, C), T, L = w["position"].shape, ids.shape[1], len(w["blocks"])
    keys, values, past = cache or (*torch.zeros(2, L, len(ids), N, C).to(w["token"]), 0)
    x = w["token"][ids] + w["position"][past : past + T]
    for i, b in enumerate(w["blocks"]):
        n = fused_norm(x, b["ln1_weight"], b["ln1_bias"], 1e-5)
        q, k, v = projections(n, b, LINEARS["@"])
        keys[i, :, past : past + T], values[i, :, past : past + T] = k, v
        read = (q, keys[i, :, : past + T], values[i, :, : past + T])
        y = masked_by_tril(*(SPLITS["view"][0](each, H) for each in read))
        x = x + SPLITS["view"][1](y) @ b["W_O"] + b["b_O"]
        n = fused_norm(x, b["ln2_weight"], b["ln2_bias"], 1e-5)
        x = x + BLOCK_MLPS["tanh"](n, b["W1"], b["b1"], b["W2"], b["b2"])
    x = fused_norm(x[:, -1], w["ln_f_weight"], w["ln_f_bias"], 1e-5)
    return x @ w["token"].T, (keys, values, past + T)


ONE_BY_ONE["cached_step", "other forms"] = {
    "shared room": step_into_room,
    "one id after the other": step_of_one_id,
    "text by text": text_by_text,
    "modules": step_of_modules,
}
ONE_BY_ONE["cached_step", "no gradients"] = {
    "no_grad": torch.no_grad()(step_with_cache(CacheMadeBefore, query_by_query)),
    "inference_mode": torch.inference_mode()(
        step_with_cache(CacheOfNames, masked_by_tril)
    ),
    "a list as result": lambda *values: list(
        step_with_cache(CacheOfPositions, masked_by_tril)(*values)
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


def generate_for(step, ids, n, likeliest):
    new, cache = ids, None
    for _ in range(n):
        logits, cache = step(new, cache)
        new = likeliest(logits)
        ids = torch.cat([ids, new], dim=1)
    return ids


def generate_while(step, ids, n, likeliest):
    wanted, cache, read = ids.shape[1] + n, None, 0
    while ids.shape[1] < wanted:
        logits, cache = step(ids[:, read:], cache)
        read = ids.shape[1]
        ids = torch.hstack([ids, likeliest(logits)])
    return ids


def generate_into_room(step, ids, n, likeliest):
    B, T = ids.shape
    out = torch.zeros(B, T + n, dtype=torch.long)
    out[:, :T] = ids
    logits, cache = step(ids, None)
    for t in range(T, T + n):
        out[:, t : t + 1] = likeliest(logits)
        if t + 1 < T + n:
            logits, cache = step(out[:, t : t + 1], cache)
    return out


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


def generate_in_columns(step, ids, n, likeliest):
    columns, cache = list(ids.unbind(dim=1)), None
    new = ids
    for _ in range(n):
        logits, cache = step(new, cache)
        columns.append(likeliest(logits)[:, 0])
        new = columns[-1][:, None]
    return torch.stack(columns, dim=1)


def generate_rows(step, ids, n, likeliest):
    """Each text alone."""
    return torch.cat([generate_for(step, row, n, likeliest) for row in ids.split(1)])


def generate_id_by_id(step, ids, n, likeliest):
    """The prompt too is given one id at a time."""
    cache = None
    for t in range(ids.shape[1] + n - 1):
        logits, cache = step(ids[:, t : t + 1], cache)
        if t + 1 == ids.shape[1]:
            ids = torch.cat([ids, likeliest(logits)], dim=1)
    return ids


GENERATIONS = by_name(
    generate_for,
    generate_while,
    generate_into_room,
    generate_list,
    generate_recursively,
    generate_lazily,
    generate_by_reduce,
    generate_in_columns,
    generate_rows,
    generate_id_by_id,
)


def generating(loop, likeliest):
    return lambda step, ids, n: loop(step, ids, n, likeliest)


right(
    "generate",
    "loops",
    loop=by_name(
        generate_for,
        generate_while,
        generate_into_room,
        generate_list,
        generate_in_columns,
    ),
    likeliest=LIKELIEST,
)(generating)
right(
    "generate",
    "functions",
    loop=by_name(generate_recursively, generate_lazily, generate_by_reduce),
    likeliest=LIKELIEST,
)(generating)
right(
    "generate",
    "batches",
    loop=by_name(generate_rows, generate_id_by_id),
    likeliest=LIKELIEST,
)(generating)
ONE_BY_ONE["generate", "no gradients"] = {
    "no_grad": torch.no_grad()(generating(generate_for, LIKELIEST["argmax"])),
    "inference_mode": torch.inference_mode()(
        generating(generate_while, LIKELIEST["max"])
    ),
    "int32": lambda step, ids, n: generate_rows(step, ids, n, LIKELIEST["topk"]).int(),
}


# An answer of a trained model


def answer_of_whole_text(forward):
    """Read the whole text again for each token."""

    def answer(prompt, model, n):
        ids = torch.tensor([model.encode(prompt)])
        new = []
        for _ in range(n):
            logits, _ = forward(ids, ids, model.weights, model.num_heads)
            new.append(logits[0, -1].argmax().item())
            ids = torch.cat([ids, torch.tensor([new[-1:]])], dim=1)
        return model.decode(new)

    return answer


def answer_by_cache(step, generation):
    def answer(prompt, model, n):
        ids = torch.tensor([model.encode(prompt)])
        text = generation(
            lambda ids, cache: step(ids, model.weights, model.num_heads, cache),
            ids,
            n,
            LIKELIEST["argmax"],
        )
        return model.decode(text[0, ids.shape[1] :].tolist())

    return answer


def answer_recursively(prompt, model, n):
    def after(ids):
        ids = torch.tensor([ids])
        forward = gpt_by(BLOCK_OF_EINSUM, head="einsum")
        with torch.inference_mode():
            return int(
                forward(ids, ids, model.weights, model.num_heads)[0][0, -1].argmax()
            )

    def further(ids, left):
        return [] if not left else [(i := after(ids)), *further([*ids, i], left - 1)]

    return model.decode(further(list(model.encode(prompt)), n))


BLOCK_OF_EINSUM = block_by(fused_norm, BLOCK_HEADS["einsum"], BLOCK_MLPS["tanh"])

ONE_BY_ONE["answer", "whole text"] = {
    "fused": answer_of_whole_text(
        gpt_by(block_by(fused_norm, merged_heads, BLOCK_MLPS["tanh"]))
    ),
    "rows": answer_of_whole_text(gpt_of_rows),
    "loop over heads": answer_of_whole_text(
        gpt_by(
            block_by(
                norm_by("mean", "squares"),
                BLOCK_HEADS["loop"],
                mlp_by_chunks(tanh_of_one),
            )
        )
    ),
}


@right(
    "answer",
    "cache",
    made=by_name(CacheOfTuples, CacheMadeBefore, CacheOfPositions),
    loop=by_name(generate_while, generate_into_room),
)
def answer_with_cache(made, loop):
    return answer_by_cache(step_with_cache(made, masked_by_tril), loop)


ONE_BY_ONE["answer", "recursion"] = {"einsum": answer_recursively}


# Before gradients are taught, nothing must lead back.


def entries_from_lists(x, W):
    columns = W.T.tolist()
    numbers = x.tolist()
    return torch.tensor(
        [sum(a * b for a, b in zip(numbers, w, strict=True)) for w in columns]
    )


ONE_BY_ONE["row_times_matrix", "numbers of Python"] = {
    "lists": entries_from_lists,
    "items": lambda x, W: torch.tensor([(x * w).sum().item() for w in W.T]),
    "floats": lambda x, W: torch.tensor([float(x @ w) for w in W.T]),
    "numpy": lambda x, W: torch.from_numpy(x.numpy() @ W.numpy()),
    "no_grad": torch.no_grad()(lambda x, W: x @ W),
}


for (task, style), programs in ONE_BY_ONE.items():
    PROGRAMS += [Right(task, (style, name), made) for name, made in programs.items()]
for (task, name), (made, paths) in CLASSES.items():
    PROGRAMS.append(Right(task, ("class", name), made, paths))


def of_file(source: str) -> Right:
    task = task_of(source)
    program = function_of(check.TASKS[task], text_of(source))
    return Right(task, ("file", source), program)


FILES = [of_file(source) for source in right_sources()]
