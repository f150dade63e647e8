"""The wiring of a block, and the whole block."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import permutations

import torch
from torch import Tensor
from torch.func import functional_call

from mygpt.block import TransformerBlock
from mygpt.check.model import Model, Part, Piece, constant, term, within
from mygpt.check.run import kept_state
from mygpt.check.stages.parts import attended, fed, normalised
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.check.tasks import attention, feed_forward, norm
from mygpt.check.tasks.attention import stored_attention
from mygpt.check.tasks.feed_forward import ERF, erf_form, tanh_form
from mygpt.workbook.asked import ASKED

Sublayer = Callable[[Tensor], Tensor]


def make_parts(draw: Draw, B: int, T: int, C: int) -> Arguments:
    return {"x": draw.normal(B, T, C, mean=0.5)}


def observe_wiring(program: Program, arguments: Arguments) -> Tensor:
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
    first_residual: int = 1,
    second_residual: int = 1,
    first_branch: int = 1,
    second_branch: int = 1,
    first_norm: Callable[[Sublayer, Sublayer], Sublayer] = lambda ln1, ln2: ln1,
    second_norm: Callable[[Sublayer, Sublayer], Sublayer] = lambda ln1, ln2: ln2,
) -> Tensor:
    """A block's wiring in pieces."""
    x = first_residual * x + first_branch * attention(first_norm(ln1, ln2)(x))
    return second_residual * x + second_branch * mlp(second_norm(ln1, ln2)(x))


def with_silent_branches(program: Program, arguments: Arguments) -> Tensor:
    silent = torch.zeros_like
    return program(arguments["x"], silent, silent, torch.sin, torch.cos)


def identity_with_silent_branches(y: Tensor, arguments: Arguments) -> str | None:
    if torch.allclose(y, arguments["x"]):
        return None
    return (
        "With branches that give zeros a block must return x unchanged; yours does not."
    )


def written_norm(name: str) -> str:
    """The source of a norm with the weights of some name."""
    return (
        "torch.nn.functional.layer_norm({it}, {it}.shape[-1:], "
        f'{{w}}["{name}_weight"], {{w}}["{name}_bias"], 1e-5)'
    )


def no_norm(ln1: Sublayer, ln2: Sublayer) -> Sublayer:
    return lambda x: x


def residual_after_norm(x, attention, mlp, ln1, ln2):
    n = ln1(x)
    x = n + attention(n)
    n = ln2(x)
    return n + mlp(n)


def post_norm(x, attention, mlp, ln1, ln2):
    x = ln1(x + attention(x))
    return ln2(x + mlp(x))


def norm_of_branch(x, attention, mlp, ln1, ln2):
    x = x + ln1(attention(x))
    return x + ln2(mlp(x))


def mlp_reads_first_norm(x, attention, mlp, ln1, ln2):
    n = ln1(x)
    x = x + attention(n)
    return x + mlp(n)


