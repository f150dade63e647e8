"""The wiring of a block, and the whole block."""

from collections.abc import Callable
from itertools import permutations

import torch
from torch import Tensor, nn

from mygpt.block import TransformerBlock
from mygpt.check.locate.parts import attended, fed, normalised
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Part, Reference, constant, last, same, within
from mygpt.check.task import Arguments, Draw, Program, Property, probes
from mygpt.check.tasks import attention, feed_forward, norm
from mygpt.check.tasks.feed_forward import ERF, erf_form, tanh_form
from mygpt.check.tasks.package import with_weights

Sublayer = Callable[[Tensor], Tensor]


def observe_wiring(program, arguments):
    """Call a program with four functions that a reader can follow by hand."""
    return program(
        arguments["x"],
        lambda x: x.cumsum(1),
        lambda x: x**2,
        lambda x: x + 1,
        lambda x: 3 * x,
    )


def wire(
    x: Tensor,
    attention: Sublayer,
    mlp: Sublayer,
    ln1: Sublayer,
    ln2: Sublayer,
    *,
    first_residual=1,
    second_residual=1,
    first_branch=1,
    second_branch=1,
    first_norm=same,
    second_norm=last,
) -> Tensor:
    """A block's wiring in pieces."""
    x = first_residual * x + first_branch * attention(first_norm(ln1, ln2)(x))
    return second_residual * x + second_branch * mlp(second_norm(ln1, ln2)(x))


def identity(
    seen: Callable[[Program, Arguments], Tensor], sentence: str, atol: float = 1e-6
) -> Property:
    """A block must return x where its branches are silent."""

    def broken(y, arguments):
        return None if torch.allclose(y, arguments["x"], atol=atol) else sentence

    return Property("identity", seen, broken)


def with_silent_branches(program, arguments):
    """Call a block whose branches give zeros."""
    silent = torch.zeros_like
    return program(arguments["x"], silent, silent, torch.sin, torch.cos)


def gradient_with_modules(program, arguments):
    """The gradient of x where the parts are modules, which keep what they read."""
    x = arguments["x"].detach().clone().requires_grad_()
    C = x.shape[-1]
    generator = torch.Generator().manual_seed(0)
    parts = [nn.Linear(C, C), nn.Linear(C, C), nn.LayerNorm(C), nn.LayerNorm(C)]
    for parameter in nn.ModuleList(parts).to(x).parameters():
        drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        nn.init.zeros_(parameter).data.add_(drawn)
    result = program(x, *parts)
    return torch.autograd.grad(result.square().sum(), x)[0]


def right_with_modules(gradient, arguments):
    """Whether that gradient is the one of the book's own wiring."""
    if torch.allclose(gradient, gradient_with_modules(wire, arguments), atol=1e-5):
        return None
    return (
        "With `nn.Linear` and `nn.LayerNorm` as its parts, the gradient of x is wrong."
    )


def residual_after_norm(x, attention, mlp, ln1, ln2):
    """Add the normed x back instead of x."""
    n = ln1(x)
    x = n + attention(n)
    n = ln2(x)
    return n + mlp(n)


def post_norm(x, attention, mlp, ln1, ln2):
    """Norm the sums."""
    x = ln1(x + attention(x))
    return ln2(x + mlp(x))


def norm_of_branch(x, attention, mlp, ln1, ln2):
    """Norm what the branches give."""
    x = x + ln1(attention(x))
    return x + ln2(mlp(x))


def mlp_reads_first_norm(x, attention, mlp, ln1, ln2):
    """Let the feed-forward network read the first norm again."""
    n = ln1(x)
    x = x + attention(n)
    return x + mlp(n)


