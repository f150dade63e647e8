"""Is a fact in a network, or in the rest of the model? A new network is asked.

It takes the place of the last feed-forward network and learns some of the facts. What
it then knows beyond them was in the rest of the model. That it knows nothing shows
little, unless it finds a fact that was planted there (`planted`).
"""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mygpt.gpt import GPT
from mygpt.inside.hooks import Prompts, feed_forward, record_ends

STEPS = 300


def relearned(model: GPT, prompts: Prompts, steps: int = STEPS, seed: int = 0) -> GPT:
    """A copy whose last feed-forward network learns these prompts only, from scratch.

    Everything else stays as it is.
    """
    x, stream = entering(model, prompts)
    copied = copy.deepcopy(model).requires_grad_(False)
    network = copied.blocks[-1].mlp.requires_grad_(True)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network.fc1.reset_parameters()
        network.fc2.reset_parameters()
    _learn(network, x, stream, prompts.answers, copied, steps)
    return copied.requires_grad_(True)


def relearned_logits(
    model: GPT,
    prompts: Prompts,
    learned: Bool[Tensor, "B"],
    inputs: Float[Tensor, "B I"] | None = None,
    steps: int = STEPS,
    seed: int = 0,
) -> Float[Tensor, "B V"]:
    """The scores after all prompts, when a new network has learned the marked ones.

    `inputs` is what the new network reads; without it, what the old one read.
    """
    x, stream = entering(model, prompts)
    x = x if inputs is None else inputs
    old = model.blocks[-1].mlp
    hidden, C = old.fc1.out_features, old.fc2.out_features
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(x.shape[1], hidden), copy.deepcopy(old.act), nn.Linear(hidden, C)
        )
    _learn(network, x[learned], stream[learned], prompts.answers[learned], model, steps)
    with torch.no_grad():
        return model.logits(model.ln_f(stream + network(x)))


def entering(
    model: GPT, prompts: Prompts
) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B C"]]:
    """What the last network reads at the end of each prompt, and the stream there."""
    layer = len(model.blocks) - 1
    places = f"{feed_forward(layer)}.input", f"blocks.{layer}.ln2.input"
    x, stream = record_ends(model, prompts, *places)
    return x, stream


def _learn(
    network: nn.Module,
    x: Float[Tensor, "B I"],
    stream: Float[Tensor, "B C"],
    answers: Int[Tensor, "B"],
    model: GPT,
    steps: int,
) -> None:
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.1)
    for _ in range(steps):
        logits = model.logits(model.ln_f(stream + network(x)))
        gradients = torch.autograd.grad(F.cross_entropy(logits, answers), parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def planted(
    model: GPT, prompts: Prompts, seed: int = 0, loudness: float = 1.0
) -> Float[Tensor, "B C"]:
    """A code of each prompt's answer, to be read beside what the last network reads.

    It is the answer's word vector, turned by a random rotation: a fact that is outside
    the network for certain, in one code for all prompts. At loudness 1 the codes are
    as long as what the network reads, in the root mean square.
    """
    vectors = model.token.embedding.weight[prompts.answers]
    drawn = torch.randn(
        2 * vectors.shape[1:], generator=torch.Generator().manual_seed(seed)
    )
    turned = vectors @ torch.linalg.qr(drawn).Q
    return turned * (loudness * entering(model, prompts)[0].norm() / turned.norm())


@dataclass(frozen=True)
class Recovered:
    """Of prompts that were not learned, how many are right, and how many by chance.

    met: those whose answer was learned for another prompt; `guess`, those that the
    commonest of the learned answers gets right.
    unmet: the others; `named`, those whose answer is the likeliest of all words;
    `chosen`, those whose answer is the likeliest of the answers that were not met;
    `chance`, as many as choosing blindly among those gets right.
    """

    met: int
    right: int
    guess: int
    unmet: int
    named: int
    chosen: int
    chance: float


def recovered(
    logits: Float[Tensor, "B V"], answers: Int[Tensor, "B"], learned: Bool[Tensor, "B"]
) -> Recovered:
    """Score the prompts of one relation that were not learned."""
    of_learned = answers[learned]
    asked, answers = logits[~learned], answers[~learned]
    met, right = torch.isin(answers, of_learned), asked.argmax(-1) == answers
    unmet = answers[~met]
    new = unmet.unique()
    chosen = new[asked[~met][:, new].argmax(-1)] if len(new) else new
    return Recovered(
        met=int(met.sum()),
        right=int(right[met].sum()),
        guess=int((answers[met] == of_learned.mode().values).sum()),
        unmet=len(unmet),
        named=int(right[~met].sum()),
        chosen=int((chosen == unmet).sum()),
        chance=len(unmet) / max(1, len(new)),
    )
