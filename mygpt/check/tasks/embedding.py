"""Cross-entropy, and token vectors with positions."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.locate.parts import losses
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, same
from mygpt.check.task import Draw, Program, Property, probes


def make_logits(draw: Draw, N: int, V: int, shift=0.0, scale=1.5) -> dict:
    """Draw logits and targets."""
    return {
        "logits": draw.normal(N, V, mean=0.5, scale=scale) + shift,
        "targets": draw.ids(N, below=V),
    }


def of_targets(values: Tensor, targets: Tensor) -> Tensor:
    """Pick one number of each row."""
    return values[torch.arange(len(targets)), targets]


def loss_with(
    logits: Tensor,
    targets: Tensor,
    *,
    scores=same,
    log_softmax=lambda scores: scores.log_softmax(-1),
    pick=of_targets,
    reduce=lambda losses, logits: losses.mean(),
    unit=1,
    sign=-1,
) -> Tensor:
    """Cross-entropy in pieces."""
    losses = sign * pick(log_softmax(scores(logits)), targets)
    return reduce(losses, logits) / unit


def with_a_small_number(number: float) -> Program:
    """Return a logarithm of the probabilities plus a number."""
    return lambda scores: (scores.softmax(-1) + number).log()


def with_a_least(number: float) -> Program:
    """Return a logarithm of the probabilities, a number at least."""
    return lambda scores: scores.softmax(-1).clamp(min=number).log()


def loss_of_uniform(program, arguments):
    """The loss of equal scores."""
    logits, targets = arguments.values()
    return float(program(torch.zeros_like(logits), targets))


def uniform_costs_ln_v(loss, arguments):
    """Whether equal scores cost ln V."""
    V = arguments["logits"].shape[-1]
    if abs(loss - math.log(V)) < 1e-4:
        return None
    return (
        f"Equal scores for all {V} tokens must cost ln {V} = {math.log(V):.4f}; "
        f"yours cost {loss:.4f}."
    )


LOSS = Reference(
    loss_with,
    """
    [reduce] the mean = {it}.mean() | {inner}.mean()
    sum-for-mean: the losses of the rows are added instead of averaged
    one-loss-a-row: the losses of the rows are not averaged
    over-tokens: the sum over the rows is divided by V, the number of tokens
    over-rows-and-tokens: the mean runs over all entries, N times V, not over the N rows
    ~ last-row: only the last row's loss is returned
    ~ first-row: only the first row's loss is returned
    ~ largest-loss: the largest of the rows' losses is returned, not their mean
    [unit] the logarithm's base = {inner}.log()
    bits: the logarithm has base 2: these are bits, not nats
    base-ten: the logarithm has base 10, not base e
    [sign] the minus sign = -{it}
    no-minus = 1: the minus sign is missing
    [whole] the loss = {inner}.log() | {logits}.logsumexp(-1) | {row}.logsumexp(-1)
    no-logarithm: the probability is averaged, not its logarithm
    logarithm-of-the-mean: the logarithm is taken of the mean probability
    overflow: exp is taken of the logits as they are: exp(1000) is too large for a
        float, and exp(-1000) is 0. Subtract each row's largest first
    [scores] the logits = {logits}
    softmax-twice: the softmax is applied twice (`F.cross_entropy` has one inside)
    [log_softmax] the softmax = {logits}.log_softmax(-1) | {row}.log_softmax(-1)
        | {logits}.logsumexp(-1) | {logits}.logsumexp(-1, keepdim=True)
        | {logits}.max(-1, keepdim=True).values
    no-softmax: the logits are taken as if they were log-probabilities, without a
        softmax
    softmax-of-columns: the softmax runs over the rows of the batch, not over the tokens
    softmax-of-everything: the softmax runs over the whole tensor, not over each row's
        tokens
    overflow-of-the-sum: exp is summed of the logits as they are: exp(1000) is too large
        for a float, and exp(-1000) is 0. `torch.logsumexp` subtracts the largest first
    one-maximum: the largest logit of the whole tensor is subtracted, not each row's
        own: in a row far below it every exp is 0
    logarithm-of-a-softmax: the logarithm is taken of a softmax, in which exp(-1000) has
        become 0: subtract the logarithm of the sum instead
    ~ small-number-in-the-logarithm: {} is added to the probability before the
        logarithm, or is its least value, which changes every large loss: use
        `log_softmax`
    ~ softmax-of-a-softmax: the softmax is applied twice, and only then its logarithm is
        taken
    [pick] the targets = {rows}.gather(-1, {targets}[:, None])
        | {rows}[torch.arange(len({targets})), {targets}]
    likeliest: the loss is that of the likeliest token, not of the target
    all-pairs: every row is compared with the targets of all rows (`[:, targets]`)
    row-for-token: the targets pick rows, not tokens (`[targets]`): what is averaged are
        all log-probabilities of these rows
    whole-distribution: -log(p) is averaged over all tokens, not taken of the target
        alone
    ~ targets-minus-one: each target is counted from 1: the token before it is read
    [result] the result
    perplexity: exp is taken of the loss: this is the perplexity
    [given] the targets
    next-target: each row is compared with the target of the next row
    """,
    sum_for_mean=lambda losses, logits: losses.sum(),
    one_loss_a_row=same,
    over_tokens=lambda losses, logits: losses.sum() / logits.shape[1],
    over_rows_and_tokens=lambda losses, logits: losses.sum() / logits.numel(),
    last_row=lambda losses, logits: losses[-1],
    first_row=lambda losses, logits: losses[0],
    largest_loss=lambda losses, logits: losses.amax(),
    bits=math.log(2),
    base_ten=math.log(10),
    no_logarithm=lambda logits, targets: of_targets(logits.softmax(-1), targets).mean(),
    logarithm_of_the_mean=lambda logits, targets: (
        -of_targets(logits.softmax(-1), targets).mean().log()
    ),
    overflow=lambda logits, targets: (
        -(of_targets(logits.exp(), targets) / logits.exp().sum(-1)).log().mean()
    ),
    softmax_twice=lambda logits: logits.softmax(-1),
    no_softmax=same,
    softmax_of_columns=lambda scores: scores.log_softmax(0),
    softmax_of_everything=lambda s: s.flatten().log_softmax(0).view(s.shape),
    overflow_of_the_sum=lambda s: s - s.exp().sum(-1, keepdim=True).log(),
    one_maximum=lambda s: s - s.max() - (s - s.max()).exp().sum(-1, keepdim=True).log(),
    logarithm_of_a_softmax=lambda scores: scores.softmax(-1).log(),
    small_number_in_the_logarithm=[
        ((f"{number:g}",), kept_above_zero(number))
        for number in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
        for kept_above_zero in (with_a_small_number, with_a_least)
    ],
    softmax_of_a_softmax=lambda s: s.log_softmax(-1).softmax(-1).log(),
    likeliest=lambda values, targets: values.amax(-1),
    all_pairs=lambda values, targets: values[:, targets],
    row_for_token=lambda values, targets: values[targets],
    whole_distribution=same,
    targets_minus_one=lambda values, targets: of_targets(values, targets - 1),
    perplexity=torch.exp,
    next_target=lambda logits, targets: (logits[:-1], targets[1:]),
)


cross_entropy = LOSS.task(
    "cross_entropy",
    tolerance=2e-4,  # in float32, numbers near 1000 are 6e-5 apart
    reference=F.cross_entropy,
    make=make_logits,
    stages=losses,
    probes=probes(
        "N V shift scale",
        "3 5 | 4 4 | 3 7 | 3 5 1000.0 | 4 3 -1000.0 | 4 3 _ 20.0 | 3 3 _ 600.0",
    ),
    least={"V": 2},
    properties=[Property("ln V", loss_of_uniform, uniform_costs_ln_v)],
)


def make_embedding(
    draw: Draw, V: int, N: int, C: int, B: int, T: int, scale=1.0
) -> dict:
    """Draw ids and both tables."""
    return {
        "ids": draw.ids(B, T, below=V),
        "token_table": draw.normal(V, C, mean=0.3, scale=scale),
        "position_table": draw.normal(N, C, mean=-0.3, scale=scale),
    }


def last_missing(ids: Tensor, positions: Tensor) -> Tensor:
    """Return the positions' vectors, with zeros for the last."""
    T = ids.shape[1]
    return positions[:T] * (torch.arange(T) < T - 1)[:, None]


