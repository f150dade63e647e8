"""A model and an optimizer that note what a training loop does, and remarks on it."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mygpt.gpt import LanguageModel

CLOSE = 1e-5  # share by which equal gradients may differ


class Bigrams(LanguageModel):
    """A model for loops: the next token's scores from a table, halved in training mode.

    The halving stands for dropout without chance. `scale` multiplies the scores, and
    with them the gradients.
    """

    def __init__(self, table: Tensor, scale: float = 1.0):
        super().__init__()
        self.table = nn.Parameter(table.clone())
        self.scale = scale

    def forward(self, ids: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.logits_of(self.table, ids)
        self.recorded = logits.requires_grad
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def logits_of(self, table: Tensor, ids: Tensor) -> Tensor:
        return table[ids] * (self.scale * (0.5 if self.training else 1.0))

    def gradient(self, ids: Tensor, targets: Tensor) -> Tensor:
        """The gradient that the loss has now."""
        with torch.enable_grad():
            table = self.table.detach().clone().requires_grad_()
            logits = self.logits_of(table, ids).flatten(0, 1)
            loss = F.cross_entropy(logits, targets.flatten())
            return torch.autograd.grad(loss, table)[0]


@dataclass
class Backward:
    """A backward pass: what was stored before it, and what it adds."""

    before: Tensor
    added: Tensor


@dataclass
class Step:
    """A step: its learning rate, the stored gradient, and the backward passes before.

    gradient: None if there is none.
    since: backward passes since the last step.
    moved: whether the parameters had changed since the last step.
    """

    rate: float
    gradient: Tensor | None
    since: list[Backward]
    moved: bool


@dataclass(eq=False)
class LoopNotes:
    """Notes of a training loop, in their order.

    words: "model", "backward", "zero_grad" and "step", as they were called.
    batches: numbers of the batches that the model was given, from 1; 0 for others.
    gradients: that the loss had at each call of the model.
    """

    words: list[str] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    gradients: list[Tensor] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    zeros: int = 0

    def count(self, word: str) -> int:
        return self.words.count(word)

    def states(self) -> list[str]:
        """What each backward pass and each step found stored."""
        found = []
        for step in self.steps:
            found += [(b.before.any() and "onto others") or "alone" for b in step.since]
            found.append("none" if is_zero(step.gradient) else "some")
        return found


class WatchedOptimizer(torch.optim.Optimizer):
    """Gradient descent with momentum that notes what is done with it and a model.

    Its methods are PyTorch's without the wrapper that imports the compiler, which takes
    two seconds.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    plain_init = inspect.unwrap(torch.optim.Optimizer.__init__)
    plain_zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(self, model: Bigrams, batches: list[Tensor], lr: float = 2.0):
        self.plain_init(model.parameters(), {"lr": lr, "momentum": 0.5})
        self.table, self.watch = model.table, LoopNotes()
        self.last = self.table.detach().clone()
        self.passes: list[Backward] = []

        def called(model: Bigrams, given: tuple, result: tuple) -> None:
            ids, targets = given
            self.watch.words.append("model")
            self.watch.batches.append(number_of(ids, batches))
            self.watch.gradients.append(model.gradient(ids, targets))

        model.register_forward_hook(called)
        model.table.register_hook(self.backward_ran)

    def backward_ran(self, gradient: Tensor) -> None:
        before = self.table.grad
        stored = torch.zeros_like(gradient) if before is None else before.clone()
        self.passes.append(Backward(stored, gradient.clone()))
        self.watch.backwards.append(self.passes[-1])
        self.watch.words.append("backward")

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        gradient = None if self.table.grad is None else self.table.grad.clone()
        rate = float(self.param_groups[0]["lr"])
        moved = not torch.equal(self.table, self.last)
        self.watch.steps.append(Step(rate, gradient, self.passes, moved))
        self.watch.words.append("step")
        self.passes = []
        self.move()
        self.last = self.table.detach().clone()
        return loss

    @torch.no_grad()
    def move(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    before = group["momentum"] * state.get("velocity", 0.0)
                    state["velocity"] = before + parameter.grad
                    parameter -= group["lr"] * state["velocity"]

    def zero_grad(self, set_to_none=True):
        self.watch.zeros += 1
        self.watch.words.append("zero_grad")
        self.plain_zero_grad(set_to_none)


def number_of(ids: Tensor, batches: list[Tensor]) -> int:
    """The number of the batch that ids are taken from, or 0."""
    for i, rows in enumerate(batches, start=1):
        if ids.shape == rows[:, 1:].shape and torch.equal(ids, rows[:, :-1]):
            return i
    return 0


def is_zero(gradient: Tensor | None) -> bool:
    """Whether there is no gradient, or one of zeros."""
    return gradient is None or not gradient.any()


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two gradients are equal but for rounding."""
    return torch.allclose(a, b, rtol=CLOSE, atol=CLOSE)


def remarks(watch: LoopNotes, num_batches: int, rate: float = 2.0) -> Iterator[str]:
    """Say what a loop did that one step for each batch does not need."""
    yield from remarks_on_counts(watch, num_batches)
    yield from remarks_on_order(watch)
    yield from remarks_on_steps(watch, rate)
    yield from remarks_on_losses(watch)


def remarks_on_counts(watch: LoopNotes, num_batches: int) -> Iterator[str]:
    """On calls that are missing or too many, and on the order of the batches."""
    counts = {word: watch.count(word) for word in ("model", "backward", "step")}
    if any(count != num_batches for count in counts.values()):
        yield (
            f"For {num_batches} batches your program called the model "
            f"{times(counts['model'])}, `backward` {times(counts['backward'])}, and of "
            f"the optimizer that it is given `zero_grad` {times(watch.zeros)} and "
            f"`step` {times(counts['step'])}."
        )
    order = [number for number in watch.batches if number]
    if len(order) == num_batches and order != sorted(set(order)):
        yield f"The batches were used in the order {', '.join(map(str, order))}."


def remarks_on_order(watch: LoopNotes) -> Iterator[str]:
    """On a step that finds no gradient, and on gradients that add up."""
    first = watch.steps[0] if watch.steps else None
    if first and not first.since and watch.backwards:
        yield f"`step` came before the first `backward`: {in_order(watch)}."
        return
    cleared = [s for s in watch.steps if s.since and is_zero(s.gradient)]
    if any(b.added.any() for s in cleared for b in s.since):
        yield (
            "When `step` ran, the gradients of `backward` had been cleared: "
            f"{in_order(watch)}."
        )
    for i, each in enumerate(watch.backwards[1:], start=2):
        if each.before.any():
            yield (
                f"When `backward` ran for the {ordinal(i)} time, older gradients were "
                f"still stored, and it adds to them: {in_order(watch)}."
            )
            return


def remarks_on_steps(watch: LoopNotes, rate: float) -> Iterator[str]:
    """On learning rates, clipped gradients, and parameters that were written to."""
    rates = [step.rate for step in watch.steps]
    if any(each != rate for each in rates):
        shown = ", ".join(f"{each:.4g}" for each in rates)
        yield (
            f"The learning rates of your steps were {shown}; the optimizer came with "
            f"{rate:g}, and the task does not ask to change it."
        )
    for step in watch.steps:
        if not step.since or is_zero(step.gradient):
            continue
        given = step.since[-1].before + step.since[-1].added
        if not same(given, step.gradient):
            yield (
                "Between `backward` and `step` your program changed the gradient: its "
                f"norm was {given.norm():.4g}, then {step.gradient.norm():.4g}. The "
                "task does not ask for clipping."
            )
            break
    if any(step.moved for step in watch.steps):
        yield "The parameters changed outside `optimizer.step()`."


def remarks_on_losses(watch: LoopNotes) -> Iterator[str]:
    """On backward passes that are not of the loss that the model gave."""
    pairs = zip(watch.backwards, watch.gradients, strict=False)
    pairs = [(b.added, g) for b, g in pairs if g.any()]
    if len(watch.backwards) != len(watch.gradients) or not pairs:
        return
    factors = [float((got * own).sum() / (own * own).sum()) for got, own in pairs]
    if all(abs(factor - 1) < CLOSE for factor in factors):
        return
    proportional = [
        same(got, factor * own)
        for factor, (got, own) in zip(factors, pairs, strict=True)
    ]
    if not all(proportional):
        yield (
            "`backward` did not give the gradient of the loss that the model had given "
            "last: call it on that loss alone."
        )
    else:
        shown = [f"{factor:.4g}" for factor in factors]
        yield (
            "The gradients were those of the model's loss times "
            f"{', '.join(shown if len({*shown}) > 1 else shown[:1])}: "
            "call `backward` on the loss itself, neither multiplied nor divided."
        )


def times(count: int) -> str:
    """Say how often."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def ordinal(number: int) -> str:
    """Say which in a row."""
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def in_order(watch: LoopNotes) -> str:
    """The first calls, up to the second step."""
    shown, steps = [], 0
    for word in watch.words:
        shown.append(word if word == "model" else f"`{word}`")
        steps += word == "step"
        if steps == 2 or len(shown) == 9:
            break
    return "the order was " + ", ".join(shown)
