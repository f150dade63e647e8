"""Causal attention, with one head and with many."""

import math
from collections.abc import Callable, Iterable
from itertools import permutations, product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mygpt.attention import MultiHeadAttention, attention_weights
from mygpt.check.locate.parts import attended, mixing
from mygpt.check.locate.stage import stage
from mygpt.check.reference import (
    TOGETHER,
    Part,
    PieceChange,
    Pieces,
    Reference,
    constant,
    same,
    transposed,
)
from mygpt.check.task import (
    Arguments,
    Draw,
    Hints,
    Program,
    Property,
    equal_results,
    probes,
)
from mygpt.check.tasks.package import with_weights

NOT_CAUSAL = "It is not causal: changing a position changes what earlier ones give."
LEAKS = (
    "It is not causal with scores below -150: a masked score has to be -inf (or a "
    "number such as -1e9), or it is larger than those that may be read."
)
BIASES = {"qkv_bias": True, "out_bias": True}  # of the package's layer


class Sizes(NamedTuple):
    """Of queries: positions, width, channels in all, heads."""

    T: int
    D: int
    C: int
    H: int


def keep(scores: Tensor, mask: Tensor) -> Tensor:
    """Set the scores that the mask leaves out to -inf."""
    return scores.masked_fill(~mask, -math.inf)


def allowed(scores: Tensor, diagonal: int = 0) -> Tensor:
    """Which positions (column) a position (row) may read; the last rows are new."""
    T, S = scores.shape[-2:]
    return torch.ones(T, S, dtype=torch.bool).tril(S - T + diagonal)


def causal_mask(scores: Tensor) -> Tensor:
    """Mask the future."""
    return keep(scores, allowed(scores))


def mix(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    sizes: Sizes,
    *,
    compare=lambda q, k: q @ k.mT,
    scale=lambda n: math.sqrt(n.D),
    mask=causal_mask,
    share=lambda scores: scores.softmax(-1),
    after=same,
    read=lambda weights, v: weights @ v,
) -> Tensor:
    """Attention of (..., T, D) in pieces."""
    scores = mask(compare(q, k) / scale(sizes))
    return read(after(share(scores)), v)


no_mask = same


def hidden_from_itself(scores: Tensor) -> Tensor:
    """Mask the future and the position itself, but for the first."""
    mask = allowed(scores, -1)
    mask[0, 0] = True
    return keep(scores, mask)


def shifted(diagonal: int) -> Callable[[Tensor], Tensor]:
    """Return a causal mask whose edge is moved."""
    return lambda scores: keep(scores, allowed(scores, diagonal))


def along(axis: int) -> Callable[[Tensor], Tensor]:
    """Return a softmax along an axis."""
    return lambda scores: scores.softmax(axis)


def filled(number: float) -> Callable[[Tensor], Tensor]:
    """The mask with another number than -inf."""
    return lambda scores: scores.masked_fill(~allowed(scores), number)


def masked_after(**pieces: Any) -> Pieces:
    """The mask comes after the weights, which may be made in another way."""
    return {
        "mask": no_mask,
        **pieces,
        "after": lambda weights: weights * allowed(weights),
    }


def unit(vectors: Tensor) -> Tensor:
    """Bring vectors to length 1."""
    return vectors / vectors.norm(dim=-1, keepdim=True)


def scaled_weights(weights: Tensor, v: Tensor) -> Tensor:
    """Divide the weighted values by √D."""
    return weights @ v / math.sqrt(v.shape[-1])


