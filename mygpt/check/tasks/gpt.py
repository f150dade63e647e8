"""The forward pass of a GPT, with its loss."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

import torch
from torch import Tensor
from torch.func import functional_call
from torch.optim.adam import adam

from mygpt.check.model import Model, Part, Piece, within
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import losses, normalised
from mygpt.check.stages.stage import Stage, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.check.tasks.attention import LEAKS, far_apart, is_near
from mygpt.check.tasks.block import (
    BLOCK,
    NORM,
    block_tensors,
    block_with,
    stages_of_block,
    stored_block,
    written_norm,
)
from mygpt.check.tasks.embedding import EMBEDDING, LOSS, embed_with, loss_with
from mygpt.check.tasks.feed_forward import ERF, erf_form, mlp_with, tanh_form
from mygpt.check.tasks.norm import norm_with
from mygpt.gpt import GPT, GPTConfig
from mygpt.workbook.asked import ASKED


@lru_cache(maxsize=32)
def package_gpt(V: int, N: int, C: int, H: int, L: int, activation: str) -> GPT:
    with kept_state():
        return GPT(GPTConfig(V, N, C, H, L, activation=activation))


def stored_gpt(weights: dict) -> dict[str, Tensor]:
    """Name a GPT's weights as the package does."""
    named = {
        "token.embedding.weight": weights["token"],
        "position.weight": weights["position"],
        "ln_f.weight": weights["ln_f_weight"],
        "ln_f.bias": weights["ln_f_bias"],
    }
    for i, block in enumerate(weights["blocks"]):
        named |= stored_block(block, f"blocks.{i}.")
    return named


def book_gpt(activation: str) -> Program:
    def gpt(ids: Tensor, targets: Tensor, weights: dict, num_heads: int):
        V, C = weights["token"].shape
        N, L = len(weights["position"]), len(weights["blocks"])
        model = package_gpt(V, N, C, num_heads, L, activation)
        return functional_call(model, stored_gpt(weights), (ids, targets))

    return gpt


def gpt_tensors(draw: Draw, V: int, N: int, C: int, L: int, scale: float = 1.0) -> dict:
    """The tensors of a GPT; with a small `scale`, eps shows in every norm."""
    made = {
        "token": draw.normal(V, C, scale=scale),
        "position": draw.normal(N, C, scale=0.7 * scale),
        "blocks": [block_tensors(draw, C, 4 * C) for _ in range(L)],
        "ln_f_weight": draw.normal(C, mean=1.0, scale=0.5),
        "ln_f_bias": draw.normal(C, scale=0.5),
    }
    for block in made["blocks"]:
        block |= {name: scale * block[name] for name in ("W_O", "b_O", "W2", "b2")}
    return made


def make_gpt(
    draw: Draw,
    V: int,
    N: int,
    B: int,
    T: int,
    H: int,
    D: int,
    L: int,
    scale: float = 1.0,
) -> Arguments:
    if T > N:
        raise ValueError("a text longer than the position table")
    return {
        "ids": draw.ids(B, T, below=V),
        "targets": draw.ids(B, T, below=V),
        "weights": gpt_tensors(draw, V, N, H * D, L, scale),
        "num_heads": H,
    }


