"""Causal attention, with one head and with many."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call

from mygpt.attention import MultiHeadAttention, attention_weights
from mygpt.check.model import (
    Entries,
    Model,
    Named,
    Part,
    Piece,
    alike,
    exchanged,
    numbers,
    term,
)
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import attended, mixing
from mygpt.check.stages.stage import Stage, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.workbook.asked import ASKED

NOT_CAUSAL = "It is not causal: changing a position changes what earlier ones give."
LEAKS = (
    "It is not causal with scores below -150: a masked score has to be -inf (or a "
    "number such as -1e9), or it is larger than those that may be read."
)
ATTENTION = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")


class Sizes(NamedTuple):
    """Of queries: positions, width, channels in all, heads."""

    T: int
    D: int
    C: int
    H: int


def keep(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf)


def allowed(scores: Tensor, diagonal: int = 0) -> Tensor:
    """Which positions (column) a position (row) may read; the last rows are new."""
    T, S = scores.shape[-2:]
    return torch.ones(T, S, dtype=torch.bool).tril(S - T + diagonal)


def causal_mask(scores: Tensor) -> Tensor:
    return keep(scores, allowed(scores))


def mix(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sizes: Sizes,
    *,
    compare: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q @ k.mT,
    scale: Callable[[Sizes], int | float] = lambda n: math.sqrt(n.D),
    mask: Callable[[Tensor], Tensor] = causal_mask,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    after: Callable[[Tensor], Tensor] = lambda weights: weights,
    read: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v,
) -> Tensor:
    """Attention of (..., T, D) in pieces."""
    scores = mask(compare(q, k) / scale(sizes))
    return read(after(share(scores)), v)


def hidden_from_itself(scores: Tensor) -> Tensor:
    mask = allowed(scores, -1)
    mask[0, 0] = True
    return keep(scores, mask)


def no_mask(scores: Tensor) -> Tensor:
    return scores


def shifted(diagonal: int) -> Callable[[Tensor], Tensor]:
    return lambda scores: keep(scores, allowed(scores, diagonal))


def itself_alone(scores: Tensor) -> Tensor:
    return keep(scores, allowed(scores) & ~allowed(scores, -1))


def along(axis: int) -> Callable[[Tensor], Tensor]:
    return lambda scores: scores.softmax(axis)


def filled(number: float) -> Callable[[Tensor], Tensor]:
    """The mask with another number than -inf."""
    return lambda scores: scores.masked_fill(~allowed(scores), number)


def masked_after(weights: Tensor) -> Tensor:
    return weights * allowed(weights)


def unit(vectors: Tensor) -> Tensor:
    return vectors / vectors.norm(dim=-1, keepdim=True)


def scaled_weights(weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v / math.sqrt(v.shape[-1])


MIXING = Model(
    mix,
    mask=Piece(
        "the mask",
        no_mask=("there is no mask: positions read the future", no_mask),
        mask_off_by_one_ahead=(
            "the mask is one off: each position also reads the next one",
            shifted(1),
        ),
        mask_off_by_one_behind=(
            "the mask is one off: no position reads itself, and the first reads "
            "nothing",
            shifted(-1),
        ),
        mask_transposed=(
            "the mask is transposed: each position reads itself and the future",
            lambda scores: keep(scores, ~allowed(scores, -1)),
        ),
        mask_of_zeros=(
            "masked scores are set to 0 instead of -inf: exp(0) is 1, so the future "
            "keeps its share",
            lambda scores: scores * allowed(scores),
        ),
        mask_added=(
            "a mask of ones and zeros is added to the scores",
            lambda scores: scores + allowed(scores).to(scores),
        ),
        mask_the_future_alone=(
            "the mask is upside down: each position reads the future alone, and the "
            "last reads nothing",
            lambda scores: keep(scores, ~allowed(scores)),
        ),
    ).rarely(
        **numbers(
            "mask-too-small",
            "masked scores are set to {}, from which the softmax still gives the "
            "future a share: use -inf",
            *(-1, -5, -10, 1, 1e-9, 1e9),
            of=filled,
        ),
        mask_of_infinity=("masked scores are set to inf, not -inf", filled(math.inf)),
        mask_hides_itself=(
            "the mask hides each position from itself, but for the first",
            hidden_from_itself,
        ),
        mask_two_ahead=(
            "the mask is two off: each position also reads two more",
            shifted(2),
        ),
        mask_itself_alone=("each position reads itself alone", itself_alone),
    ),
    scale=Piece(
        "the scale",
        **alike(
            "the scores are {}",
            no_scale=("not divided by √D", lambda n: 1),
            scale_of_channels=("divided by √C instead of √D", lambda n: math.sqrt(n.C)),
            scale_without_root=("divided by D instead of √D", lambda n: n.D),
            scale_of_length=("divided by √T instead of √D", lambda n: math.sqrt(n.T)),
            scale_upside_down=("multiplied by √D", lambda n: 1 / math.sqrt(n.D)),
        ),
    ).rarely(
        **alike(
            "the scores are {}",
            scale_of_the_square=("divided by D²", lambda n: n.D**2),
            scale_by_width=("multiplied by D", lambda n: 1 / n.D),
            scale_by_length=("divided by T instead of √D", lambda n: n.T),
            scale_of_fourth_root=("divided by ∜D instead of √D", lambda n: n.D**0.25),
            scale_of_twice_the_width=("divided by √(2D)", lambda n: (2 * n.D) ** 0.5),
            scale_eight=("divided by 8, as if D were 64", lambda n: 8),
        )
    ),
    share=Piece(
        "the softmax",
        softmax_over_queries=(
            "the softmax runs over the queries, so each column of weights adds up to 1",
            along(-2),
        ),
        batch_mixed=("the softmax runs over the batch", along(0)),
    ).rarely(
        softmax_of_both_axes=(
            "the softmax runs over queries and keys together",
            lambda s: s.flatten(-2).softmax(-1).view(s.shape),
        ),
        powers_of_two=(
            "the softmax takes powers of 2 instead of powers of e",
            lambda scores: (scores * math.log(2)).softmax(-1),
        ),
        sigmoid=("each score goes through a sigmoid, without a softmax", torch.sigmoid),
        hard_maximum=(
            "each position reads only the one with the largest score",
            lambda s: (s == s.amax(-1, keepdim=True)).to(s),
        ),
        no_division=("exp of the scores is not divided by the sum", torch.exp),
    ),
    compare=Piece(
        "query · key",
        keys_not_transposed=(
            "the keys are not transposed in query · key",
            lambda q, k: q @ k,
        ),
        equal_weights=(
            "each position takes the plain mean of what it may read, whatever the "
            "queries and keys say",
            lambda q, k: 0 * q @ k.mT,
        ),
    ).rarely(
        minus=("the scores enter with a minus sign", lambda q, k: -q @ k.mT),
        cosine=(
            "query and key are brought to length 1 first: these are cosines",
            lambda q, k: unit(q) @ unit(k).mT,
        ),
        scores_transposed=(
            "the scores are key · query, transposed",
            lambda q, k: k @ q.mT,
        ),
    ),
    after=Piece("the weights").rarely(
        softmax_twice=("the softmax is applied twice", along(-1))
    ),
    read=Piece(
        "the weighted values",
        weights_returned=(
            "the attention weights are returned instead of the weighted values",
            lambda weights, v: weights,
        ),
    ).rarely(
        scaled_after_softmax_too=(
            "the weights are divided by √D too, after the softmax",
            scaled_weights,
        ),
        weights_transposed=(
            "the weights are transposed before they meet the values",
            lambda weights, v: weights.mT @ v,
        ),
    ),
    together=Piece(
        "mask and softmax",
        mask_after_softmax=(
            "the mask comes after the softmax, so the weights no longer add up to 1",
            {"mask": no_mask, "after": masked_after},
        ),
        no_softmax=(
            "there is no softmax: the masked scores themselves are the weights",
            {"mask": no_mask, "share": no_mask, "after": masked_after},
        ),
    ).rarely(
        scale_after_softmax=(
            "the weights are divided by √D, not the scores",
            {"scale": lambda n: 1, "read": scaled_weights},
        ),
        mask_before_and_renormalised=(
            "the weights are masked after a softmax over the queries",
            {"mask": no_mask, "share": along(-2), "after": masked_after},
        ),
        log_softmax=(
            "the logarithm of the softmax is taken",
            {
                "mask": no_mask,
                "share": lambda s: s.log_softmax(-1),
                "after": masked_after,
            },
        ),
    ),
).written(
    mask=(
        "torch.ones({size}, {size}).triu(1).bool()",
        "torch.ones({size}, {size}).tril().bool()",
        "torch.ones({size}, {size}).tril()",
        "torch.ones({size}, {size}).triu(1)",
        'torch.full(({size}, {size}), float("-inf")).triu(1)',
        'float("-inf")',
        "{t} + 1",
        "{v}[: {t} + 1]",
        '{left}.masked_fill({right} == 0, float("-inf"))',
        '{it}.masked_fill(torch.ones_like({it}).triu(1).bool(), float("-inf"))',
    ),
    scale=(
        "{size} ** 0.5",
        "{size}",
        "{size} ** -0.5",
        "{it} / {size} ** 0.5",
        "{left} / {right}",
    ),
    share=("{it}.softmax(-1)", "{inner}.softmax(-1)"),
    compare=("{q} @ {k}.mT",),
    after=("{inner}",),
    read=("{it} @ {v}", "{inner} @ {v}"),
    together=(
        "{it}.softmax(-1)",
        '{it}.masked_fill(torch.ones_like({it}).triu(1).bool(), float("-inf"))',
        "{it} / {size} ** 0.5",
    ),
)


def same(W: Tensor) -> Tensor:
    return W


def transposed(W: Tensor) -> Tensor:
    return W.mT


def matrices(names: str) -> dict[str, Piece]:
    """The matrices of queries, keys and so on: each may be transposed."""
    return {
        f"matrix_{name}": Piece(f"W_{name}").rarely(
            **{
                f"transposed-{name.lower()}": (
                    f"W_{name} is used transposed",
                    transposed,
                )
            }
        )
        for name in names
    }


def all_of(names: str) -> dict[str, Callable[[Tensor], Tensor]]:
    return {f"matrix_{name}": transposed for name in names}


def several_transposed(*names: str) -> Named:
    return {
        f"transposed-{some.lower()}": (
            " and ".join(f"W_{name}" for name in some) + " are used transposed",
            all_of(some),
        )
        for some in names
    }


def orders(**common: tuple[str, str]) -> Piece:
    """The matrices of query, key and value: others may stand there."""
    piece = Piece("W_Q, W_K and W_V", **common)
    named = {order for _, order in common.values()}
    found = exchanged(
        "QKV",
        lambda order: (
            f"the query is made with W_{order[0]}, the key with W_{order[1]} and the "
            f"value with W_{order[2]}"
        ),
    )
    return piece.rarely(**{n: e for n, e in found.items() if e[1] not in named})


def make_head(draw: Draw, B: int, T: int, C: int, D: int) -> dict:
    return {
        "x": draw.normal(B, T, C, mean=0.2),
        "W_Q": draw.normal(C, D),
        "W_K": draw.normal(C, D),
        "W_V": draw.normal(C, D),
    }


def head(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    *,
    order: str = "QKV",
    reads_x: bool = False,
    mixing: Callable[..., Tensor] = mix,
    **matrices: Callable[[Tensor], Tensor],
) -> Tensor:
    """Attention with one head, in pieces."""
    weights = {"Q": W_Q, "K": W_K, "V": W_V}
    q, k, v = (
        x @ matrices.get(f"matrix_{name}", same)(weights[name]) for name in order
    )
    return mixing(q, k, x if reads_x else v, Sizes(*q.shape[-2:], x.shape[-1], 1))


HEAD = Model(
    head,
    order=orders(
        queries_for_keys=("queries and keys change places", "KQV"),
        keys_for_values=("the keys are averaged instead of the values", "QKK"),
        queries_alone=("the queries are compared with themselves, not the keys", "QQV"),
    ),
    reads_x=Piece(
        "the values",
        x_for_values=("the weights average x itself, not the values x W_V", True),
    ),
    together=Piece(
        "the matrices",
        transposed_weights=(
            "the matrices are used transposed, x Wᵀ for x W",
            all_of("QKV"),
        ),
    ).rarely(**several_transposed("QK", "QV", "KV")),
    **matrices("QKV"),
    parts=[Part(MIXING, "mixing")],
).written(order=("{x} @ {W_Q}", "{x} @ {W_K}", "{x} @ {W_V}"), reads_x=("{x} @ {W_V}",))


def far_apart(weights: dict[str, Any], times: float = 60.0) -> dict[str, Any]:
    """Make keys of the queries' weights: a position's score with itself is below -150.

    In float64 exp of the largest difference of two scores is still a number.
    """
    changed = {
        name: [far_apart(each, times) for each in value]
        if name == "blocks"
        else far_apart(value, times)
        if isinstance(value, dict)
        else value
        for name, value in weights.items()
    }
    keys = [name for name in ("W_K", "b_K") if name in weights]
    return changed | {n: -times * weights[n.replace("K", "Q")] for n in keys}


def with_each_position_changed(program: Program, arguments: Arguments) -> list[Tensor]:
    """The results for a text, and with another vector at position 1, at 2 and so on.

    Then all of that with scores that are far apart.
    """
    return [
        result
        for given in (arguments, far_apart(arguments))
        for result in for_each_position(program, given)
    ]


def for_each_position(program: Program, arguments: Arguments) -> list[Tensor]:
    x = arguments["x"]
    seen = [program(*arguments.values())]
    # Random numbers: one number added to all channels would pass through a layer norm.
    other = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x)
    for t in range(1, x.shape[1]):
        changed = {**arguments, "x": x.clone()}
        changed["x"][:, t] = other[:, t]
        seen.append(program(*changed.values()))
    return seen


def causal(seen: list[Tensor], arguments: Arguments) -> str | None:
    """Whether a change of any position leaves the earlier ones alone."""
    half = len(seen) // 2
    for said, (before, *later) in ((NOT_CAUSAL, seen[:half]), (LEAKS, seen[half:])):
        for t, after in enumerate(later, start=1):
            if not is_near(before[:, :t], after[:, :t]):
                return said
    return None


def is_near(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5, equal_nan=True)


def first_text(program: Program, arguments: Arguments) -> list[Tensor]:
    """The first text in a batch of two, and alone."""
    alone = arguments["x"][:1]
    texts = (torch.cat([alone, 1 - alone]), alone)
    return [program(*{**arguments, "x": x}.values())[:1] for x in texts]


def alone_in_batch(seen: list[Tensor], arguments: Arguments) -> str | None:
    """Whether each text of a batch is treated alone."""
    if torch.allclose(*seen, atol=1e-5):
        return None
    return (
        "The rows of a batch influence each other: the first one alone gives "
        "something else."
    )


PROPERTIES = (
    Property("causal", with_each_position_changed, causal),
    Property("batch", first_text, alone_in_batch),
)


def stages_of_head(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Iterator[Stage]:
    """The stages of attention with one head."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    for name, each in (("q", q), ("k", k), ("v", v)):
        yield stage(name, each, needs=())
    yield from mixing(q, k, v)


