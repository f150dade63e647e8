"""The computations that are compared: each operation of the book, then whole models."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mygpt.attention import KVCache, attention_weights, causal_attention
from mygpt.gpt import GPT, GPTConfig, LanguageModel, mean_loss
from mygpt.modern import ModernConfig, ModernGPT, RMSNorm, rotary_angles, rotate
from mygpt.norm import normalise
from mygpt.sampling import keep_top_k, keep_top_p, penalise_repetition
from mygpt.training import RECIPES, TrainingConfig, train
from mygpt.training.optimizers import make_optimizers

Parts = dict[str, Tensor]
Results = list[tuple[str, Tensor]]

GPT2_VOCAB = 50257
LENGTH = 16
SHAPE = {
    "vocab_size": 37,
    "max_seq_len": LENGTH,
    "embed_dim": 24,
    "num_heads": 6,
    "num_layers": 2,
}
DRAWS = 10_000
SIGMAS = 6  # of a random draw, by chance once in 10⁸


class Side:
    """A device, a type, and numbers that are the same on every side.

    They are drawn on the CPU in float32; only the type asked for goes to the device.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, seed: int):
        self.device, self.dtype, self.seed = device, dtype, seed
        self.generator = torch.Generator().manual_seed(seed)
        self.inputs: list[Tensor] = []
        torch.manual_seed(seed)

    def constant(self, *shape: int) -> Tensor:
        return self.put(torch.randn(shape, generator=self.generator))

    def input(self, *shape: int) -> Tensor:
        """Normal numbers whose gradient is compared as well."""
        self.inputs.append(self.constant(*shape).requires_grad_())
        return self.inputs[-1]

    def put(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.dtype).to(self.device)

    def ids(self, below: int, *shape: int) -> Tensor:
        return torch.randint(below, shape, generator=self.generator).to(self.device)

    def heads(self, T: int) -> Tensor:
        """Queries, keys or values (B, H, T, D), transposed as a model has them."""
        return self.input(2, T, 3, 8).transpose(1, 2)

    def model(self, make: Callable[[], nn.Module]) -> nn.Module:
        return make().to(self.dtype).to(self.device)

    def results(self, probe: "Probe") -> Results:
        """What a probe gives, and the gradients of its inputs, on the CPU."""
        found = probe(self)
        parts = found if isinstance(found, dict) else {"forward": found}
        named = list(parts.items())
        if self.inputs:
            slope = self.constant(*found.shape)
            slopes = torch.autograd.grad(found, self.inputs, slope)
            named += [("backward", slope) for slope in slopes]
        return [(part, on_cpu(tensor)) for part, tensor in named]


Probe = Callable[[Side], Tensor | Parts]


def on_cpu(tensor: Tensor) -> Tensor:
    tensor = tensor.detach().cpu()
    return tensor.double() if tensor.is_floating_point() else tensor


def cache_write(at: Side) -> Tensor:
    memory = at.input(2, 3, 11, 8).clone()
    cache = KVCache(memory, memory.clone())
    cache.append(at.heads(4), at.heads(4))
    keys, values = cache.append(at.heads(5), at.heads(5))
    return keys * values


def masked_softmax(at: Side) -> Tensor:
    scores = at.input(3, 11, 11)
    later = torch.ones(11, 11, dtype=torch.bool, device=at.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)


def fused(at: Side, queries: int) -> Tensor:
    q, k, v = at.heads(11), at.heads(11), at.heads(11)
    return causal_attention(q[:, :, -queries:], k, v)


def cross_entropy(at: Side) -> Tensor:
    targets = at.ids(GPT2_VOCAB, 2, 5)
    targets[0, 3] = -100  # ignored
    return mean_loss(at.input(2, 5, GPT2_VOCAB), targets)


def sort(at: Side) -> Parts:
    values, order = at.constant(2, GPT2_VOCAB).sort(descending=True, stable=True)
    return {"values": values, "order": order}


def argmax(at: Side) -> Tensor:
    ids = at.constant(7, GPT2_VOCAB).argmax(dim=-1)
    return torch.stack([ids, torch.isin(ids, ids[::2]).long()])