AROUND = "the residual connection around the {} is missing"
WIRING = Model(
    wire,
    first_residual=Piece(
        "the first residual connection",
        no_first_residual=(AROUND.format("attention"), 0),
    ).rarely(first_x_twice=("x is added twice to what the attention gives", 2)),
    second_residual=Piece(
        "the second residual connection",
        no_second_residual=(AROUND.format("feed-forward network"), 0),
        x_twice=("x is added twice at the end", 2),
    ),
    first_branch=term("what the attention gives", "attention", rare=True),
    second_branch=term("what the feed-forward network gives", "mlp", rare=True),
    first_norm=Piece(
        "the norm before the attention",
        no_first_norm=("the norm before the attention is missing", no_norm),
    ).rarely(second_norm_twice=("the second norm is used twice", lambda ln1, ln2: ln2)),
    second_norm=Piece(
        "the norm before the feed-forward network",
        no_second_norm=("the norm before the feed-forward network is missing", no_norm),
        first_norm_twice=("the first norm is used twice", lambda ln1, ln2: ln1),
    ),
    given=Piece(
        "the order of the parts",
        norms_swapped=(
            "the two norms change places",
            lambda x, attention, mlp, ln1, ln2: (x, attention, mlp, ln2, ln1),
        ),
        mlp_first=(
            "the feed-forward network comes before the attention",
            lambda x, attention, mlp, ln1, ln2: (x, mlp, attention, ln2, ln1),
        ),
        mlp_first_with_first_norm=(
            "the feed-forward network comes before the attention, with the first norm",
            lambda x, attention, mlp, ln1, ln2: (x, mlp, attention, ln1, ln2),
        ),
    ),
    whole=Piece(
        "the wiring",
        post_norm=(
            "the norms come after the additions: this is post-norm, GPT-2 is pre-norm",
            post_norm,
        ),
        norm_of_the_branch=(
            "the norms act on what the branches give, not on what they read",
            norm_of_branch,
        ),
        residual_after_norm=(
            "the normed x is added back instead of x itself",
            residual_after_norm,
        ),
        side_by_side=(
            "both branches read the same x: the feed-forward network does not see what "
            "the attention added",
            lambda x, attention, mlp, ln1, ln2: x + attention(ln1(x)) + mlp(ln2(x)),
        ),
        old_norm=(
            "the feed-forward network reads the first norm again, not the new x",
            mlp_reads_first_norm,
        ),
        attention_lost=(
            "the last sum starts from the old x, so what attention added is lost",
            lambda x, attention, mlp, ln1, ln2: x + mlp(ln2(x + attention(ln1(x)))),
        ),
        attention_alone=(
            "the feed-forward half is missing",
            lambda x, attention, mlp, ln1, ln2: x + attention(ln1(x)),
        ),
    ),
).written(
    first_residual=("{x} + {it}",),
    second_residual=("{y} + {it}",),
    first_branch=("{x} + {y}",),
    second_branch=("{x} + {y}",),
    first_norm=("{ln1}({it})", written_norm("ln1")),
    second_norm=("{ln2}({it})", written_norm("ln2")),
    whole=("{x} + {y}", "{x}"),
)


def stages_of_wiring(
    x: Tensor, attention: Sublayer, mlp: Sublayer, ln1: Sublayer, ln2: Sublayer
) -> Iterator[Stage]:
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


pre_norm_wiring = Task(
    **vars(ASKED["wiring"]),
    reference=wire,
    make=make_parts,
    stages=stages_of_wiring,
    observe=observe_wiring,
    probes=[Probe(0, {"B": 1, "T": 2, "C": 3}), Probe(1, {"B": 2, "T": 3, "C": 5})],
    given=[
        "attention(x): the sum of this position and those before it",
        "mlp(x) = x²",
        "ln1(x) = x + 1",
        "ln2(x) = 3x",
    ],
    differentiable=["x"],
    properties=[
        Property("identity", with_silent_branches, identity_with_silent_branches)
    ],
    mistakes=WIRING.mistakes(),
    model=WIRING,
)


# The whole block: its weights come in a dict.


@lru_cache(maxsize=32)
def package_block(C: int, H: int, F: int, activation: str) -> TransformerBlock:
    with kept_state():
        return TransformerBlock(
            C, H, activation=activation, expansion=F // C, qkv_bias=True, out_bias=True
        )


def stored_block(weights: dict[str, Tensor], prefix: str = "") -> dict[str, Tensor]:
    """Name a block's weights as the package does."""
    named = stored_attention(weights, f"{prefix}mha.")
    for name, layer in (("1", "fc1"), ("2", "fc2")):
        named[f"{prefix}mlp.{layer}.weight"] = weights[f"W{name}"].T
        named[f"{prefix}mlp.{layer}.bias"] = weights[f"b{name}"]
        named[f"{prefix}ln{name}.weight"] = weights[f"ln{name}_weight"]
        named[f"{prefix}ln{name}.bias"] = weights[f"ln{name}_bias"]
    return named


def book_block(activation: str) -> Program:
    def block(x: Tensor, weights: dict[str, Tensor], num_heads: int) -> Tensor:
        layer = package_block(
            *weights["W1"].shape[:1], num_heads, weights["W1"].shape[1], activation
        )
        return functional_call(layer, stored_block(weights), (x,))

    return block


def block_tensors(draw: Draw, C: int, F: int) -> dict[str, Tensor]:
    return {
        "ln1_weight": draw.normal(C, mean=1.0, scale=0.5),
        "ln1_bias": draw.normal(C, scale=0.5),
        **attention.attention_tensors(draw, C),
        "ln2_weight": draw.normal(C, mean=1.0, scale=0.5),
        "ln2_bias": draw.normal(C, scale=0.5),
        "W1": draw.normal(C, F, scale=0.7),
        "b1": draw.normal(F, scale=0.5),
        "W2": draw.normal(F, C, scale=0.7),
        "b2": draw.normal(C, scale=0.5),
    }


