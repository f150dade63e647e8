"""Causal attention, with one head and with many."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations

import torch
from torch import Tensor
from torch.func import functional_call

from mygpt.attention import MultiHeadAttention, attention_weights
from mygpt.check.compose import lifted
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import attended, mixing
from mygpt.check.stages.stage import Stage, stage
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Property, Task

ATTENTION = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")


def keep(before: Tensor, mask: Tensor) -> Tensor:
    return before.masked_fill(~mask, -math.inf)


def triangle(T: int, diagonal: int = 0) -> Tensor:
    """Which positions (column) a position (row) may read."""
    return torch.ones(T, T, dtype=torch.bool).tril(diagonal)


def mix(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    compare: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q @ k.mT,
    scale: Callable[[int, int], int | float] = lambda T, D: math.sqrt(D),
    mask: Callable[[Tensor], Tensor] | None = None,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    after: Callable[[Tensor], Tensor] = lambda weights: weights,
    read: Callable[[Tensor, Tensor], Tensor] = lambda weights, v: weights @ v,
) -> Tensor:
    """Attention of (..., T, D) with one piece replaced."""
    T, D = q.shape[-2:]
    scores = compare(q, k) / scale(T, D)
    scores = keep(scores, triangle(T)) if mask is None else mask(scores)
    return read(after(share(scores)), v)


def hidden_from_itself(scores: Tensor) -> Tensor:
    allowed = triangle(scores.shape[-1], -1)
    allowed[0, 0] = True
    return keep(scores, allowed)


def no_mask(scores: Tensor) -> Tensor:
    return scores


def shifted_mask(diagonal: int) -> Callable[[Tensor], Tensor]:
    return lambda scores: keep(scores, triangle(scores.shape[-1], diagonal))


def future(scores: Tensor) -> Tensor:
    return keep(scores, triangle(scores.shape[-1]).T)


def zeros_for_infinity(scores: Tensor) -> Tensor:
    return scores * triangle(scores.shape[-1])


def ones_added(scores: Tensor) -> Tensor:
    """The mask of ones and zeros, added to the scores."""
    return scores + triangle(scores.shape[-1]).to(scores)


def future_alone(scores: Tensor) -> Tensor:
    return keep(scores, triangle(scores.shape[-1]).T & ~triangle(scores.shape[-1]))


def along(axis: int) -> Callable[[Tensor], Tensor]:
    return lambda scores: scores.softmax(axis)


def filled(number: float) -> Callable[[Tensor], Tensor]:
    """The mask with another number than -inf."""
    return lambda scores: scores.masked_fill(~triangle(scores.shape[-1]), number)


def masked_after(weights: Tensor) -> Tensor:
    return weights * triangle(weights.shape[-1])


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
    transposed: str = "",
    reads_x: bool = False,
    mixing: dict | None = None,
) -> Tensor:
    """Attention with one head and one piece replaced."""
    weights = {"Q": W_Q, "K": W_K, "V": W_V}
    q, k, v = (
        x @ (weights[name].T if name in transposed else weights[name]) for name in order
    )
    return mix(q, k, x if reads_x else v, **(mixing or {}))


def wrong(**mixing) -> Callable[..., Tensor]:
    return partial(head, mixing=mixing)


def with_each_position_changed(program: Program, arguments: Arguments) -> list[Tensor]:
    """The results for a text, and with another vector at position 1, at 2 and so on."""
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
    before, *later = seen
    for t, after in enumerate(later, start=1):
        if not torch.allclose(before[:, :t], after[:, :t], atol=1e-5):
            return (
                "It is not causal: changing a position changes what earlier ones give."
            )
    return None


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


HEAD_CHAPTER = "03_attention"
HEAD_PROBES = [
    Probe(0, {"B": 1, "T": 3, "C": 5, "D": 2}),
    Probe(1, {"B": 2, "T": 4, "C": 4, "D": 4}),
    Probe(2, {"B": 2, "T": 5, "C": 3, "D": 7}),
    Probe(3, {"B": 1, "T": 5, "C": 7, "D": 5}),
    Probe(4, {"B": 3, "T": 3, "C": 3, "D": 3}),
    Probe(5, {"B": 2, "T": 1, "C": 3, "D": 2}),
]

attention = Task(
    name="attention",
    chapter=HEAD_CHAPTER,
    label="check-attention",
    asks="Causal attention with one head: queries x W_Q, keys x W_K and values x W_V; "
    "scores query · key / √D; each position's softmax over itself and the positions "
    "before it; the values, weighted.",
    arguments={"x": "(B, T, C)", "W_Q": "(C, D)", "W_K": "(C, D)", "W_V": "(C, D)"},
    returns="a tensor of shape (B, T, D)",
    example="""\