MIXING = Reference(
    mix,
    """
    [mask] the mask = torch.ones({size}, {size}).triu(1).bool()
        | torch.ones({size}, {size}).tril().bool() | torch.ones({size}, {size}).tril()
        | torch.ones({size}, {size}).triu(1)
        | torch.full(({size}, {size}), float("-inf")).triu(1) | float("-inf") | {t} + 1
        | {v}[: {t} + 1] | {left}.masked_fill({right} == 0, float("-inf"))
        | {it}.masked_fill(torch.ones_like({it}).triu(1).bool(), float("-inf"))
    no-mask: there is no mask: positions read the future
    mask-off-by-one-ahead: the mask is one off: each position also reads the next one
    mask-off-by-one-behind: the mask is one off: no position reads itself, and the first
        reads nothing
    mask-transposed: the mask is transposed: each position reads itself and the future
    mask-of-zeros: masked scores are set to 0 instead of -inf: exp(0) is 1, so the
        future keeps its share
    mask-added: a mask of ones and zeros is added to the scores
    mask-the-future-alone: the mask is upside down: each position reads the future
        alone, and the last reads nothing
    ~ mask-too-small = -1, -5, -10, 1, 1e-09, 1e+09: masked scores are set to {}, from
        which the softmax still gives the future a share: use -inf
    ~ mask-of-infinity: masked scores are set to inf, not -inf
    ~ mask-hides-itself: the mask hides each position from itself, but for the first
    ~ mask-two-ahead: the mask is two off: each position also reads two more
    ~ mask-itself-alone: each position reads itself alone
    [scale] the scale = {size} ** 0.5 | {size} | {size} ** -0.5 | {it} / {size} ** 0.5
        | {left} / {right}
    no-scale = 1: the scores are not divided by √D
    scale-of-channels: the scores are divided by √C instead of √D
    scale-without-root: the scores are divided by D instead of √D
    scale-of-length: the scores are divided by √T instead of √D
    scale-upside-down: the scores are multiplied by √D
    ~ scale-of-the-square: the scores are divided by D²
    ~ scale-by-width: the scores are multiplied by D
    ~ scale-by-length: the scores are divided by T instead of √D
    ~ scale-of-fourth-root: the scores are divided by ∜D instead of √D
    ~ scale-of-twice-the-width: the scores are divided by √(2D)
    ~ scale-eight = 8: the scores are divided by 8, as if D were 64
    [share] the softmax = {it}.softmax(-1) | {inner}.softmax(-1)
    softmax-over-queries: the softmax runs over the queries, so each column of weights
        adds up to 1
    batch-mixed: the softmax runs over the batch
    ~ softmax-of-both-axes: the softmax runs over queries and keys together
    ~ powers-of-two: the softmax takes powers of 2 instead of powers of e
    ~ sigmoid: each score goes through a sigmoid, without a softmax
    ~ hard-maximum: each position reads only the one with the largest score
    ~ no-division: exp of the scores is not divided by the sum
    [compare] query · key = {q} @ {k}.mT
    keys-not-transposed: the keys are not transposed in query · key
    equal-weights: each position takes the plain mean of what it may read, whatever the
        queries and keys say
    ~ minus: the scores enter with a minus sign
    ~ cosine: query and key are brought to length 1 first: these are cosines
    ~ scores-transposed: the scores are key · query, transposed
    [after] the weights = {inner}
    ~ softmax-twice: the softmax is applied twice
    [read] the weighted values = {it} @ {v} | {inner} @ {v}
    weights-returned: the attention weights are returned instead of the weighted values
    ~ scaled-after-softmax-too: the weights are divided by √D too, after the softmax
    ~ weights-transposed: the weights are transposed before they meet the values
    [together] mask and softmax = {it}.softmax(-1)
        | {it}.masked_fill(torch.ones_like({it}).triu(1).bool(), float("-inf"))
        | {it} / {size} ** 0.5
    mask-after-softmax: the mask comes after the softmax, so the weights no longer add
        up to 1
    no-softmax: there is no softmax: the masked scores themselves are the weights
    ~ scale-after-softmax: the weights are divided by √D, not the scores
    ~ mask-before-and-renormalised: the weights are masked after a softmax over the
        queries
    ~ log-softmax: the logarithm of the softmax is taken
    """,
    no_mask=no_mask,
    mask_off_by_one_ahead=shifted(1),
    mask_off_by_one_behind=shifted(-1),
    mask_transposed=lambda scores: keep(scores, ~allowed(scores, -1)),
    mask_of_zeros=lambda scores: scores * allowed(scores),
    mask_added=lambda scores: scores + allowed(scores).to(scores),
    mask_the_future_alone=lambda scores: keep(scores, ~allowed(scores)),
    mask_too_small=filled,
    mask_of_infinity=filled(math.inf),
    mask_hides_itself=hidden_from_itself,
    mask_two_ahead=shifted(2),
    mask_itself_alone=lambda s: keep(s, allowed(s) & ~allowed(s, -1)),
    scale_of_channels=lambda n: math.sqrt(n.C),
    scale_without_root=lambda n: n.D,
    scale_of_length=lambda n: math.sqrt(n.T),
    scale_upside_down=lambda n: 1 / math.sqrt(n.D),
    scale_of_the_square=lambda n: n.D**2,
    scale_by_width=lambda n: 1 / n.D,
    scale_by_length=lambda n: n.T,
    scale_of_fourth_root=lambda n: n.D**0.25,
    scale_of_twice_the_width=lambda n: (2 * n.D) ** 0.5,
    softmax_over_queries=along(-2),
    batch_mixed=along(0),
    softmax_of_both_axes=lambda s: s.flatten(-2).softmax(-1).view(s.shape),
    powers_of_two=lambda scores: (scores * math.log(2)).softmax(-1),
    sigmoid=torch.sigmoid,
    hard_maximum=lambda s: (s == s.amax(-1, keepdim=True)).to(s),
    no_division=torch.exp,
    keys_not_transposed=lambda q, k: q @ k,
    equal_weights=lambda q, k: 0 * q @ k.mT,
    minus=lambda q, k: -q @ k.mT,
    cosine=lambda q, k: unit(q) @ unit(k).mT,
    scores_transposed=lambda q, k: k @ q.mT,
    softmax_twice=along(-1),
    weights_returned=same,
    scaled_after_softmax_too=scaled_weights,
    weights_transposed=lambda weights, v: weights.mT @ v,
    mask_after_softmax=masked_after(),
    no_softmax=masked_after(share=same),
    scale_after_softmax={"scale": constant(1), "read": scaled_weights},
    mask_before_and_renormalised=masked_after(share=along(-2)),
    log_softmax=masked_after(share=lambda s: s.log_softmax(-1)),
)