def make_block(
    draw: Draw, B: int, T: int, H: int, D: int, scale: float = 1.0
) -> Arguments:
    """Make a block; with a small `scale`, eps shows in both norms."""
    C = H * D
    x, weights = draw.normal(B, T, C, mean=0.5), block_tensors(draw, C, 4 * C)
    for name in ("W_O", "b_O"):
        weights[name] = scale * weights[name]
    return {"x": scale * x, "weights": weights, "num_heads": H}


def block_with(
    x: Tensor,
    weights: dict[str, Tensor],
    num_heads: int,
    recall: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
    *,
    wiring: Program = wire,
    heads: Program = attention.heads_with,
    ln1: Program = norm.norm_with,
    ln2: Program = norm.norm_with,
    mlp: Program = feed_forward.mlp_with,
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
    eps_for=Piece(
        "eps",
        eps_forgotten=("eps is forgotten, or far smaller than 1e-5", constant(0.0)),
        eps_too_small=("eps is 1e-6, not 1e-5", constant(1e-6)),
    ).rarely(
        eps_too_large=[
            ("eps is 1e-4, not 1e-5", constant(1e-4)),
            ("eps is 1e-3, not 1e-5", constant(1e-3)),
            ("eps is 1, not 1e-5", constant(1.0)),
        ],
        eps_too_small=[
            ("eps is 1e-7, not 1e-5", constant(1e-7)),
            ("eps is 1e-8, not 1e-5", constant(1e-8)),
        ],
    )
)
FEED_FORWARD = feed_forward.FEED_FORWARD.but(
    first=term("b1", "b1"), second=term("b2", "b2")
)
FORMS = within("mlp", FEED_FORWARD.forms)
BLOCK = Model(
    block_with,
    given=Piece("the weights").rarely(
        other_norms_weight=attention.with_others(
            pair
            for kind in ("weight", "bias")
            for pair in permutations((f"ln1_{kind}", f"ln2_{kind}"))
        )
    ),
    parts=[
        Part(WIRING, "wiring"),
        Part(FEED_FORWARD, "mlp", "in the feed-forward network"),
        Part(attention.HEADS, "heads", "in the attention"),
        Part(NORM, "ln1 ln2", "in the norms"),
        Part(NORM, "ln1", "in the first norm, ln1, alone"),
        Part(NORM, "ln2", "in the second norm, ln2, alone"),
    ],
    forms=FORMS,
)


def with_silent_weights(program: Program, arguments: Arguments) -> Tensor:
    x, weights, num_heads = arguments.values()
    silent = {
        name: torch.zeros_like(w) if name in ("W_O", "b_O", "W2", "b2") else w
        for name, w in weights.items()
    }
    return program(x, silent, num_heads)


def identity_at_zero(y: Tensor, arguments: Arguments) -> str | None:
    if torch.allclose(y, arguments["x"], atol=1e-6):
        return None
    return (
        "With W_O, b_O, W2 and b2 zero, both branches are zero and a block must return "
        "x unchanged; yours does not."
    )


def stages_of_block(
    x: Tensor, weights: dict[str, Tensor], num_heads: int, at: str = ""
) -> Iterator[Stage]:
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


block = Task(
    **vars(ASKED["block"]),
    reference=book_block("gelu_tanh"),
    forms={ERF: book_block("gelu")},
    make=make_block,
    stages=stages_of_block,
    probes=[
        Probe(0, {"B": 1, "T": 3, "H": 2, "D": 3}),
        Probe(1, {"B": 2, "T": 5, "H": 3, "D": 2}),
        Probe(2, {"B": 3, "T": 3, "H": 3, "D": 1}),
        Probe(3, {"B": 2, "T": 1, "H": 2, "D": 2}),
        Probe(4, {"B": 1, "T": 3, "H": 2, "D": 2, "scale": 0.001}),
    ],
    least={"T": 2},
    differentiable=["x", "weights"],
    properties=[
        Property("identity", with_silent_weights, identity_at_zero),
        *attention.PROPERTIES,
    ],
    sizes=lambda given: {"C": given["x"].shape[-1], "num_heads": given["num_heads"]},
    weights=["weights"],
    mistakes=BLOCK.mistakes(),
    model=BLOCK,
)
