"""AdamW's step, the training loop, and evaluation."""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from mygpt.check.compare import find_difference
from mygpt.check.model import Model, Piece, alike
from mygpt.check.stages.stage import Stage, also, stage
from mygpt.check.task import Arguments, Draw, Probe, Program, Property, Task
from mygpt.check.tasks.loops import Bigrams, Watch, WatchedOptimizer, remarks
from mygpt.support.modes import evaluating
from mygpt.workbook.asked import ASKED


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
    correct_m: bool = True,
    correct_v: bool = True,
    share_m: Callable[[float], float] = lambda beta: 1 - beta,
    share_v: Callable[[float], float] = lambda beta: 1 - beta,
    state: Callable[[tuple, tuple], tuple] = lambda plain, corrected: plain,
    decays: Callable[[Tensor], bool] = lambda parameter: parameter.ndim >= 2,
    decay_rate: Callable[[float, float], float] = lambda lr, decay: lr * decay,
    decay_after: bool = False,
    decay_in_gradient: bool = False,
    squared: Callable[[Tensor], Tensor] = lambda gradient: gradient**2,
    divisor: Callable[[Tensor, float], Tensor] = lambda v, eps: v.sqrt() + eps,
    momentum: bool = True,
    sign: int = 1,
    averages_swapped: bool = False,
    pace: Callable[[float], float] = lambda lr: lr,
) -> tuple[Tensor, Tensor, Tensor]:
    """AdamW's step in pieces.

    first: the number of the first step.
    share_m, share_v: how much of what is new enters an average.
    averages_swapped: whether the betas are, in the averages alone.
    """
    rate = decay_rate(lr, decay) if decays(parameter) else 0.0
    if decay_in_gradient and decays(parameter):
        gradient = gradient + decay * parameter
    elif not decay_after:
        parameter = parameter * (1 - rate)
    of_m, of_v = (beta2, beta1) if averages_swapped else (beta1, beta2)
    m = of_m * m + share_m(of_m) * gradient
    v = of_v * v + share_v(of_v) * squared(gradient)
    steps = max(step - 1 + first, 1e-9)
    m_hat = m / (1 - beta1**steps) if correct_m else m
    v_hat = v / (1 - beta2**steps) if correct_v else v
    along = m_hat if momentum else gradient
    parameter = parameter - sign * pace(lr) * along / divisor(v_hat, eps)
    if decay_after:
        parameter = parameter * (1 - rate)
    return parameter, *state((m, v), (m_hat, v_hat))


def share(beta: str, name: str) -> Piece:
    return Piece(f"1 - {beta}").rarely(
        **{
            f"no-{name}-share": (f"the factor 1 - {beta} is forgotten", lambda beta: 1),
            f"{name}-share-of-the-old": (
                f"{beta} stands where 1 - {beta} belongs",
                lambda beta: beta,
            ),
        }
    )