def used_transposed(names: str, word: str) -> PieceChange:
    """Some of the matrices of queries, keys and so on are used transposed."""
    verb = "is" if len(names) == 1 else "are"
    text = f"{' and '.join(f'W_{name}' for name in names)} {verb} used transposed"
    name = f"transposed-{names.lower()}"
    return PieceChange(name, text, all_of(names), word, rare=True)


def all_of(names: str) -> Pieces:
    """Return the pieces that transpose some of the matrices."""
    return {f"matrix_{name}": transposed for name in names}


def transposings(word: str, singles: str, several: str) -> dict[str, list[PieceChange]]:
    """Matrices that are used transposed: one of them, or several together."""
    found = {f"matrix_{name}": [used_transposed(name, f"W_{name}")] for name in singles}
    return found | {TOGETHER: [used_transposed(each, word) for each in several.split()]}


def orders(*named: str) -> list[PieceChange]:
    """The matrices of query, key and value: others may stand there."""
    text = "the query is made with W_{}, the key with W_{} and the value with W_{}"
    word = "W_Q, W_K and W_V"
    return [
        PieceChange(
            f"order-{o.lower()}", text.format(*o), {"order": o}, word, rare=True
        )
        for o in map("".join, product("QKV", repeat=3))
        if o not in ("QKV", *named)
    ]


def head(
    x: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    *,
    order="QKV",
    reads_x=False,
    mixing=mix,
    **matrices: Callable[[Tensor], Tensor],
) -> Tensor:
    """Attention with one head, in pieces."""
    weights = {"Q": W_Q, "K": W_K, "V": W_V}
    q, k, v = (
        x @ matrices.get(f"matrix_{name}", same)(weights[name]) for name in order
    )
    return mixing(q, k, x if reads_x else v, Sizes(*q.shape[-2:], x.shape[-1], 1))


