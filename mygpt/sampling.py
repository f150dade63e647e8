"""From scores to text: how the next token is chosen, again and again."""

import math
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from mygpt.gpt import LanguageModel
from mygpt.support.arguments import (
    as_ids,
    as_number,
    check_above_zero,
    check_axes,
    check_flags,
    check_ids,
    check_positive,
    check_seed,
    check_whole,
    is_real,
    is_whole,
)
from mygpt.support.modes import evaluating_all

Function = TypeVar("Function", bound=Callable)

PAD_ID = 0  # of a row that has stopped


def _with_settings_of(other: Callable) -> Callable[[Function], Function]:
    """Give a function that takes `**settings` the keyword arguments of another."""
    settings = [
        p for p in signature(other).parameters.values() if p.kind == p.KEYWORD_ONLY
    ]

    def declare(function: Function) -> Function:
        own = signature(function)
        given = [p for p in own.parameters.values() if p.kind != p.VAR_KEYWORD]
        whole = own.replace(parameters=given + settings)
        function.__signature__ = whole  # type: ignore[attr-defined]
        return function

    return declare


def generate_stream(
    model: LanguageModel,
    ids: Integer[Tensor, "B T"],
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    repetition_penalty: float = 1.0,
    stop: Sequence[int] = (),
    pad_id: int = PAD_ID,
    seed: int | None = None,
    use_cache: bool = True,
) -> Iterator[Int[Tensor, "B"]]:
    """Yield the new tokens (B,) one step at a time, until every row has stopped.

    The settings are those of `generate`. Between two steps the model is in the mode
    that it had before.
    """
    max_new_tokens, pad_id = as_number(max_new_tokens), as_number(pad_id)
    temperature, repetition_penalty = map(as_number, (temperature, repetition_penalty))
    top_k, top_p = as_number(top_k), as_number(top_p)
    stop = [as_number(token) for token in stop]
    ids = check_prompt(model, ids, max_new_tokens, stop, pad_id)
    check_settings(temperature, top_k, top_p, repetition_penalty)
    check_flags(greedy=greedy, use_cache=use_cache)
    generator = None  # PyTorch's own
    if seed is not None:
        generator = torch.Generator(ids.device).manual_seed(check_seed(seed))

    def choose(logits: Tensor, seen: Tensor) -> Tensor:
        logits = penalise_repetition(logits, seen, repetition_penalty)
        if greedy:
            check_scores(logits)
            return logits.argmax(dim=-1)
        probabilities = next_token_probabilities(logits, temperature, top_k, top_p)
        return torch.multinomial(probabilities, 1, generator=generator)[:, 0]

    return _stream(model, ids, max_new_tokens, choose, stop, pad_id, use_cache)


@_with_settings_of(generate_stream)
def generate(
    model: LanguageModel,
    ids: Integer[Tensor, "B T"],
    max_new_tokens: int,
    **settings: Any,
) -> Int[Tensor, "B N"]:
    """Continue the ids by `max_new_tokens`: (B, T) to (B, T + max_new_tokens).

    A row that meets one of the `stop` tokens keeps it and is filled with `pad_id`. With
    `greedy` the likeliest token is always taken, and temperature, top_k, top_p and seed
    are ignored. A `seed` gives the same tokens at every call; without one PyTorch's
    global generator is used, so `set_seed` before the call has the same effect. When
    the context is full, its last half is read again, with or without the cache, so that
    both give the same tokens.
    """
    new = list(generate_stream(model, ids, max_new_tokens, **settings))
    pad_id = as_number(settings.get("pad_id", PAD_ID))
    ids = as_ids(ids)
    padding = [torch.full_like(ids[:, 0], pad_id)] * (int(max_new_tokens) - len(new))
    return torch.cat([ids, *(column[:, None] for column in new + padding)], dim=1)


def _stream(
    model: LanguageModel,
    ids: Tensor,
    max_new_tokens: int,
    choose: Callable[[Tensor, Tensor], Tensor],
    stop: Sequence[int],
    pad_id: int,
    use_cache: bool,
) -> Iterator[Tensor]:
    context = Context(model, ids, use_cache)
    ends = torch.tensor(stop, device=ids.device, dtype=ids.dtype)
    stopped = torch.zeros_like(ids[:, 0], dtype=torch.bool)
    modules = list(model.modules())
    for _ in range(max_new_tokens):
        with evaluating_all(modules), torch.inference_mode():
            tokens = choose(context.next_logits(), ids)
        tokens = torch.where(stopped, pad_id, tokens)
        ids = torch.cat([ids, tokens[:, None]], dim=1)
        yield tokens
        stopped |= torch.isin(tokens, ends)
        if stopped.all():
            return
        context.append(tokens)