def gpt_with(
    ids: Tensor,
    targets: Tensor,
    weights: dict,
    num_heads: int,
    *,
    embed: Program = embed_with,
    order=lambda blocks: blocks,
    block: Program = block_with,
    last_norm: Program = norm_with,
    head=lambda x, weights: x @ weights["token"].T,
    judged=lambda logits, targets: (logits, targets),
    cross_entropy: Program = loss_with,
    shown=lambda logits: logits,
):
    """A GPT's forward pass in pieces."""
    x = embed(ids, weights["token"], weights["position"])
    for each in order(weights["blocks"]):
        x = block(x, each, num_heads)
    x = last_norm(x, weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    logits = head(x, weights)
    some, wanted = judged(logits, targets)
    return shown(logits), cross_entropy(some.flatten(0, -2), wanted.flatten())


# What changes the logits of a GPT, with a cache too.
FORWARD = {
    "last_norm": Piece(
        "the last norm", no_last_norm=("the last norm is missing", lambda x, *rest: x)
    ),
    "embed": Piece(
        "the embedding",
        no_positions=(
            "the position vectors are not added",
            lambda ids, token, position: token[ids],
        ),
        positions_from_one=(
            "the positions are counted from 1",
            lambda ids, token, position: token[ids] + position[1 : ids.shape[1] + 1],
        ),
        scaled_embedding=(
            "the token vectors are multiplied by √C",
            lambda ids, token, position: (
                token[ids] * token.shape[1] ** 0.5 + position[: ids.shape[1]]
            ),
        ),
    ),
    "order": Piece(
        "the blocks",
        blocks_backwards=(
            "the blocks run in the wrong order, the last one first",
            lambda blocks: blocks[::-1],
        ),
        first_block_again=(
            "every block uses the weights of the first",
            lambda blocks: blocks[:1] * len(blocks),
        ),
        last_block_missing=("the last block is missing", lambda blocks: blocks[:-1]),
        last_block_alone=(
            "each block gets the embedding, not what the block before gives, so only "
            "the last block counts",
            lambda blocks: blocks[-1:],
        ),
        one_block=("only the first block runs", lambda blocks: blocks[:1]),
        no_blocks=("no block runs", lambda blocks: []),
    ),
    "head": Piece(
        "the logits",
        scaled_logits=(
            "the logits are divided by √C",
            lambda x, weights: x @ weights["token"].T / x.shape[-1] ** 0.5,
        ),
    ),
}
INSIDE = (
    Part(BLOCK, "block", "in the blocks"),
    Part(NORM, "last_norm", "in the last norm"),
)
FORMS = within("block", BLOCK.forms)
GPT_MODEL = Model(
    gpt_with,
    **FORWARD,
    judged=Piece(
        "the targets",
        targets_shifted_again=(
            "the targets are shifted once more: they are the next tokens already",
            lambda logits, targets: (logits[:, :-1], targets[:, 1:]),
        ),
        last_position=(
            "only the last position has a loss",
            lambda logits, targets: (logits[:, -1], targets[:, -1]),
        ),
    ),
    given=Piece(
        "the targets",
        loss_against_ids=(
            "the loss compares with ids instead of targets",
            lambda ids, targets, *rest: (ids, ids, *rest),
        ),
    ),
    shown=Piece(
        "the logits that are returned",
        last_logits_alone=(
            "only the logits of the last position are returned",
            lambda logits: logits[:, -1],
        ),
        probabilities_returned=(
            "the probabilities are returned instead of the logits",
            lambda logits: logits.softmax(-1),
        ),
    ),
    cross_entropy=Piece(
        "the loss",
        softmax_before_loss=(
            "the loss gets probabilities: `F.cross_entropy` has a softmax inside",
            lambda logits, targets: loss_with(logits.softmax(-1), targets),
        ),
    ),
    together=Piece(
        "the logits",
        softmax_in_the_head=(
            "the logits go through a softmax, before the loss and in what is returned",
            {"head": lambda x, weights: (x @ weights["token"].T).softmax(-1)},
        ),
    ),
    parts=[
        *INSIDE,
        Part(EMBEDDING, "embed", "in the embedding"),
        Part(LOSS, "cross_entropy", "in the loss"),
    ],
    forms=FORMS,
).written(
    last_norm=(written_norm("ln_f"),),
    embed=(
        '{weights}["position"][: {ids}.shape[1]]',
        '{weights}["token"][{ids}]',
        '{it} + {weights}["position"][: {ids}.shape[1]]',
    ),
    order=('{weights}["blocks"]', '{weights}["blocks"][{i}]', "{x}"),
    last_block_alone=("@kept", "{x}"),
    head=('{x} @ {weights}["token"].T', "{left}"),
    judged=("{logits}.flatten(0, -2)", "{targets}.flatten()"),
    given=("{targets}.flatten()", "{targets}"),
    shown=("{logits}",),
    cross_entropy=("{logits}.flatten(0, -2)",),
)


def loss_without_tokens(program: Program, arguments: Arguments) -> float:
    ids, targets, weights, num_heads = arguments.values()
    silent = {**weights, "token": torch.zeros_like(weights["token"])}
    return float(program(ids, targets, silent, num_heads)[1])


def ln_v_at_zero(loss: float, arguments: Arguments) -> str | None:
    V = len(arguments["weights"]["token"])
    if abs(loss - math.log(V)) < 1e-4:
        return None
    return (
        f"With a token table of zeros all {V} tokens are equally likely and the loss "
        f"must be ln {V} = {math.log(V):.4f}; yours is {loss:.4f}."
    )


def with_the_last_token_changed(program: Program, arguments: Arguments) -> list[Tensor]:
    """The logits of all positions but the last, before and after.

    Then all of that with scores that are far apart.
    """
    ids, V = arguments["ids"].clone(), len(arguments["weights"]["token"])
    ids[:, -1] = (ids[:, -1] + 1) % V
    return [
        program(*{**given, "ids": each}.values())[0][:, :-1]
        for given in (arguments, far_apart(arguments))
        for each in (arguments["ids"], ids)
    ]


def causal_logits(seen: list[Tensor], arguments: Arguments) -> str | None:
    if not torch.allclose(*seen[:2], atol=1e-5):
        return (
            "It is not causal: another last token changes the logits of earlier "
            "positions."
        )
    return None if is_near(*seen[2:]) else LEAKS


def loss_after_adam(program: Program, arguments: Arguments) -> float:
    """The loss after sixteen steps of Adam on one batch."""
    ids, targets, weights, num_heads = arguments.values()
    trained = {
        name: [{n: w.clone().requires_grad_() for n, w in b.items()} for b in value]
        if name == "blocks"
        else value.clone().requires_grad_()
        for name, value in weights.items()
    }
    flat = [w for n, w in trained.items() if n != "blocks"]
    flat += [w for b in trained["blocks"] for w in b.values()]
    m, v = ([torch.zeros_like(w) for w in flat] for _ in range(2))
    steps = [torch.zeros(()) for _ in flat]
    for _ in range(16):
        loss = program(ids, targets, trained, num_heads)[1]
        gradients = torch.autograd.grad(loss, flat, materialize_grads=True)
        with torch.no_grad():
            adam_step(flat, list(gradients), m, v, state_steps=steps)
    return float(loss.detach())


# An optimiser's class would import the compiler of PyTorch, which takes two seconds.
adam_step = partial(
    adam,
    max_exp_avg_sqs=[],
    foreach=False,
    amsgrad=False,
    beta1=0.9,
    beta2=0.999,
    lr=0.1,
    weight_decay=0.0,
    eps=1e-8,
    maximize=False,
)


def one_batch_overfits(loss: float, arguments: Arguments) -> str | None:
    if loss < 0.3:
        return None
    return (
        f"Sixteen steps of Adam on one batch leave your loss at {loss:.2f}: a model "
        "that can learn gets below 0.3."
    )


def stages_of_gpt(
    ids: Tensor, targets: Tensor, weights: dict, num_heads: int
) -> Iterator[Stage]:
    """The stages of a GPT's forward pass."""
    yield from in_both_forms(
        partial(stages_with, ids, weights, num_heads, targets=targets)
    )


def in_both_forms(stages: Callable[..., Iterable[Stage]]) -> Iterator[Stage]:
    """Join the stages of two networks that differ in the form of GELU."""
    for one, other in zip(*map(stages, (tanh_form, erf_form)), strict=True):
        yield stage(one.name, *one.tensors, *other.tensors, needs=one.needs)


def stages_with(
    ids: Tensor,
    weights: dict,
    num_heads: int,
    form: Callable[[Tensor], Tensor],
    targets: Tensor | None = None,
) -> Iterator[Stage]:
    """The stages with one form of GELU; without targets, as far as the logits."""
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    yield stage("the vectors of tokens and positions", x)
    for i, each in enumerate(weights["blocks"]):
        yield from stages_of_block(x, each, num_heads, f" in blocks[{i}]")
        x = block_with(x, each, num_heads, mlp=partial(mlp_with, act=form))
    n = normalised(x, weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    yield stage("the last norm", n)
    logits = n @ weights["token"].T
    yield stage("the logits", logits)
    if targets is not None:
        yield from losses(logits.flatten(0, 1), targets.flatten(), ("the logits",))


gpt = Task(
    **vars(ASKED["gpt"]),
    limit=30.0,
    parts=("logits", "loss"),
    reference=book_gpt("gelu_tanh"),
    forms={ERF: book_gpt("gelu")},
    make=make_gpt,
    stages=stages_of_gpt,
    probes=[
        Probe(0, {"V": 7, "N": 5, "B": 2, "T": 3, "H": 2, "D": 3, "L": 2}),
        Probe(1, {"V": 5, "N": 5, "B": 3, "T": 5, "H": 3, "D": 2, "L": 3}),
        Probe(2, {"V": 6, "N": 9, "B": 1, "T": 4, "H": 2, "D": 3, "L": 2}),
        Probe(
            3, {"V": 4, "N": 4, "B": 1, "T": 3, "H": 2, "D": 2, "L": 1, "scale": 0.003}
        ),
    ],
    least={"V": 2, "D": 2, "T": 2},
    differentiable=["weights"],
    properties=[
        Property("causal", with_the_last_token_changed, causal_logits),
        Property("ln V", loss_without_tokens, ln_v_at_zero),
        Property("overfits", loss_after_adam, one_batch_overfits),
    ],
    sizes=lambda given: {
        "V": given["weights"]["token"].shape[0],
        "N": given["weights"]["position"].shape[0],
        "C": given["weights"]["token"].shape[1],
        "num_heads": given["num_heads"],
        "num_layers": len(given["weights"]["blocks"]),
    },
    weights=["weights"],
    mistakes=GPT_MODEL.mistakes(),
    model=GPT_MODEL,
)