HEAD_PROBES = [
    Probe(0, {"B": 1, "T": 3, "C": 5, "D": 2}),
    Probe(1, {"B": 2, "T": 4, "C": 4, "D": 4}),
    Probe(2, {"B": 2, "T": 5, "C": 3, "D": 7}),
    Probe(3, {"B": 1, "T": 5, "C": 7, "D": 5}),
    Probe(4, {"B": 3, "T": 3, "C": 3, "D": 3}),
    Probe(5, {"B": 2, "T": 1, "C": 3, "D": 2}),
]

attention = Task(
    **vars(ASKED["attention"]),
    reference=lambda x, W_Q, W_K, W_V: attention_weights(x @ W_Q, x @ W_K) @ (x @ W_V),
    make=make_head,
    probes=HEAD_PROBES,
    stages=stages_of_head,
    least={"T": 2},
    differentiable=["x", "W_Q", "W_K", "W_V"],
    properties=PROPERTIES,
    sizes=lambda given: {"C": given["W_Q"].shape[0], "D": given["W_Q"].shape[1]},
    weights=["W_Q", "W_K", "W_V"],
    mistakes=HEAD.mistakes(),
    model=HEAD,
)


# Many heads: the weights come in a dict.


def split(x: Tensor, H: int) -> Tensor:
    return x.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, T, D)


