"""Top-k, top-p, and generation with a cache of keys and values."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.compare import find_difference
from mygpt.check.model import Model, Piece
from mygpt.check.stages.parts import masks, softmax
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task, result_of
from mygpt.check.tasks.attention import LEAKS, far_apart, is_near, keep
from mygpt.check.tasks.block import block_with
from mygpt.check.tasks.embedding import embed_with
from mygpt.check.tasks.feed_forward import ERF
from mygpt.check.tasks.gpt import (
    FORMS,
    FORWARD,
    INSIDE,
    book_gpt,
    gpt_tensors,
    in_both_forms,
    stages_with,
)
from mygpt.check.tasks.norm import norm_with
from mygpt.sampling import keep_top_k, keep_top_p
from mygpt.workbook.asked import ASKED


def distinct(draw: Draw, N: int, V: int) -> Tensor:
    """Logits without ties."""
    rows = [draw.rng.sample(range(-25, 26), V) for _ in range(N)]
    return torch.tensor(rows, dtype=torch.float64) / 10


def make_top_k(draw: Draw, N: int, V: int, k: int) -> Arguments:
    return {"logits": distinct(draw, N, V), "k": k}


def probabilities(logits: Tensor, keep: Tensor) -> Tensor:
    return logits.masked_fill(~keep, -math.inf).softmax(-1)


def above(logits: Tensor, k: int) -> Tensor:
    """Which logits are among the k largest of their row."""
    return logits >= logits.topk(min(max(k, 1), logits.shape[-1])).values[:, -1:]


def adds_up(probabilities: Tensor, arguments: Arguments) -> str | None:
    total = probabilities.sum(-1)
    if torch.allclose(total, torch.ones_like(total), atol=1e-5):
        return None
    return "Your probabilities do not add up to 1."


def top_k_with(
    logits: Tensor,
    k: int,
    *,
    count: Callable[[int], int] = lambda k: k,
    keep: Callable[[Tensor, int], Tensor] = above,
    cut: Callable[[Tensor, Tensor], Tensor] = probabilities,
) -> Tensor:
    """Top-k in pieces."""
    return cut(logits, keep(logits, count(k)))


def of_everything(logits: Tensor, k: int) -> Tensor:
    return above(logits.view(1, -1), k).view(logits.shape)


def kept_alone(logits: Tensor, k: int) -> Tensor:
    return logits.topk(min(k, logits.shape[-1])).values.softmax(-1)


TOP_K = Model(
    top_k_with,
    keep=Piece(
        "what is kept",
        one_too_few=(
            "one logit too few is kept: the k-th largest stays too",
            lambda logits, k: (
                logits > logits.topk(min(k, logits.shape[-1])).values[:, -1:]
            ),
        ),
        smallest=("the k smallest are kept", lambda logits, k: above(-logits, k)),
        first_row_for_all=(
            "the threshold of the first row is used for all rows",
            lambda logits, k: (
                logits >= logits.topk(min(k, logits.shape[-1])).values[0, -1]
            ),
        ),
        whole_batch=(
            "the k largest of the whole tensor are kept, not of each row",
            of_everything,
        ),
    ),
    count=Piece("k", one_too_many=("one logit too many is kept", lambda k: k + 1)),
    cut=Piece(
        "the cut",
        zero_for_infinity=(
            "the other logits are set to 0, and exp(0) is 1: set them to -inf",
            lambda logits, keep: (logits * keep).softmax(-1),
        ),
        not_renormalised=(
            "the probabilities are cut after the softmax and no longer add up to 1",
            lambda logits, keep: logits.softmax(-1) * keep,
        ),
        logits_returned=(
            "the logits are returned, not probabilities",
            lambda logits, keep: logits.masked_fill(~keep, -math.inf),
        ),
        no_cut=("nothing is cut: k is ignored", lambda logits, _: logits.softmax(-1)),
    ),
    result=Piece(
        "the result",
        softmax_twice=("the softmax is applied twice", lambda y: y.softmax(-1)),
    ),
    together=Piece(
        "the threshold",
        threshold_of_the_whole_table=(
            "the threshold is the k-th largest logit of the whole table, not of each "
            "row",
            {
                "keep": of_everything,
                "cut": lambda logits, keep: logits.masked_fill(~keep, -1e9).softmax(-1),
            },
        ),
    ),
    whole=Piece(
        "the places",
        kept_alone=(
            "the k probabilities that are kept are returned alone, sorted, without the "
            "zeros and not in the places of their tokens",
            kept_alone,
        ),
        sorted=(
            "the k probabilities come sorted, not in the places of their tokens",
            lambda logits, k: F.pad(
                kept_alone(logits, k), (0, max(0, logits.shape[-1] - k))
            ),
        ),
    ),
).written(
    keep=(
        "{logits}.topk(min({k}, {logits}.shape[-1])).values[..., -1:]",
        "{logits} >= {threshold}",
    ),
    count=("{k}", "min({k}, {logits}.shape[-1])"),
    cut=(
        "{it} / {it}.sum(-1, keepdim=True)",
        '{left}.masked_fill({right} == 0, float("-inf"))',
        '{logits}.masked_fill({keep} == 0, float("-inf"))',
        'float("-inf")',
        "{it}.softmax(-1)",
        'torch.full_like({it}, float("-inf"))',
        'torch.full_like({logits}, float("-inf"))',
    ),
    result=("{inner}",),
    together=("{logits}.topk(min({k}, {logits}.shape[-1])).values[..., -1:]",),
    whole=("torch.zeros_like({logits}).scatter(-1, {places}, {it})",),
)


def stages_of_top_k(logits: Tensor, k: int) -> Iterator[Stage]:
    """The stages of top-k."""
    largest = logits.topk(min(k, logits.shape[-1])).values
    torch.full_like(logits, -math.inf)
    yield stage("the k largest logits", largest)
    also(lambda: largest[:, -1:])
    kept = logits.masked_fill(~above(logits, k), -math.inf)
    also(lambda: (above(logits, k), ~above(logits, k)))
    yield stage("the logits with all others at -inf", kept)
    yield stage("their softmax", softmax(kept))


top_k = Task(
    **vars(ASKED["top_k"]),
    reference=lambda logits, k: keep_top_k(logits, k).softmax(-1),
    make=make_top_k,
    stages=stages_of_top_k,
    probes=[
        Probe(0, {"N": 1, "V": 5, "k": 2}),
        Probe(1, {"N": 3, "V": 7, "k": 3}),
        Probe(2, {"N": 2, "V": 4, "k": 9}),
        Probe(3, {"N": 2, "V": 5, "k": 1}),
    ],
    least={"V": 2},
    fixed=["logits", "k"],
    properties=[Property("adds up", result_of, adds_up)],
    mistakes=TOP_K.mistakes(),
    model=TOP_K,
)


def make_top_p(draw: Draw, N: int, V: int, p: float) -> Arguments:
    return {"logits": distinct(draw, N, V), "p": p}


def nucleus(
    logits: Tensor,
    p: float,
    *,
    values=lambda ordered: ordered.softmax(-1),
    descending: bool = True,
    before: bool = True,
    always_one: bool = True,
    back=lambda keep, order: torch.zeros_like(keep).scatter(1, order, keep),
    cut=probabilities,
) -> Tensor:
    """Top-p in pieces."""
    ordered, order = logits.sort(descending=descending, stable=True)
    each = values(ordered)
    total = each.cumsum(-1)
    keep = (total - each if before else total) < p
    if always_one:
        keep[:, 0] = True
    return cut(logits, back(keep, order))


def kept_where(reached: Callable[[Tensor, float], Tensor]) -> Program:
    """Keep what reaches a threshold, and the likeliest."""
    return lambda logits, p: probabilities(
        logits,
        reached(logits.softmax(-1), p) | (logits == logits.amax(-1, keepdim=True)),
    )


def one_more(logits: Tensor, p: float) -> Tensor:
    count = (keep_top_p(logits, p) > -math.inf).sum(-1, keepdim=True) + 1
    rank = logits.argsort(-1, descending=True).argsort(-1)
    return probabilities(logits, rank < count)


def nucleus_of_everything(logits: Tensor, p: float) -> Tensor:
    return probabilities(logits, nucleus(logits.view(1, -1), p).view(logits.shape) > 0)


TOP_P = Model(
    nucleus,
    before=Piece(
        "the sum",
        last_one_missing=(
            "the token that brings the sum to p is cut; it belongs to the nucleus",
            False,
        ),
    ),
    together=Piece(
        "the sum",
        empty=(
            "the token that brings the sum to p is cut, and nothing stays where the "
            "likeliest has more than p: NaN",
            {"before": False, "always_one": False},
        ),
    ),
    descending=Piece(
        "the order",
        least_likely=(
            "the tokens are sorted the wrong way round: the least likely are kept",
            False,
        ),
    ),
    values=Piece(
        "what is added up",
        sum_of_logits=("the logits are added up, not their probabilities", lambda x: x),
    ),
    back=Piece(
        "the places",
        not_put_back=(
            "the cut is made in sorted order and not put back in the tokens' places",
            lambda keep, order: keep,
        ),
        gathered=(
            "the cut is read by `gather` at the places of the order; `scatter` puts it "
            "back in the tokens' places",
            lambda keep, order: keep.gather(1, order),
        ),
    ),
    cut=Piece(
        "the cut",
        not_renormalised=(
            "the probabilities are cut after the softmax and no longer add up to 1",
            lambda logits, keep: logits.softmax(-1) * keep,
        ),
        no_cut=("nothing is cut: p is ignored", lambda logits, _: logits.softmax(-1)),
    ).rarely(zero_for_infinity=TOP_K.pieces["cut"].entries[0][1]["zero_for_infinity"]),
    result=Piece(
        "the result",
        sorted=(
            "the probabilities come sorted, not in the places of their tokens",
            lambda shares: shares.sort(descending=True).values,
        ),
    ).rarely(softmax_twice=("the softmax is applied twice", lambda y: y.softmax(-1))),
    whole=Piece(
        "the threshold",
        threshold_alone=(
            "tokens with a probability of at least p are kept, and none where no token "
            "has so much; it is their sum that must reach p",
            lambda logits, p: probabilities(logits, logits.softmax(-1) >= p),
        ),
        one_too_many=("one token too many is kept", one_more),
        threshold=(
            "tokens with a probability of at least p are kept; it is their sum that "
            "must reach p",
            kept_where(lambda shares, p: shares >= p),
        ),
        rest_threshold=(
            "tokens with a probability of at least 1 - p are kept",
            kept_where(lambda shares, p: shares >= 1 - p),
        ),
        min_p=(
            "tokens with at least p times the largest probability are kept: min-p",
            kept_where(lambda shares, p: shares >= p * shares.amax(-1, keepdim=True)),
        ),
        whole_batch=(
            "the nucleus is that of the whole tensor, not of each row",
            nucleus_of_everything,
        ),
    ),
).written(
    before=(
        "{left} - {shares} < {p}",
        "{left} - {sorted}.softmax(-1) < {p}",
        "{it} - {shares}",
        "{it} - {sorted}.softmax(-1)",
    ),
    together=(
        "{left} - {shares} < {p}",
        "{left} - {sorted}.softmax(-1) < {p}",
        "{it} - {shares}",
    ),
    descending=(
        "{logits}.sort(descending=True)",
        "{logits}.argsort(descending=True)",
        "{inner}.sort(descending=True)",
        "{inner}.argsort(descending=True)",
    ),
    values=("{it}.softmax(-1)", "{inner}.softmax(-1).cumsum(-1)"),
    back=(
        "{keep}.scatter(-1, {order}, {keep})",
        "torch.zeros_like({keep}).scatter(-1, {order}, {keep})",
        "{keep}.gather(-1, {order}.argsort(-1))",
    ),
    cut=TOP_K.pieces["cut"].sources,
    result=("{inner}", "torch.zeros_like({it}).scatter(-1, {order}, {it})"),
    whole=("{shares}.cumsum(-1) - {shares} < {p}",),
)


HALVES = (0.0, -math.log(2), -2 * math.log(2), -2 * math.log(2))  # ½, ¼, ⅛, ⅛
EXACT = ((0.5, 1), (0.75, 2))  # p that a sum of them is exactly, and of how many


def kept_at_ties(program: Program, arguments: Arguments) -> list[list[int]]:
    """How many of ½, ¼, ⅛ and ⅛ stay where p is exactly a sum of them, in two orders.

    Powers of two: their softmax and its sums are exact in any floating-point type.
    """
    dtype = arguments["logits"].dtype
    rows = torch.tensor([HALVES, HALVES[::-1]], dtype=dtype)
    return [(program(rows.clone(), p) > 0).sum(-1).tolist() for p, _ in EXACT]


def ties_end_the_nucleus(kept: list[list[int]], arguments: Arguments) -> str | None:
    """Refuse what goes past every exact tie: a rounded sum may pass one."""
    if not all(
        n == wanted + 1
        for (_, wanted), row in zip(EXACT, kept, strict=True)
        for n in row
    ):
        return None
    return (
        "Of ½, ¼, ⅛ and ⅛ the first two add up to exactly 0.75, so with p = 0.75 they "
        "are enough; your program keeps three. A token stays while the sum before it "
        "is less than p (<, not <=); it goes once that sum is p or more."
    )


def stages_of_top_p(logits: Tensor, p: float) -> Iterator[Stage]:
    """The stages of top-p."""
    each = softmax(logits)
    yield stage("the softmax of the logits", each, each.sort().values)
    ordered = each.sort(descending=True).values
    yield stage("the probabilities in order", ordered)
    total = ordered.cumsum(-1)
    yield stage("their running sums", total, total - ordered)
    before = total - ordered
    also(lambda: (before < p, before >= p))
    right = nucleus(logits, p)
    kept = logits.masked_fill(right == 0, -math.inf)
    also(lambda: (right > 0, right == 0, kept.sort(descending=True).values))
    yield stage("the kept logits, all others at -inf", kept)
    yield stage("the softmax of what is left", softmax(kept))


top_p = Task(
    **vars(ASKED["top_p"]),
    reference=lambda logits, p: keep_top_p(logits, p).softmax(-1),
    make=make_top_p,
    stages=stages_of_top_p,
    probes=[
        Probe(0, {"N": 1, "V": 5, "p": 0.7}),
        Probe(1, {"N": 3, "V": 7, "p": 0.85}),
        Probe(2, {"N": 3, "V": 6, "p": 0.05}),
        Probe(3, {"N": 2, "V": 4, "p": 0.5}),
    ],
    least={"V": 2},
    fixed=["logits", "p"],
    properties=[
        Property("adds up", result_of, adds_up),
        Property("ties", kept_at_ties, ties_end_the_nucleus),
    ],
    mistakes=TOP_P.mistakes(),
    model=TOP_P,
)


# One step of a GPT with a cache.


def make_pieces(
    draw: Draw, V: int, N: int, B: int, H: int, D: int, L: int, pieces: tuple[int, ...]
) -> Arguments:
    if sum(pieces) > N:
        raise ValueError("a text longer than the position table")
    return {
        "pieces": [draw.ids(B, length, below=V) for length in pieces],
        "weights": gpt_tensors(draw, V, N, H * D, L),
        "num_heads": H,
    }


def observe_steps(program: Program, arguments: Arguments) -> list:
    """Feed a text piece by piece; return the logits after each."""
    pieces, weights, num_heads = arguments.values()
    cache, given = None, []
    for ids in pieces:
        result = program(ids, weights, num_heads, cache)
        if not isinstance(result, tuple | list) or len(result) != 2:
            return result
        logits, cache = result
        given.append(logits)
    return given


def whole_text(gpt: Program) -> Program:
    """Read the whole text so far at every step, as the package does without a cache."""

    def step(ids, weights, num_heads, cache):
        seen = ids if cache is None else torch.cat([cache, ids], 1)
        logits, _ = gpt(seen, seen, weights, num_heads)
        return logits[:, -1], seen

    return step


def joined(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old, new], dim=2)


def new_first(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([new, old], dim=2)


def step_with(
    ids: Tensor,
    weights: dict,
    num_heads: int,
    cache: list | None,
    *,
    start=lambda past: past,
    past_of=lambda cache: cache[0][2],
    join_keys=joined,
    join_values=joined,
    keep=lambda whole, old, new: whole,
    read=lambda i, blocks: i,
    embed: Program = embed_with,
    order=lambda blocks: blocks,
    block: Program = block_with,
    last_norm: Program = norm_with,
    head=lambda x, weights: x @ weights["token"].T,
    pick=lambda logits: logits[:, -1],
) -> tuple[Tensor, list]:
    """One step of a GPT with a cache, in pieces.

    The cache holds for each block the keys, the values, and how many ids were read.
    """
    past = past_of(cache) if cache else 0
    x = embed(ids, weights["token"], weights["position"][start(past) :])
    blocks, new_cache = order(weights["blocks"]), []
    for i, each in enumerate(blocks):

        def recall(k: Tensor, v: Tensor, i: int = i) -> tuple[Tensor, Tensor]:
            whole = kept = (k, v)
            if cache:
                old = cache[read(i, len(blocks))][:2]
                whole = join_keys(old[0], k), join_values(old[1], v)
                kept = keep(whole, old, (k, v))
            new_cache.append((*kept, past + ids.shape[1]))
            return whole

        x = block(x, each, num_heads, recall)
    x = last_norm(x, weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    return pick(head(x, weights)), new_cache


def masked(reads: Callable[[int], int]) -> dict:
    """The mask of new ids after `past` others, its edge moved to `reads(past)`."""

    def mask(scores: Tensor) -> Tensor:
        T, S = scores.shape[-2:]
        return keep(scores, torch.ones(T, S, dtype=torch.bool).tril(reads(S - T)))

    return {"block": {"heads": {"mixing": {"mask": mask}}}}


def length_of(cache: list) -> int:
    return cache[0][0].shape[2]


def last_of(old: Tensor, new: Tensor) -> Tensor:
    return joined(old[:, :, -1:], new)


def unread(old: Tensor, new: Tensor) -> Tensor:
    return new


def not_extended(whole: tuple, old: tuple, new: tuple) -> tuple:
    return old


CAT = ("torch.cat([{old}, {new}], -2)", "torch.cat([{old}, {new}], 1)")
STEP = Model(
    step_with,
    start=Piece(
        "the first position",
        positions_from_zero=(
            "the positions of new ids are counted from 0 again, not from where the "
            "cache ends",
            lambda past: 0,
        ),
        positions_one_ahead=(
            "the positions of new ids are one too large once there is a cache",
            lambda past: past + (past > 0),
        ),
        positions_one_behind=(
            "the positions of new ids are one too small",
            lambda past: max(0, past - 1),
        ),
    ),
    past_of=Piece(
        "the length of the cache",
        positions_from_the_heads=(
            "the length of the cache is read from the axis of its heads, so the "
            "positions go on from the number of heads",
            lambda cache: cache[0][0].shape[1],
        ),
        positions_from_the_blocks=(
            "the length of the list is taken for that of the text, so the positions go "
            "on from the number of blocks",
            len,
        ),
    ),
    join_keys=Piece(
        "the keys",
        new_keys_before_old=(
            "new keys are put before the old ones, but new values after them",
            new_first,
        ),
    ),
    join_values=Piece(
        "the values",
        new_values_before_old=(
            "new values are put before the old ones, but new keys after them",
            new_first,
        ),
    ),
    keep=Piece(
        "the new cache",
        only_the_piece_before=(
            "the cache keeps only the keys and values of the call before",
            lambda whole, old, new: new,
        ),
        cache_not_extended=(
            "the new keys and values are used but not kept in the cache",
            not_extended,
        ),
        values_of_keys=(
            "the keys are kept in the place of the values too",
            lambda whole, old, new: (whole[0], whole[0]),
        ),
    ),
    read=Piece(
        "the cache of a block",
        one_cache_for_all=("every block reads the first block's cache", lambda i, L: 0),
        last_cache_for_all=(
            "every block reads the last block's cache",
            lambda i, L: L - 1,
        ),
    ),
    pick=Piece(
        "the logits",
        first_position=(
            "the logits are those after the first new id, not the last",
            lambda logits: logits[:, 0],
        ),
        all_positions=(
            "the logits of all new ids are returned, not only the last one's",
            lambda logits: logits,
        ),
        probabilities_returned=(
            "the probabilities are returned instead of the logits",
            lambda logits: logits[:, -1].softmax(-1),
        ),
    ),
    **FORWARD,
    together=Piece(
        "the cache",
        cache_unread=(
            "the cache is not read: new ids see only each other",
            {"join_keys": unread, "join_values": unread},
        ),
        new_before_old=(
            "new keys and values are put before the old ones",
            {"join_keys": new_first, "join_values": new_first},
        ),
        one_position_of_the_cache=(
            "only the last position of the cache is read",
            {"join_keys": last_of, "join_values": last_of},
        ),
        only_the_piece_before_counted=(
            "the cache keeps only the keys and values of the call before, and the "
            "positions are counted from its length",
            {"keep": lambda whole, old, new: new, "past_of": length_of},
        ),
        cache_not_extended_nor_counted=(
            "the new keys and values are used but not kept in the cache, so the "
            "positions stand still too",
            {"keep": not_extended, "past_of": length_of},
        ),
        no_mask=(
            "the new ids are not masked among themselves",
            masked(lambda past: 1000),
        ),
        mask_from_the_corner=(
            "the mask ignores the cache: new id t reads only the first t + 1 keys "
            "instead of all that are cached and t + 1 more",
            masked(lambda past: 0),
        ),
        mask_one_ahead=(
            "the mask lets each new id read one id that follows it",
            masked(lambda past: past + 1),
        ),
        mask_one_behind=(
            "the mask hides each id from itself, and from the first id everything",
            masked(lambda past: past - 1),
        ),
        mask_one_behind_the_cache=(
            "the mask hides each new id from itself once there is a cache",
            masked(lambda past: past - (past > 0)),
        ),
    ),
    parts=INSIDE,
    forms=FORMS,
).written(
    start=(
        '{weights}["position"][{past} : {past} + {size}]',
        "{past}",
        "torch.arange({past}, {past} + {size})",
        "{it} + {past}",
    ),
    past_of=("{cache}[0][0].shape[-2]", "{cache}[0][0].shape[1]"),
    join_keys=CAT,
    join_values=CAT,
    keep=("({k}, {v})", "[{k}, {v}]", "{k}", "{v}"),
    read=("{cache}[{i}]", "{value}[{i}]"),
    pick=("{it}[:, -1]", "{inner}[:, -1]"),
    together=(
        "torch.ones({size}, {past} + {size}).triu({past} + 1).bool()",
        "torch.ones({size}, {past} + {size}).tril({past}).bool()",
        "{inner}.tril({past})",
        "{inner}.triu({past} + 1)",
        "{past}",
        "{past} + 1",
        "{past} + {t}",
        "{past} + {t} + 1",
    ),
    cache_unread=CAT,
    new_before_old=CAT,
    one_position_of_the_cache=CAT,
)


def with_another_table(program: Program, arguments: Arguments) -> list[Tensor]:
    """The logits of a second call, with two token tables.

    The second table has other vectors for the tokens of the first call. A program that
    reads those from the cache gives the same logits with both.
    """
    _, weights, num_heads = arguments.values()
    V = len(weights["token"])
    first, second = torch.tensor([[0, 1, 0]]), torch.tensor([[V - 1]])
    changed = {**weights, "token": weights["token"].clone()}
    changed["token"][:2] *= -2.0
    logits = []
    for table in (weights, changed):
        cache = program(first, weights, num_heads, None)[1]
        logits.append(program(second, table, num_heads, cache)[0][:, 2:])
    return logits


def cache_is_used(logits: list[Tensor], arguments: Arguments) -> str | None:
    """Whether a second call can do without the ids of the first."""
    if torch.allclose(*logits, atol=1e-5):
        return None
    return (
        "Your program computes the earlier positions again; with a cache it needs only "
        "the new ones."
    )


def at_once_and_one_by_one(program: Program, arguments: Arguments) -> list[Tensor]:
    """The logits after the same ids, with scores that are far apart."""
    _, weights, num_heads = arguments.values()
    weights, ids = far_apart(weights, 30.0), torch.tensor([[0, 1, 2, 1]])
    cache = None
    for each in ids.unbind(1):
        logits, cache = program(each[:, None], weights, num_heads, cache)
    return [program(ids, weights, num_heads, None)[0], logits]


def nothing_leaks(logits: list[Tensor], arguments: Arguments) -> str | None:
    return None if is_near(*logits) else LEAKS


def used_twice(program: Program, arguments: Arguments) -> list[Tensor | None]:
    """The logits of a call, and of the same call when its cache was used before."""
    _, weights, num_heads = arguments.values()
    V = len(weights["token"])
    first, other, last = (
        torch.tensor([ids]) for ids in ([0, 1], [V - 1], [min(2, V - 1)])
    )
    logits: list[Tensor | None] = []
    for between in (False, True):
        cache = program(first, weights, num_heads, None)[1]
        try:
            if between:
                program(other, weights, num_heads, cache)
            logits.append(program(last, weights, num_heads, cache)[0])
        except Exception:
            logits.append(None)
    return logits


def cache_stays(logits: list[Tensor | None], arguments: Arguments) -> str | None:
    """Whether a cache that was given can be used again."""
    once, again = logits
    if once is None:
        return None
    same = again is not None and once.shape == again.shape
    if same and torch.allclose(once, again, atol=1e-5):
        return None
    return (
        "Your program changes the cache that it is given, so a second call with the "
        "same cache (two continuations of one text) goes on from the wrong place. Make "
        "new tensors and a new list instead of writing into the old ones."
    )


PIECES = [
    Probe(0, {"V": 7, "N": 6, "B": 1, "H": 2, "D": 2, "L": 2, "pieces": (2, 1)}),
    Probe(1, {"V": 5, "N": 9, "B": 2, "H": 2, "D": 3, "L": 2, "pieces": (3, 1, 2, 1)}),
    Probe(2, {"V": 6, "N": 7, "B": 2, "H": 2, "D": 3, "L": 3, "pieces": (1, 3, 3)}),
    Probe(3, {"V": 6, "N": 6, "B": 2, "H": 1, "D": 4, "L": 1, "pieces": (1, 1, 1, 1)}),
]


def stages_of_cached_step(
    ids: Tensor, weights: dict, num_heads: int, cache: Tensor | None
) -> Iterator[Stage]:
    """The stages of a GPT's step; of each, the new ids' rows or all of them."""
    seen = ids if cache is None else torch.cat([cache, ids], 1)
    masks(ids.shape[1], seen.shape[1])
    for each in in_both_forms(partial(stages_with, seen, weights, num_heads)):
        new = [tensor[..., -ids.shape[1] :, :] for tensor in each.tensors]
        last = each.name in ("the last norm", "the logits")
        ends = [tensor[:, -1] for tensor in each.tensors if last]
        yield stage(each.name, *new, *each.tensors, *ends, needs=each.needs)


cached_step = Task(
    **vars(ASKED["cached_step"]),
    reference=whole_text(book_gpt("gelu_tanh")),
    forms={ERF: whole_text(book_gpt("gelu"))},
    make=make_pieces,
    stages=stages_of_cached_step,
    observe=observe_steps,
    probes=PIECES,
    least={"V": 3, "D": 2},
    fixed=["pieces"],
    properties=[
        Property("cache", with_another_table, cache_is_used),
        Property("cache stays", used_twice, cache_stays),
        Property("mask", at_once_and_one_by_one, nothing_leaks),
    ],
    mistakes=STEP.mistakes(),
    model=STEP,
)


# The loop around it.


def make_prompt(draw: Draw, V: int, B: int, T: int, n: int) -> Arguments:
    return {
        "ids": draw.ids(B, T, below=V),
        "max_new_tokens": n,
        "_table": draw.normal(V, V, scale=2.0),
    }


Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


def step_of(table: Tensor) -> Step:
    """A step whose scores depend on every id and on its place."""

    def step(ids: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
        seen = ids if cache is None else torch.cat([cache, ids], 1)
        places = 1 + torch.arange(seen.shape[1]) * 0.37
        scores = (table[seen] * torch.sin(places)[:, None].to(table)).sum(1)
        return torch.sin(3 * scores + seen.shape[1]), seen

    return step


def observe_generation(program: Program, arguments: Arguments) -> Tensor:
    ids, max_new_tokens, table = arguments.values()
    return program(step_of(table), ids, max_new_tokens)


def remarks_on_calls(program: Program, arguments: Arguments) -> str:
    """Say what was wrong in the calls of the step, if the ids are wrong on a probe.

    Right ids get no remark, however they came about.
    """
    for each in map(generate.arguments_of, generate.probes):
        ids, max_new_tokens, table = each.values()
        calls: list[tuple[Tensor, Any, Tensor, Any]] = []
        step = step_of(table)

        def noted(
            new: Tensor, cache: Any, step=step, calls=calls
        ) -> tuple[Tensor, Any]:
            logits, after = step(new, cache)
            calls.append((new, cache, logits, after))
            return logits, after

        text = program(noted, ids.clone(), max_new_tokens)
        right = observe_generation(generate_with, each)
        if find_difference(right, text):
            return next(remarks_on(calls, ids, max_new_tokens, text), "")
    return ""


def remarks_on(
    calls: list[tuple[Tensor, Any, Tensor, Any]],
    ids: Tensor,
    max_new_tokens: int,
    text: Any,
) -> Iterator[str]:
    if calls and not torch.equal(calls[0][0], ids):
        yield (
            f"The first call of `step` was given {calls[0][0].tolist()}; it should be "
            f"given the whole prompt, {ids.tolist()}."
        )
    for i, (before, now) in enumerate(pairwise(calls), start=2):
        _, _, logits, after = before
        new, cache, _, _ = now
        likeliest = logits.argmax(-1, keepdim=True)
        if cache is not after:
            given = "None" if cache is None else "another cache"
            yield (
                f"Call {i} of `step` was given {given}, not the cache that call "
                f"{i - 1} returned."
            )
        elif new.shape != likeliest.shape:
            yield (
                f"Call {i} of `step` was given ids of shape {tuple(new.shape)}; those "
                f"of shape {tuple(likeliest.shape)} that call {i - 1} added are enough."
            )
        elif not torch.equal(new, likeliest):
            yield (
                f"After call {i - 1} of `step` the likeliest ids were "
                f"{likeliest.tolist()}; call {i} was given {new.tolist()}."
            )
    if len(calls) < max_new_tokens:
        yield (
            f"`step` was called {len(calls)} times where {max_new_tokens} ids were to "
            "be added. No id ends a text here, 0 neither."
        )


def nothing_remarked(sentence: str, arguments: Arguments) -> str | None:
    return sentence or None


def generate_with(
    step,
    ids: Tensor,
    max_new_tokens: int,
    *,
    choose=lambda logits: logits.argmax(-1),
    feed=lambda ids: ids[:, -1:],
    keep: bool = True,
    more: int = 0,
    give=lambda ids, T: ids,
    skip: int = 0,
    ends=lambda chosen: False,
) -> Tensor:
    """Generate in pieces."""
    T, new, cache = ids.shape[1], ids[:, : ids.shape[1] - skip], None
    for _ in range(max_new_tokens + more):
        logits, cache = step(new, cache)
        chosen = choose(logits)
        ids = torch.cat([ids, chosen[:, None]], 1)
        if ends(chosen):
            break
        new, cache = feed(ids), cache if keep else None
    return give(ids, T)


GENERATION = Model(
    generate_with,
    feed=Piece(
        "the new ids",
        everything_again=(
            "the whole text is given again with the cache, so each id is read twice",
            lambda ids: ids,
        ),
        two_ids_again=(
            "the last two ids are given each time, so one is read twice",
            lambda ids: ids[:, -2:],
        ),
    ),
    keep=Piece(
        "the cache",
        cache_dropped=("the cache is not given back: only the last id is seen", False),
    ),
    choose=Piece(
        "the choice",
        likeliest_of_the_batch=(
            "the likeliest id of the first text is taken for all texts",
            lambda logits: logits.argmax(-1)[:1].expand(len(logits)),
        ),
        unlikeliest=("the least likely id is taken", lambda logits: logits.argmin(-1)),
        second_best=(
            "the second likeliest id is taken",
            lambda logits: logits.topk(2).indices[:, 1],
        ),
    ),
    give=Piece(
        "the result",
        new_ids_only=(
            "only the new ids are returned, without the prompt",
            lambda ids, T: ids[:, T:],
        ),
        first_id_dropped=(
            "the text is cut at the front when an id is added",
            lambda ids, T: ids[:, -T:],
        ),
    ),
    ends=Piece(
        "the end",
        stops_at_zero=(
            "it stops at id 0, which is an id like any other here",
            lambda chosen: bool((chosen == 0).all()),
        ),
        stops_when_one_text_is_at_zero=(
            "it stops when one of the texts is at id 0, which is an id like any other "
            "here",
            lambda chosen: bool((chosen == 0).any()),
        ),
    ),
    more=Piece(
        "the number of ids",
        one_too_few=("one id too few is added", -1),
        one_too_many=("one id too many is added", 1),
    ),
    skip=Piece(
        "the prompt", prompt_not_whole=("the last id of the prompt is not read", 1)
    ),
).written(
    feed=(
        "{it} if {cache} is None else {it}[:, -1:]",
        "{ids}[:, -1:]",
        "{chosen}[:, None]",
        "{chosen}",
    ),
    keep=("@kept", "{cache}"),
    choose=("{logits}.argmax(-1, keepdim=True)", "{logits}.argmax(-1)"),
    give=("torch.cat([{ids}, {it}], 1)", "{ids}"),
    more=("range({max_new_tokens})", "{max_new_tokens}"),
    skip=("{ids}",),
)


def lengths_read(program: Program, arguments: Arguments) -> list[int]:
    """How many ids the step is given at each call."""
    ids, max_new_tokens, _ = arguments.values()
    given = []

    def step(new: Tensor, cache: int | None) -> tuple[Tensor, int]:
        given.append(new.shape[1])
        return torch.eye(5, dtype=torch.float64)[new[:, -1] % 5], 1

    program(step, ids % 5, max_new_tokens)
    return given


def rereads(given: list[int], arguments: Arguments) -> str | None:
    """Whether the step is given only what it has not read yet."""
    ids, max_new_tokens, _ = arguments.values()
    if sum(given) <= ids.shape[1] + max_new_tokens:
        return None
    return (
        "Your program gives `step` the same ids again and again; with the cache it "
        "needs only the new one."
    )


def stages_of_generation(
    step: Step, ids: Tensor, max_new_tokens: int
) -> Iterator[Stage]:
    """The stages of greedy generation: the text after each step."""
    new, cache = ids, None
    for number in range(1, max_new_tokens + 1):
        logits, cache = step(new, cache)
        new = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
        yield stage(f"the text after step {number}", ids)


generate = Task(
    **vars(ASKED["generate"]),
    reference=generate_with,
    make=make_prompt,
    stages=stages_of_generation,
    observe=observe_generation,
    properties=[
        Property("rereads", lengths_read, rereads, of_calls=True),
        Property("calls", remarks_on_calls, nothing_remarked, of_calls=True),
    ],
    probes=[
        Probe(0, {"V": 11, "B": 1, "T": 3, "n": 4}),
        Probe(1, {"V": 13, "B": 3, "T": 4, "n": 7}),
        Probe(2, {"V": 11, "B": 2, "T": 1, "n": 5}),
        Probe(3, {"V": 11, "B": 2, "T": 3, "n": 0}),
        # each id is added before the last one
        Probe(376, {"V": 5, "B": 1, "T": 2, "n": 14}),
    ],
    least={"V": 5},
    given=["step(ids, cache): scores that depend on every id read and on its place"],
    fixed=["max_new_tokens", "_table", "ids"],
    mistakes=GENERATION.mistakes(),
    model=GENERATION,
)
