"""Cross-entropy, and token vectors with positions."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from mygpt.check.stages.parts import losses
from mygpt.check.stages.stage import Stage, stage
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Property, Task


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
    """Cross-entropy with one piece replaced."""
    losses = sign * pick(log_softmax(scores(logits)), targets)
    return reduce(losses, logits) / unit


def wrong_loss(**pieces) -> Program:
    return partial(loss_with, **pieces)


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


def stages_of_loss(logits: Tensor, targets: Tensor) -> Iterator[Stage]:
    """The stages of the cross-entropy."""
    yield from losses(logits, targets)


cross_entropy = Task(
    name="cross_entropy",
    tolerance=2e-4,  # in float32, numbers near 1000 are 6e-5 apart
    chapter="02_embeddings",
    label="check-cross-entropy",
    asks="Turn each row of logits into probabilities by a softmax and return the mean "
    "of -ln(probability of the row's target). Logits from -1000 to 1000 must work, in "
    "one row too.",
    arguments={"logits": "(N, V)", "targets": "(N,), ids"},
    returns="a tensor of shape (), in nats",
    example="""\
>>> cross_entropy(torch.zeros(2, 4), torch.tensor([0, 3]))
tensor(1.3863)""",
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
    mistakes=[
        Mistake(
            "sum-for-mean",
            "the losses of the rows are added instead of averaged",
            wrong_loss(reduce=lambda losses, logits: losses.sum()),
        ),
        Mistake(
            "one-loss-a-row",
            "the losses of the rows are not averaged",
            wrong_loss(reduce=lambda losses, logits: losses),
        ),
        Mistake(
            "bits",
            "the logarithm has base 2: these are bits, not nats",
            wrong_loss(unit=math.log(2)),
        ),
        Mistake(
            "no-minus",
            "the minus sign is missing",
            wrong_loss(sign=1),
        ),
        Mistake(
            "no-logarithm",
            "the probability is averaged, not its logarithm",
            lambda logits, targets: of_targets(logits.softmax(-1), targets).mean(),
        ),
        Mistake(
            "logarithm-of-the-mean",
            "the logarithm is taken of the mean probability",
            lambda logits, targets: (
                -of_targets(logits.softmax(-1), targets).mean().log()
            ),
        ),
        Mistake(
            "softmax-twice",
            "the softmax is applied twice (`F.cross_entropy` has one inside)",
            wrong_loss(scores=lambda logits: logits.softmax(-1)),
        ),
        Mistake(
            "no-softmax",
            "the logits are taken as if they were log-probabilities, without a softmax",
            wrong_loss(log_softmax=lambda scores: scores),
        ),
        Mistake(
            "softmax-of-columns",
            "the softmax runs over the rows of the batch, not over the tokens",
            wrong_loss(log_softmax=lambda scores: scores.log_softmax(0)),
        ),
        Mistake(
            "softmax-of-everything",
            "the softmax runs over the whole tensor, not over each row's tokens",
            wrong_loss(log_softmax=lambda s: s.flatten().log_softmax(0).view(s.shape)),
        ),
        Mistake(
            "likeliest",
            "the loss is that of the likeliest token, not of the target",
            wrong_loss(pick=lambda values, targets: values.amax(-1)),
        ),
        Mistake(
            "over-tokens",
            "the sum over the rows is divided by V, the number of tokens",
            wrong_loss(reduce=lambda losses, logits: losses.sum() / logits.shape[1]),
        ),
        Mistake(
            "over-rows-and-tokens",
            "the mean runs over all entries, N times V, not over the N rows",
            wrong_loss(reduce=lambda losses, logits: losses.sum() / logits.numel()),
        ),
        Mistake(
            "overflow",
            "exp is taken of the logits as they are: exp(1000) is too large for a "
            "float, and exp(-1000) is 0. Subtract each row's largest first",
            lambda logits, targets: (
                -(of_targets(logits.exp(), targets) / logits.exp().sum(-1)).log().mean()
            ),
        ),
        Mistake(
            "overflow-of-the-sum",
            "exp is summed of the logits as they are: exp(1000) is too large for a "
            "float, and exp(-1000) is 0. `torch.logsumexp` subtracts the largest first",
            wrong_loss(
                log_softmax=lambda s: s - s.exp().sum(-1, keepdim=True).log(),
            ),
        ),
        Mistake(
            "one-maximum",
            "the largest logit of the whole tensor is subtracted, not each row's own: "
            "in a row far below it every exp is 0",
            wrong_loss(
                log_softmax=lambda s: (
                    s - s.max() - (s - s.max()).exp().sum(-1, keepdim=True).log()
                ),
            ),
        ),
        Mistake(
            "logarithm-of-a-softmax",
            "the logarithm is taken of a softmax, in which exp(-1000) has become 0: "
            "subtract the logarithm of the sum instead",
            wrong_loss(log_softmax=lambda scores: scores.softmax(-1).log()),
        ),
        Mistake(
            "all-pairs",
            "every row is compared with the targets of all rows (`[:, targets]`)",
            wrong_loss(pick=lambda values, targets: values[:, targets]),
        ),
        Mistake(
            "row-for-token",
            "the targets pick rows, not tokens (`[targets]`): what is averaged are all "
            "log-probabilities of these rows",
            wrong_loss(pick=lambda values, targets: values[targets]),
        ),
        Mistake(
            "next-target",
            "each row is compared with the target of the next row",
            lambda logits, targets: F.cross_entropy(logits[:-1], targets[1:]),
        ),
        Mistake(
            "base-ten",
            "the logarithm has base 10, not base e",
            wrong_loss(unit=math.log(10)),
        ),
        Mistake(
            "perplexity",
            "exp is taken of the loss: this is the perplexity",
            lambda logits, targets: F.cross_entropy(logits, targets).exp(),
        ),
        Mistake(
            "whole-distribution",
            "-log(p) is averaged over all tokens, not taken of the target alone",
            wrong_loss(pick=lambda values, targets: values),
        ),
    ],
    more=lambda: [
        *(
            Mistake(
                "small-number-in-the-logarithm",
                f"{number:g} is added to the probability before the logarithm, or "
                "is its least value, which changes every large loss: use `log_softmax`",
                wrong_loss(log_softmax=kept_above_zero(number)),
            )
            for number in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
            for kept_above_zero in (with_a_small_number, with_a_least)
        ),
        Mistake(
            "softmax-of-a-softmax",
            "the softmax is applied twice, and only then its logarithm is taken",
            wrong_loss(log_softmax=lambda s: s.log_softmax(-1).softmax(-1).log()),
        ),
        Mistake(
            "last-row",
            "only the last row's loss is returned",
            wrong_loss(reduce=lambda losses, logits: losses[-1]),
        ),
        Mistake(
            "first-row",
            "only the first row's loss is returned",
            wrong_loss(reduce=lambda losses, logits: losses[0]),
        ),
        Mistake(
            "largest-loss",
            "the largest of the rows' losses is returned, not their mean",
            wrong_loss(reduce=lambda losses, logits: losses.amax()),
        ),
        Mistake(
            "targets-minus-one",
            "each target is counted from 1: the token before it is read",
            wrong_loss(pick=lambda values, targets: of_targets(values, targets - 1)),
        ),
    ],
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
    together: Callable[[Tensor, Tensor], Tensor] = added,
) -> Tensor:
    """Token vectors with positions and one piece replaced."""
    return together(tokens(ids, token_table), positions(ids, position_table))


def wrong(**pieces) -> Program:
    return partial(embed_with, **pieces)


def stages_of_embedding(
    ids: Tensor, token_table: Tensor, position_table: Tensor
) -> Iterator[Stage]:
    """The stages of the first vectors."""
    tokens, positions = token_table[ids], position_table[: ids.shape[1]]
    yield stage("the rows of the token table", tokens, needs=())
    yield stage("the first T rows of the position table", positions, needs=())
    yield stage(
        "their sum",
        tokens + positions,
        needs=(
            "the rows of the token table",
            "the first T rows of the position table",
        ),
    )


embedding = Task(
    name="embedding",
    chapter="02_embeddings",
    label="check-embedding",
    asks="Give every token its vector: row ids[b, t] of the token table plus row t of "
    "the position table. The position table may have more rows than the text is long.",
    arguments={
        "ids": "(B, T), whole numbers",
        "token_table": "(V, C)",
        "position_table": "(N, C) with N >= T",
    },
    returns="a tensor of shape (B, T, C)",
    example="""\
