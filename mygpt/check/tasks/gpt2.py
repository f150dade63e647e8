"""An array of a GPT-2 file, translated for the GPT of chapter 12."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import permutations
from typing import Any

from torch import Tensor

from mygpt.check.reference import Reference
from mygpt.check.task import Arguments, Draw, Probe, Program, result_of

# Names in a file, with the axes of the arrays: C channels, E of queries, keys and
# values, F of the feed-forward network, V rows of a table.
STORED = {
    "h.{}.attn.c_attn.weight": "CE",
    "h.{}.attn.c_proj.weight": "CC",
    "h.{}.mlp.c_fc.weight": "CF",
    "transformer.h.{}.mlp.c_proj.weight": "FC",
    "transformer.h.{}.attn.c_attn.bias": "E",
    "h.{}.attn.c_proj.bias": "C",
    "h.{}.mlp.c_fc.bias": "F",
    "h.{}.mlp.c_proj.bias": "C",
    "h.{}.ln_1.weight": "C",
    "transformer.h.{}.ln_2.bias": "C",
    "h.{}.attn.bias": "11VV",
    "h.{}.attn.masked_bias": "",
    "wte.weight": "VC",
    "transformer.wpe.weight": "VC",
    "ln_f.weight": "C",
}
C_ATTN, W_O, C_FC, C_PROJ = (
    *("attn.c_attn.weight", "attn.c_proj.weight"),
    *("mlp.c_fc.weight", "mlp.c_proj.weight"),
)
LINEAR = C_ATTN, W_O, C_FC, C_PROJ
TABLES = "wte.weight", "wpe.weight"
MASKS = ".attn.bias", ".attn.masked_bias"
THREE = {"Q": "queries", "K": "keys", "V": "values"}
NAMES = {
    "transformer.": "",
    "h.": "blocks.",
    "wte.weight": "embedding.tokens",
    "wpe.weight": "embedding.positions",
    "ln_1": "ln1",
    "ln_2": "ln2",
    "attn.c_proj": "heads.W_O",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}


def thirds(name: str, array: Tensor, axis: int = -1) -> Sequence[Tensor]:
    """Cut c_attn along an axis of a matrix; a bias has one alone."""
    return array.chunk(3, axis if array.ndim > 1 else 0)


def translate_with(
    name: str,
    array: Tensor,
    *,
    masks=MASKS,
    cut=thirds,
    turned=LINEAR,
    changed=(),
    order=tuple(THREE),
) -> list[tuple[str, Tensor]]:
    """Pairs of our name and our array in pieces."""
    if name.endswith(masks):
        return []
    parts = cut(name, array) if "c_attn" in name else [array]
    if name.endswith(turned):
        parts = [part.mT for part in parts]
    for old, new in {**NAMES, **dict(changed)}.items():
        name = name.replace(old, new)
    if len(parts) < len(order):
        return [(name, array) for array in parts]
    renamed = (name.replace("attn.c_attn", f"heads.W_{letter}") for letter in order)
    return [*zip(renamed, parts, strict=False)]


def linear_without(*names: str) -> tuple[str, ...]:
    """The matrices of linear layers, some left out."""
    return tuple(name for name in LINEAR if name not in names)


TRANSLATION = Reference(
    translate_with,
    """
    [turned] the transpose
    not-transposed = (): no matrix is transposed: the file has them as (in, out), and
        `nn.Linear` keeps (out, in)
    square-not-transposed: attn.c_proj.weight is not transposed: a square matrix fits
        either way, but the file has it as (in, out), and `nn.Linear` keeps (out, in)
    tables-transposed: the tables, wte and wpe, are transposed too: they have a row for
        each token or position in the file and in the model
    ~ some-not-transposed: {} not transposed: the file has it as (in, out), and
        `nn.Linear` keeps (out, in)
    ~ table-transposed: {} is transposed too: a table has a row for each token or
        position in the file as in the model
    [cut] the cut
    cut-along-inputs: c_attn.weight is cut along the wrong axis: the file has it as (C,
        3C), and the three stand side by side
    bias-not-cut: the bias of c_attn is not cut in three
    bias-for-each: the queries, the keys and the values each get the whole bias of
        c_attn
    not-cut: c_attn is not cut in three
    [order] the order
    ~ other-order: the thirds of c_attn are taken as {}, {} and {}; they are queries,
        keys and values
    [masks] the masks = (".attn.bias", ".attn.masked_bias")
    ~ mask-kept: an old causal mask, `{}`, is kept: it is no parameter
    masks-kept = (): the old causal masks, `.attn.bias` and `.attn.masked_bias`, are
        kept: they are no parameters
    bias-for-mask: the bias of c_attn is taken for a mask: `c_attn.bias` ends in
        `attn.bias` too
    [changed] the names
    prefix-kept: a leading `transformer.` is kept
    = + {name} = {name}.removeprefix("transformer.")
    ~ name-kept: `{}` is not translated
    weight-kept: `.weight` stays behind the names of the two tables, which are
        parameters, not modules
    [together] the matrices
    cut-not-transposed: no matrix is transposed: the file has them as (in, out), and
        `nn.Linear` keeps (out, in); and so c_attn.weight is cut along the wrong axis
    c-attn-not-transposed: c_attn.weight is not transposed, and so cut along the wrong
        axis: the file has it as (C, 3C), and the three stand side by side
    """,
    square_not_transposed=linear_without(W_O),
    tables_transposed=LINEAR + TABLES,
    some_not_transposed=[
        (["what is cut out of c_attn.weight is"], linear_without(C_ATTN)),
        (["what is square, W_Q, W_K, W_V and W_O, is"], linear_without(C_ATTN, W_O)),
        (["mlp.c_fc.weight is"], linear_without(C_FC)),
        (["mlp.c_proj.weight is"], linear_without(C_PROJ)),
        (["c_proj.weight, in attn and in mlp, is"], linear_without(W_O, C_PROJ)),
    ],
    table_transposed=[([name], (*LINEAR, name)) for name in TABLES],
    cut_along_inputs=partial(thirds, axis=0),
    bias_not_cut=lambda name, array: [array] if array.ndim < 2 else thirds(name, array),
    bias_for_each=lambda name, array: (
        [array] * 3 if array.ndim < 2 else thirds(name, array)
    ),
    not_cut=lambda name, array: [array],
    other_order=[
        ([THREE[letter] for letter in order], order)
        for order in list(permutations(THREE))[1:]
    ],
    mask_kept=[([mask], (other,)) for mask, other in permutations(MASKS)],
    bias_for_mask=("attn.bias", ".attn.masked_bias"),
    prefix_kept=(("transformer.", "transformer."),),
    name_kept=[([name], ((name, name),)) for name in list(NAMES)[1:]],
    weight_kept=tuple((name, f"{NAMES[name]}.weight") for name in TABLES),
    cut_not_transposed={"turned": (), "cut": partial(thirds, axis=0)},
    c_attn_not_transposed={
        "turned": linear_without(C_ATTN),
        "cut": partial(thirds, axis=0),
    },
)


def make_stored(draw: Draw, name: str, thirds: int, V: int, layer: int) -> Arguments:
    """Make an array of a file, of three times so many channels."""
    C, axes = 3 * thirds, STORED[name]
    sizes = {"1": 1, "C": C, "E": 3 * C, "F": 4 * C, "V": V}
    return {"name": name.format(layer), "array": draw.tensor(axes, **sizes)}


def in_order(program: Program, arguments: Arguments) -> Any:
    """The pairs, queries before keys and values, whatever order they came in."""
    pairs = result_of(program, arguments)
    if isinstance(pairs, list):
        with suppress(Exception):  # no pairs
            pairs.sort(key=lambda pair: [w for w in ("W_K", "W_V") if w in pair[0]])
    return pairs


translate = TRANSLATION.task(
    "translate",
    reference=translate_with,
    observe=in_order,
    make=make_stored,
    least={"layer": 0},
    fixed=["name"],
    probes=[
        Probe(i, {"name": name, "thirds": 1 + i % 2, "V": 4, "layer": i})
        for i, name in enumerate(STORED)
    ],
)