def side_by_side(tokens: Tensor, positions: Tensor) -> Tensor:
    """Put both vectors side by side."""
    return torch.cat([tokens, positions.expand_as(tokens)], -1)


def embed_with(
    ids: Tensor,
    token_table: Tensor,
    position_table: Tensor,
    *,
    tokens=lambda ids, table: table[ids],
    positions=lambda ids, table: table[: ids.shape[1]],
    add=torch.add,
) -> Tensor:
    """Token vectors with positions and one piece replaced."""
    return add(tokens(ids, token_table), positions(ids, position_table))


EMBEDDING = Reference(
    embed_with,
    """
    [add] the sum = {it} + {position}[: {ids}.shape[1]] | {token}[{ids}] + {it}
        | {left} + {right}
    no-position: the position's vector is not added
    no-token: the token's vector is not added: every text gives the same
    product: the two vectors are multiplied instead of added
    difference: the position's vector is subtracted instead of added
    side-by-side: the two vectors are put side by side, which gives 2C channels
    average: the two vectors are averaged instead of added
    ~ position-scaled: the sum of both vectors is multiplied by √C, as Vaswani et al.
        (2017) do with the token's and GPT-2 does not
    ~ token-added-twice: the token's vector is added twice
    ~ token-subtracted: the token's vector is subtracted
    ~ position-added-twice: the position's vector is added twice
    ~ normed: the sum goes through a layer norm, which is the block's
    [positions] the positions = torch.arange({ids}.shape[1])
        | {position}[: {ids}.shape[1]]
    positions-from-one: the positions are counted from 1
    position-by-id: the position's vector is looked up by the token's id
    same-position: every token gets the vector of position 0
    last-position: every token gets the vector of the text's last position
    position-of-the-length: every token gets the vector at T, the length of the text
    position-by-row: the position's vector is that of the text's number in the batch
    positions-backwards: the positions are counted from the end of the text
    last-rows: the last rows of the position table are used instead of the first
    all-positions: all rows of the position table are added up for every token
    positions-from-one-in-a-ring: the positions are counted from 1, and after the
        table's last row comes its first
    last-position-missing: the last token of each text gets no position vector
    ~ position-by-place-in-batch: the positions run on through the whole batch: each
        text must begin at 0
    [tokens] the tokens = {token}[{ids}]
    scaled: the token's vector is multiplied by √C, as Vaswani et al. (2017) do and
        GPT-2 does not
    padding: token 0 is treated as padding (`padding_idx=0`): its row never learns
    token-zero-silent: token 0 is treated as padding: it gets no vector
    token-ids-from-one: the ids are counted from 1: token i gets row i - 1 of the token
        table
    ~ scaled-down: the token's vector is divided by √C; it is added as it is
    [given] the tables = {token}[{ids}] | {position}[: {ids}.shape[1]]
    tables-swapped: the two tables change places
    """,
    no_position=same,
    no_token=lambda tokens, positions: 0 * tokens + positions,
    product=torch.mul,
    difference=torch.sub,
    side_by_side=side_by_side,
    average=lambda tokens, positions: (tokens + positions) / 2,
    position_scaled=lambda a, b: (a + b) * a.shape[-1] ** 0.5,
    token_added_twice=lambda a, b: 2 * a + b,
    token_subtracted=lambda a, b: b - a,
    position_added_twice=lambda a, b: a + 2 * b,
    normed=lambda a, b: F.layer_norm(a + b, a.shape[-1:]),
    positions_from_one=lambda ids, table: table[1 + torch.arange(ids.shape[1])],
    position_by_id=lambda ids, table: table[ids],
    same_position=lambda ids, table: table[0],
    last_position=lambda ids, table: table[ids.shape[1] - 1],
    position_of_the_length=lambda ids, table: table[ids.shape[1]],
    position_by_row=lambda ids, table: table[: ids.shape[0], None],
    positions_backwards=lambda ids, table: table[: ids.shape[1]].flip(0),
    last_rows=lambda ids, table: table[-ids.shape[1] :],
    all_positions=lambda ids, table: table.sum(0),
    positions_from_one_in_a_ring=lambda ids, table: table[
        torch.arange(1, ids.shape[1] + 1) % len(table)
    ],
    last_position_missing=last_missing,
    position_by_place_in_batch=lambda ids, table: table[
        torch.arange(ids.numel()).view_as(ids)
    ],
    scaled=lambda ids, table: table[ids] * table.shape[1] ** 0.5,
    padding=lambda ids, table: F.embedding(ids, table, padding_idx=0),
    token_zero_silent=lambda ids, table: table[ids] * (ids != 0)[..., None],
    token_ids_from_one=lambda ids, table: table[ids - 1],
    scaled_down=lambda ids, table: table[ids] / table.shape[1] ** 0.5,
    tables_swapped=lambda ids, tokens, positions: (ids, positions, tokens),
)


def stages_of_embedding(ids, token_table, position_table):
    """The stages of the first vectors."""
    tokens, positions = token_table[ids], position_table[: ids.shape[1]]
    also(lambda: F.one_hot(ids, len(token_table)).to(token_table.dtype))
    yield stage("the rows of the token table", tokens, needs=())
    yield stage("the first T rows of the position table", positions, needs=())
    yield stage(
        "their sum",
        tokens + positions,
        needs=("the rows of the token table", "the first T rows of the position table"),
    )


embedding = EMBEDDING.task(
    "embedding",
    reference=lambda ids, token_table, position_table: (
        F.embedding(ids, token_table) + position_table[: ids.shape[1]]
    ),
    make=make_embedding,
    stages=stages_of_embedding,
    probes=probes(
        "V N C B T scale",
        "7 5 3 2 3 | 5 5 5 3 5 | 3 6 2 2 1 | 4 4 4 4 4 | 3 3 1 1 2 20.0",
    ),
    sizes=lambda given: {
        "V": len(given["token_table"]),
        "C": given["token_table"].shape[1],
        "N": len(given["position_table"]),
    },
    weights=["token_table", "position_table"],
)
