"""Look inside a GPT while it runs, and step in: activations read, replaced, averaged.

A *place*, also called a hook point, is the name of a module, for its output, or the
name with `.input` at the end, for the module's input. Places that the book uses:
`hidden(layer)`, the memory coefficients (B, T, F); `feed_forward(layer)`, what the
network adds to the stream (B, T, C); `heads(layer)`, the heads' outputs side by side
(B, T, C), before their common matrix.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mygpt.block import TransformerBlock
from mygpt.gpt import GPT

Changes = Mapping[str, Callable[[Tensor], Tensor]]
Module = TypeVar("Module", bound=nn.Module)
POSITIONS = 16_384  # in one pass
STAGES = {  # of a block, and the place of each
    "x": "ln1.input",
    "ln1": "ln1",
    "attention": "mha",
    "x + attention": "ln2.input",
    "ln2": "ln2",
    "fc1": "mlp.fc1",
    "activation": "mlp.act",
    "fc2": "mlp",
    "x + fc2": "",
}


def hidden(layer: int) -> str:
    return f"blocks.{layer}.mlp.act"


def feed_forward(layer: int) -> str:
    return f"blocks.{layer}.mlp"


def heads(layer: int) -> str:
    return f"blocks.{layer}.mha.W_O.input"


def memory_layers(model: GPT) -> list[int]:
    """The numbers of the blocks that have a feed-forward network."""
    return [i for i, block in enumerate(model.blocks) if hasattr(block, "mlp")]


@dataclass(frozen=True)
class Prompts:
    """Texts of several lengths, padded at the end, where no earlier token looks.

    `last` is the position that the answer is read from.
    """

    ids: Int[Tensor, "B T"]
    last: Int[Tensor, "B"]
    answers: Int[Tensor, "B"]

    def __len__(self) -> int:
        return len(self.last)

    def __getitem__(self, rows) -> "Prompts":
        """Select rows by slice, mask or index tensor."""
        return Prompts(self.ids[rows], self.last[rows], self.answers[rows])

    @property
    def ends(self) -> tuple[Int[Tensor, "B"], Int[Tensor, "B"]]:
        """The index of the last positions in a tensor (B, T, …)."""
        return torch.arange(len(self)), self.last


def make_prompts(texts: Sequence[Sequence[int]], answers: Sequence[int]) -> Prompts:
    """Prompts of token ids, each with the id that should follow."""
    if not texts or not all(texts) or len(texts) != len(answers):
        raise ValueError(
            "expected texts that are not empty and as many answers, got "
            f"{len(texts)} texts and {len(answers)} answers"
        )
    last = torch.tensor([len(text) - 1 for text in texts])
    ids = torch.zeros(len(texts), int(last.max()) + 1, dtype=torch.long)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = torch.tensor(text)
    return Prompts(ids, last, torch.tensor(answers))


def record(
    module: nn.Module, given: Shaped[Tensor, "..."], places: Iterable[str]
) -> dict[str, Tensor]:
    """Record the activation at each place while a module, such as a GPT, reads `given`.

    The result is in the order of the places.
    """
    found = dict.fromkeys(places)

    def keep(place: str) -> Callable[[Tensor], Tensor]:
        def kept(value: Tensor) -> Tensor:
            found[place] = value
            return value

        return kept

    with changed(module, {place: keep(place) for place in found}):
        module(given)
    return found


@torch.no_grad()
def record_ends(
    model: GPT, prompts: Prompts, *places: str
) -> list[Float[Tensor, "B _"]]:
    """The activation at each place, at the last position of each prompt."""
    found = record(model, prompts.ids, places).values()
    return [value[prompts.ends] for value in found]


@torch.no_grad()
def pattern(
    model: GPT, ids: Int[Tensor, "B T"], layer: int
) -> Float[Tensor, "B H T T"]:
    """The weights of a layer's heads: row t is what position t reads from each."""
    attention = model.blocks[layer].mha
    place = f"blocks.{layer}.mha.input"
    read = record(model, ids, [place])[place]
    return attention(read, return_weights=True)[1]


