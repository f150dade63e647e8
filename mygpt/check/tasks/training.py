"""AdamW's step, the training loop, and evaluation."""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from mygpt.check.compare import find_difference
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Mistake, Probe, Program, Property, Task
from mygpt.check.tasks.loops import Bigrams, Watch, WatchedOptimizer, remarks
from mygpt.support.modes import evaluating

CHAPTER = "13_training"


def make_step(
    draw: Draw, C: int, F: int, step: int, eps: float = 0.1, axes: int = 2
) -> Arguments:
    shape = (C, F, 2)[:axes] if F else (C,)
    return {
        "parameter": draw.normal(*shape, mean=0.5),
        "gradient": draw.normal(*shape, mean=0.3),
        "m": draw.normal(*shape) if step > 1 else torch.zeros(shape).double(),
        "v": draw.normal(*shape).abs() if step > 1 else torch.zeros(shape).double(),
        "step": step,
        "lr": 0.3,
        "beta1": 0.8,
        "beta2": 0.6,
        "eps": eps,
        "decay": 0.25,
    }


def reference_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
    """Let PyTorch's AdamW take the step.

    Its class would import PyTorch's compiler as well, which takes two seconds.
    """
    after, m, v = parameter.clone(), m.clone(), v.clone()
    with torch.no_grad():
        adamw(
            [after],
            [gradient],
            [m],
            [v],
            max_exp_avg_sqs=[],
            state_steps=[torch.tensor(float(step - 1))],
            foreach=False,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=lr,
            weight_decay=decay if parameter.ndim >= 2 else 0.0,
            eps=eps,
            maximize=False,
        )
    return after, m, v


