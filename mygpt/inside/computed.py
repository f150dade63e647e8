"""A feed-forward network computed from a list of facts, without gradient descent.

A neuron is written like an index card. Its key is what the network reads where the fact
is asked, less what it reads on average; the bias is the threshold; the value leads from
the old answer to the new one. Dugan, Garcia et al. (2025, arXiv 2512.00207) construct
networks of facts, and edit Transformers of a layer by replacing the network.
"""

import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from mygpt.gpt import GPT
from mygpt.inside.fresh_network import entering
from mygpt.inside.hooks import Prompts, batches, feed_forward, record

THRESHOLD = 0.75  # of what a neuron hears of its own key; ordinary text is near 0
SHARP = 20.0  # how fast it grows louder above the threshold
FIRM = 10.0  # the length of what it adds to the stream when it hears its own key
LIKE = 0.98  # of another fact's key is too much to hear
# Of a whole network, whose keys are whitened: the threshold and sharpness of its cards,
# where text asks for a fact, the length of an answer's vector, and how much such a
# place counts beside others; then its other neurons, and the regression's ridge.
WHITENED, CARD_THRESHOLD, CARD_SHARP, LENGTH, WEIGHT = 0.7, 0.6, 4.0, 4.0, 3.0
LINEAR, SPREAD, PENALTY, RIDGE = 6.0, 1.5, 1e-4, 1e-2


@dataclass(frozen=True)
class Reading:
    """What the last feed-forward network reads and writes, position by position.

    x: what it reads; stream: what it adds to; wrote: what it adds.
    """

    x: Float[Tensor, "N C"]
    stream: Float[Tensor, "N C"]
    wrote: Float[Tensor, "N C"]


@torch.no_grad()
def reading(model: GPT, rows: Int[Tensor, "N T"]) -> Reading:
    """What the last network reads and writes at all positions of ordinary text."""
    layer = len(model.blocks) - 1
    places = f"{feed_forward(layer)}.input", f"blocks.{layer}.ln2.input"
    places = *places, feed_forward(layer)
    found = [record(model, part, places) for part in batches(rows)]
    return Reading(*(torch.cat([f[p].flatten(0, 1) for f in found]) for p in places))


def mean_of_each(
    vectors: Float[Tensor, "B C"], fact: Int[Tensor, "B"]
) -> Float[Tensor, "N C"]:
    """The mean of the vectors of each fact; `fact` numbers them from 0 on."""
    total = vectors.new_zeros(int(fact.max()) + 1, vectors.shape[1])
    counts = fact.bincount(minlength=len(total))
    return total.index_add(0, fact, vectors) / counts[:, None]


def listeners(
    keys: Float[Tensor, "N C"], x: Float[Tensor, "M C"], whiten: bool = False
) -> tuple[Float[Tensor, "N C"], Float[Tensor, "C"]]:
    """Rows w and the mean of x, the centre: each w · (key - centre) is 1.

    w is the way from the centre to the key; whitened, S⁻¹ times it, S the covariance of
    what is read in text: of all w the one that hears the least there.
    """
    centre = x.mean(0)
    away = keys - centre
    w = away
    if whiten:
        around = x - centre
        S = around.T @ around / len(x)
        S += RIDGE * S.diagonal().mean() * torch.eye(len(S)).to(S)
        w = torch.linalg.solve(S.double(), away.T.double()).T.to(x)
    return w / (w * away).sum(1, keepdim=True), centre


def gates(
    w: Float[Tensor, "N C"],
    centre: Float[Tensor, "C"],
    threshold: float = THRESHOLD,
    sharp: float = SHARP,
) -> tuple[Float[Tensor, "N C"], Float[Tensor, "N"]]:
    """W1 and b1: each neuron answers above the threshold of what it hears."""
    return sharp * w, -sharp * (threshold + w @ centre)


def directions(model: GPT) -> Float[Tensor, "V C"]:
    """For each word, the direction in the stream in which its score rises most."""
    vectors = (model.token.embedding.weight * model.ln_f.weight).detach()
    return vectors - vectors.mean(1, keepdim=True)