WIRING = Reference(
    wire,
    """
    [first_residual] the first residual connection = {x} + {it}
    no-first-residual = 0: the residual connection around the attention is missing
    ~ first-x-twice = 2: x is added twice to what the attention gives
    [second_residual] the second residual connection = {y} + {it}
    no-second-residual = 0: the residual connection around the feed-forward network is
        missing
    x-twice = 2: x is added twice at the end
    ~ [first_branch: attention] what the attention gives = {x} + {y}
    ~ [second_branch: mlp] what the feed-forward network gives = {x} + {y}
    [first_norm] the norm before the attention = {ln1}({it})
        | torch.nn.functional.layer_norm({it}, {it}.shape[-1:], {w}["ln1_weight"],
        {w}["ln1_bias"], 1e-5)
    no-first-norm: the norm before the attention is missing
    ~ second-norm-twice: the second norm is used twice
    [second_norm] the norm before the feed-forward network = {ln2}({it})
        | torch.nn.functional.layer_norm({it}, {it}.shape[-1:], {w}["ln2_weight"],
        {w}["ln2_bias"], 1e-5)
    no-second-norm: the norm before the feed-forward network is missing
    first-norm-twice: the first norm is used twice
    [given] the order of the parts
    norms-swapped: the two norms change places
    mlp-first: the feed-forward network comes before the attention
    mlp-first-with-first-norm: the feed-forward network comes before the attention, with
        the first norm
    [whole] the wiring = {x} + {y} | {x}
    post-norm: the norms come after the additions: this is post-norm, GPT-2 is pre-norm
    norm-of-the-branch: the norms act on what the branches give, not on what they read
    residual-after-norm: the normed x is added back instead of x itself
    side-by-side: both branches read the same x: the feed-forward network does not see
        what the attention added
    old-norm: the feed-forward network reads the first norm again, not the new x
    attention-lost: the last sum starts from the old x, so what attention added is lost
    attention-alone: the feed-forward half is missing
    """,
    no_first_norm=constant(same),
    second_norm_twice=last,
    no_second_norm=constant(same),
    first_norm_twice=same,
    norms_swapped=lambda x, attention, mlp, ln1, ln2: (x, attention, mlp, ln2, ln1),
    mlp_first=lambda x, attention, mlp, ln1, ln2: (x, mlp, attention, ln2, ln1),
    mlp_first_with_first_norm=lambda x, attention, mlp, *ln: (x, mlp, attention, *ln),
    post_norm=post_norm,
    norm_of_the_branch=norm_of_branch,
    residual_after_norm=residual_after_norm,
    side_by_side=lambda x, attention, mlp, ln1, ln2: (
        x + attention(ln1(x)) + mlp(ln2(x))
    ),
    old_norm=mlp_reads_first_norm,
    attention_lost=lambda x, attention, mlp, ln1, ln2: (
        x + mlp(ln2(x + attention(ln1(x))))
    ),
    attention_alone=lambda x, attention, mlp, ln1, ln2: x + attention(ln1(x)),
)


def stages_of_wiring(x, attention, mlp, ln1, ln2):
    """The stages of a block whose parts are given."""
    n = ln1(x)
    yield stage("ln1(x)", n)
    read = attention(n)
    yield stage("attention(ln1(x))", read)
    x = x + read
    yield stage("x + attention(ln1(x))", x)
    n = ln2(x)
    yield stage("ln2 of that sum", n)
    thought = mlp(n)
    yield stage("mlp of that", thought)
    yield stage("the sum plus mlp of it", x + thought)


pre_norm_wiring = WIRING.task(
    "wiring",
    reference=wire,
    make=lambda draw, B, T, C: {"x": draw.normal(B, T, C, mean=0.5)},
    stages=stages_of_wiring,
    observe=observe_wiring,
    probes=probes("B T C", "1 2 3 | 2 3 5"),
    given=[
        "attention(x): the sum of this position and those before it",
        "mlp(x) = x²",
        "ln1(x) = x + 1",
        "ln2(x) = 3x",
    ],
    properties=[
        identity(
            with_silent_branches,
            "With branches that give zeros a block must return x unchanged; yours does "
            "not.",
            atol=1e-8,
        ),
        Property("modules", gradient_with_modules, right_with_modules),
    ],
)


# The whole block: its weights come in a dict.