HEAD = Reference(
    head,
    """
    [order] W_Q, W_K and W_V = {x} @ {W_Q} | {x} @ {W_K} | {x} @ {W_V}
    queries-for-keys = "KQV": queries and keys change places
    keys-for-values = "QKK": the keys are averaged instead of the values
    queries-alone = "QQV": the queries are compared with themselves, not the keys
    [reads_x] the values = {x} @ {W_V}
    x-for-values = True: the weights average x itself, not the values x W_V
    [matrix_Q matrix_K matrix_V]
    [together] the matrices
    transposed-weights: the matrices are used transposed, x Wᵀ for x W
    """,
    parts=[Part(MIXING, "mixing")],
    order=orders("KQV", "QKK", "QQV"),
    transposed_weights=all_of("QKV"),
    **transposings("the matrices", "QKV", "QK QV KV"),
)


def far_apart(weights: Any, times: float = 60.0) -> Any:
    """Make keys of the queries' weights: a position's score with itself is below -150.

    In float64 exp of the largest difference of two scores is still a number.
    """
    if isinstance(weights, list):
        return [far_apart(each, times) for each in weights]
    if not isinstance(weights, dict):
        return weights
    changed = {name: far_apart(each, times) for name, each in weights.items()}
    keys = [name for name in ("W_K", "b_K") if name in weights]
    return changed | {n: -times * weights[n.replace("K", "Q")] for n in keys}


def with_each_position_changed(program, arguments):
    """The results for a text, and with another vector at position 1, at 2 and so on.

    Then all of that with scores that are far apart.
    """
    return [
        result
        for given in (arguments, far_apart(arguments))
        for result in for_each_position(program, given)
    ]


def for_each_position(program, arguments):
    """The results for a text, and with each position but the first changed."""
    x = arguments["x"]
    seen = [program(*arguments.values())]
    # Random numbers: one number added to all channels would pass through a layer norm.
    other = torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x)
    for t in range(1, x.shape[1]):
        changed = {**arguments, "x": x.clone()}
        changed["x"][:, t] = other[:, t]
        seen.append(program(*changed.values()))
    return seen


def causal(seen, arguments):
    """Whether a change of any position leaves the earlier ones alone."""
    half = len(seen) // 2
    for said, (before, *later) in ((NOT_CAUSAL, seen[:half]), (LEAKS, seen[half:])):
        for t, after in enumerate(later, start=1):
            if not is_near(before[:, :t], after[:, :t]):
                return said
    return None


def is_near(a: Tensor, b: Tensor) -> bool:
    """Whether two results are equal but for rounding; NaN equals NaN."""
    return torch.allclose(a, b, atol=1e-5, equal_nan=True)


def first_text(program, arguments):
    """The first text in a batch of two, and alone."""
    alone = arguments["x"][:1]
    texts = (torch.cat([alone, 1 - alone]), alone)
    return [program(*{**arguments, "x": x}.values())[:1] for x in texts]


PROPERTIES = (
    Property("causal", with_each_position_changed, causal, alone=[LEAKS]),
    equal_results(
        "batch",
        first_text,
        "The rows of a batch influence each other: the first one alone gives "
        "something else.",
    ),
)


def stages_of_head(x, W_Q, W_K, W_V):
    """The stages of attention with one head."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    for name, each in (("q", q), ("k", k), ("v", v)):
        yield stage(name, each, needs=())
    yield from mixing(q, k, v)


MASK_HINTS = Hints(numbers=("-1e9",))

attention = HEAD.task(
    "attention",
    hints=MASK_HINTS,
    reference=lambda x, W_Q, W_K, W_V: attention_weights(x @ W_Q, x @ W_K) @ (x @ W_V),
    make=lambda draw, **sizes: draw.tensors(
        "x BTC 0.2 | W_Q CD | W_K CD | W_V CD", **sizes
    ),
    probes=probes(
        "B T C D", "1 3 5 2 | 2 4 4 4 | 2 5 3 7 | 1 5 7 5 | 3 3 3 3 | 2 1 3 2"
    ),
    stages=stages_of_head,
    least={"T": 2},
    properties=PROPERTIES,
    sizes=lambda given: {"C": given["W_Q"].shape[0], "D": given["W_Q"].shape[1]},
    weights=["W_Q", "W_K", "W_V"],
)


# Many heads: the weights come in a dict.


def split(x: Tensor, H: int) -> Tensor:
    """Cut channels into heads."""
    return x.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, T, D)


def join(heads: Tensor) -> Tensor:
    """Put the heads side by side."""
    return heads.transpose(1, 2).flatten(2)  # (B, T, C)


def heads_with(
    x: Tensor,
    weights: dict[str, Tensor],
    num_heads: int,
    recall=None,
    *,
    count=same,
    split=split,
    join=join,
    project=True,
    order="QKV",
    mixing=mix,
    residual=0,
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


def reference_heads(x: Tensor, weights: dict[str, Tensor], num_heads: int) -> Tensor:
    """Call the package's layer."""
    sizes = x.shape[-1], num_heads
    return with_weights(weights, (x,), MultiHeadAttention, *sizes, of="mha.", **BIASES)