def adamw_with(
    parameter,
    gradient,
    m,
    v,
    step,
    lr,
    beta1,
    beta2,
    eps,
    decay,
    *,
    first: int = 1,
    corrects: tuple[bool, bool] = (True, True),
    decays: Callable[[Tensor], bool] = lambda parameter: parameter.ndim >= 2,
    decay_rate: Callable[[float, float], float] = lambda lr, decay: lr * decay,
    decay_after: bool = False,
    decay_in_gradient: bool = False,
    squared: Callable[[Tensor], Tensor] = lambda gradient: gradient**2,
    divisor: Callable[[Tensor, float], Tensor] = lambda v, eps: v.sqrt() + eps,
    momentum: bool = True,
    sign: int = 1,
    swapped: bool = False,
    averages_swapped: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """AdamW's step with one piece replaced.

    first: the number of the first step.
    corrects: whether m, and whether v, is divided by 1 - beta^step.
    swapped, averages_swapped: whether the betas are, everywhere or in the averages.
    """
    if swapped:
        beta1, beta2 = beta2, beta1
    rate = decay_rate(lr, decay) if decays(parameter) else 0.0
    if decay_in_gradient and decays(parameter):
        gradient = gradient + decay * parameter
    elif not decay_after:
        parameter = parameter * (1 - rate)
    of_m, of_v = (beta2, beta1) if averages_swapped else (beta1, beta2)
    m = of_m * m + (1 - of_m) * gradient
    v = of_v * v + (1 - of_v) * squared(gradient)
    steps = max(step - 1 + first, 1e-9)
    m_hat = m / (1 - beta1**steps) if corrects[0] else m
    v_hat = v / (1 - beta2**steps) if corrects[1] else v
    along = m_hat if momentum else gradient
    parameter = parameter - sign * lr * along / divisor(v_hat, eps)
    if decay_after:
        parameter = parameter * (1 - rate)
    return parameter, m, v


def wrong_step(**pieces) -> Program:
    return partial(adamw_with, **pieces)


def corrected_state(*values):
    step, beta1, beta2 = values[4], values[6], values[7]
    parameter, m, v = adamw_with(*values)
    return parameter, m / (1 - beta1**step), v / (1 - beta2**step)


def stages_of_step(
    parameter: Tensor,
    gradient: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
) -> Iterator[Stage]:
    """The stages of a step of AdamW."""
    if parameter.ndim >= 2:
        parameter = parameter * (1 - lr * decay)
        yield stage("the parameter times 1 - lr * decay", parameter, needs=())
    old, new = beta1 * m, (1 - beta1) * gradient
    m = old + new
    yield stage("m", m, needs=())
    squares = gradient**2
    old, new = beta2 * v, (1 - beta2) * squares
    v = old + new
    yield stage("v", v, needs=())
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    yield stage("m / (1 - beta1^step)", m_hat, lr * m_hat, needs=("m",))
    yield stage("v / (1 - beta2^step)", v_hat, needs=("v",))
    root = v_hat.sqrt()
    yield stage("√v + eps, of this v", root + eps)
    part = m_hat / (root + eps)
    also(lambda: (lr * part, lr * m_hat))
    yield stage(
        "m / (√v + eps)",
        part,
        lr * part,
        needs=("m / (1 - beta1^step)", "√v + eps, of this v"),
    )
    yield stage("the new parameter", parameter - lr * part)


adamw_step = Task(
    name="adamw_step",
    chapter=CHAPTER,
    label="check-adamw",
    asks="One step of AdamW for one parameter; step is 1 for the first. If the "
    "parameter has two or more axes, first multiply it by 1 - lr * decay. Then m = "
    "beta1 * m + (1 - beta1) * gradient, v = beta2 * v + (1 - beta2) * gradient²; "
    "divide m by 1 - beta1^step and v by 1 - beta2^step, and subtract lr * m / (√v + "
    "eps). Return the new parameter and the new m and v before those two divisions.",
    arguments={
        "parameter": "any shape",
        "gradient": "the same shape",
        "m": "the same shape",
        "v": "the same shape",
        "step": "int, from 1",
        "lr": "float",
        "beta1": "float",
        "beta2": "float",
        "eps": "float",
        "decay": "float",
    },
    returns="a tuple (parameter, m, v) of the same shapes",
    parts=("parameter", "m", "v"),
    example="""\
>>> zero, one = torch.zeros(1), torch.ones(1)
>>> adamw_step(one, 2 * one, zero, zero, 1, 0.1, 0.9, 0.99, 0.0, 0.1)
(tensor([0.9000]), tensor([0.2000]), tensor([0.0400]))""",
    reference=reference_step,
    make=make_step,
    stages=stages_of_step,
    probes=[
        Probe(0, {"C": 2, "F": 3, "step": 1}),
        Probe(1, {"C": 3, "F": 2, "step": 3}),
        Probe(2, {"C": 3, "F": 0, "step": 2}),
        Probe(3, {"C": 2, "F": 2, "step": 2, "eps": 1.0}),
        Probe(4, {"C": 2, "F": 3, "step": 2, "axes": 3}),
    ],
    least={"F": 0, "axes": 3},
    fixed=["step", "lr", "beta1", "beta2", "eps", "decay", "m", "v"],
    mistakes=[
        Mistake(
            "no-bias-correction",
            "m and v are not divided by 1 - beta^step",
            wrong_step(corrects=(False, False)),
        ),
        Mistake(
            "no-first-correction",
            "m is not divided by 1 - beta1^step",
            wrong_step(corrects=(False, True)),
        ),
        Mistake(
            "no-second-correction",
            "v is not divided by 1 - beta2^step",
            wrong_step(corrects=(True, False)),
        ),
        Mistake(
            "corrected-state",
            "m and v are returned after the division by 1 - beta^step, so the next "
            "step starts from the wrong ones",
            corrected_state,
        ),
        Mistake(
            "steps-from-zero",
            "the steps are counted from 0: beta^(step - 1) for beta^step",
            wrong_step(first=0),
        ),
        Mistake(
            "decay-of-vectors",
            "biases and other vectors decay too",
            wrong_step(decays=lambda parameter: True),
        ),
        Mistake(
            "no-decay",
            "there is no weight decay",
            wrong_step(decays=lambda parameter: False),
        ),
        Mistake(
            "decay-in-the-gradient",
            "the decay is added to the gradient: that is Adam with L2, not AdamW",
            wrong_step(decay_in_gradient=True),
        ),
        Mistake(
            "decay-without-rate",
            "the decay is not multiplied by the learning rate",
            wrong_step(decay_rate=lambda lr, decay: decay),
        ),
        Mistake(
            "decay-after-the-step",
            "the decay comes after the step instead of before it",
            wrong_step(decay_after=True),
        ),
        Mistake(
            "growth",
            "the decay has the wrong sign and makes weights grow",
            wrong_step(decay_rate=lambda lr, decay: -lr * decay),
        ),
        Mistake(
            "eps-inside-the-root",
            "eps is added inside the root",
            wrong_step(divisor=lambda v, eps: (v + eps).sqrt()),
        ),
        Mistake(
            "no-eps",
            "eps is forgotten",
            wrong_step(divisor=lambda v, eps: v.sqrt()),
        ),
        Mistake(
            "no-root",
            "the step is divided by v, not by its root",
            wrong_step(divisor=lambda v, eps: v + eps),
        ),
        Mistake(
            "no-square",
            "v averages |gradient|, not its square",
            wrong_step(squared=torch.abs),
        ),
        Mistake(
            "gradient-for-square",
            "v averages the gradient itself, not its square",
            wrong_step(squared=lambda gradient: gradient),
        ),
        Mistake(
            "steps-from-two",
            "the steps are counted one too far: beta^(step + 1) for beta^step",
            wrong_step(first=2),
        ),
        Mistake(
            "no-momentum",
            "the step uses the gradient instead of its average m",
            wrong_step(momentum=False),
        ),
        Mistake(
            "uphill", "the step is added, so the loss goes up", wrong_step(sign=-1)
        ),
        Mistake(
            "betas-swapped", "beta1 and beta2 change places", wrong_step(swapped=True)
        ),
        Mistake(
            "betas-of-the-averages-swapped",
            "beta1 and beta2 change places in the averages m and v, but not in 1 - "
            "beta^step",
            wrong_step(averages_swapped=True),
        ),
    ],
)


def make_batches(
    draw: Draw,
    V: int,
    B: int,
    T: int,
    N: int,
    training: bool,
    uneven: bool = False,
    scale: float = 1.0,
) -> Arguments:
    return {
        "model": Bigrams(draw.normal(V, V), scale).train(training),
        "batches": [
            draw.ids(B + i * uneven, T + 1 + (N - i) * uneven, below=V)
            for i in range(N)
        ],
    }


def watched(program: Program, arguments: Arguments) -> tuple[list, Tensor, Watch]:
    """Train a copy of the model; return the losses, its table and what was noted."""
    model = copy.deepcopy(arguments["model"])
    batches = list(arguments["batches"])
    optimizer = WatchedOptimizer(model, batches)
    losses = program(model, list(batches), optimizer)
    return losses, model.table.detach(), optimizer.watch


def observe_training(program: Program, arguments: Arguments) -> dict:
    """Return the losses and what the model has learned.

    What steps and backward passes found tells apart mistakes that give the same losses.
    """
    losses, table, watch = watched(program, arguments)
    return {
        "losses": losses,
        "the trained table": table,
        "_counts": [watch.count("step"), watch.count("backward")],
        "_states": watch.states(),
        "_cleared_once": watch.zeros == 1,
    }


def reference_train(model, batches, optimizer) -> list[float]:
    losses = []
    model.train()
    for rows in batches:
        _, loss = model(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_with(
    model,
    batches,
    optimizer,
    *,
    inputs=lambda rows: rows[:, :-1],
    targets=lambda rows: rows[:, 1:],
    mode: bool | None = True,
    order: str = "zero backward step",
    choose=lambda batches, i: batches[i],
    report: str = "before",
) -> list[float]:
    """Train with one piece replaced; `order` names what is done in each step."""
    losses = []
    if mode is not None:
        model.train(mode)
    if order.startswith("once"):
        optimizer.zero_grad()
    for i in range(len(batches)):
        rows = choose(batches, i)
        _, loss = model(inputs(rows), targets(rows))
        for word in order.removeprefix("once").split():
            if word == "zero":
                optimizer.zero_grad()
            elif word == "backward":
                loss.backward(retain_graph=True)
            elif word == "step":
                optimizer.step()
        if report == "after":
            loss = model(inputs(rows), targets(rows))[1]
        losses.append(loss.item())
    return losses if report != "last" else losses[-1:]


def wrong_train(**pieces) -> Program:
    return partial(train_with, **pieces)


def graphs_held(program: Program, arguments: Arguments) -> int:
    losses = observe_training(program, arguments)["losses"]
    return sum(isinstance(loss, Tensor) and loss.grad_fn is not None for loss in losses)


def keeps_no_graphs(held: int, arguments: Arguments) -> str | None:
    if held:
        return (
            "Your losses still hold their graphs, so memory grows with every step: "
            "store `loss.item()`."
        )
    return None


def what_was_noted(program: Program, arguments: Arguments) -> str:
    """Remarks on the first probe whose losses or table are wrong, at most two.

    A right result gets none, however it came about.
    """
    for each in map(train.arguments_of, train.probes):
        losses, table, watch = watched(program, each)
        right = observe_training(reference_train, each)
        trained = not find_difference(right["the trained table"], table)
        if trained and not find_difference(right["losses"], losses):
            continue
        found = list(remarks(watch, len(each["batches"])))
        if trained:
            found.append("The model is trained rightly; only the losses are not right.")
        return " ".join(found[:2])
    return ""


def nothing_noted(sentences: str, arguments: Arguments) -> str | None:
    return sentences or None


train = Task(
    name="train",
    chapter=CHAPTER,
    label="check-train",
    asks="A training loop: put the model in training mode, and take one step of the "
    "optimizer for each batch. model(inputs, targets) gives (logits, loss); a batch "
    "is rows of T + 1 ids, inputs all but the last, targets all but the first. Return "
    "the losses, each from before its step.",
    arguments={
        "model": "nn.Module",
        "batches": "list of (B, T + 1), whole numbers",
        "optimizer": "torch.optim.Optimizer of the model's parameters",
    },
    returns="a list of numbers, one for each batch",
    example="""\
>>> class Model(torch.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.w = torch.nn.Parameter(torch.tensor(1.0))
...     def forward(self, inputs, targets):
...         return None, self.w**2 * (targets - inputs).sum()
>>> model = Model()
>>> optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
>>> train(model, [torch.tensor([[3, 4]])] * 2, optimizer)
[1.0, 0.25]""",
    reference=reference_train,
    make=make_batches,
    observe=observe_training,
    given=["model: a table of the next token's scores, which training mode halves"],
    probes=[
        Probe(0, {"V": 3, "B": 2, "T": 3, "N": 3, "training": True}),
        Probe(1, {"V": 5, "B": 2, "T": 2, "N": 4, "training": False}),
        Probe(2, {"V": 4, "B": 1, "T": 1, "N": 3, "training": True}),
        # gradients with norms above 1, and above 10
        Probe(3, {"V": 5, "B": 1, "T": 2, "N": 4, "training": True, "scale": 40.0}),
    ],
    least={"V": 2},
    properties=[
        Property("notes", what_was_noted, nothing_noted, of_calls=True),
        Property("graphs", graphs_held, keeps_no_graphs),
    ],
    limit=15.0,
    mistakes=[
        Mistake(
            "zero-grad-forgotten",
            "`zero_grad` is forgotten, so gradients of all steps add up",
            wrong_train(order="backward step"),
        ),
        Mistake(
            "zero-grad-once",
            "`zero_grad` is called once, before the loop, and the gradients add up",
            wrong_train(order="once backward step"),
        ),
        Mistake(
            "zero-grad-too-late",
            "`zero_grad` stands between `backward` and `step`, so nothing is learned",
            wrong_train(order="backward zero step"),
        ),
        Mistake(
            "step-before-backward",
            "`step` comes before `backward`, with the gradients of the batch before",
            wrong_train(order="step zero backward"),
        ),
        Mistake(
            "step-finds-no-gradients",
            "`step` comes before `backward`, when the gradients have been cleared, so "
            "it finds none and nothing is learned",
            wrong_train(order="zero step backward"),
        ),
        Mistake(
            "no-step",
            "`optimizer.step()` is missing",
            wrong_train(order="zero backward"),
        ),
        Mistake(
            "no-backward",
            "`loss.backward()` is missing",
            wrong_train(order="zero step"),
        ),
        Mistake(
            "backward-twice",
            "`backward` runs twice, which doubles the gradients",
            wrong_train(order="zero backward backward step"),
        ),
        Mistake(
            "step-twice",
            "`step` runs twice for each batch",
            wrong_train(order="zero backward step step"),
        ),
        Mistake(
            "targets-not-shifted",
            "the targets are not shifted: the model learns to repeat its input",
            wrong_train(targets=lambda rows: rows[:, :-1]),
        ),
        Mistake(
            "whole-rows",
            "inputs and targets are both the whole row",
            wrong_train(inputs=lambda rows: rows, targets=lambda rows: rows),
        ),
        Mistake(
            "backwards",
            "inputs and targets change places: the model learns the token before",
            wrong_train(
                inputs=lambda rows: rows[:, 1:], targets=lambda rows: rows[:, :-1]
            ),
        ),
        Mistake(
            "rows-for-columns",
            "inputs and targets are cut by rows: `[:-1]` leaves out the last row, "
            "`[:, :-1]` the last column",
            wrong_train(inputs=lambda rows: rows[:-1], targets=lambda rows: rows[1:]),
        ),
        Mistake(
            "last-target-lost",
            "the last id of each row is left out: inputs and targets end too early",
            wrong_train(
                inputs=lambda rows: rows[:, :-2], targets=lambda rows: rows[:, 1:-1]
            ),
        ),
        Mistake(
            "wrapped-targets",
            "the targets are made by `roll`: the last one is the row's first token",
            wrong_train(
                inputs=lambda rows: rows, targets=lambda rows: rows.roll(-1, dims=1)
            ),
        ),
        Mistake(
            "first-batch-again",
            "every step uses the first batch",
            wrong_train(choose=lambda batches, i: batches[0]),
        ),
        Mistake(
            "no-training-mode",
            "the model is not put in training mode, so there is no dropout",
            wrong_train(mode=None),
        ),
        Mistake(
            "evaluation-mode",
            "the model is put in evaluation mode, so there is no dropout",
            wrong_train(mode=False),
        ),
        Mistake(
            "loss-after-the-step",
            "the losses are those after the steps, not before",
            wrong_train(report="after"),
        ),
        Mistake(
            "return-in-the-loop",
            "`return` stands inside the loop, so it ends after the first batch",
            lambda model, batches, optimizer: train_with(model, batches[:1], optimizer),
        ),
        Mistake(
            "last-loss",
            "only the last loss is returned",
            wrong_train(report="last"),
        ),
    ],
)


def observe_evaluation(program: Program, arguments: Arguments) -> dict:
    """Evaluate a copy of the model; return also what has become of it."""
    model = copy.deepcopy(arguments["model"])
    loss = program(model, list(arguments["batches"]))
    return {
        "loss": loss,
        "model.training afterwards": model.training,
        "gradients stored afterwards": model.table.grad is not None,
        "recorded for gradients": getattr(model, "recorded", False),
    }


def evaluate_with(
    model,
    batches,
    *,
    mode: bool | None = False,
    after: bool | None = None,
    inputs=lambda rows: rows[:, :-1],
    targets=lambda rows: rows[:, 1:],
    average: str = "tokens",
    graph: bool = False,
    count: Callable[[Tensor], int] = lambda rows: rows[:, 1:].numel(),
    recorded: bool = False,
) -> float:
    """Evaluate with one piece replaced."""
    before = model.training
    if mode is not None:
        model.train(mode)
    losses, counts = [], []
    with nullcontext() if graph or recorded else torch.no_grad():
        for rows in batches:
            loss = model(inputs(rows), targets(rows))[1]
            if graph:
                loss.backward()
            losses.append(float(loss.detach()))
            counts.append(count(rows))
    if after is None:
        model.train(before)
    else:
        model.train(after)
    weighted = math.fsum(a * b for a, b in zip(losses, counts, strict=True))
    return {
        "tokens": weighted / sum(counts),
        "batches": sum(losses) / len(losses),
        "sum": weighted,
        "last": losses[-1],
        "first": losses[0],
        "perplexity": math.exp(weighted / sum(counts)),
    }[average]


def reference_evaluate(model, batches) -> float:
    total = count = 0
    with evaluating(model), torch.no_grad():
        for rows in batches:
            inputs, targets = rows[:, :-1], rows[:, 1:]
            total += model(inputs, targets)[1].item() * targets.numel()
            count += targets.numel()
    return total / count


def wrong_evaluate(**pieces) -> Program:
    return partial(evaluate_with, **pieces)


evaluate = Task(
    name="evaluate",
    chapter=CHAPTER,
    label="check-evaluate",
    asks="The mean loss over all targets of all batches, whose B and T may differ, "
    "with the model in evaluation mode and under `torch.no_grad()`; afterwards the "
    "model is in the mode that it had before. Batches as for `train`.",
    arguments={"model": "nn.Module", "batches": "list of (B, T + 1), whole numbers"},
    returns="a number",
    example="""\
>>> class Model(torch.nn.Module):
...     def forward(self, inputs, targets):
...         return None, targets.float().mean()
>>> evaluate(Model(), [torch.tensor([[0, 1]]), torch.tensor([[0, 4, 4, 4]])])
3.25""",
    reference=reference_evaluate,
    make=make_batches,
    observe=observe_evaluation,
    given=["model: a table of the next token's scores, which training mode halves"],
    probes=[
        Probe(0, {"V": 3, "B": 1, "T": 3, "N": 3, "training": True, "uneven": True}),
        Probe(1, {"V": 5, "B": 2, "T": 2, "N": 2, "training": False, "uneven": True}),
    ],
    least={"V": 2},
    mistakes=[
        Mistake(
            "mode-not-restored",
            "the model is left in evaluation mode, so training goes on without dropout",
            wrong_evaluate(after=False),
        ),
        Mistake(
            "always-training-afterwards",
            "the model is left in training mode even if it was not before",
            wrong_evaluate(after=True),
        ),
        Mistake(
            "no-evaluation-mode",
            "the model is not put in evaluation mode: dropout is still on",
            wrong_evaluate(mode=None),
        ),
        Mistake(
            "training-mode",
            "the model is put in training mode: dropout is on",
            wrong_evaluate(mode=True),
        ),
        Mistake(
            "mean-of-means",
            "the batches' means are averaged, though a larger batch should count more",
            wrong_evaluate(average="batches"),
        ),
        Mistake(
            "sum", "the losses are added, not averaged", wrong_evaluate(average="sum")
        ),
        Mistake(
            "last-batch", "only the last batch counts", wrong_evaluate(average="last")
        ),
        Mistake(
            "first-batch",
            "only the first batch counts",
            wrong_evaluate(average="first"),
        ),
        Mistake(
            "perplexity",
            "the perplexity is returned, the exponential of the loss",
            wrong_evaluate(average="perplexity"),
        ),
        Mistake(
            "targets-not-shifted",
            "the targets are not shifted: each token is compared with itself",
            wrong_evaluate(targets=lambda rows: rows[:, :-1]),
        ),
        Mistake(
            "rows-for-columns",
            "inputs and targets are cut by rows: `[:-1]` leaves out the last row, "
            "`[:, :-1]` the last column",
            wrong_evaluate(
                inputs=lambda rows: rows[:-1],
                targets=lambda rows: rows[1:],
                count=lambda rows: rows[1:].numel(),
            ),
        ),
        Mistake(
            "weighted-by-rows",
            "a batch counts by its rows: longer rows have more targets",
            wrong_evaluate(count=len),
        ),
        Mistake(
            "weighted-by-ids",
            "a batch counts by all its ids, the first of each row included, which is "
            "no target",
            wrong_evaluate(count=lambda rows: rows.numel()),
        ),
        Mistake(
            "gradients-recorded",
            "the model runs without `with torch.no_grad():`, so all is recorded for "
            "gradients that nobody wants",
            wrong_evaluate(recorded=True),
        ),
        Mistake(
            "backward",
            "`backward` runs, and its gradients enter the next training step",
            wrong_evaluate(graph=True),
        ),
    ],
)