def add_facts(
    model: GPT, prompts: Prompts, fact: Int[Tensor, "B"], text: Reading
) -> GPT:
    """A copy whose last network has one neuron more for each fact.

    Each prompt's answer is the new one. `fact` numbers the facts from 0 on: phrasings
    of one share a number, and its key is the mean of what they give to read. `text` is
    what the network reads in ordinary text.
    """
    W1, b1, W2 = cards(model, prompts, fact, text.x.mean(0))
    mlp = model.blocks[-1].mlp
    return with_network(
        model,
        torch.cat([mlp.fc1.weight.detach(), W1]),
        torch.cat([mlp.fc1.bias.detach(), b1]),
        torch.cat([mlp.fc2.weight.detach(), W2], dim=1),
        mlp.fc2.bias.detach(),
    )


def cards(
    model: GPT, prompts: Prompts, fact: Int[Tensor, "B"], centre: Float[Tensor, "C"]
) -> tuple[Float[Tensor, "N C"], Float[Tensor, "N"], Float[Tensor, "C N"]]:
    """W1, b1 and W2 of a neuron for each fact, as `add_facts` adds them.

    `centre` is the mean of what the last network reads in ordinary text.
    """
    new = checked(model, prompts, fact)
    x, stream = entering(model, prompts)
    keys = mean_of_each(x, fact)
    w, _ = listeners(keys, centre[None])
    check_apart(keys, w, centre)
    mlp = model.blocks[-1].mlp
    final = mean_of_each((stream + mlp(x)).detach(), fact)
    old, towards = model.logits(model.ln_f(final)).argmax(-1), directions(model)
    loud = mlp.act.forward(torch.tensor(SHARP * (1 - THRESHOLD)))  # past the hooks
    values = FIRM / loud * F.normalize(towards[new] - towards[old])
    return *gates(w, centre), values.T


def compute_network(
    model: GPT,
    prompts: Prompts,
    fact: Int[Tensor, "B"],
    text: Reading,
    seed: int = 0,
) -> GPT:
    """A copy with a computed last network, of the old one's width, in its place.

    A neuron a fact; as many nearly linear ones as there are channels; the rest are
    random. W2 and b2 are a regression: where text asks for a fact, on its answer,
    elsewhere on what the old network writes there.
    """
    new = checked(model, prompts, fact)
    mlp, C = model.blocks[-1].mlp, text.x.shape[1]
    rest = mlp.fc1.out_features - len(new) - C
    if rest < 0:
        raise ValueError(
            f"expected at most {mlp.fc1.out_features - C} facts for a network of "
            f"{mlp.fc1.out_features} neurons, got {len(new)}"
        )
    keys = mean_of_each(entering(model, prompts)[0], fact)
    w, centre = listeners(keys, text.x, whiten=True)
    check_apart(keys, w, centre)
    own = gates(w, centre, CARD_THRESHOLD, CARD_SHARP)
    linear = torch.eye(C), LINEAR - centre
    others = random_keys(rest, text.x, seed)
    W1, b1 = map(torch.cat, zip(own, linear, others, strict=True))
    wanted, weight = wanted_in(model, w, centre, new, text)
    h = mlp.act(text.x @ W1.T + b1)
    W2, b2 = regression(h, wanted, weight)
    return with_network(model, W1, b1, W2, b2)


def wanted_in(
    model: GPT,
    w: Float[Tensor, "N C"],
    centre: Float[Tensor, "C"],
    new: Int[Tensor, "N"],
    text: Reading,
) -> tuple[Float[Tensor, "M C"], Float[Tensor, "M"]]:
    """What a network is to write at each place of text, and how much the place counts.

    Where the listeners w hear that a fact is asked, what says its new answer; elsewhere
    what the old network writes.
    """
    heard, which = ((text.x - centre) @ w.T).max(1)
    asks = heard > WHITENED
    say = saying(model, new[which], text.stream)
    wanted = torch.where(asks[:, None], say, text.wrote)
    return wanted, torch.where(asks, WEIGHT, 1.0)