def book_block(activation: str) -> Program:
    """Return the package's block, with an activation."""

    def block(x: Tensor, weights: dict[str, Tensor], num_heads: int) -> Tensor:
        C, F = weights["W1"].shape
        options = {"activation": activation, "expansion": F // C, **attention.BIASES}
        return with_weights(weights, (x,), TransformerBlock, C, num_heads, **options)

    return block


def block_tensors(draw: Draw, C: int) -> dict[str, Tensor]:
    """Draw the weights of a block."""
    return draw.tensors(
        f"ln1_weight C 1 0.5 | ln1_bias C 0 0.5 | {attention.WEIGHTS} | "
        "ln2_weight C 1 0.5 | ln2_bias C 0 0.5 | "
        "W1 CF 0 0.7 | b1 F 0 0.5 | W2 FC 0 0.7 | b2 C 0 0.5",
        C=C,
        F=4 * C,
    )


def make_block(draw: Draw, B: int, T: int, H: int, D: int, scale=1.0) -> Arguments:
    """Make a block; with a small `scale`, eps shows in both norms."""
    x, weights = draw.normal(B, T, H * D, mean=0.5), block_tensors(draw, H * D)
    weights |= {name: scale * weights[name] for name in ("W_O", "b_O")}
    return {"x": scale * x, "weights": weights, "num_heads": H}


def block_with(
    x: Tensor,
    weights: dict[str, Tensor],
    num_heads: int,
    recall=None,
    *,
    wiring=wire,
    heads=attention.heads_with,
    ln1=norm.norm_with,
    ln2=norm.norm_with,
    mlp=feed_forward.mlp_with,
) -> Tensor:
    """A block in pieces; `recall` as for the heads."""

    def ln(name: str, by: Program) -> Sublayer:
        return lambda x: by(x, weights[f"{name}_weight"], weights[f"{name}_bias"], 1e-5)

    return wiring(
        x,
        lambda x: heads(x, weights, num_heads, recall),
        lambda x: mlp(x, *(weights[name] for name in ("W1", "b1", "W2", "b2"))),
        ln("ln1", ln1),
        ln("ln2", ln2),
    )


# In a block eps is no argument, but a number.
NORM = norm.NORM.but(
    """
    [eps_for] eps
    eps-forgotten = 0.0: eps is forgotten, or far smaller than 1e-5
    eps-too-small = 1e-6: eps is {}, not 1e-5
    ~ eps-too-large = 1e-4, 1e-3, 1: eps is {}, not 1e-5
    ~ eps-too-small = 1e-7, 1e-8: eps is {}, not 1e-5
    """
)
FEED_FORWARD = feed_forward.FEED_FORWARD.but(
    """
    [first: b1] b1
    [second: b2] b2
    """
)
FORMS = within("mlp", FEED_FORWARD.forms)
BLOCK = Reference(
    block_with,
    """
    [given] the weights
    ~ other-norms-weight: {} stands where {} belongs
    """,
    parts=[
        Part(WIRING, "wiring"),
        Part(FEED_FORWARD, "mlp", "in the feed-forward network"),
        Part(attention.HEADS, "heads", "in the attention"),
        Part(NORM, "ln1 ln2", "in the norms"),
        Part(NORM, "ln1", "in the first norm, ln1, alone"),
        Part(NORM, "ln2", "in the second norm, ln2, alone"),
    ],
    forms=FORMS,
    other_norms_weight=attention.with_others(
        pair
        for kind in ("weight", "bias")
        for pair in permutations((f"ln1_{kind}", f"ln2_{kind}"))
    ),
)


def with_silent_weights(program, arguments):
    """Call a block whose last matrices and biases are zero."""
    x, weights, num_heads = arguments.values()
    silent = {
        name: torch.zeros_like(w) if name in ("W_O", "b_O", "W2", "b2") else w
        for name, w in weights.items()
    }
    return program(x, silent, num_heads)


def stages_of_block(x, weights, num_heads, at=""):
    """The stages of a block."""
    n = normalised(x, weights["ln1_weight"], weights["ln1_bias"], 1e-5)
    yield stage(f"ln1(x){at}", n)
    yield from attended(n, weights, num_heads, (f"ln1(x){at}",), at)
    before, x = x, x + attention.heads_with(n, weights, num_heads)
    also(lambda: (x - weights["b_O"], before + weights["b_O"]))
    yield stage(f"x plus what attention gives{at}", x)
    n = normalised(x, weights["ln2_weight"], weights["ln2_bias"], 1e-5)
    yield stage(f"ln2 of that sum{at}", n)
    yield from fed(n, weights, (f"ln2 of that sum{at}",), at)
    results = [
        x + form(n @ weights["W1"] + weights["b1"]) @ weights["W2"] + weights["b2"]
        for form in (tanh_form, erf_form)
    ]
    also(lambda: (*(each - weights["b2"] for each in results), x + weights["b2"]))
    yield stage(f"the block's result{at}", *results)


HINTS = attention.MASK_HINTS | feed_forward.GELU_HINTS | norm.EPS_HINTS

block = BLOCK.task(
    "block",
    hints=HINTS,
    reference=book_block("gelu_tanh"),
    forms={ERF: book_block("gelu")},
    make=make_block,
    stages=stages_of_block,
    probes=probes(
        "B T H D scale", "1 3 2 3 | 2 5 3 2 | 3 3 3 1 | 2 1 2 2 | 1 3 2 2 0.001"
    ),
    least={"T": 2},
    properties=[
        identity(
            with_silent_weights,
            "With W_O, b_O, W2 and b2 zero, both branches are zero and a block must "
            "return x unchanged; yours does not.",
        ),
        *attention.PROPERTIES,
    ],
    sizes=lambda given: {"C": given["x"].shape[-1], "num_heads": given["num_heads"]},
    weights=["weights"],
)