ADAMW = Model(
    adamw_with,
    correct_m=Piece(
        "m's correction",
        no_first_correction=("m is not divided by 1 - beta1^step", False),
    ),
    correct_v=Piece(
        "v's correction",
        no_second_correction=("v is not divided by 1 - beta2^step", False),
    ),
    state=Piece(
        "the new m and v",
        corrected_state=(
            "m and v are returned after the division by 1 - beta^step, so the next "
            "step starts from the wrong ones",
            lambda plain, corrected: corrected,
        ),
    ).rarely(
        **alike(
            "{} alone is returned after its division by 1 - beta^step",
            corrected_m=("m", lambda plain, corrected: (corrected[0], plain[1])),
            corrected_v=("v", lambda plain, corrected: (plain[0], corrected[1])),
        )
    ),
    share_m=share("beta1", "first"),
    share_v=share("beta2", "second"),
    first=Piece(
        "the number of the step",
        steps_from_zero=("the steps count from 0: beta^(step - 1) for beta^step", 0),
        steps_from_two=(
            "the steps count one too far: beta^(step + 1) for beta^step",
            2,
        ),
    ),
    decays=Piece(
        "what decays",
        decay_of_vectors=("biases and other vectors decay too", lambda parameter: True),
        no_decay=("there is no weight decay", lambda parameter: False),
    ),
    decay_in_gradient=Piece(
        "the decay",
        decay_in_the_gradient=(
            "the decay is added to the gradient: that is Adam with L2, not AdamW",
            True,
        ),
    ),
    decay_rate=Piece(
        "the decay's rate",
        decay_without_rate=(
            "the decay is not multiplied by the learning rate",
            lambda lr, decay: decay,
        ),
        growth=(
            "the decay has the wrong sign and makes weights grow",
            lambda lr, decay: -lr * decay,
        ),
    ),
    decay_after=Piece(
        "the place of the decay",
        decay_after_the_step=("the decay comes after the step, not before it", True),
    ),
    divisor=Piece(
        "√v + eps",
        eps_inside_the_root=(
            "eps is added inside the root",
            lambda v, eps: (v + eps).sqrt(),
        ),
        no_eps=("eps is forgotten", lambda v, eps: v.sqrt()),
        no_root=("the step is divided by v, not by its root", lambda v, eps: v + eps),
    ),
    squared=Piece(
        "the square",
        no_square=("v averages |gradient|, not its square", torch.abs),
        gradient_for_square=(
            "v averages the gradient itself, not its square",
            lambda gradient: gradient,
        ),
    ),
    momentum=Piece(
        "m", no_momentum=("the step uses the gradient instead of its average m", False)
    ),
    sign=Piece(
        "the sign of the step", uphill=("the step is added, so the loss goes up", -1)
    ),
    given=Piece(
        "beta1 and beta2",
        betas_swapped=(
            "beta1 and beta2 change places",
            lambda *given: (*given[:6], given[7], given[6], *given[8:]),
        ),
    ),
    pace=Piece("lr").rarely(
        no_rate=("the step is not multiplied by lr", lambda lr: 1),
        rate_squared=("lr multiplies the step twice", lambda lr: lr * lr),
    ),
    averages_swapped=Piece(
        "beta1 and beta2",
        betas_of_the_averages_swapped=(
            "beta1 and beta2 change places in the averages m and v, but not in 1 - "
            "beta^step",
            True,
        ),
    ),
).written(
    correct_m=("{it} / (1 - {beta1} ** {step})", "1 - {beta1} ** {step}"),
    correct_v=("{it} / (1 - {beta2} ** {step})", "1 - {beta2} ** {step}"),
    share_m=("1 - {beta1}",),
    share_v=("1 - {beta2}",),
    first=("1 - {beta1} ** {step}", "1 - {beta2} ** {step}", "{step}"),
    state=("@apart",),
    decays=(
        "{parameter}.dim() >= 2",
        "{it} if {parameter}.dim() >= 2 else {parameter}",
        "{decay} * ({parameter}.dim() >= 2)",
        "{parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))",
    ),
    no_decay=(
        "{parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))",
        "+ {parameter} = {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))",
        "{parameter}.dim() >= 2",
    ),
    decay_in_gradient=(
        "{parameter} = {parameter} * (1 - {lr} * {decay})",
        "{parameter} = {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))",
    ),
    decay_rate=("1 - {lr} * {decay}", "{lr} * {decay}"),
    divisor=("{v} ** 0.5 + {eps}", "{it} ** 0.5 + {eps}", "{it} + {eps}"),
    squared=("{gradient} ** 2",),
    momentum=("{m}",),
    pace=("{lr} * {it}",),
)


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
    **vars(ASKED["adamw_step"]),
    parts=("parameter", "m", "v"),
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
    mistakes=ADAMW.mistakes(),
    model=ADAMW,
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
    """Train in pieces; `order` names what is done in each step."""
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


LOOP = Model(
    train_with,
    order=Piece(
        "the order of the calls",
        zero_grad_forgotten=(
            "`zero_grad` is forgotten, so gradients of all steps add up",
            "backward step",
        ),
        zero_grad_once=(
            "`zero_grad` is called once, before the loop, and the gradients add up",
            "once backward step",
        ),
        zero_grad_too_late=(
            "`zero_grad` stands between `backward` and `step`, so nothing is learned",
            "backward zero step",
        ),
        step_before_backward=(
            "`step` comes before `backward`, with the gradients of the batch before",
            "step zero backward",
        ),
        step_finds_no_gradients=(
            "`step` comes before `backward`, when the gradients have been cleared, so "
            "it finds none and nothing is learned",
            "zero step backward",
        ),
        no_step=("`optimizer.step()` is missing", "zero backward"),
        no_backward=("`loss.backward()` is missing", "zero step"),
        backward_twice=(
            "`backward` runs twice, which doubles the gradients",
            "zero backward backward step",
        ),
        step_twice=("`step` runs twice for each batch", "zero backward step step"),
    ),
    targets=Piece(
        "the targets",
        targets_not_shifted=(
            "the targets are not shifted: the model learns to repeat its input",
            lambda rows: rows[:, :-1],
        ),
    ),
    together=Piece(
        "inputs and targets",
        whole_rows=(
            "inputs and targets are both the whole row",
            {"inputs": lambda rows: rows, "targets": lambda rows: rows},
        ),
        backwards=(
            "inputs and targets change places: the model learns the token before",
            {"inputs": lambda rows: rows[:, 1:], "targets": lambda rows: rows[:, :-1]},
        ),
        rows_for_columns=(
            "inputs and targets are cut by rows: `[:-1]` leaves out the last row, "
            "`[:, :-1]` the last column",
            {"inputs": lambda rows: rows[:-1], "targets": lambda rows: rows[1:]},
        ),
        last_target_lost=(
            "the last id of each row is left out: inputs and targets end too early",
            {
                "inputs": lambda rows: rows[:, :-2],
                "targets": lambda rows: rows[:, 1:-1],
            },
        ),
        wrapped_targets=(
            "the targets are made by `roll`: the last one is the row's first token",
            {
                "inputs": lambda rows: rows,
                "targets": lambda rows: rows.roll(-1, dims=1),
            },
        ),
    ),
    choose=Piece(
        "the batch",
        first_batch_again=("every step uses the first batch", lambda all, i: all[0]),
    ),
    mode=Piece(
        "the mode",
        no_training_mode=("the model is not put in training mode: no dropout", None),
        evaluation_mode=(
            "the model is put in evaluation mode: there is no dropout",
            False,
        ),
    ),
    report=Piece(
        "the losses",
        loss_after_the_step=(
            "the losses are from after the steps, not before",
            "after",
        ),
        last_loss=("only the last loss is returned", "last"),
    ),
    given=Piece(
        "the loop",
        return_in_the_loop=(
            "`return` stands inside the loop, so it ends after the first batch",
            lambda model, batches, optimizer: (model, batches[:1], optimizer),
        ),
    ),
).written(
    targets=("{rows}[:, 1:]",),
    together=("{rows}[:, :-1]", "{rows}[:, 1:]", "({rows}[:, :-1], {rows}[:, 1:])"),
    choose=("{batches}[{i}]", "{rows}"),
    mode=("+ {model}.train()", "@without"),
    order=(
        "+ {optimizer}.zero_grad()",
        "+ {loss}.backward()",
        "+ {optimizer}.step()",
        "@without",
    ),
    report=("{loss}.item()", "@without"),
)


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
    **vars(ASKED["train"]),
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
    mistakes=LOOP.mistakes(),
    model=LOOP,
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
    """Evaluate in pieces."""
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