def saying(
    model: GPT, words: Int[Tensor, "N"], stream: Float[Tensor, "N C"]
) -> Float[Tensor, "N C"]:
    """What to add to the stream so that it points at a word."""
    return LENGTH * F.normalize(directions(model))[words] - stream


def random_keys(
    count: int, x: Float[Tensor, "M C"], seed: int
) -> tuple[Float[Tensor, "N C"], Float[Tensor, "N"]]:
    """W1 and b1 of neurons that nobody chose, as loud on x as others."""
    dice = torch.Generator().manual_seed(seed)
    w = torch.randn(count, x.shape[1], generator=dice)
    w = SPREAD * w / (x @ w.T).std(0)[:, None]
    return w, torch.randn(count, generator=dice) - w @ x.mean(0)


def regression(
    h: Float[Tensor, "M F"], y: Float[Tensor, "M C"], weight: Float[Tensor, "M"]
) -> tuple[Float[Tensor, "C F"], Float[Tensor, "C"]]:
    """W2 and b2 with the least weighted squared error of h W2ᵀ + b2, and a ridge."""
    h = F.pad(h, (0, 1), value=1.0).double()
    weighted = (h * weight[:, None]).T / len(h)
    A = weighted @ h
    ridge = PENALTY * A.diagonal()[:-1].mean()
    A.diagonal()[:-1].add_(ridge)
    W = torch.linalg.solve(A, weighted @ y.double()).float()
    return W[:-1].T, W[-1]


def with_network(
    model: GPT,
    W1: Float[Tensor, "F C"],
    b1: Float[Tensor, "F"],
    W2: Float[Tensor, "C F"],
    b2: Float[Tensor, "C"],
) -> GPT:
    """A copy of the model with these numbers in its last network, of any width."""
    copied = copy.deepcopy(model)
    mlp = copied.blocks[-1].mlp
    mlp.fc1, mlp.fc2 = nn.Linear(*W1.T.shape), nn.Linear(*W2.T.shape)
    for parameter, numbers in zip(mlp.parameters(), (W1, b1, W2, b2), strict=True):
        parameter.data = numbers.contiguous()
    return copied


def checked(model: GPT, prompts: Prompts, fact: Int[Tensor, "B"]) -> Int[Tensor, "N"]:
    """The new answer of each fact; a ValueError where no network can be computed."""
    mlp = model.blocks[-1].mlp
    known = isinstance(getattr(mlp, "act", None), nn.GELU | nn.ReLU)
    if not known or mlp.fc1.bias is None:
        raise ValueError(
            "expected a last network with GELU or ReLU and with biases, got "
            f"{type(mlp).__name__} with {getattr(mlp, 'act', 'no activation')}"
        )
    if not len(prompts):
        raise ValueError("expected one fact or more, got none")
    if len(fact) != len(prompts) or fact.unique().tolist() != [*range(fact.max() + 1)]:
        raise ValueError(
            f"expected the number of each prompt's fact, from 0 on, for {len(prompts)} "
            f"prompts; got {fact.tolist()}"
        )
    new = prompts.answers.new_zeros(int(fact.max()) + 1)
    new[fact] = prompts.answers
    if (two := fact[new[fact] != prompts.answers]).numel():
        raise ValueError(
            f"expected one answer for each fact, got two for fact {two[0]}"
        )
    return new


def check_apart(
    keys: Float[Tensor, "N C"], w: Float[Tensor, "N C"], centre: Float[Tensor, "C"]
) -> None:
    """Raise a ValueError if a neuron hears another fact's key as nearly its own."""
    heard = (keys - centre) @ w.T  # (fact, neuron)
    heard.fill_diagonal_(0)
    if heard.max() > LIKE:
        one, other = divmod(int(heard.argmax()), len(heard))
        raise ValueError(
            "expected facts that the network can tell apart: what it reads for fact "
            f"{one} is {heard.max():.2f} of the key of fact {other}"
        )