def draws(at: Side) -> Tensor:
    """Whether each token is drawn about as often as its probability says."""
    shares = torch.softmax(at.constant(1, 23), dim=-1)
    shares = torch.where(shares < shares.median(), 0.0, shares)
    generator = torch.Generator(at.device).manual_seed(at.seed)
    drawn = torch.multinomial(shares.expand(DRAWS, -1), 1, generator=generator)
    right = on_cpu(shares / shares.sum())[0]
    got = torch.bincount(drawn[:, 0].cpu(), minlength=23) / DRAWS
    return (got - right).abs() <= SIGMAS * (right * (1 - right) / DRAWS).sqrt()


def dropout(at: Side) -> Tensor:
    """Whether numbers are dropped as often as asked for, in the gradient too."""
    ones = torch.ones(DRAWS, device=at.device, dtype=at.dtype).requires_grad_()
    kept = F.dropout(ones, 0.25)
    (slope,) = torch.autograd.grad(kept.sum(), ones)
    share = on_cpu(kept != 0).double().mean()
    often = (share - 0.75).abs() <= SIGMAS * (0.75 * 0.25 / DRAWS) ** 0.5
    right = (kept == 0) | ((kept * 0.75 - 1).abs() < 1e-6)
    return torch.stack([often, right.all().cpu(), (slope == kept).all().cpu()])


def steps(at: Side, optimizer: str, transposed: bool = False) -> Parts:
    """Weights after three steps; AdamW decays the matrix alone."""
    model = nn.ModuleDict({"blocks": nn.Linear(13, 11)})
    weight = at.constant(13, 11).T if transposed else at.constant(11, 13)
    model.blocks.weight = nn.Parameter(weight)
    model.blocks.bias = nn.Parameter(at.constant(11))
    rates = {"learning_rate": 0.2, "matrix_learning_rate": 0.5}  # large: all is seen
    decay = {"weight_decay": 0.1, "matrix_weight_decay": 0.1}
    settings = TrainingConfig(steps=3, optimizer=optimizer, **rates, **decay)
    optimizers = make_optimizers(model, settings)
    for _ in range(3):
        model.blocks.weight.grad = torch.empty_like(weight).copy_(at.constant(11, 13))
        model.blocks.bias.grad = at.constant(11)
        for one in optimizers:
            one.step()
    return {f"step of the {name}": p for name, p in model.blocks.named_parameters()}


def clipping(at: Side) -> Parts:
    parameters = [nn.Parameter(at.constant(*shape)) for shape in [(13, 11), (7,)]]
    for parameter in parameters:
        parameter.grad = at.constant(*parameter.shape)
    norm = nn.utils.clip_grad_norm_(parameters, 1.0)
    return {"norm": norm, "matrix": parameters[0].grad, "vector": parameters[1].grad}


def gpt() -> LanguageModel:
    return GPT(GPTConfig(**SHAPE))


def modern_gpt(zero_init: bool = False) -> LanguageModel:
    shape = ModernConfig(**SHAPE, num_kv_heads=3, qk_norm=True, zero_init=zero_init)
    return ModernGPT(shape)


def whole(at: Side, make: Callable[[], LanguageModel]) -> Parts:
    model = at.model(make)
    logits, loss = model(at.ids(37, 3, LENGTH), at.ids(37, 3, LENGTH))
    loss.backward()
    slopes = {f"backward, {n}": p.grad for n, p in model.named_parameters()}
    return {"logits": logits, "loss": loss} | slopes


@torch.no_grad()
def cached(at: Side, make: Callable[[], LanguageModel]) -> Tensor:
    """The logits of a text that is read in pieces: 5 tokens, three of 1, the rest."""
    model = at.model(make)
    cache = model.new_cache(2)
    pieces = at.ids(37, 2, LENGTH).split([5, 1, 1, 1, LENGTH - 8], dim=1)
    return torch.cat([model(piece, cache=cache)[0] for piece in pieces], dim=1)


