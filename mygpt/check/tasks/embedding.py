"""Cross-entropy, and token vectors with positions."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

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
            lambda logits, targets: F.cross_entropy(logits, targets, reduction="sum"),
        ),
        Mistake(
            "one-loss-a-row",
            "the losses of the rows are not averaged",
            lambda logits, targets: F.cross_entropy(logits, targets, reduction="none"),
        ),
        Mistake(
            "bits",
            "the logarithm has base 2: these are bits, not nats",
            lambda logits, targets: F.cross_entropy(logits, targets) / math.log(2),
        ),
        Mistake(
            "no-minus",
            "the minus sign is missing",
            lambda logits, targets: -F.cross_entropy(logits, targets),
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
            lambda logits, targets: F.cross_entropy(logits.softmax(-1), targets),
        ),
        Mistake(
            "no-softmax",
            "the logits are taken as if they were log-probabilities, without a softmax",
            lambda logits, targets: -of_targets(logits, targets).mean(),
        ),
        Mistake(
            "softmax-of-columns",
            "the softmax runs over the rows of the batch, not over the tokens",
            lambda logits, targets: -of_targets(logits.log_softmax(0), targets).mean(),
        ),
        Mistake(
            "likeliest",
            "the loss is that of the likeliest token, not of the target",
            lambda logits, targets: -logits.log_softmax(-1).amax(-1).mean(),
        ),
        Mistake(
            "over-tokens",
            "the sum over the rows is divided by V, the number of tokens",
            lambda logits, targets: (
                F.cross_entropy(logits, targets, reduction="sum") / logits.shape[1]
            ),
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
            "logarithm-of-a-softmax",
            "the logarithm is taken of a softmax, in which exp(-1000) has become 0: "
            "subtract the logarithm of the sum instead",
            lambda logits, targets: (
                -of_targets(logits.softmax(-1), targets).log().mean()
            ),
        ),
        Mistake(
            "all-pairs",
            "every row is compared with the targets of all rows (`[:, targets]`)",
            lambda logits, targets: -logits.log_softmax(-1)[:, targets].mean(),
        ),
        Mistake(
            "next-target",
            "each row is compared with the target of the next row",
            lambda logits, targets: F.cross_entropy(logits[:-1], targets[1:]),
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


def embed_with(ids, token_table, position_table, positions) -> Tensor:
    return token_table[ids] + position_table[positions]


def positions_by_row(ids, token_table, position_table):
    B = ids.shape[0]
    return token_table[ids] + position_table[:B, None]


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
            lambda ids, tokens, positions: tokens[ids],
        ),
        Mistake(
            "positions-from-one",
            "the positions are counted from 1",
            lambda ids, tokens, positions: embed_with(
                ids, tokens, positions, torch.arange(1, ids.shape[1] + 1)
            ),
        ),
        Mistake(
            "position-by-id",
            "the position's vector is looked up by the token's id",
            lambda ids, tokens, positions: tokens[ids] + positions[ids],
        ),
        Mistake(
            "same-position",
            "every token gets the vector of position 0",
            lambda ids, tokens, positions: tokens[ids] + positions[0],
        ),
        Mistake(
            "position-by-row",
            "the position's vector is that of the text's number in the batch",
            positions_by_row,
        ),
        Mistake(
            "positions-backwards",
            "the positions are counted from the end of the text",
            lambda ids, tokens, positions: embed_with(
                ids, tokens, positions, torch.arange(ids.shape[1]).flip(0)
            ),
        ),
        Mistake(
            "last-rows",
            "the last rows of the position table are used instead of the first",
            lambda ids, tokens, positions: tokens[ids] + positions[-ids.shape[1] :],
        ),
        Mistake(
            "product",
            "the two vectors are multiplied instead of added",
            lambda ids, tokens, positions: tokens[ids] * positions[: ids.shape[1]],
        ),
        Mistake(
            "side-by-side",
            "the two vectors are put side by side, which gives 2C channels",
            lambda ids, tokens, positions: torch.cat(
                [tokens[ids], positions[: ids.shape[1]].expand(len(ids), -1, -1)], -1
            ),
        ),
        Mistake(
            "scaled",
            "the token's vector is multiplied by √C, as Vaswani et al. (2017) do and "
            "GPT-2 does not",
            lambda ids, tokens, positions: (
                tokens[ids] * tokens.shape[1] ** 0.5 + positions[: ids.shape[1]]
            ),
        ),
        Mistake(
            "average",
            "the two vectors are averaged instead of added",
            lambda ids, tokens, positions: (
                (tokens[ids] + positions[: ids.shape[1]]) / 2
            ),
        ),
    ],
)