def stages(
    block: TransformerBlock, x: Float[Tensor, "B T C"]
) -> dict[str, Float[Tensor, "B T _"]]:
    """The vectors on the way through a block, by the name of what produced each.

    The last is the block's output. Only GPT-2's wiring, "pre" with residuals, has them;
    any other is a ValueError.
    """
    if block.norm != "pre" or not block.residual:
        raise ValueError(
            f'expected a block of norm "pre" with residuals, got {block.norm!r} and '
            f"residual={block.residual}"
        )
    found = record(block, x, STAGES.values())
    return {name: found[place] for name, place in STAGES.items()}


@contextmanager
def changed(module: Module, changes: Changes) -> Iterator[Module]:
    """Inside the context, apply to each place's activation the function given for it.

    The module's parameters stay as they are.
    """
    with ExitStack() as stack:
        for place, change in changes.items():
            stack.enter_context(_hooked(module, place, change))
        yield module


@contextmanager
def _hooked(whole: nn.Module, place: str, change: Callable[[Tensor], Tensor]):
    name = place.removesuffix(".input")
    try:
        module = whole.get_submodule(name)
    except AttributeError:
        raise ValueError(f"the model has no place {place!r}") from None
    if place != name:
        hook = module.register_forward_pre_hook(
            lambda _, args: (change(args[0]), *args[1:])
        )
    else:
        hook = module.register_forward_hook(lambda _, __, out: change(out))
    try:
        yield
    finally:
        hook.remove()


def batches(rows: Int[Tensor, "N T"]) -> tuple[Tensor, ...]:
    """The rows in parts of about `POSITIONS` positions."""
    return rows.split(max(1, POSITIONS // rows.shape[1]))


@torch.no_grad()
def final_logits(
    model: GPT, prompts: Prompts, changes: Changes | None = None
) -> Float[Tensor, "B V"]:
    """The scores after each prompt, with the changes in place."""
    with changed(model, changes or {}):
        states = model.states(prompts.ids)
    return model.logits(states[prompts.ends])


def log_odds(
    logits: Float[Tensor, "... V"], answers: Int[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """ln(p / (1 - p)) of each answer's probability p."""
    answer = logits.gather(-1, answers[..., None])
    others = logits.scatter(-1, answers[..., None], float("-inf"))
    return (answer[..., 0] - others.logsumexp(-1)).float()


def accuracy(
    model: GPT, prompts: Prompts, changes: Changes | None = None
) -> Float[Tensor, ""]:
    """The share of prompts whose answer is the likeliest next token."""
    found = final_logits(model, prompts, changes).argmax(-1)
    return (found == prompts.answers).float().mean()


@torch.no_grad()
def mean_at(model: GPT, rows: Int[Tensor, "N T"], place: str) -> Float[Tensor, "W"]:
    """The mean activation at a place, over all positions of all rows."""
    sums = [record(model, part, [place])[place].sum((0, 1)) for part in batches(rows)]
    return torch.stack(sums).sum(0) / rows.numel()


@torch.no_grad()
def class_means(
    model: GPT, rows: Int[Tensor, "N T"], place: str, classes: Int[Tensor, "V"]
) -> Float[Tensor, "V W"]:
    """For each token, the mean activation at a place over the positions of its class.

    `classes` gives each token the number of its class. A class that is in no row gets
    zeros.
    """
    count = int(classes.max()) + 1
    total, seen = None, torch.zeros(count)
    for part in batches(rows):
        values = record(model, part, [place])[place].flatten(0, 1)  # (N T, W)
        of = classes[part.flatten()]
        if total is None:
            total = values.new_zeros(count, values.shape[-1])
        total.index_add_(0, of, values)
        seen += torch.bincount(of, minlength=count)
    return (total / seen.clamp(min=1)[:, None])[classes]