class Context:
    """The positions that the model can see, of which it reads only the new ones.

    When `append` finds the context full, it drops all but the last half, which is then
    read again at the positions from 0 on.
    """

    def __init__(self, model: LanguageModel, ids: Int[Tensor, "B T"], use_cache: bool):
        self.model, self.window = model, ids
        self.length = model.config.max_seq_len
        self.cache = model.new_cache(len(ids)) if use_cache else None
        self.read = 0  # positions in the cache

    def next_logits(self) -> Float[Tensor, "B V"]:
        """The scores for the token after the window."""
        new = self.window[:, self.read :]
        states = self.model.states(new, self.cache)
        if self.cache is not None:
            self.read = self.window.shape[1]
        return self.model.logits(states[:, -1]).float()  # the last position's alone

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
    check_scores(logits)
    shifted = logits - logits.amax(dim=-1, keepdim=True)  # overflows to -inf alone
    logits = shifted / within(temperature, logits)
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return torch.softmax(logits, dim=-1)


def check_scores(logits: Float[Tensor, "B V"]) -> None:
    """Raise a ValueError unless the largest score of each row is a finite number."""
    if not logits.amax(dim=-1).isfinite().all():  # a NaN is the largest
        raise ValueError(
            "expected finite scores for the next token, "
            "but the model gave NaN or infinity"
        )


def within(number: float, scores: Tensor) -> float:
    """The nearest number above 0 that the scores' type holds without rounding to 0."""
    limits = torch.finfo(scores.dtype)
    return min(max(number, limits.tiny), limits.max)


def penalise_repetition(
    logits: Float[Tensor, "B V"], seen: Int[Tensor, "B T"], penalty: float
) -> Float[Tensor, "B V"]:
    """Make tokens seen before less likely (Keskar et al. 2019, section 4.1).

    Their positive scores are divided by the penalty, negative ones multiplied by it.
    """
    if penalty == 1:
        return logits
    penalty = within(penalty, logits)
    scores = logits.gather(1, seen)
    scores = torch.where(scores > 0, scores / penalty, scores * penalty)
    most = torch.finfo(logits.dtype).max
    return logits.scatter(1, seen, scores.clamp(-most, most))


def keep_top_k(logits: Float[Tensor, "B V"], k: int) -> Float[Tensor, "B V"]:
    """Set all but the k largest scores to -inf; ties with the k-th stay."""
    least = logits.topk(min(k, logits.shape[-1])).values[:, -1:]
    return logits.masked_fill(logits < least, -math.inf)


def keep_top_p(logits: Float[Tensor, "B V"], p: float) -> Float[Tensor, "B V"]:
    """Set scores to -inf, but for the fewest tokens whose probabilities reach p.

    The nucleus of Holtzman et al. (2020); of equal scores the smaller id goes first,
    and with p = 1 all stay.
    """
    if p >= 1:  # rounded sums of shares may reach 1 before the last token
        return logits
    ordered, order = logits.sort(descending=True, stable=True)
    probabilities = torch.softmax(ordered, dim=-1)
    larger = probabilities.cumsum(dim=-1) - probabilities  # held by those before
    outside = larger >= p
    outside[:, 0] = False
    return logits.masked_fill(outside.scatter(1, order, outside), -math.inf)


def check_prompt(
    model: LanguageModel, ids: Tensor, max_new_tokens: int, stop: Sequence, pad_id: int
) -> Tensor:
    """Return the ids in an embedding's own type, and check what comes with them."""
    V, T = model.config.vocab_size, model.config.max_seq_len
    check_axes(ids, "B T")
    if not 1 <= ids.shape[1] <= T:
        raise ValueError(
            f"expected a prompt of 1 to max_seq_len = {T} ids, got {ids.shape[1]}"
        )
    ids = as_ids(ids)
    check_ids(ids, V)
    check_whole(0, max_new_tokens=max_new_tokens)
    for name, value in [("pad_id", pad_id), *(("stop", token) for token in stop)]:
        if not is_whole(value) or not 0 <= value < V:
            raise ValueError(f"{name} must be an id from 0 to {V - 1}, got {value}")
    return ids


def check_settings(
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
) -> None:
    try:
        check_above_zero(temperature=temperature)
    except ValueError as error:
        if temperature != 0:
            raise
        hint = "for the likeliest token every time: greedy=True"
        raise ValueError(f"{error} ({hint})") from None
    if top_k is not None:
        check_positive(top_k=top_k)
    if top_p is not None and not (is_real(top_p) and 0 < top_p <= 1):
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p!r}")
    check_above_zero(repetition_penalty=repetition_penalty)