# Names, axes, means and scales of weights.
WEIGHTS = " | ".join(f"W_{name} CC 0 0.7 | b_{name} C 0 0.5" for name in "QKVO")


def make_heads(draw: Draw, B: int, T: int, H: int, D: int) -> Arguments:
    """Draw the arguments of attention with many heads."""
    x = draw.normal(B, T, H * D, mean=0.2)
    return {"x": x, "weights": draw.tensors(WEIGHTS, C=H * D), "num_heads": H}


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


def with_others(
    pairs: Iterable[tuple[str, str]],
) -> list[tuple[tuple[str, str], Program]]:
    """One weight read where another is meant, which stands first in each pair."""

    def reading(name: str, other: str) -> Program:
        return lambda x, weights, *rest: (x, weights | {name: weights[other]}, *rest)

    return [((other, name), reading(name, other)) for name, other in pairs]


def projected(x: Tensor, weights: dict[str, Tensor], *rest: Any) -> tuple:
    """Project x before the heads read it."""
    return x @ weights["W_O"] + weights["b_O"], weights, *rest


def heads_then(last: Callable[[Tensor, dict], Tensor], **pieces: Any) -> Program:
    """Return the heads with a last step that reads the weights too."""
    return lambda x, w, *rest: last(heads_with(x, w, *rest, **pieces), w)


