"""Cross-entropy, and token vectors with positions."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.model import Model, Piece, alike
from mygpt.check.stages.parts import losses
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.workbook.asked import ASKED


def make_logits(
    draw: Draw, N: int, V: int, shift: float = 0.0, scale: float = 1.5
) -> dict:
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
    scores: Callable[[Tensor], Tensor] = lambda logits: logits,
    log_softmax: Callable[[Tensor], Tensor] = lambda scores: scores.log_softmax(-1),
    pick: Callable[[Tensor, Tensor], Tensor] = of_targets,
    reduce: Callable[[Tensor, Tensor], Tensor] = lambda losses, logits: losses.mean(),
    unit: int | float = 1,
    sign: int = -1,
) -> Tensor:
    """Cross-entropy in pieces."""
    losses = sign * pick(log_softmax(scores(logits)), targets)
    return reduce(losses, logits) / unit


def with_a_small_number(number: float) -> Program:
    return lambda scores: (scores.softmax(-1) + number).log()


def with_a_least(number: float) -> Program:
    return lambda scores: scores.softmax(-1).clamp(min=number).log()


def loss_of_uniform(program: Program, arguments: Arguments) -> float:
    logits, targets = arguments.values()
    return float(program(torch.zeros_like(logits), targets))


def uniform_costs_ln_v(loss: float, arguments: Arguments) -> str | None:
    V = arguments["logits"].shape[-1]
    if abs(loss - math.log(V)) < 1e-4:
        return None
    return (
        f"Equal scores for all {V} tokens must cost ln {V} = {math.log(V):.4f}; "
        f"yours cost {loss:.4f}."
    )


LOSS = Model(
    loss_with,
    reduce=Piece(
        "the mean",
        sum_for_mean=(
            "the losses of the rows are added instead of averaged",
            lambda losses, logits: losses.sum(),
        ),
        one_loss_a_row=("the losses of the rows are not averaged", lambda x, _: x),
        over_tokens=(
            "the sum over the rows is divided by V, the number of tokens",
            lambda losses, logits: losses.sum() / logits.shape[1],
        ),
        over_rows_and_tokens=(
            "the mean runs over all entries, N times V, not over the N rows",
            lambda losses, logits: losses.sum() / logits.numel(),
        ),
    ).rarely(
        **alike(
            "only the {} row's loss is returned",
            last_row=("last", lambda losses, logits: losses[-1]),
            first_row=("first", lambda losses, logits: losses[0]),
        ),
        largest_loss=(
            "the largest of the rows' losses is returned, not their mean",
            lambda losses, logits: losses.amax(),
        ),
    ),
    unit=Piece(
        "the logarithm's base",
        bits=("the logarithm has base 2: these are bits, not nats", math.log(2)),
        base_ten=("the logarithm has base 10, not base e", math.log(10)),
    ),
    sign=Piece("the minus sign", no_minus=("the minus sign is missing", 1)),
    whole=Piece(
        "the loss",
        no_logarithm=(
            "the probability is averaged, not its logarithm",
            lambda logits, targets: of_targets(logits.softmax(-1), targets).mean(),
        ),
        logarithm_of_the_mean=(
            "the logarithm is taken of the mean probability",
            lambda logits, targets: (
                -of_targets(logits.softmax(-1), targets).mean().log()
            ),
        ),
        overflow=(
            "exp is taken of the logits as they are: exp(1000) is too large for a "
            "float, and exp(-1000) is 0. Subtract each row's largest first",
            lambda logits, targets: (
                -(of_targets(logits.exp(), targets) / logits.exp().sum(-1)).log().mean()
            ),
        ),
    ),
    scores=Piece(
        "the logits",
        softmax_twice=(
            "the softmax is applied twice (`F.cross_entropy` has one inside)",
            lambda logits: logits.softmax(-1),
        ),
    ),
    log_softmax=Piece(
        "the softmax",
        no_softmax=(
            "the logits are taken as if they were log-probabilities, without a softmax",
            lambda scores: scores,
        ),
        softmax_of_columns=(
            "the softmax runs over the rows of the batch, not over the tokens",
            lambda scores: scores.log_softmax(0),
        ),
        softmax_of_everything=(
            "the softmax runs over the whole tensor, not over each row's tokens",
            lambda s: s.flatten().log_softmax(0).view(s.shape),
        ),
        overflow_of_the_sum=(
            "exp is summed of the logits as they are: exp(1000) is too large for a "
            "float, and exp(-1000) is 0. `torch.logsumexp` subtracts the largest first",
            lambda s: s - s.exp().sum(-1, keepdim=True).log(),
        ),
        one_maximum=(
            "the largest logit of the whole tensor is subtracted, not each row's own: "
            "in a row far below it every exp is 0",
            lambda s: s - s.max() - (s - s.max()).exp().sum(-1, keepdim=True).log(),
        ),
        logarithm_of_a_softmax=(
            "the logarithm is taken of a softmax, in which exp(-1000) has become 0: "
            "subtract the logarithm of the sum instead",
            lambda scores: scores.softmax(-1).log(),
        ),
    ).rarely(
        small_number_in_the_logarithm=[
            (
                f"{number:g} is added to the probability before the logarithm, or "
                "is its least value, which changes every large loss: use `log_softmax`",
                kept_above_zero(number),
            )
            for number in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
            for kept_above_zero in (with_a_small_number, with_a_least)
        ],
        softmax_of_a_softmax=(
            "the softmax is applied twice, and only then its logarithm is taken",
            lambda s: s.log_softmax(-1).softmax(-1).log(),
        ),
    ),
    pick=Piece(
        "the targets",
        likeliest=(
            "the loss is that of the likeliest token, not of the target",
            lambda values, targets: values.amax(-1),
        ),
        all_pairs=(
            "every row is compared with the targets of all rows (`[:, targets]`)",
            lambda values, targets: values[:, targets],
        ),
        row_for_token=(
            "the targets pick rows, not tokens (`[targets]`): what is averaged are all "
            "log-probabilities of these rows",
            lambda values, targets: values[targets],
        ),
        whole_distribution=(
            "-log(p) is averaged over all tokens, not taken of the target alone",
            lambda values, targets: values,
        ),
    ).rarely(
        targets_minus_one=(
            "each target is counted from 1: the token before it is read",
            lambda values, targets: of_targets(values, targets - 1),
        )
    ),
    result=Piece(
        "the result",
        perplexity=("exp is taken of the loss: this is the perplexity", torch.exp),
    ),
    given=Piece(
        "the targets",
        next_target=(
            "each row is compared with the target of the next row",
            lambda logits, targets: (logits[:-1], targets[1:]),
        ),
    ),
).written(
    reduce=("{it}.mean()", "{inner}.mean()"),
    unit=("{inner}.log()",),
    sign=("-{it}",),
    whole=("{inner}.log()", "{logits}.logsumexp(-1)", "{row}.logsumexp(-1)"),
    scores=("{logits}",),
    log_softmax=(
        "{logits}.log_softmax(-1)",
        "{row}.log_softmax(-1)",
        "{logits}.logsumexp(-1)",
        "{logits}.logsumexp(-1, keepdim=True)",
        "{logits}.max(-1, keepdim=True).values",
    ),
    pick=(
        "{rows}.gather(-1, {targets}[:, None])",
        "{rows}[torch.arange(len({targets})), {targets}]",
    ),
)


def stages_of_loss(logits: Tensor, targets: Tensor) -> Iterator[Stage]:
    """The stages of the cross-entropy."""
    yield from losses(logits, targets)


cross_entropy = Task(
    **vars(ASKED["cross_entropy"]),
    tolerance=2e-4,  # in float32, numbers near 1000 are 6e-5 apart
    reference=lambda logits, targets: F.cross_entropy(logits, targets),
    make=make_logits,
    stages=stages_of_loss,
    probes=[
        Probe(0, {"N": 3, "V": 5}),
        Probe(1, {"N": 4, "V": 4}),
        Probe(2, {"N": 3, "V": 7}),
        Probe(3, {"N": 3, "V": 5, "shift": 1000.0}),
        Probe(4, {"N": 4, "V": 3, "shift": -1000.0}),
        Probe(5, {"N": 4, "V": 3, "scale": 20.0}),
        Probe(6, {"N": 3, "V": 3, "scale": 600.0}),
    ],
    least={"V": 2},
    differentiable=["logits"],
    properties=[Property("ln V", loss_of_uniform, uniform_costs_ln_v)],
    mistakes=LOSS.mistakes(),
    model=LOSS,
)


def make_embedding(
    draw: Draw, V: int, N: int, C: int, B: int, T: int, scale: float = 1.0
) -> dict:
    return {
        "ids": draw.ids(B, T, below=V),
        "token_table": draw.normal(V, C, mean=0.3, scale=scale),
        "position_table": draw.normal(N, C, mean=-0.3, scale=scale),
    }


def first_rows(ids: Tensor, positions: Tensor) -> Tensor:
    return positions[: ids.shape[1]]


def last_missing(ids: Tensor, positions: Tensor) -> Tensor:
    T = ids.shape[1]
    return positions[:T] * (torch.arange(T) < T - 1)[:, None]


def added(tokens: Tensor, positions: Tensor) -> Tensor:
    return tokens + positions


def side_by_side(tokens: Tensor, positions: Tensor) -> Tensor:
    return torch.cat([tokens, positions.expand_as(tokens)], -1)


def embed_with(
    ids: Tensor,
    token_table: Tensor,
    position_table: Tensor,
    *,
    tokens: Callable[[Tensor, Tensor], Tensor] = lambda ids, table: table[ids],
    positions: Callable[[Tensor, Tensor], Tensor] = first_rows,
    add: Callable[[Tensor, Tensor], Tensor] = added,
) -> Tensor:
    """Token vectors with positions and one piece replaced."""
    return add(tokens(ids, token_table), positions(ids, position_table))


EMBEDDING = Model(
    embed_with,
    add=Piece(
        "the sum",
        no_position=("the position's vector is not added", lambda a, b: a),
        no_token=(
            "the token's vector is not added: every text gives the same",
            lambda tokens, positions: 0 * tokens + positions,
        ),
        product=(
            "the two vectors are multiplied instead of added",
            lambda tokens, positions: tokens * positions,
        ),
        difference=(
            "the position's vector is subtracted instead of added",
            lambda tokens, positions: tokens - positions,
        ),
        side_by_side=(
            "the two vectors are put side by side, which gives 2C channels",
            side_by_side,
        ),
        average=(
            "the two vectors are averaged instead of added",
            lambda tokens, positions: (tokens + positions) / 2,
        ),
    ).rarely(
        position_scaled=(
            "the sum of both vectors is multiplied by √C, as Vaswani et al. (2017) do "
            "with the token's and GPT-2 does not",
            lambda a, b: (a + b) * a.shape[-1] ** 0.5,
        ),
        token_added_twice=("the token's vector is added twice", lambda a, b: 2 * a + b),
        token_subtracted=("the token's vector is subtracted", lambda a, b: b - a),
        position_added_twice=(
            "the position's vector is added twice",
            lambda tokens, positions: tokens + 2 * positions,
        ),
        normed=(
            "the sum goes through a layer norm, which is the block's",
            lambda a, b: F.layer_norm(a + b, a.shape[-1:]),
        ),
    ),
    positions=Piece(
        "the positions",
        positions_from_one=(
            "the positions are counted from 1",
            lambda ids, table: table[1 + torch.arange(ids.shape[1])],
        ),
        position_by_id=(
            "the position's vector is looked up by the token's id",
            lambda ids, table: table[ids],
        ),
        **alike(
            "every token gets the vector {}",
            same_position=("of position 0", lambda ids, table: table[0]),
            last_position=(
                "of the text's last position",
                lambda ids, table: table[ids.shape[1] - 1],
            ),
            position_of_the_length=(
                "at T, the length of the text",
                lambda ids, table: table[ids.shape[1]],
            ),
        ),
        position_by_row=(
            "the position's vector is that of the text's number in the batch",
            lambda ids, table: table[: ids.shape[0], None],
        ),
        positions_backwards=(
            "the positions are counted from the end of the text",
            lambda ids, table: table[: ids.shape[1]].flip(0),
        ),
        last_rows=(
            "the last rows of the position table are used instead of the first",
            lambda ids, table: table[-ids.shape[1] :],
        ),
        all_positions=(
            "all rows of the position table are added up for every token",
            lambda ids, table: table.sum(0),
        ),
        positions_from_one_in_a_ring=(
            "the positions are counted from 1, and after the table's last row comes "
            "its first",
            lambda ids, table: table[torch.arange(1, ids.shape[1] + 1) % len(table)],
        ),
        last_position_missing=(
            "the last token of each text gets no position vector",
            last_missing,
        ),
    ).rarely(
        position_by_place_in_batch=(
            "the positions run on through the whole batch: each text must begin at 0",
            lambda ids, table: table[torch.arange(ids.numel()).view_as(ids)],
        )
    ),
    tokens=Piece(
        "the tokens",
        scaled=(
            "the token's vector is multiplied by √C, as Vaswani et al. (2017) do and "
            "GPT-2 does not",
            lambda ids, table: table[ids] * table.shape[1] ** 0.5,
        ),
        padding=(
            "token 0 is treated as padding (`padding_idx=0`): its row never learns",
            lambda ids, table: F.embedding(ids, table, padding_idx=0),
        ),
        token_zero_silent=(
            "token 0 is treated as padding: it gets no vector",
            lambda ids, table: table[ids] * (ids != 0)[..., None],
        ),
        token_ids_from_one=(
            "the ids are counted from 1: token i gets row i - 1 of the token table",
            lambda ids, table: table[ids - 1],
        ),
    ).rarely(
        scaled_down=(
            "the token's vector is divided by √C; it is added as it is",
            lambda ids, table: table[ids] / table.shape[1] ** 0.5,
        )
    ),
    given=Piece(
        "the tables",
        tables_swapped=(
            "the two tables change places",
            lambda ids, tokens, positions: (ids, positions, tokens),
        ),
    ),
).written(
    add=(
        "{it} + {position}[: {ids}.shape[1]]",
        "{token}[{ids}] + {it}",
        "{left} + {right}",
    ),
    positions=("torch.arange({ids}.shape[1])", "{position}[: {ids}.shape[1]]"),
    tokens=("{token}[{ids}]",),
    given=("{token}[{ids}]", "{position}[: {ids}.shape[1]]"),
)


def stages_of_embedding(
    ids: Tensor, token_table: Tensor, position_table: Tensor
) -> Iterator[Stage]:
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


embedding = Task(
    **vars(ASKED["embedding"]),
    reference=lambda ids, token_table, position_table: (
        F.embedding(ids, token_table) + position_table[: ids.shape[1]]
    ),
    make=make_embedding,
    stages=stages_of_embedding,
    probes=[
        Probe(0, {"V": 7, "N": 5, "C": 3, "B": 2, "T": 3}),
        Probe(1, {"V": 5, "N": 5, "C": 5, "B": 3, "T": 5}),
        Probe(2, {"V": 3, "N": 6, "C": 2, "B": 2, "T": 1}),
        Probe(3, {"V": 4, "N": 4, "C": 4, "B": 4, "T": 4}),
        Probe(4, {"V": 3, "N": 3, "C": 1, "B": 1, "T": 2, "scale": 20.0}),
    ],
    differentiable=["token_table", "position_table"],
    sizes=lambda given: {
        "V": len(given["token_table"]),
        "C": given["token_table"].shape[1],
        "N": len(given["position_table"]),
    },
    weights=["token_table", "position_table"],
    mistakes=EMBEDDING.mistakes(),
    model=EMBEDDING,
)
