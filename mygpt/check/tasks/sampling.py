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
from mygpt.check.locate.parts import masks, softmax
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, constant, last, same
from mygpt.check.task import (
    Arguments,
    Draw,
    Probe,
    Program,
    Property,
    equal_results,
    probes,
    remarks_on_calls,
    sums_to_one,
)
from mygpt.check.tasks.attention import (
    LEAKS,
    MASK_HINTS,
    allowed,
    far_apart,
    is_near,
    keep,
)
from mygpt.check.tasks.block import HINTS, block_with
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


def distinct(draw: Draw, N: int, V: int) -> Tensor:
    """Logits without ties."""
    rows = [draw.rng.sample(range(-25, 26), V) for _ in range(N)]
    return torch.tensor(rows, dtype=torch.float64) / 10


def probabilities(logits: Tensor, keep: Tensor) -> Tensor:
    """Take the softmax of the kept logits."""
    return logits.masked_fill(~keep, -math.inf).softmax(-1)


def cut_to_zeros(logits: Tensor, keep: Tensor) -> Tensor:
    """Set the other logits to 0 instead of -inf."""
    return (logits * keep).softmax(-1)


def above(logits: Tensor, k: int) -> Tensor:
    """Which logits are among the k largest of their row."""
    return logits >= logits.topk(min(max(k, 1), logits.shape[-1])).values[:, -1:]


ADDS_UP = sums_to_one("adds up", "Your probabilities do not add up to 1.")


def top_k_with(
    logits: Tensor, k: int, *, count=same, keep=above, cut=probabilities
) -> Tensor:
    """Top-k in pieces."""
    return cut(logits, keep(logits, count(k)))


def of_everything(logits: Tensor, k: int) -> Tensor:
    """Keep the k largest logits of the whole tensor."""
    return above(logits.view(1, -1), k).view(logits.shape)


def kept_alone(logits: Tensor, k: int) -> Tensor:
    """The probabilities of the k largest logits alone."""
    return logits.topk(min(k, logits.shape[-1])).values.softmax(-1)


TOP_K = Reference(
    top_k_with,
    """
    [keep] what is kept = {logits}.topk(min({k}, {logits}.shape[-1])).values[..., -1:]
        | {logits} >= {threshold}
    one-too-few: one logit too few is kept: the k-th largest stays too
    smallest: the k smallest are kept
    first-row-for-all: the threshold of the first row is used for all rows
    whole-batch: the k largest of the whole tensor are kept, not of each row
    [count] k = {k} | min({k}, {logits}.shape[-1])
    one-too-many: one logit too many is kept
    [cut] the cut = {it} / {it}.sum(-1, keepdim=True)
        | {left}.masked_fill({right} == 0, float("-inf"))
        | {logits}.masked_fill({keep} == 0, float("-inf")) | float("-inf")
        | {it}.softmax(-1) | torch.full_like({it}, float("-inf"))
        | torch.full_like({logits}, float("-inf"))
    zero-for-infinity: the other logits are set to 0, and exp(0) is 1: set them to -inf
    not-renormalised: the probabilities are cut after the softmax and no longer add up
        to 1
    logits-returned: the logits are returned, not probabilities
    no-cut: nothing is cut: k is ignored
    [result] the result = {inner}
    softmax-twice: the softmax is applied twice
    [whole] the places = torch.zeros_like({logits}).scatter(-1, {places}, {it})
    kept-alone: the k probabilities that are kept are returned alone, sorted, without
        the zeros and not in the places of their tokens
    sorted: the k probabilities come sorted, not in the places of their tokens
    [together] the threshold
        = {logits}.topk(min({k}, {logits}.shape[-1])).values[..., -1:]
    threshold-of-the-whole-table: the threshold is the k-th largest logit of the whole
        table, not of each row
    """,
    one_too_few=lambda logits, k: (
        logits > logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    ),
    smallest=lambda logits, k: above(-logits, k),
    first_row_for_all=lambda logits, k: (
        logits >= logits.topk(min(k, logits.shape[-1])).values[0, -1]
    ),
    whole_batch=of_everything,
    one_too_many=lambda k: k + 1,
    zero_for_infinity=cut_to_zeros,
    not_renormalised=lambda logits, keep: logits.softmax(-1) * keep,
    logits_returned=lambda logits, keep: logits.masked_fill(~keep, -math.inf),
    no_cut=lambda logits, _: logits.softmax(-1),
    softmax_twice=lambda y: y.softmax(-1),
    kept_alone=kept_alone,
    sorted=lambda logits, k: F.pad(
        kept_alone(logits, k), (0, max(0, logits.shape[-1] - k))
    ),
    threshold_of_the_whole_table={
        "keep": of_everything,
        "cut": lambda logits, keep: logits.masked_fill(~keep, -1e9).softmax(-1),
    },
)