EVALUATION = Model(
    evaluate_with,
    after=Piece(
        "the mode afterwards",
        mode_not_restored=(
            "the model is left in evaluation mode, so training goes on without dropout",
            False,
        ),
        always_training_afterwards=(
            "the model is left in training mode even if it was not before",
            True,
        ),
    ),
    mode=Piece(
        "the mode",
        no_evaluation_mode=(
            "the model is not put in evaluation mode: dropout is on",
            None,
        ),
        training_mode=("the model is put in training mode: dropout is on", True),
    ),
    average=Piece(
        "the mean",
        mean_of_means=(
            "the batches' means are averaged, though a larger batch should count more",
            "batches",
        ),
        sum=("the losses are added, not averaged", "sum"),
        last_batch=("only the last batch counts", "last"),
        first_batch=("only the first batch counts", "first"),
        perplexity=("the perplexity, exp of the loss, is returned", "perplexity"),
    ),
    targets=Piece(
        "the targets",
        targets_not_shifted=(
            "the targets are not shifted: each token is compared with itself",
            lambda rows: rows[:, :-1],
        ),
    ),
    together=Piece(
        "inputs and targets",
        rows_for_columns=(
            "inputs and targets are cut by rows: `[:-1]` leaves out the last row, "
            "`[:, :-1]` the last column",
            {
                "inputs": lambda rows: rows[:-1],
                "targets": lambda rows: rows[1:],
                "count": lambda rows: rows[1:].numel(),
            },
        ),
    ),
    count=Piece(
        "the count of the targets",
        weighted_by_rows=(
            "a batch counts by its rows, but longer ones have more targets",
            len,
        ),
        weighted_by_ids=(
            "a batch counts by all its ids, the first of each row included, which is "
            "no target",
            lambda rows: rows.numel(),
        ),
    ),
    recorded=Piece(
        "`torch.no_grad()`",
        gradients_recorded=(
            "the model runs without `with torch.no_grad():`, so all is recorded for "
            "gradients that nobody wants",
            True,
        ),
    ),
    graph=Piece(
        "`backward`",
        backward=("`backward` runs: its gradients enter the next training step", True),
    ),
).written(
    average=(
        "sum(loss * rows[:, 1:].numel() for loss, rows in zip({losses}, {batches}))"
        " / sum(rows[:, 1:].numel() for rows in {batches})",
        "{it} * {rows}[:, 1:].numel()",
        "sum(rows[:, 1:].numel() for rows in {batches})",
        "{it} / {count}",
        "{total} / {count}",
    ),
    targets=("{rows}[:, 1:]",),
    together=("{rows}[:, :-1]", "{rows}[:, 1:]", "({rows}[:, :-1], {rows}[:, 1:])"),
    count=("{rows}[:, 1:].numel()", "{targets}.numel()"),
    mode=("+ {model}.eval()", "@without"),
    after=("+ {model}.train({mode})", "{mode}", "@without"),
    graph=("@without",),
)


evaluate = Task(
    **vars(ASKED["evaluate"]),
    reference=reference_evaluate,
    make=make_batches,
    observe=observe_evaluation,
    given=["model: a table of the next token's scores, which training mode halves"],
    probes=[
        Probe(0, {"V": 3, "B": 1, "T": 3, "N": 3, "training": True, "uneven": True}),
        Probe(1, {"V": 5, "B": 2, "T": 2, "N": 2, "training": False, "uneven": True}),
    ],
    least={"V": 2},
    mistakes=EVALUATION.mistakes(),
    model=EVALUATION,
)