HEADS = Reference(
    heads_with,
    """
    [project] W_O with b_O = {it} @ {weights}["W_O"] + {weights}["b_O"]
    no-output-projection = False: the last matrix, W_O with b_O, is missing
    [b_O: output-bias] the bias b_O = {it} + {weights}["b_O"]
        | {weights}["b_O"] / {num_heads}
    [b_Q: query-bias] the queries' bias = {it} + {weights}["b_Q"]
        | {x} @ {weights}["W_Q"] + {weights}["b_Q"]
    [b_V: value-bias] the values' bias = {it} + {weights}["b_V"]
        | {x} @ {weights}["W_V"] + {weights}["b_V"]
    [matrix_Q matrix_K matrix_V matrix_O]
    [count] num_heads = {x}.shape[-1] // {num_heads} | {num_heads}
    one-head = 1: num_heads is ignored: this is one head of width C
    number-for-width: the number of heads and their width change places: C / num_heads
        heads
    [join] the joining of the heads = {it}.transpose(1, 2).flatten(2)
        | {inner}.transpose(1, 2).flatten(2)
    join-without-transpose: the heads are joined without moving their axis back: (B, H,
        T, D) must become (B, T, H, D), then (B, T, C)
    join-interleaved: the heads are joined in the wrong order: channel by channel, not
        head by head
    heads-backwards: the heads are joined in the wrong order, the last one first
    heads-averaged: the heads are averaged instead of joined
    ~ last-head-missing: the last head is left out: zeros stand in its channels
    ~ heads-added: the heads are added up instead of joined
    ~ first-head-alone: every head gives what the first gives
    [split] the cutting of the heads
        = {it}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)
        | {inner}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)
        | {inner}.unflatten(-1, ({num_heads}, -1))
    split-without-transpose: the heads are cut out without moving their axis: (B, T, C)
        must become (B, T, H, D), then (B, H, T, D)
    split-interleaved: head h takes every H-th channel instead of D neighbouring ones
    [order] W_Q, W_K and W_V
    queries-for-keys = "KQV": queries and keys change places
    keys-for-values = "QVK": keys and values change places
    [residual] the residual connection
    residual-inside = 1: x is added to the result, which is the block's task
    [given] the weights
    ~ other-weight: {} stands where {} belongs
    [whole] the projection
    ~ projection-twice: the last matrix, W_O with b_O, is applied twice
    ~ output-bias-alone: W_O is missing: b_O alone is added
    [together] the heads = {it}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2)
        | {inner}.unflatten(-1, ({num_heads}, -1)).transpose(1, 2) | {size} ** 0.5
        | {size} | {it}.softmax(-1) | {inner}.softmax(-1)
    interleaved = split-interleaved + join-interleaved: head h takes, and gives back,
        every H-th channel instead of D neighbours
    split-and-join-without-transpose = split-without-transpose + join-without-transpose:
        the heads are cut out and joined without moving their axis
    no-biases: all four biases are forgotten
    no-inner-biases: the biases of queries, keys and values are forgotten
    transposed-weights: the matrices are used transposed, x Wᵀ for x W
    scale-of-heads: the scores are divided by √num_heads instead of √D
    softmax-over-heads: the softmax runs over the heads
    ~ heads-of-positions: the heads are cut out with their axis in front of the batch's,
        so that texts are mixed
    ~ heads-read-each-other: the heads' axis is not moved, so that at each position the
        heads read each other: (B, T, H, D) must become (B, H, T, D)
    ~ projection-first: W_O and b_O act on x, before the heads
    """,
    parts=[Part(MIXING, "mixing")],
    number_for_width=lambda H, C: C // H,
    join_without_transpose=lambda h: h.reshape(len(h), h.shape[2], -1),
    join_interleaved=lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
    heads_backwards=lambda heads: join(heads.flip(1)),
    heads_averaged=every_head(lambda heads: heads.mean(1, keepdim=True)),
    last_head_missing=lambda heads: join(
        torch.cat([heads[:, :-1], 0 * heads[:, -1:]], 1)
    ),
    heads_added=every_head(lambda heads: heads.sum(1, keepdim=True)),
    first_head_alone=every_head(lambda heads: heads[:, :1]),
    split_without_transpose=lambda x, H: x.reshape(len(x), H, x.shape[1], -1),
    split_interleaved=lambda x, H: x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2),
    order=orders("KQV", "QVK"),
    other_weight=with_others(OTHER_WEIGHTS),
    projection_twice=heads_then(lambda y, weights: projected(y, weights)[0]),
    output_bias_alone=heads_then(lambda y, weights: y + weights["b_O"], project=False),
    no_biases={"b_Q": 0, "b_K": 0, "b_V": 0, "b_O": 0},
    no_inner_biases={"b_Q": 0, "b_K": 0, "b_V": 0},
    transposed_weights=all_of("QKVO"),
    scale_of_heads={"mixing": {"scale": lambda n: math.sqrt(n.H)}},
    softmax_over_heads={"mixing": masked_after(share=along(1))},
    heads_of_positions={
        "split": lambda x, H: x.unflatten(-1, (H, -1)).permute(1, 2, 0, 3),
        "join": lambda heads: heads.permute(2, 0, 1, 3).flatten(2),
    },
    heads_read_each_other={
        "split": lambda x, H: x.unflatten(-1, (H, -1)),
        "join": lambda heads: heads.flatten(2),
    },
    projection_first={"given": projected, "project": False},
    **transposings("the heads", "QKVO", "QKV QK QV KV"),
)


heads = HEADS.task(
    "heads",
    hints=MASK_HINTS,
    reference=reference_heads,
    make=make_heads,
    stages=attended,
    probes=probes("B T H D", "1 3 2 3 | 2 5 3 2 | 2 4 3 5 | 1 6 3 3 | 2 1 2 2"),
    least={"T": 2},
    properties=PROPERTIES,
    sizes=lambda given: {"C": given["x"].shape[-1], "num_heads": given["num_heads"]},
    weights=["weights"],
)