def join(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)  # (B, T, C)


def heads_with(
    x: Tensor,
    weights: dict[str, Tensor],
    num_heads: int,
    recall: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
    *,
    count: Callable[[int, int], int] = lambda H, C: H,
    split: Callable[[Tensor, int], Tensor] = split,
    join: Callable[[Tensor], Tensor] = join,
    project: bool = True,
    order: str = "QKV",
    mixing: Callable[..., Tensor] = mix,
    residual: int = 0,
    **linears: Any,
) -> Tensor:
    """Attention with many heads, in pieces.

    recall: from new keys and values to all that are read, where there is a cache.
    linears: what is made of a matrix (`matrix_Q`), how often a bias (`b_Q`) is added.
    """
    H, C = count(num_heads, x.shape[-1]), x.shape[-1]

    def linear(x: Tensor, name: str) -> Tensor:
        W = linears.get(f"matrix_{name}", same)(weights[f"W_{name}"])
        return x @ W + linears.get(f"b_{name}", 1) * weights[f"b_{name}"]

    q, k, v = (split(linear(x, name), H) for name in order)
    k, v = recall(k, v) if recall else (k, v)
    out = join(mixing(q, k, v, Sizes(*q.shape[-2:], C, num_heads)))
    return (linear(out, "O") if project else out) + residual * x


