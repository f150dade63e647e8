"""The forward pass of a GPT, with its loss."""

import math
from functools import partial

import torch
from torch import Tensor

from mygpt.check.locate.parts import losses, normalised
from mygpt.check.locate.stage import stage
from mygpt.check.reference import Part, Reference, same, within
from mygpt.check.task import Arguments, Draw, Program, Property, probes
from mygpt.check.tasks.attention import LEAKS, far_apart, is_near
from mygpt.check.tasks.block import (
    BLOCK,
    HINTS,
    NORM,
    block_tensors,
    block_with,
    stages_of_block,
)
from mygpt.check.tasks.embedding import EMBEDDING, LOSS, embed_with, loss_with
from mygpt.check.tasks.feed_forward import ERF, erf_form, mlp_with, tanh_form
from mygpt.check.tasks.norm import norm_with
from mygpt.check.tasks.package import adamw_step, with_weights
from mygpt.check.tree import decimal_tensors, mapped
from mygpt.gpt import GPT, GPTConfig


def book_gpt(activation: str) -> Program:
    """Return the package's GPT, with an activation."""

    def gpt(ids: Tensor, targets: Tensor, weights: dict, num_heads: int):
        V, C = weights["token"].shape
        sizes = (V, len(weights["position"]), C, num_heads, len(weights["blocks"]))
        config = GPTConfig(*sizes, activation=activation)
        return with_weights(weights, (ids, targets), GPT, config)

    return gpt


def gpt_tensors(draw: Draw, V: int, N: int, C: int, L: int, scale: float = 1.0) -> dict:
    """The tensors of a GPT; with a small `scale`, eps shows in every norm."""
    table = "token VC 0 scale | position NC 0 less"
    made = draw.tensors(table, V=V, N=N, C=C, scale=scale, less=0.7 * scale)
    made["blocks"] = [block_tensors(draw, C) for _ in range(L)]
    made |= draw.tensors("ln_f_weight C 1 0.5 | ln_f_bias C 0 0.5", C=C)
    for block in made["blocks"]:
        block |= {name: scale * block[name] for name in ("W_O", "b_O", "W2", "b2")}
    return made


def make_gpt(
    draw: Draw, V: int, N: int, B: int, T: int, H: int, D: int, L: int, scale=1.0
) -> Arguments:
    """Draw ids, targets and weights."""
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
    embed=embed_with,
    order=same,
    block=block_with,
    last_norm=norm_with,
    head=lambda x, weights: x @ weights["token"].T,
    judged=lambda logits, targets: (logits, targets),
    cross_entropy=loss_with,
    shown=same,
):
    """A GPT's forward pass in pieces."""
    x = embed(ids, weights["token"], weights["position"])
    for each in order(weights["blocks"]):
        x = block(x, each, num_heads)
    x = last_norm(x, weights["ln_f_weight"], weights["ln_f_bias"], 1e-5)
    logits = head(x, weights)
    some, wanted = judged(logits, targets)
    return shown(logits), cross_entropy(some.flatten(0, -2), wanted.flatten())


INSIDE = (
    Part(BLOCK, "block", "in the blocks"),
    Part(NORM, "last_norm", "in the last norm"),
)
FORMS = within("block", BLOCK.forms)
GPT_MODEL = Reference(
    gpt_with,
    """
    [last_norm] the last norm
        = torch.nn.functional.layer_norm({it}, {it}.shape[-1:], {w}["ln_f_weight"],
        {w}["ln_f_bias"], 1e-5)
    no-last-norm: the last norm is missing
    [embed] the embedding = {weights}["position"][: {ids}.shape[1]]
        | {weights}["token"][{ids}] | {it} + {weights}["position"][: {ids}.shape[1]]
    no-positions: the position vectors are not added
    positions-from-one: the positions are counted from 1
    scaled-embedding: the token vectors are multiplied by √C
    [order] the blocks = {weights}["blocks"] | {weights}["blocks"][{i}] | {x}
    blocks-backwards: the blocks run in the wrong order, the last one first
    first-block-again: every block uses the weights of the first
    last-block-missing: the last block is missing
    last-block-alone: each block gets the embedding, not what the block before gives, so
        only the last block counts
    = @kept | {x}
    one-block: only the first block runs
    no-blocks: no block runs
    [head] the logits = {x} @ {weights}["token"].T | {left}
    scaled-logits: the logits are divided by √C
    [judged] the targets = {logits}.flatten(0, -2) | {targets}.flatten()
    targets-shifted-again: the targets are shifted once more: they are the next tokens
        already
    last-position: only the last position has a loss
    [given] the targets = {targets}.flatten() | {targets}
    loss-against-ids: the loss compares with ids instead of targets
    [shown] the logits that are returned = {logits}
    last-logits-alone: only the logits of the last position are returned
    probabilities-returned: the probabilities are returned instead of the logits
    [cross_entropy] the loss = {logits}.flatten(0, -2)
    softmax-before-loss: the loss gets probabilities: `F.cross_entropy` has a softmax
        inside
    [together] the logits
    softmax-in-the-head: the logits go through a softmax, before the loss and in what is
        returned
    """,
    parts=[
        *INSIDE,
        Part(EMBEDDING, "embed", "in the embedding"),
        Part(LOSS, "cross_entropy", "in the loss"),
    ],
    forms=FORMS,
    no_last_norm=same,
    no_positions=lambda ids, token, position: token[ids],
    positions_from_one=lambda ids, token, position: (
        token[ids] + position[1 : ids.shape[1] + 1]
    ),
    scaled_embedding=lambda ids, token, position: (
        token[ids] * token.shape[1] ** 0.5 + position[: ids.shape[1]]
    ),
    blocks_backwards=lambda blocks: blocks[::-1],
    first_block_again=lambda blocks: blocks[:1] * len(blocks),
    last_block_missing=lambda blocks: blocks[:-1],
    last_block_alone=lambda blocks: blocks[-1:],
    one_block=lambda blocks: blocks[:1],
    no_blocks=lambda blocks: [],
    scaled_logits=lambda x, weights: x @ weights["token"].T / x.shape[-1] ** 0.5,
    targets_shifted_again=lambda logits, targets: (logits[:, :-1], targets[:, 1:]),
    last_position=lambda logits, targets: (logits[:, -1], targets[:, -1]),
    loss_against_ids=lambda ids, targets, *rest: (ids, ids, *rest),
    last_logits_alone=lambda logits: logits[:, -1],
    probabilities_returned=lambda logits: logits.softmax(-1),
    softmax_before_loss=lambda logits, targets: loss_with(logits.softmax(-1), targets),
    softmax_in_the_head={
        "head": lambda x, weights: (x @ weights["token"].T).softmax(-1)
    },
)
# What changes the logits of a GPT, with a cache too.
FORWARD = {
    name: GPT_MODEL.pieces[name] for name in ["last_norm", "embed", "order", "head"]
}