>>> one = torch.ones(1, 1)
>>> attention(torch.tensor([[[0.0], [1.0]]]), one, one, one)
tensor([[[0.0000],
         [0.7311]]])""",
    reference=lambda x, W_Q, W_K, W_V: attention_weights(x @ W_Q, x @ W_K) @ (x @ W_V),
    make=make_head,
    probes=HEAD_PROBES,
    stages=stages_of_head,
    least={"T": 2},
    differentiable=["x", "W_Q", "W_K", "W_V"],
    properties=PROPERTIES,
    sizes=lambda given: {"C": given["W_Q"].shape[0], "D": given["W_Q"].shape[1]},
    weights=["W_Q", "W_K", "W_V"],
    mistakes=[
        Mistake(
            "no-mask",
            "there is no mask: positions read the future",
            wrong(mask=no_mask),
        ),
        Mistake(
            "mask-off-by-one-ahead",
            "the mask is one off: each position also reads the next one",
            wrong(mask=shifted_mask(1)),
        ),
        Mistake(
            "mask-off-by-one-behind",
            "the mask is one off: no position reads itself, and the first reads "
            "nothing",
            wrong(mask=shifted_mask(-1)),
        ),
        Mistake(
            "mask-transposed",
            "the mask is transposed: each position reads itself and the future",
            wrong(mask=future),
        ),
        Mistake(
            "mask-of-zeros",
            "masked scores are set to 0 instead of -inf: exp(0) is 1, so the future "
            "keeps its share",
            wrong(mask=zeros_for_infinity),
        ),
        Mistake(
            "mask-added",
            "a mask of ones and zeros is added to the scores",
            wrong(mask=ones_added),
        ),
        Mistake(
            "mask-after-softmax",
            "the mask comes after the softmax, so the weights no longer add up to 1",
            wrong(mask=no_mask, after=masked_after),
        ),
        Mistake(
            "mask-the-future-alone",
            "the mask is upside down: each position reads the future alone, and the "
            "last reads nothing",
            wrong(mask=future_alone),
        ),
        Mistake(
            "no-scale",
            "the scores are not divided by √D",
            wrong(scale=lambda T, D: 1),
        ),
        Mistake(
            "scale-of-channels",
            "the scores are divided by √C instead of √D",
            lambda x, q, k, v: head(
                x, q, k, v, mixing={"scale": lambda T, D: math.sqrt(x.shape[-1])}
            ),
        ),
        Mistake(
            "scale-without-root",
            "the scores are divided by D instead of √D",
            wrong(scale=lambda T, D: D),
        ),
        Mistake(
            "scale-of-length",
            "the scores are divided by √T instead of √D",
            wrong(scale=lambda T, D: math.sqrt(T)),
        ),
        Mistake(
            "scale-upside-down",
            "the scores are multiplied by √D",
            wrong(scale=lambda T, D: 1 / math.sqrt(D)),
        ),
        Mistake(
            "softmax-over-queries",
            "the softmax runs over the queries, so each column of weights adds up to 1",
            wrong(share=along(-2)),
        ),
        Mistake(
            "no-softmax",
            "there is no softmax: the masked scores themselves are the weights",
            wrong(mask=no_mask, share=lambda scores: scores, after=masked_after),
        ),
        Mistake(
            "queries-for-keys",
            "queries and keys change places",
            partial(head, order="KQV"),
        ),
        Mistake(
            "keys-for-values",
            "the keys are averaged instead of the values",
            partial(head, order="QKK"),
        ),
        Mistake(
            "x-for-values",
            "the weights average x itself, not the values x W_V",
            partial(head, reads_x=True),
        ),
        Mistake(
            "queries-alone",
            "the queries are compared with themselves, not with the keys",
            partial(head, order="QQV"),
        ),
        Mistake(
            "keys-not-transposed",
            "the keys are not transposed in query · key",
            wrong(compare=lambda q, k: q @ k),
        ),
        Mistake(
            "transposed-weights",
            "the matrices are used transposed, x Wᵀ for x W",
            partial(head, transposed="QKV"),
        ),
        Mistake(
            "equal-weights",
            "each position takes the plain mean of what it may read, whatever the "
            "queries and keys say",
            wrong(compare=lambda q, k: 0 * q @ k.mT),
        ),
        Mistake(
            "weights-returned",
            "the attention weights are returned instead of the weighted values",
            wrong(read=lambda weights, v: weights),
        ),
        Mistake(
            "batch-mixed",
            "the softmax runs over the batch",
            wrong(share=along(0)),
        ),
    ],
    more=lambda: [
        *IN_MIXING,
        *(
            Mistake(
                f"order-{order.lower()}",
                f"the query is made with W_{order[0]}, the key with W_{order[1]} and "
                f"the value with W_{order[2]}",
                partial(head, order=order),
            )
            for order in ("QVK", "VKQ", "KVQ", "VQK", "KKV", "QKQ", "QVV", "VVV")
        ),
        *(
            Mistake(
                f"transposed-{names.lower()}",
                f"{matrices(names)} used transposed",
                partial(head, transposed=names),
            )
            for names in ("Q", "K", "V", "QK", "QV", "KV")
        ),
    ],
)


def matrices(names: str) -> str:
    """Name matrices, with the verb: "W_Q and W_K are"."""
    found = [f"W_{name}" for name in names]
    verb = "is" if len(found) == 1 else "are"
    return f"{' and '.join(found)} {verb}"


def powers_of_two(scores: Tensor) -> Tensor:
    return (scores * math.log(2)).softmax(-1)


def sigmoids(scores: Tensor) -> Tensor:
    return scores.sigmoid()


def scaled_by(text: str, name: str, scale: Callable[[int, int], float]) -> Mistake:
    return Mistake(f"scale-{name}", f"the scores are {text}", wrong(scale=scale))


# Tried when none of the listed mistakes fits.
IN_MIXING = [
    scaled_by("divided by D²", "of-the-square", lambda T, D: D**2),
    scaled_by("multiplied by D", "by-width", lambda T, D: 1 / D),
    scaled_by("divided by T instead of √D", "by-length", lambda T, D: T),
    scaled_by("divided by ∜D instead of √D", "of-fourth-root", lambda T, D: D**0.25),
    scaled_by("divided by √(2D)", "of-twice-the-width", lambda T, D: (2 * D) ** 0.5),
    scaled_by("divided by 8, as if D were 64", "eight", lambda T, D: 8),
    Mistake(
        "scale-after-softmax",
        "the weights are divided by √D, not the scores",
        wrong(
            scale=lambda T, D: 1,
            read=lambda weights, v: weights @ v / math.sqrt(v.shape[-1]),
        ),
    ),
    Mistake(
        "scaled-after-softmax-too",
        "the weights are divided by √D too, after the softmax",
        wrong(read=lambda weights, v: weights @ v / math.sqrt(v.shape[-1])),
    ),
    *(
        Mistake(
            "mask-too-small",
            f"masked scores are set to {number:g}, from which the softmax still gives "
            "the future a share: use -inf",
            wrong(mask=filled(number)),
        )
        for number in (-1, -5, -10, 1, 1e-9, 1e9)
    ),
    Mistake(
        "mask-of-infinity",
        "masked scores are set to inf, not to -inf",
        wrong(mask=filled(math.inf)),
    ),
    Mistake(
        "mask-hides-itself",
        "the mask hides each position from itself, but for the first",
        wrong(mask=hidden_from_itself),
    ),
    Mistake(
        "mask-two-ahead",
        "the mask is two off: each position reads the next two too",
        wrong(mask=shifted_mask(2)),
    ),
    Mistake(
        "mask-itself-alone",
        "each position reads itself alone",
        wrong(mask=lambda s: keep(s, torch.eye(s.shape[-1], dtype=torch.bool))),
    ),
    Mistake(
        "mask-before-and-renormalised",
        "the weights are masked after a softmax over the queries",
        wrong(mask=no_mask, share=along(-2), after=masked_after),
    ),
    Mistake(
        "softmax-of-both-axes",
        "the softmax runs over queries and keys together",
        wrong(share=lambda s: s.flatten(-2).softmax(-1).view(s.shape)),
    ),
    Mistake(
        "softmax-twice",
        "the softmax is applied twice",
        wrong(after=lambda weights: weights.softmax(-1)),
    ),
    Mistake(
        "weights-transposed",
        "the weights are transposed before they meet the values",
        wrong(read=lambda weights, v: weights.mT @ v),
    ),
    Mistake(
        "powers-of-two",
        "the softmax takes powers of 2 instead of powers of e",
        wrong(share=powers_of_two),
    ),
    Mistake(
        "sigmoid",
        "each score goes through a sigmoid; there is no softmax",
        wrong(share=sigmoids),
    ),
    Mistake(
        "hard-maximum",
        "each position reads only the one with the largest score",
        wrong(share=lambda s: (s == s.amax(-1, keepdim=True)).to(s)),
    ),
    Mistake(
        "minus",
        "the scores enter with a minus sign",
        wrong(compare=lambda q, k: -q @ k.mT),
    ),
    Mistake(
        "cosine",
        "query and key are brought to length 1 first: these are cosines",
        wrong(compare=lambda q, k: unit(q) @ unit(k).mT),
    ),
    Mistake(
        "scores-transposed",
        "the scores are key · query, transposed",
        wrong(compare=lambda q, k: k @ q.mT),
    ),
    Mistake(
        "no-division",
        "exp of the scores is not divided by the sum",
        wrong(share=torch.exp),
    ),
    Mistake(
        "log-softmax",
        "the logarithm of the softmax is taken",
        wrong(mask=no_mask, share=lambda s: s.log_softmax(-1), after=masked_after),
    ),
]


def unit(vectors: Tensor) -> Tensor:
    return vectors / vectors.norm(dim=-1, keepdim=True)


# Many heads: the weights come in a dict.


def split(x: Tensor, H: int) -> Tensor:
    return x.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, H, T, D)


def join(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)  # (B, T, C)


def heads_with(
    x: Tensor,
    weights: dict[str, Tensor],
    num_heads: int,
    *,
    split: Callable[[Tensor, int], Tensor] = split,
    join: Callable[[Tensor], Tensor] = join,
    project: bool = True,
    biases: tuple[str, ...] = ("b_Q", "b_K", "b_V", "b_O"),
    order: str = "QKV",
    transposed: str = "",
    mixing: dict | None = None,
) -> Tensor:
    """Attention with many heads and one piece replaced."""

    def linear(x: Tensor, name: str) -> Tensor:
        W = weights[f"W_{name}"]
        bias = weights[f"b_{name}"] if f"b_{name}" in biases else 0
        return x @ (W.T if name in transposed else W) + bias

    q, k, v = (split(linear(x, name), num_heads) for name in order)
    out = join(mix(q, k, v, **(mixing or {})))
    return linear(out, "O") if project else out


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


def wrong_heads(**pieces) -> Callable[..., Tensor]:
    return partial(heads_with, **pieces)


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


def heads_backwards(heads: Tensor) -> Tensor:
    return join(heads.flip(1))


def heads_averaged(heads: Tensor) -> Tensor:
    return join(heads.mean(1, keepdim=True).expand_as(heads))


def scale_of_channels(x, weights, num_heads) -> Tensor:
    mixing = {"scale": lambda T, D: math.sqrt(x.shape[-1])}
    return heads_with(x, weights, num_heads, mixing=mixing)


def scale_of_heads(x, weights, num_heads) -> Tensor:
    mixing = {"scale": lambda T, D: math.sqrt(num_heads)}
    return heads_with(x, weights, num_heads, mixing=mixing)


HEADS_MISTAKES = [
    Mistake(
        "no-mask",
        "there is no mask: positions read the future",
        wrong_heads(mixing={"mask": no_mask}),
    ),
    Mistake(
        "no-scale",
        "the scores are not divided by √D",
        wrong_heads(mixing={"scale": lambda T, D: 1}),
    ),
    Mistake(
        "no-output-projection",
        "the last matrix, W_O with b_O, is missing",
        wrong_heads(project=False),
    ),
    Mistake(
        "no-output-bias",
        "the bias b_O is forgotten",
        wrong_heads(biases=("b_Q", "b_K", "b_V")),
    ),
    Mistake(
        "scale-without-root",
        "the scores are divided by D instead of √D",
        wrong_heads(mixing={"scale": lambda T, D: D}),
    ),
    Mistake(
        "scale-of-channels",
        "the scores are divided by √C instead of √D",
        scale_of_channels,
    ),
    Mistake(
        "mask-after-softmax",
        "the mask comes after the softmax, so the weights no longer add up to 1",
        wrong_heads(mixing={"mask": no_mask, "after": masked_after}),
    ),
    Mistake(
        "join-without-transpose",
        "the heads are joined without moving their axis back: (B, H, T, D) must become "
        "(B, T, H, D), then (B, T, C)",
        wrong_heads(join=join_without_transpose),
    ),
    Mistake(
        "split-without-transpose",
        "the heads are cut out without moving their axis: (B, T, C) must become "
        "(B, T, H, D), then (B, H, T, D)",
        wrong_heads(split=split_without_transpose),
    ),
    Mistake(
        "transposed-weights",
        "the matrices are used transposed, x Wᵀ for x W",
        wrong_heads(transposed="QKVO"),
    ),
    Mistake(
        "one-head",
        "num_heads is ignored: this is one head of width C",
        lambda x, weights, num_heads: heads_with(x, weights, 1),
    ),
    Mistake(
        "number-for-width",
        "the number of heads and their width change places: C / num_heads heads",
        lambda x, weights, num_heads: heads_with(x, weights, x.shape[-1] // num_heads),
    ),
    Mistake(
        "split-and-join-without-transpose",
        "the heads are cut out and joined without moving their axis",
        wrong_heads(split=split_without_transpose, join=join_without_transpose),
    ),
    Mistake(
        "split-interleaved",
        "head h takes every H-th channel instead of D neighbouring ones",
        wrong_heads(split=split_interleaved),
    ),
    Mistake(
        "interleaved",
        "head h takes, and gives back, every H-th channel instead of D neighbours",
        wrong_heads(split=split_interleaved, join=join_interleaved),
    ),
    Mistake(
        "join-interleaved",
        "the heads are joined in the wrong order: channel by channel, not head by head",
        wrong_heads(join=join_interleaved),
    ),
    Mistake(
        "heads-backwards",
        "the heads are joined in the wrong order, the last one first",
        wrong_heads(join=heads_backwards),
    ),
    Mistake(
        "heads-averaged",
        "the heads are averaged instead of joined",
        wrong_heads(join=heads_averaged),
    ),
    Mistake("no-biases", "all four biases are forgotten", wrong_heads(biases=())),
    Mistake(
        "no-inner-biases",
        "the biases of queries, keys and values are forgotten",
        wrong_heads(biases=("b_O",)),
    ),
    Mistake(
        "no-query-bias",
        "the queries' bias is forgotten",
        wrong_heads(biases=("b_K", "b_V", "b_O")),
    ),
    Mistake(
        "no-value-bias",
        "the values' bias is forgotten",
        wrong_heads(biases=("b_Q", "b_K", "b_O")),
    ),
    Mistake(
        "scale-of-heads",
        "the scores are divided by √num_heads instead of √D",
        scale_of_heads,
    ),
    Mistake(
        "mask-off-by-one-ahead",
        "the mask is one off: each position also reads the next one",
        wrong_heads(mixing={"mask": shifted_mask(1)}),
    ),
    Mistake(
        "mask-off-by-one-behind",
        "the mask is one off: no position reads itself, and the first reads nothing",
        wrong_heads(mixing={"mask": shifted_mask(-1)}),
    ),
    Mistake(
        "mask-of-zeros",
        "masked scores are set to 0 instead of -inf",
        wrong_heads(mixing={"mask": zeros_for_infinity}),
    ),
    Mistake(
        "softmax-over-queries",
        "the softmax runs over the queries",
        wrong_heads(mixing={"share": along(-2)}),
    ),
    Mistake(
        "softmax-over-heads",
        "the softmax runs over the heads",
        wrong_heads(mixing={"share": along(1), "mask": no_mask, "after": masked_after}),
    ),
    Mistake(
        "queries-for-keys", "queries and keys change places", wrong_heads(order="KQV")
    ),
    Mistake(
        "keys-for-values", "keys and values change places", wrong_heads(order="QVK")
    ),
    Mistake(
        "residual-inside",
        "x is added to the result, which is the block's task",
        lambda x, weights, num_heads: x + heads_with(x, weights, num_heads),
    ),
]


def in_every_head(program: partial) -> Program:
    return wrong_heads(mixing=program.keywords["mixing"])


def in_one_text(x: Tensor, H: int) -> Tensor:
    """Cut out heads with the batch among them: (B, T, C) to (T, H, B, D)."""
    return x.unflatten(-1, (H, -1)).permute(1, 2, 0, 3)


def last_head_empty(heads: Tensor) -> Tensor:
    return join(torch.cat([heads[:, :-1], 0 * heads[:, -1:]], 1))


# What is left of an earlier line that was copied, by what should stand there. A bias
# of the keys changes nothing: it adds one number to all scores of a query.
OTHER_WEIGHTS = [
    (f"{kind}_{name}", f"{kind}_{other}")
    for kind in "bW"
    for other, name in combinations("QKVO", 2)
    if kind + name != "bK"
]


def with_another(right: Program, name: str, other: str) -> Program:
    """A program that reads one weight where another is meant."""

    def program(x: Tensor, weights: dict[str, Tensor], num_heads: int) -> Tensor:
        return right(x, {**weights, name: weights[other]}, num_heads)

    return program


def more_of_heads() -> list[Mistake]:
    """What is tried when none of the listed mistakes fits."""
    listed = {mistake.name for mistake in HEADS_MISTAKES}
    of_one_head = [
        mistake
        for mistake in (*attention.mistakes, *IN_MIXING)
        if isinstance(mistake.program, partial)
        and "mixing" in mistake.program.keywords
        and mistake.name not in listed
    ]
    biases = ("QO", "VO", "QVO", "QV", "QKVO")
    return [
        *lifted(of_one_head, in_every_head, "in every head"),
        *(
            Mistake(
                f"no-bias-{names.lower()}",
                "the biases "
                + " and ".join(f"b_{name}" for name in names)
                + " are forgotten",
                wrong_heads(biases=tuple(f"b_{n}" for n in "QKVO" if n not in names)),
            )
            for names in biases
        ),
        *(
            Mistake(
                f"order-{order.lower()}",
                f"the query is made with W_{order[0]}, the key with W_{order[1]} and "
                f"the value with W_{order[2]}",
                wrong_heads(order=order),
            )
            for order in ("VKQ", "KVQ", "VQK", "QKK", "KKV", "QQV", "QKQ", "QVV")
        ),
        *(
            Mistake(
                f"transposed-{names.lower()}",
                f"{matrices(names)} used transposed",
                wrong_heads(transposed=names),
            )
            for names in ("O", "QKV", "Q", "K", "V", "QK", "QV", "KV")
        ),
        Mistake(
            "heads-of-positions",
            "the heads are cut out with their axis in front of the batch's, so that "
            "texts are mixed",
            wrong_heads(
                split=in_one_text,
                join=lambda heads: heads.permute(2, 0, 1, 3).flatten(2),
            ),
        ),
        Mistake(
            "heads-read-each-other",
            "the heads' axis is not moved, so that at each position the heads read "
            "each other: (B, T, H, D) must become (B, H, T, D)",
            wrong_heads(
                split=lambda x, H: x.unflatten(-1, (H, -1)),
                join=lambda heads: heads.flatten(2),
            ),
        ),
        Mistake(
            "last-head-missing",
            "the last head is left out: zeros stand in its channels",
            wrong_heads(join=last_head_empty),
        ),
        *(
            Mistake(
                "other-weight",
                f"{other} stands where {name} belongs",
                with_another(heads_with, name, other),
            )
            for name, other in OTHER_WEIGHTS
        ),
        Mistake(
            "heads-added",
            "the heads are added up instead of joined",
            wrong_heads(
                join=lambda heads: join(heads.sum(1, keepdim=True).expand_as(heads))
            ),
        ),
        Mistake(
            "first-head-alone",
            "every head gives what the first gives",
            wrong_heads(join=lambda heads: join(heads[:, :1].expand_as(heads))),
        ),
        Mistake(
            "projection-twice",
            "the last matrix, W_O with b_O, is applied twice",
            lambda x, weights, num_heads: (
                heads_with(x, weights, num_heads) @ weights["W_O"] + weights["b_O"]
            ),
        ),
        Mistake(
            "projection-first",
            "W_O and b_O act on x, before the heads",
            lambda x, weights, num_heads: heads_with(
                x @ weights["W_O"] + weights["b_O"], weights, num_heads, project=False
            ),
        ),
        Mistake(
            "output-bias-alone",
            "W_O is missing: b_O alone is added",
            lambda x, weights, num_heads: (
                heads_with(x, weights, num_heads, project=False) + weights["b_O"]
            ),
        ),
    ]


WEIGHTS_OF_ATTENTION = "dict: W_Q, W_K, W_V, W_O (C, C) and b_Q, b_K, b_V, b_O (C,)"


def stages_of_heads(
    x: Tensor, weights: dict[str, Tensor], num_heads: int
) -> Iterator[Stage]:
    """The stages of attention with many heads."""
    yield from attended(x, weights, num_heads)


heads = Task(
    name="heads",
    chapter="04_heads",
    label="check-heads",
    asks="Causal attention with num_heads heads, each on D = C / num_heads "
    "neighbouring channels of x W_Q + b_Q, x W_K + b_K and x W_V + b_V; the heads' "
    "results side by side, then times W_O, plus b_O.",
    arguments={"x": "(B, T, C)", "weights": WEIGHTS_OF_ATTENTION, "num_heads": "int"},
    returns="a tensor of shape (B, T, C)",
    example="""\
>>> weights = {f"W_{name}": torch.eye(2) for name in "QKVO"}
>>> weights |= {f"b_{name}": torch.zeros(2) for name in "QKVO"}
>>> heads(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), weights, 2)
tensor([[[1.0000, 0.0000],
         [0.5000, 0.7311]]])""",
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
    mistakes=HEADS_MISTAKES,
    more=more_of_heads,
)