@lru_cache(maxsize=32)
def package_attention(C: int, H: int) -> MultiHeadAttention:
    with kept_state():
        return MultiHeadAttention(C, H, qkv_bias=True, out_bias=True)


def stored_attention(weights: dict[str, Tensor], prefix: str = "") -> dict:
    """Name weights as the package's layer does."""
    named = {}
    for name in "QKVO":
        named[f"{prefix}W_{name}.weight"] = weights[f"W_{name}"].T
        named[f"{prefix}W_{name}.bias"] = weights[f"b_{name}"]
    return named


def reference_heads(x: Tensor, weights: dict[str, Tensor], num_heads: int) -> Tensor:
    layer = package_attention(x.shape[-1], num_heads)
    return functional_call(layer, stored_attention(weights), (x,))


def attention_tensors(draw: Draw, C: int) -> dict[str, Tensor]:
    weights = {}
    for name in "QKVO":
        weights[f"W_{name}"] = draw.normal(C, C, scale=0.7)
        weights[f"b_{name}"] = draw.normal(C, scale=0.5)
    return weights


def make_heads(draw: Draw, B: int, T: int, H: int, D: int) -> dict:
    C = H * D
    return {
        "x": draw.normal(B, T, C, mean=0.2),
        "weights": attention_tensors(draw, C),
        "num_heads": H,
    }