def training(at: Side, make: Callable[[], LanguageModel], recipe: str) -> Tensor:
    """The losses of 24 steps."""
    text = at.ids(37, 400)
    changes = {"warmup_steps": 4, "batch_size": 6, "seed": at.seed, "progress": False}
    settings = TrainingConfig(steps=24, **RECIPES[recipe] | changes)
    history = train(at.model(make), text.cpu(), settings)
    return torch.tensor(history.loss, dtype=torch.float64)


PROBES: dict[str, Probe] = {
    "copy of a slice": lambda at: at.input(7, 11, 13).transpose(0, 2)[1::2],
    "writing to the KV cache": cache_write,
    "embedding lookup": lambda at: F.embedding(at.ids(11, 5, 17), at.input(11, 8)),
    "addition": lambda at: at.input(3, 5, 8) + at.input(11, 8)[3:8],
    "matrix product": lambda at: F.linear(
        at.input(3, 5, 37), at.input(41, 37), at.input(41)
    ),
    "matrix product, one row": lambda at: F.linear(
        at.input(1, 1, 37), at.input(41, 37)
    ),
    "matrix product, large": lambda at: F.linear(
        at.input(129, 1031), at.input(517, 1031)
    ),
    "matrix product, transposed": lambda at: at.input(3, 5, 37) @ at.input(41, 37).T,
    "matrix product of heads": lambda at: at.heads(11) @ at.heads(13).transpose(-2, -1),
    "softmax": lambda at: torch.softmax(3 * at.input(3, 5, 1031), dim=-1),
    "softmax of masked scores": masked_softmax,
    "sharing of keys": lambda at: at.heads(11).repeat_interleave(2, dim=1),
    "attention": lambda at: (
        attention_weights(at.heads(11), at.heads(11)) @ at.heads(11)
    ),
    "fused attention": partial(fused, queries=11),
    "fused attention, one query": partial(fused, queries=1),
    "fused attention, last queries": partial(fused, queries=3),
    "GELU": lambda at: F.gelu(2 * at.input(11, 103)),
    "GELU (tanh)": lambda at: F.gelu(2 * at.input(11, 103), approximate="tanh"),
    "ReLU": lambda at: F.relu(at.input(11, 103)),
    "SiLU": lambda at: F.silu(3 * at.input(11, 103)),
    "tanh": lambda at: torch.tanh(at.input(11, 103)),
    "mean and variance": lambda at: normalise(at.input(3, 5, 103)),
    "layer norm": lambda at: F.layer_norm(
        at.input(3, 5, 103), (103,), at.input(103), at.input(103)
    ),
    "RMS norm": lambda at: at.model(lambda: RMSNorm(103))(at.input(3, 5, 103)),
    "rotary positions": lambda at: rotate(at.heads(64), at.put(rotary_angles(64, 8))),
    "cross-entropy": cross_entropy,
    "sort": sort,
    "cumulative sum": lambda at: at.input(3, 1031).cumsum(dim=-1),
    "argmax": argmax,
    "gather and scatter": lambda at: penalise_repetition(
        at.constant(3, 503), at.ids(503, 3, 29), 1.3
    ),
    "top-k": lambda at: keep_top_k(at.constant(3, GPT2_VOCAB), 40),
    "top-p": lambda at: keep_top_p(3 * at.constant(3, 503), 0.8),
    "random draws": draws,
    "dropout": dropout,
    "gradient clipping": clipping,
    "AdamW": partial(steps, optimizer="adamw"),
    "AdamW, transposed": partial(steps, optimizer="adamw", transposed=True),
    "Muon": partial(steps, optimizer="muon"),
    "GPT": partial(whole, make=gpt),
    "GPT with a KV cache": partial(cached, make=gpt),
    "training of a GPT": partial(training, make=gpt, recipe="gpt2"),
    "modern GPT": partial(whole, make=modern_gpt),
    "modern GPT with a KV cache": partial(cached, make=modern_gpt),
    "training of a modern GPT": partial(
        training, make=partial(modern_gpt, zero_init=True), recipe="modern"
    ),
}