def loss_without_tokens(program, arguments):
    """The loss with a token table of zeros."""
    ids, targets, weights, num_heads = arguments.values()
    silent = {**weights, "token": torch.zeros_like(weights["token"])}
    return float(program(ids, targets, silent, num_heads)[1])


def ln_v_at_zero(loss, arguments):
    """Whether a token table of zeros costs ln V."""
    V = len(arguments["weights"]["token"])
    if abs(loss - math.log(V)) < 1e-4:
        return None
    return (
        f"With a token table of zeros all {V} tokens are equally likely and the loss "
        f"must be ln {V} = {math.log(V):.4f}; yours is {loss:.4f}."
    )


def with_the_last_token_changed(program, arguments):
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


def causal_logits(seen, arguments):
    """Whether the last token leaves the earlier logits alone."""
    if not torch.allclose(*seen[:2], atol=1e-5):
        return (
            "It is not causal: another last token changes the logits of earlier "
            "positions."
        )
    return None if is_near(*seen[2:]) else LEAKS


ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}


def loss_after_adam(program, arguments):
    """The loss after sixteen steps of Adam on one batch."""
    ids, targets, weights, num_heads = arguments.values()
    trained = mapped(lambda weight: weight.clone().requires_grad_(), weights)
    flat = decimal_tensors(trained)
    m, v = ([torch.zeros_like(w) for w in flat] for _ in range(2))
    steps = [torch.zeros(()) for _ in flat]
    for _ in range(16):
        loss = program(ids, targets, trained, num_heads)[1]
        gradients = torch.autograd.grad(loss, flat, materialize_grads=True)
        with torch.no_grad():
            adamw_step(flat, list(gradients), m, v, state_steps=steps, **ADAM)
    return float(loss.detach())


def one_batch_overfits(loss, arguments):
    """Whether the steps of Adam brought the loss down."""
    if loss < 0.3:
        return None
    return (
        f"Sixteen steps of Adam on one batch leave your loss at {loss:.2f}: a model "
        "that can learn gets below 0.3."
    )


def in_both_forms(stages):
    """Join the stages of two networks that differ in the form of GELU."""
    for one, other in zip(*map(stages, (tanh_form, erf_form)), strict=True):
        yield stage(one.name, *one.tensors, *other.tensors, needs=one.needs)


def stages_with(ids, weights, num_heads, form, targets=None):
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


gpt = GPT_MODEL.task(
    "gpt",
    hints=HINTS,
    limit=30.0,
    parts=("logits", "loss"),
    reference=book_gpt("gelu_tanh"),
    forms={ERF: book_gpt("gelu")},
    make=make_gpt,
    stages=lambda ids, targets, weights, num_heads: in_both_forms(
        partial(stages_with, ids, weights, num_heads, targets=targets)
    ),
    probes=probes(
        "V N B T H D L scale",
        "7 5 2 3 2 3 2 | 5 5 3 5 3 2 3 | 6 9 1 4 2 3 2 | 4 4 1 3 2 2 1 0.003",
    ),
    least={"V": 2, "D": 2, "T": 2},
    properties=[
        Property("causal", with_the_last_token_changed, causal_logits, alone=[LEAKS]),
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
)