>>> tokens = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> positions = torch.tensor([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
>>> embedding(torch.tensor([[1, 1]]), tokens, positions)
tensor([[[3.1000, 4.1000],
         [3.2000, 4.2000]]])""",
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
    mistakes=[
        Mistake(
            "no-position",
            "the position's vector is not added",
            wrong(together=lambda tokens, positions: tokens),
        ),
        Mistake(
            "no-token",
            "the token's vector is not added: every text gives the same",
            wrong(together=lambda tokens, positions: 0 * tokens + positions),
        ),
        Mistake(
            "positions-from-one",
            "the positions are counted from 1",
            wrong(positions=lambda ids, table: table[1 + torch.arange(ids.shape[1])]),
        ),
        Mistake(
            "position-by-id",
            "the position's vector is looked up by the token's id",
            wrong(positions=lambda ids, table: table[ids]),
        ),
        Mistake(
            "same-position",
            "every token gets the vector of position 0",
            wrong(positions=lambda ids, table: table[0]),
        ),
        Mistake(
            "last-position",
            "every token gets the vector of the text's last position",
            wrong(positions=lambda ids, table: table[ids.shape[1] - 1]),
        ),
        Mistake(
            "position-of-the-length",
            "every token gets the vector at T, the length of the text",
            wrong(positions=lambda ids, table: table[ids.shape[1]]),
        ),
        Mistake(
            "position-by-row",
            "the position's vector is that of the text's number in the batch",
            wrong(positions=lambda ids, table: table[: ids.shape[0], None]),
        ),
        Mistake(
            "positions-backwards",
            "the positions are counted from the end of the text",
            wrong(positions=lambda ids, table: table[: ids.shape[1]].flip(0)),
        ),
        Mistake(
            "last-rows",
            "the last rows of the position table are used instead of the first",
            wrong(positions=lambda ids, table: table[-ids.shape[1] :]),
        ),
        Mistake(
            "all-positions",
            "all rows of the position table are added up for every token",
            wrong(positions=lambda ids, table: table.sum(0)),
        ),
        Mistake(
            "product",
            "the two vectors are multiplied instead of added",
            wrong(together=lambda tokens, positions: tokens * positions),
        ),
        Mistake(
            "difference",
            "the position's vector is subtracted instead of added",
            wrong(together=lambda tokens, positions: tokens - positions),
        ),
        Mistake(
            "side-by-side",
            "the two vectors are put side by side, which gives 2C channels",
            wrong(together=side_by_side),
        ),
        Mistake(
            "scaled",
            "the token's vector is multiplied by √C, as Vaswani et al. (2017) do and "
            "GPT-2 does not",
            wrong(tokens=lambda ids, table: table[ids] * table.shape[1] ** 0.5),
        ),
        Mistake(
            "average",
            "the two vectors are averaged instead of added",
            wrong(together=lambda tokens, positions: (tokens + positions) / 2),
        ),
        Mistake(
            "padding",
            "token 0 is treated as padding (`padding_idx=0`): its row never learns",
            wrong(tokens=lambda ids, table: F.embedding(ids, table, padding_idx=0)),
        ),
        Mistake(
            "token-zero-silent",
            "token 0 is treated as padding: it gets no vector",
            wrong(tokens=lambda ids, table: table[ids] * (ids != 0)[..., None]),
        ),
        Mistake(
            "positions-from-one-in-a-ring",
            "the positions are counted from 1, and after the table's last row comes "
            "its first",
            wrong(
                positions=lambda ids, table: table[
                    torch.arange(1, ids.shape[1] + 1) % len(table)
                ]
            ),
        ),
        Mistake(
            "last-position-missing",
            "the last token of each text gets no position vector",
            wrong(positions=last_missing),
        ),
        Mistake(
            "token-ids-from-one",
            "the ids are counted from 1: token i gets row i - 1 of the token table",
            wrong(tokens=lambda ids, table: table[ids - 1]),
        ),
        Mistake(
            "tables-swapped",
            "the two tables change places",
            lambda ids, tokens, positions: embed_with(ids, positions, tokens),
        ),
    ],
    more=lambda: [
        Mistake(
            "position-scaled",
            "the sum of both vectors is multiplied by √C, as Vaswani et al. (2017) do "
            "with the token's and GPT-2 does not",
            wrong(together=lambda a, b: (a + b) * a.shape[-1] ** 0.5),
        ),
        Mistake(
            "scaled-down",
            "the token's vector is divided by √C; it is added as it is",
            wrong(tokens=lambda ids, table: table[ids] / table.shape[1] ** 0.5),
        ),
        Mistake(
            "position-added-twice",
            "the position's vector is added twice",
            wrong(together=lambda tokens, positions: tokens + 2 * positions),
        ),
        Mistake(
            "position-by-place-in-batch",
            "the positions run on through the whole batch: each text must begin at 0",
            wrong(
                positions=lambda ids, table: table[
                    torch.arange(ids.numel()).view_as(ids)
                ]
            ),
        ),
        Mistake(
            "normed",
            "the sum goes through a layer norm, which is the block's",
            wrong(together=lambda a, b: F.layer_norm(a + b, a.shape[-1:])),
        ),
    ],
)
