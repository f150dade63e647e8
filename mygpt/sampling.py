"""From scores to text: how the next token is chosen, and the next."""

import math
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def generate(
    model: nn.Module,
    ids: Int[Tensor, "B T"],
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    repetition_penalty: float = 1.0,
    stop: Sequence[int] = (),
    pad_id: int = 0,
    seed: int | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "B N"]:
    """The ids continued by `max_new_tokens`: (B, T) to (B, T + max_new_tokens).

    A row that met one of the `stop` tokens keeps it and is filled with `pad_id`. With
    `greedy` the likeliest token is always taken, and temperature, top_k, top_p and seed
    have no say. When the context is full, its last half is read again, with the cache
    or without, so that both give the same tokens.
    """
    stream = generate_stream(
        model,
        ids,
        max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        greedy=greedy,
        repetition_penalty=repetition_penalty,
        stop=stop,
        pad_id=pad_id,
        seed=seed,
        use_cache=use_cache,
    )
    new = list(stream)
    padding = [torch.full_like(ids[:, 0], pad_id)] * (max_new_tokens - len(new))
    return torch.cat([ids, *(column[:, None] for column in new + padding)], dim=1)


def generate_stream(
    model: nn.Module,
    ids: Int[Tensor, "B T"],
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    repetition_penalty: float = 1.0,
    stop: Sequence[int] = (),
    pad_id: int = 0,
    seed: int | None = None,
    use_cache: bool = True,
) -> Iterator[Int[Tensor, "B"]]:
    """The new tokens (B,) one step at a time; ends when every row has stopped."""
    check_prompt(model, ids, max_new_tokens, stop, pad_id)
    check_settings(temperature, top_k, top_p, repetition_penalty)
    generator = torch.Generator(ids.device)
    generator.manual_seed(generator.seed() if seed is None else seed)

    def choose(logits: Tensor, seen: Tensor) -> Tensor:
        logits = penalise_repetition(logits, seen, repetition_penalty)
        if greedy:
            return logits.argmax(dim=-1)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        return torch.multinomial(probabilities, 1, generator=generator)[:, 0]

    return _stream(model, ids, max_new_tokens, choose, stop, pad_id, use_cache)


def _stream(model, ids, max_new_tokens, choose, stop, pad_id, use_cache):
    context = Context(model, ids, use_cache)
    ends = torch.tensor(list(stop), device=ids.device, dtype=ids.dtype)
    stopped = torch.zeros_like(ids[:, 0], dtype=torch.bool)
    was_training = model.training
    model.eval()
    try:
        for _ in range(max_new_tokens):
            with torch.inference_mode():
                tokens = choose(context.next_logits(), ids)
            tokens = torch.where(stopped, pad_id, tokens)
            ids = torch.cat([ids, tokens[:, None]], dim=1)
            yield tokens
            stopped |= torch.isin(tokens, ends)
            if stopped.all():
                return
            context.append(tokens)
    finally:
        model.train(was_training)


class Context:
    """The positions that the model can see, and how it reads those that are new.

    When `append` finds the context full, all but its last half is dropped, and that
    half is read again at the positions from 0 on.
    """

    def __init__(self, model: nn.Module, ids: Int[Tensor, "B T"], use_cache: bool):
        self.model, self.window = model, ids
        self.length = model.config.max_seq_len
        self.cache = model.new_cache(len(ids)) if use_cache else None
        self.read = 0  # positions in the cache

    def next_logits(self) -> Float[Tensor, "B V"]:
        """What the model says of the token after the window."""
        new = self.window[:, self.read :]
        states = self.model.states(new, self.cache)
        logits = self.model.logits(states[:, -1]).float()  # the last position's alone
        if self.cache is not None:
            self.read = self.window.shape[1]
        if logits.amax(dim=-1).isnan().any():  # a NaN is the largest
            raise ValueError("expected scores for the next token, the model gave NaN")
        return logits

    def append(self, tokens: Int[Tensor, "B"]) -> None:
        if self.window.shape[1] == self.length:
            self.window = self.window[:, self.length - self.length // 2 :]
            self.read = 0
            if self.cache is not None:
                self.cache = self.model.new_cache(len(tokens))
        self.window = torch.cat([self.window, tokens[:, None]], dim=1)


def next_token_probabilities(
    logits: Float[Tensor, "B V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "B V"]:
    """Softmax of logits / temperature over what top-k, and then top-p, leave."""
    check_settings(temperature, top_k, top_p)
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return torch.softmax(logits, dim=-1)


def penalise_repetition(
    logits: Float[Tensor, "B V"], seen: Int[Tensor, "B T"], penalty: float
) -> Float[Tensor, "B V"]:
    """Make tokens seen before less likely (Keskar et al. 2019, section 4.1).

    Their positive scores are divided by the penalty, negative ones multiplied by it.
    """
    if penalty == 1:
        return logits
    scores = logits.gather(1, seen)
    scores = torch.where(scores > 0, scores / penalty, scores * penalty)
    return logits.scatter(1, seen, scores)


def keep_top_k(logits: Float[Tensor, "B V"], k: int) -> Float[Tensor, "B V"]:
    """-inf for all but the k largest scores; ties with the k-th stay."""
    least = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return logits.masked_fill(logits < least, -math.inf)


def keep_top_p(logits: Float[Tensor, "B V"], p: float) -> Float[Tensor, "B V"]:
    """-inf for all but the fewest tokens whose probabilities reach p.

    The nucleus of Holtzman et al. (2020); of equal scores the smaller id goes first.
    """
    ordered, order = logits.sort(descending=True, stable=True)
    probabilities = torch.softmax(ordered, dim=-1)
    larger = probabilities.cumsum(dim=-1) - probabilities  # held by those before
    outside = larger >= p
    outside[:, 0] = False
    return logits.masked_fill(outside.scatter(1, order, outside), -math.inf)


def check_prompt(model, ids, max_new_tokens, stop, pad_id) -> None:
    V, T = model.config.vocab_size, model.config.max_seq_len
    if ids.shape[1] < 1 or ids.shape[1] > T:
        raise ValueError(
            f"expected a prompt of 1 to max_seq_len = {T} ids, got {ids.shape[1]}"
        )
    if ids.min() < 0 or ids.max() >= V:
        raise ValueError(
            f"expected ids from 0 to {V - 1}, got {ids.min()} to {ids.max()}"
        )
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be at least 0, got {max_new_tokens}")
    for name, value in [("pad_id", pad_id), *(("stop", token) for token in stop)]:
        if not 0 <= value < V:
            raise ValueError(f"{name} must be an id from 0 to {V - 1}, got {value}")


def check_settings(temperature, top_k=None, top_p=None, repetition_penalty=1.0) -> None:
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature must be above 0, got {temperature!r} "
            "(for the likeliest token every time: greedy=True)"
        )
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k!r}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p!r}")
    if not 0 < repetition_penalty < math.inf:
        raise ValueError(
            f"repetition_penalty must be above 0, got {repetition_penalty!r}"
        )