def stages_of_top_k(logits, k):
    """The stages of top-k."""
    largest = logits.topk(min(k, logits.shape[-1])).values
    torch.full_like(logits, -math.inf)
    yield stage("the k largest logits", largest)
    also(lambda: largest[:, -1:])
    kept = logits.masked_fill(~above(logits, k), -math.inf)
    also(lambda: (above(logits, k), ~above(logits, k)))
    yield stage("the logits with all others at -inf", kept)
    yield stage("their softmax", softmax(kept))


top_k = TOP_K.task(
    "top_k",
    hints=MASK_HINTS,
    reference=lambda logits, k: keep_top_k(logits, k).softmax(-1),
    make=lambda draw, N, V, k: {"logits": distinct(draw, N, V), "k": k},
    stages=stages_of_top_k,
    probes=probes("N V k", "1 5 2 | 3 7 3 | 2 4 9 | 2 5 1"),
    least={"V": 2},
    fixed=["logits", "k"],
    properties=[ADDS_UP],
)


def nucleus(
    logits: Tensor,
    p: float,
    *,
    values=lambda ordered: ordered.softmax(-1),
    descending=True,
    before=True,
    always_one=True,
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
    """Keep one token more than the nucleus."""
    count = (keep_top_p(logits, p) > -math.inf).sum(-1, keepdim=True) + 1
    rank = logits.argsort(-1, descending=True).argsort(-1)
    return probabilities(logits, rank < count)


def nucleus_of_everything(logits: Tensor, p: float) -> Tensor:
    """Keep the nucleus of the whole tensor."""
    return probabilities(logits, nucleus(logits.view(1, -1), p).view(logits.shape) > 0)


TOP_P = Reference(
    nucleus,
    """
    [before] the sum = {left} - {shares} < {p} | {left} - {sorted}.softmax(-1) < {p}
        | {it} - {shares} | {it} - {sorted}.softmax(-1)
    last-one-missing = False: the token that brings the sum to p is cut; it belongs to
        the nucleus
    [descending] the order = {logits}.sort(descending=True)
        | {logits}.argsort(descending=True) | {inner}.sort(descending=True)
        | {inner}.argsort(descending=True)
    least-likely = False: the tokens are sorted the wrong way round: the least likely
        are kept
    [values] what is added up = {it}.softmax(-1) | {inner}.softmax(-1).cumsum(-1)
    sum-of-logits: the logits are added up, not their probabilities
    [back] the places = {keep}.scatter(-1, {order}, {keep})
        | torch.zeros_like({keep}).scatter(-1, {order}, {keep})
        | {keep}.gather(-1, {order}.argsort(-1))
    not-put-back: the cut is made in sorted order and not put back in the tokens' places
    gathered: the cut is read by `gather` at the places of the order; `scatter` puts it
        back in the tokens' places
    [cut] the cut = {it} / {it}.sum(-1, keepdim=True)
        | {left}.masked_fill({right} == 0, float("-inf"))
        | {logits}.masked_fill({keep} == 0, float("-inf")) | float("-inf")
        | {it}.softmax(-1) | torch.full_like({it}, float("-inf"))
        | torch.full_like({logits}, float("-inf"))
    not-renormalised: the probabilities are cut after the softmax and no longer add up
        to 1
    no-cut: nothing is cut: p is ignored
    ~ zero-for-infinity: the other logits are set to 0, and exp(0) is 1: set them to
        -inf
    [result] the result = {inner} | torch.zeros_like({it}).scatter(-1, {order}, {it})
    sorted: the probabilities come sorted, not in the places of their tokens
    ~ softmax-twice: the softmax is applied twice
    [whole] the threshold = {shares}.cumsum(-1) - {shares} < {p}
    threshold-alone: tokens with a probability of at least p are kept, and none where no
        token has so much; it is their sum that must reach p
    one-too-many: one token too many is kept
    threshold: tokens with a probability of at least p are kept; it is their sum that
        must reach p
    rest-threshold: tokens with a probability of at least 1 - p are kept
    min-p: tokens with at least p times the largest probability are kept: min-p
    whole-batch: the nucleus is that of the whole tensor, not of each row
    [together] the sum = {left} - {shares} < {p} | {left} - {sorted}.softmax(-1) < {p}
        | {it} - {shares}
    empty: the token that brings the sum to p is cut, and nothing stays where the
        likeliest has more than p: NaN
    """,
    sum_of_logits=same,
    not_put_back=same,
    gathered=lambda keep, order: keep.gather(1, order),
    not_renormalised=lambda logits, keep: logits.softmax(-1) * keep,
    no_cut=lambda logits, _: logits.softmax(-1),
    zero_for_infinity=cut_to_zeros,
    sorted=lambda shares: shares.sort(descending=True).values,
    softmax_twice=lambda y: y.softmax(-1),
    threshold_alone=lambda logits, p: probabilities(logits, logits.softmax(-1) >= p),
    one_too_many=one_more,
    threshold=kept_where(lambda shares, p: shares >= p),
    rest_threshold=kept_where(lambda shares, p: shares >= 1 - p),
    min_p=kept_where(lambda shares, p: shares >= p * shares.amax(-1, keepdim=True)),
    whole_batch=nucleus_of_everything,
    empty={"before": False, "always_one": False},
)


HALVES = (0.0, -math.log(2), -2 * math.log(2), -2 * math.log(2))  # ½, ¼, ⅛, ⅛
EXACT = ((0.5, 1), (0.75, 2))  # p that a sum of them is exactly, and of how many


def kept_at_ties(program, arguments):
    """How many of ½, ¼, ⅛ and ⅛ stay where p is exactly a sum of them, in two orders.

    Powers of two: their softmax and its sums are exact in any floating-point type.
    """
    dtype = arguments["logits"].dtype
    rows = torch.tensor([HALVES, HALVES[::-1]], dtype=dtype)
    return [(program(rows.clone(), p) > 0).sum(-1).tolist() for p, _ in EXACT]


def ties_end_the_nucleus(kept, arguments):
    """Refuse what goes past every exact tie: a rounded sum may pass one."""
    pairs = zip(EXACT, kept, strict=True)
    if not all(n == wanted + 1 for (_, wanted), row in pairs for n in row):
        return None
    return (
        "Of ½, ¼, ⅛ and ⅛ the first two add up to exactly 0.75, so with p = 0.75 they "
        "are enough; your program keeps three. A token stays while the sum before it "
        "is less than p (<, not <=); it goes once that sum is p or more."
    )


def stages_of_top_p(logits, p):
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


top_p = TOP_P.task(
    "top_p",
    hints=MASK_HINTS,
    reference=lambda logits, p: keep_top_p(logits, p).softmax(-1),
    make=lambda draw, N, V, p: {"logits": distinct(draw, N, V), "p": p},
    stages=stages_of_top_p,
    probes=probes("N V p", "1 5 0.7 | 3 7 0.85 | 3 6 0.05 | 2 4 0.5"),
    least={"V": 2},
    fixed=["logits", "p"],
    properties=[ADDS_UP, Property("ties", kept_at_ties, ties_end_the_nucleus)],
)


# One step of a GPT with a cache.


def make_pieces(
    draw: Draw, V: int, N: int, B: int, H: int, D: int, L: int, pieces: tuple[int, ...]
) -> Arguments:
    """Draw the pieces of a text, and weights."""
    if sum(pieces) > N:
        raise ValueError("a text longer than the position table")
    return {
        "pieces": [draw.ids(B, length, below=V) for length in pieces],
        "weights": gpt_tensors(draw, V, N, H * D, L),
        "num_heads": H,
    }


def observe_steps(program, arguments):
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
    """Put new keys or values after the old ones."""
    return torch.cat([old, new], dim=2)


def new_first(old: Tensor, new: Tensor) -> Tensor:
    """Put new keys or values before the old ones."""
    return torch.cat([new, old], dim=2)


def step_with(
    ids: Tensor,
    weights: dict,
    num_heads: int,
    cache: list | None,
    *,
    start=same,
    past_of=lambda cache: cache[0][2],
    join_keys=joined,
    join_values=joined,
    keep=same,
    read=same,
    embed=embed_with,
    order=same,
    block=block_with,
    last_norm=norm_with,
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


def masked(shift: Callable[[int], int]) -> dict:
    """The mask of new ids after `past` others, its edge moved by `shift(past)`."""

    def mask(scores: Tensor) -> Tensor:
        return keep(scores, allowed(scores, shift(scores.shape[-1] - scores.shape[-2])))

    return {"block": {"heads": {"mixing": {"mask": mask}}}}


def joined_by(join: Callable[[Tensor, Tensor], Tensor]) -> dict:
    """Return the pieces that join keys and values."""
    return {"join_keys": join, "join_values": join}


def length_of(cache: list) -> int:
    """Read the length of the cache from its keys."""
    return cache[0][0].shape[2]


def last_of(old: Tensor, new: Tensor) -> Tensor:
    """Keep the last of the old keys or values."""
    return joined(old[:, :, -1:], new)


def not_extended(whole: tuple, old: tuple, new: tuple) -> tuple:
    """Keep the old keys and values alone."""
    return old


STEP = Reference(
    step_with,
    """
    [start] the first position = {weights}["position"][{past} : {past} + {size}]
        | {past} | torch.arange({past}, {past} + {size}) | {it} + {past}
    positions-from-zero = 0: the positions of new ids are counted from 0 again, not from
        where the cache ends
    positions-one-ahead: the positions of new ids are one too large once there is a
        cache
    positions-one-behind: the positions of new ids are one too small
    [past_of] the length of the cache = {cache}[0][0].shape[-2] | {cache}[0][0].shape[1]
    positions-from-the-heads: the length of the cache is read from the axis of its
        heads, so the positions go on from the number of heads
    positions-from-the-blocks: the length of the list is taken for that of the text, so
        the positions go on from the number of blocks
    [join_keys] the keys = torch.cat([{old}, {new}], -2) | torch.cat([{old}, {new}], 1)
    new-keys-before-old: new keys are put before the old ones, but new values after them
    [join_values] the values = torch.cat([{old}, {new}], -2)
        | torch.cat([{old}, {new}], 1)
    new-values-before-old: new values are put before the old ones, but new keys after
        them
    [keep] the new cache = ({k}, {v}) | [{k}, {v}] | {k} | {v}
    only-the-piece-before: the cache keeps only the keys and values of the call before
    cache-not-extended: the new keys and values are used but not kept in the cache
    values-of-keys: the keys are kept in the place of the values too
    [read] the cache of a block = {cache}[{i}] | {value}[{i}]
    one-cache-for-all = 0: every block reads the first block's cache
    last-cache-for-all: every block reads the last block's cache
    [pick] the logits = {it}[:, -1] | {inner}[:, -1]
    first-position: the logits are those after the first new id, not the last
    all-positions: the logits of all new ids are returned, not only the last one's
    probabilities-returned: the probabilities are returned instead of the logits
    [last_norm embed order head]
    [together] the cache = torch.ones({size}, {past} + {size}).triu({past} + 1).bool()
        | torch.ones({size}, {past} + {size}).tril({past}).bool() | {inner}.tril({past})
        | {inner}.triu({past} + 1) | {past} | {past} + 1 | {past} + {t}
        | {past} + {t} + 1
    cache-unread: the cache is not read: new ids see only each other
    = torch.cat([{old}, {new}], -2) | torch.cat([{old}, {new}], 1)
    new-before-old = new-keys-before-old + new-values-before-old: new keys and values
        are put before the old ones
    = torch.cat([{old}, {new}], -2) | torch.cat([{old}, {new}], 1)
    one-position-of-the-cache: only the last position of the cache is read
    = torch.cat([{old}, {new}], -2) | torch.cat([{old}, {new}], 1)
    only-the-piece-before-counted: the cache keeps only the keys and values of the call
        before, and the positions are counted from its length
    cache-not-extended-nor-counted: the new keys and values are used but not kept in the
        cache, so the positions stand still too
    no-mask: the new ids are not masked among themselves
    mask-from-the-corner: the mask ignores the cache: new id t reads only the first t +
        1 keys instead of all that are cached and t + 1 more
    mask-one-ahead: the mask lets each new id read one id that follows it
    mask-one-behind: the mask hides each id from itself, and from the first id
        everything
    mask-one-behind-the-cache: the mask hides each new id from itself once there is a
        cache
    """,
    parts=INSIDE,
    forms=FORMS,
    positions_one_ahead=lambda past: past + (past > 0),
    positions_one_behind=lambda past: max(0, past - 1),
    positions_from_the_heads=lambda cache: cache[0][0].shape[1],
    positions_from_the_blocks=len,
    new_keys_before_old=new_first,
    new_values_before_old=new_first,
    only_the_piece_before=last,
    cache_not_extended=not_extended,
    values_of_keys=lambda whole, old, new: (whole[0], whole[0]),
    last_cache_for_all=lambda i, L: L - 1,
    first_position=lambda logits: logits[:, 0],
    all_positions=same,
    probabilities_returned=lambda logits: logits[:, -1].softmax(-1),
    **FORWARD,
    cache_unread=joined_by(last),
    one_position_of_the_cache=joined_by(last_of),
    only_the_piece_before_counted={"keep": last, "past_of": length_of},
    cache_not_extended_nor_counted={"keep": not_extended, "past_of": length_of},
    no_mask=masked(constant(1000)),
    mask_from_the_corner=masked(lambda past: -past),
    mask_one_ahead=masked(constant(1)),
    mask_one_behind=masked(constant(-1)),
    mask_one_behind_the_cache=masked(lambda past: -(past > 0)),
)


def with_another_table(program, arguments):
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


def at_once_and_one_by_one(program, arguments):
    """The logits after the same ids, with scores that are far apart."""
    _, weights, num_heads = arguments.values()
    weights, ids = far_apart(weights, 30.0), torch.tensor([[0, 1, 2, 1]])
    cache = None
    for each in ids.unbind(1):
        logits, cache = program(each[:, None], weights, num_heads, cache)
    return [program(ids, weights, num_heads, None)[0], logits]


def nothing_leaks(logits, arguments):
    """Whether ids at once and one by one give the same logits."""
    return None if is_near(*logits) else LEAKS


def used_twice(program, arguments):
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


def cache_stays(logits, arguments):
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


def stages_of_cached_step(ids, weights, num_heads, cache):
    """The stages of a GPT's step; of each, the new ids' rows or all of them."""
    seen = ids if cache is None else torch.cat([cache, ids], 1)
    masks(ids.shape[1], seen.shape[1])
    for each in in_both_forms(partial(stages_with, seen, weights, num_heads)):
        new = [tensor[..., -ids.shape[1] :, :] for tensor in each.tensors]
        last = each.name in ("the last norm", "the logits")
        ends = [tensor[:, -1] for tensor in each.tensors if last]
        yield stage(each.name, *new, *each.tensors, *ends, needs=each.needs)


cached_step = STEP.task(
    "cached_step",
    hints=HINTS,
    reference=whole_text(book_gpt("gelu_tanh")),
    forms={ERF: whole_text(book_gpt("gelu"))},
    make=make_pieces,
    stages=stages_of_cached_step,
    observe=observe_steps,
    probes=probes(
        "V N B H D L pieces",
        "7 6 1 2 2 2 (2,1) | 5 9 2 2 3 2 (3,1,2,1) | 6 7 2 2 3 3 (1,3,3) | "
        "6 6 2 1 4 1 (1,1,1,1)",
    ),
    least={"V": 3, "D": 2},
    fixed=["pieces"],
    properties=[
        equal_results(
            "cache",
            with_another_table,
            "Your program computes the earlier positions again; with a cache it needs "
            "only the new ones.",
        ),
        Property("cache stays", used_twice, cache_stays),
        Property("mask", at_once_and_one_by_one, nothing_leaks, alone=[LEAKS]),
    ],
)


# The loop around it.


def make_prompt(draw: Draw, V: int, B: int, T: int, n: int) -> Arguments:
    """Draw a prompt, and the table of a step."""
    return {
        "ids": draw.ids(B, T, below=V),
        "max_new_tokens": n,
        "_table": draw.normal(V, V, scale=2.0),
    }


Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
Call = tuple[Tensor, Any, Tensor, Any]  # of a step, and what it returned


def step_of(table: Tensor) -> Step:
    """A step whose scores depend on every id and on its place."""

    def step(ids: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
        seen = ids if cache is None else torch.cat([cache, ids], 1)
        places = 1 + torch.arange(seen.shape[1]) * 0.37
        scores = (table[seen] * torch.sin(places)[:, None].to(table)).sum(1)
        return torch.sin(3 * scores + seen.shape[1]), seen

    return step


def observe_generation(program, arguments):
    """Let a program generate with a step."""
    ids, max_new_tokens, table = arguments.values()
    return program(step_of(table), ids, max_new_tokens)


def first_remark(program, arguments):
    """Say what was wrong in the calls of the step, if the ids are wrong on a probe.

    Right ids get no remark, however they came about.
    """
    for each in map(generate.arguments_of, generate.probes):
        ids, max_new_tokens, table = each.values()
        calls: list[Call] = []
        step = step_of(table)

        def noted(new, cache, step=step, calls=calls):
            logits, after = step(new, cache)
            calls.append((new, cache, logits, after))
            return logits, after

        text = program(noted, ids.clone(), max_new_tokens)
        right = observe_generation(generate_with, each)
        if find_difference(right, text):
            return next(remarks_on(calls, ids, max_new_tokens), "")
    return ""


def remarks_on(calls: list[Call], ids: Tensor, max_new_tokens: int) -> Iterator[str]:
    """On calls of the step that greedy generation does not make."""
    if calls and not torch.equal(calls[0][0], ids):
        yield (
            f"The first call of `step` was given {calls[0][0].tolist()}; it should be "
            f"given the whole prompt, {ids.tolist()}."
        )
    for i, (before, (new, cache, _, _)) in enumerate(pairwise(calls), start=2):
        _, _, logits, after = before
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


def generate_with(
    step,
    ids: Tensor,
    max_new_tokens: int,
    *,
    choose=lambda logits: logits.argmax(-1),
    feed=lambda ids: ids[:, -1:],
    keep=True,
    more=0,
    give=same,
    skip=0,
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


GENERATION = Reference(
    generate_with,
    """
    [feed] the new ids = {it} if {cache} is None else {it}[:, -1:] | {ids}[:, -1:]
        | {chosen}[:, None] | {chosen}
    everything-again: the whole text is given again with the cache, so each id is read
        twice
    two-ids-again: the last two ids are given each time, so one is read twice
    [keep] the cache = @kept | {cache}
    cache-dropped = False: the cache is not given back: only the last id is seen
    [choose] the choice = {logits}.argmax(-1, keepdim=True) | {logits}.argmax(-1)
    likeliest-of-the-batch: the likeliest id of the first text is taken for all texts
    unlikeliest: the least likely id is taken
    second-best: the second likeliest id is taken
    [give] the result = torch.cat([{ids}, {it}], 1) | {ids}
    new-ids-only: only the new ids are returned, without the prompt
    first-id-dropped: the text is cut at the front when an id is added
    [ends] the end
    stops-at-zero: it stops at id 0, which is an id like any other here
    stops-when-one-text-is-at-zero: it stops when one of the texts is at id 0, which is
        an id like any other here
    [more] the number of ids = range({max_new_tokens}) | {max_new_tokens}
    one-too-few = -1: one id too few is added
    one-too-many = 1: one id too many is added
    [skip] the prompt = {ids}
    prompt-not-whole = 1: the last id of the prompt is not read
    """,
    everything_again=same,
    two_ids_again=lambda ids: ids[:, -2:],
    likeliest_of_the_batch=lambda logits: logits.argmax(-1)[:1].expand(len(logits)),
    unlikeliest=lambda logits: logits.argmin(-1),
    second_best=lambda logits: logits.topk(2).indices[:, 1],
    new_ids_only=lambda ids, T: ids[:, T:],
    first_id_dropped=lambda ids, T: ids[:, -T:],
    stops_at_zero=lambda chosen: bool((chosen == 0).all()),
    stops_when_one_text_is_at_zero=lambda chosen: bool((chosen == 0).any()),
)


def lengths_read(program, arguments):
    """How many ids the step is given at each call."""
    ids, max_new_tokens, _ = arguments.values()
    given = []

    def step(new: Tensor, cache: int | None) -> tuple[Tensor, int]:
        given.append(new.shape[1])
        return torch.eye(5, dtype=torch.float64)[new[:, -1] % 5], 1

    program(step, ids % 5, max_new_tokens)
    return given


def rereads(given, arguments):
    """Whether the step is given only what it has not read yet."""
    ids, max_new_tokens, _ = arguments.values()
    if sum(given) <= ids.shape[1] + max_new_tokens:
        return None
    return (
        "Your program gives `step` the same ids again and again; with the cache it "
        "needs only the new one."
    )


def stages_of_generation(step, ids, max_new_tokens):
    """The stages of greedy generation: the text after each step."""
    new, cache = ids, None
    for number in range(1, max_new_tokens + 1):
        logits, cache = step(new, cache)
        new = logits.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
        yield stage(f"the text after step {number}", ids)


generate = GENERATION.task(
    "generate",
    reference=generate_with,
    make=make_prompt,
    stages=stages_of_generation,
    observe=observe_generation,
    properties=[
        Property("rereads", lengths_read, rereads, of_calls=True),
        remarks_on_calls("calls", first_remark),
    ],
    probes=[
        *probes("V B T n", "11 1 3 4 | 13 3 4 7 | 11 2 1 5 | 11 2 3 0"),
        # each id is added before the last one
        Probe(376, {"V": 5, "B": 1, "T": 2, "n": 14}),
    ],
    least={"V": 5},
    given=["step(ids, cache): scores that depend on every id read and on its place"],
    fixed=["max_new_tokens", "_table", "ids"],
)