def split_without_transpose(x: Tensor, H: int) -> Tensor:
    B, T, C = x.shape
    return x.reshape(B, H, T, C // H)


def split_interleaved(x: Tensor, H: int) -> Tensor:
    return x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)


def join_without_transpose(heads: Tensor) -> Tensor:
    B, H, T, D = heads.shape
    return heads.reshape(B, T, H * D)


def join_interleaved(heads: Tensor) -> Tensor:
    return heads.permute(0, 2, 3, 1).flatten(2)


def in_one_text(x: Tensor, H: int) -> Tensor:
    """Cut out heads with the batch among them: (B, T, C) to (T, H, B, D)."""
    return x.unflatten(-1, (H, -1)).permute(1, 2, 0, 3)


def every_head(made: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """What is made of the heads, (B, 1, T, D), in the place of each."""
    return lambda heads: join(made(heads).expand_as(heads))


# What is left of another line that was copied, by what should stand there. A bias of
# the keys changes nothing: it adds one number to all scores of a query.
OTHER_WEIGHTS = [
    (f"{kind}_{name}", f"{kind}_{other}")
    for kind in "bW"
    for other, name in permutations("QKVO", 2)
    if kind + name != "bK"
]


def with_others(pairs: Iterable[tuple[str, str]]) -> Entries:
    """One weight read where another is meant, which stands first in each pair."""
    return [
        (
            f"{other} stands where {name} belongs",
            lambda x, weights, *rest, name=name, other=other: (
                x,
                {**weights, name: weights[other]},
                *rest,
            ),
        )
        for name, other in pairs
    ]


def projected(
    x: Tensor, weights: dict[str, Tensor], num_heads: int, *rest: Any
) -> tuple:
    return x @ weights["W_O"] + weights["b_O"], weights, num_heads, *rest


def heads_then(last: Callable[[Tensor, dict], Tensor], **pieces: Any) -> Program:
    return lambda x, weights, *rest: last(
        heads_with(x, weights, *rest, **pieces), weights
    )


HEADS = Model(
    heads_with,
    project=Piece(
        "W_O with b_O",
        no_output_projection=("the last matrix, W_O with b_O, is missing", False),
    ),
    b_O=term("the bias b_O", "output-bias"),
    b_Q=term("the queries' bias", "query-bias"),
    b_V=term("the values' bias", "value-bias"),
    **matrices("QKVO"),
    count=Piece(
        "num_heads",
        one_head=("num_heads is ignored: this is one head of width C", lambda H, C: 1),
        number_for_width=(
            "the number of heads and their width change places: C / num_heads heads",
            lambda H, C: C // H,
        ),
    ),
    join=Piece(
        "the joining of the heads",
        join_without_transpose=(
            "the heads are joined without moving their axis back: (B, H, T, D) must "
            "become (B, T, H, D), then (B, T, C)",
            join_without_transpose,
        ),
        join_interleaved=(
            "the heads are joined in the wrong order: channel by channel, not head by "
            "head",
            join_interleaved,
        ),
        heads_backwards=(
            "the heads are joined in the wrong order, the last one first",
            lambda heads: join(heads.flip(1)),
        ),
        heads_averaged=(
            "the heads are averaged instead of joined",
            every_head(lambda heads: heads.mean(1, keepdim=True)),
        ),
    ).rarely(
        last_head_missing=(
            "the last head is left out: zeros stand in its channels",
            lambda heads: join(torch.cat([heads[:, :-1], 0 * heads[:, -1:]], 1)),
        ),
        heads_added=(
            "the heads are added up instead of joined",
            every_head(lambda heads: heads.sum(1, keepdim=True)),
        ),
        first_head_alone=(
            "every head gives what the first gives",
            every_head(lambda heads: heads[:, :1]),
        ),
    ),
    split=Piece(
        "the cutting of the heads",
        split_without_transpose=(
            "the heads are cut out without moving their axis: (B, T, C) must become "
            "(B, T, H, D), then (B, H, T, D)",
            split_without_transpose,
        ),
        split_interleaved=(
            "head h takes every H-th channel instead of D neighbouring ones",
            split_interleaved,
        ),
    ),
    order=orders(
        queries_for_keys=("queries and keys change places", "KQV"),
        keys_for_values=("keys and values change places", "QVK"),
    ),
    residual=Piece(
        "the residual connection",
        residual_inside=("x is added to the result, which is the block's task", 1),
    ),
    given=Piece("the weights").rarely(other_weight=with_others(OTHER_WEIGHTS)),
    together=Piece(
        "the heads",
        interleaved=(
            "head h takes, and gives back, every H-th channel instead of D neighbours",
            {"split": split_interleaved, "join": join_interleaved},
        ),
        split_and_join_without_transpose=(
            "the heads are cut out and joined without moving their axis",
            {"split": split_without_transpose, "join": join_without_transpose},
        ),
        no_biases=(
            "all four biases are forgotten",
            {"b_Q": 0, "b_K": 0, "b_V": 0, "b_O": 0},
        ),
        no_inner_biases=(
            "the biases of queries, keys and values are forgotten",
            {"b_Q": 0, "b_K": 0, "b_V": 0},
        ),
        transposed_weights=(
            "the matrices are used transposed, x Wᵀ for x W",
            all_of("QKVO"),
        ),
        scale_of_heads=(
            "the scores are divided by √num_heads instead of √D",
            {"mixing": {"scale": lambda n: math.sqrt(n.H)}},
        ),
        softmax_over_heads=(
            "the softmax runs over the heads",
            {"mixing": {"mask": no_mask, "share": along(1), "after": masked_after}},
        ),
    ).rarely(
        heads_of_positions=(
            "the heads are cut out with their axis in front of the batch's, so that "
            "texts are mixed",
            {
                "split": in_one_text,
                "join": lambda heads: heads.permute(2, 0, 1, 3).flatten(2),
            },
        ),
        heads_read_each_other=(
            "the heads' axis is not moved, so that at each position the heads read "
            "each other: (B, T, H, D) must become (B, H, T, D)",
            {
                "split": lambda x, H: x.unflatten(-1, (H, -1)),
                "join": lambda heads: heads.flatten(2),
            },
        ),
        **several_transposed("QKV", "QK", "QV", "KV"),
        projection_first=(
            "W_O and b_O act on x, before the heads",
            {"given": projected, "project": False},
        ),
    ),
    whole=Piece("the projection").rarely(
        projection_twice=(
            "the last matrix, W_O with b_O, is applied twice",
            heads_then(lambda y, weights: y @ weights["W_O"] + weights["b_O"]),
        ),
        output_bias_alone=(
            "W_O is missing: b_O alone is added",
            heads_then(lambda y, weights: y + weights["b_O"], project=False),
        ),
    ),
    parts=[Part(MIXING, "mixing")],
).written(
    project=('{it} @ {weights}["W_O"] + {weights}["b_O"]',),
    b_O=('{it} + {weights}["b_O"]', '{weights}["b_O"] / {num_heads}'),
    b_Q=('{it} + {weights}["b_Q"]', '{x} @ {weights}["W_Q"] + {weights}["b_Q"]'),
    b_V=('{it} + {weights}["b_V"]', '{x} @ {weights}["W_V"] + {weights}["b_V"]'),
    count=("{x}.shape[-1] // {num_heads}", "{num_heads}"),
    join=("{it}.transpose(1, 2).flatten(2)", "{inner}.transpose(1, 2).flatten(2)"),
    split=(
        "{it}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)",
        "{inner}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)",
        "{inner}.unflatten(-1, ({num_heads}, -1))",
    ),
    together=(
        "{it}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)",
        "{inner}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)",
        "{size} ** 0.5",
        "{size}",
        "{it}.softmax(-1)",
        "{inner}.softmax(-1)",
    ),
)


def stages_of_heads(
    x: Tensor, weights: dict[str, Tensor], num_heads: int
) -> Iterator[Stage]:
    """The stages of attention with many heads."""
    yield from attended(x, weights, num_heads)


heads = Task(
    **vars(ASKED["heads"]),
    reference=reference_heads,
    make=make_heads,
    stages=stages_of_heads,
    probes=[
        Probe(0, {"B": 1, "T": 3, "H": 2, "D": 3}),
        Probe(1, {"B": 2, "T": 5, "H": 3, "D": 2}),
        Probe(2, {"B": 2, "T": 4, "H": 3, "D": 5}),
        Probe(3, {"B": 1, "T": 6, "H": 3, "D": 3}),
        Probe(4, {"B": 2, "T": 1, "H": 2, "D": 2}),
    ],
    least={"T": 2},
    differentiable=["x", "weights"],
    properties=PROPERTIES,
    sizes=lambda given: {"C": given["x"].shape[-1], "num_heads": given["num_heads"]},
    weights=["weights"],
    mistakes=HEADS.mistakes(),
    model=HEADS,
)
