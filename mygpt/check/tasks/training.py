"""AdamW's step, the training loop, and evaluation."""

import copy
import math
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor

from mygpt.check.compare import find_difference
from mygpt.check.locate.stage import also, stage
from mygpt.check.reference import Reference, last, same
from mygpt.check.task import Arguments, Draw, Hints, Property, probes, remarks_on_calls
from mygpt.check.tasks import package
from mygpt.check.tasks.loops import Bigrams, WatchedOptimizer, remarks


def make_step(
    draw: Draw, C: int, F: int, step: int, eps: float = 0.1, axes: int = 2
) -> Arguments:
    """Draw a parameter, its gradient and state."""
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
    """Let PyTorch's AdamW take the step."""
    after, m, v = parameter.clone(), m.clone(), v.clone()
    rates = {"lr": lr, "weight_decay": decay if parameter.ndim >= 2 else 0.0}
    betas = {"beta1": beta1, "beta2": beta2, "eps": eps}
    steps = [torch.tensor(float(step - 1))]
    with torch.no_grad():
        package.adamw_step(
            [after], [gradient], [m], [v], state_steps=steps, **rates, **betas
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
    first=1,
    correct_m=True,
    correct_v=True,
    share_m=lambda beta: 1 - beta,
    share_v=lambda beta: 1 - beta,
    state=same,
    decays=lambda parameter: parameter.ndim >= 2,
    decay_rate=lambda lr, decay: lr * decay,
    decay_after=False,
    decay_in_gradient=False,
    squared=torch.square,
    divisor=lambda v, eps: v.sqrt() + eps,
    momentum=True,
    sign=1,
    averages_swapped=False,
    pace=same,
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


ADAMW = Reference(
    adamw_with,
    """
    [correct_m] m's correction = {it} / (1 - {beta1} ** {step}) | 1 - {beta1} ** {step}
    no-first-correction = False: m is not divided by 1 - beta1^step
    [correct_v] v's correction = {it} / (1 - {beta2} ** {step}) | 1 - {beta2} ** {step}
    no-second-correction = False: v is not divided by 1 - beta2^step
    [state] the new m and v = @apart
    corrected-state: m and v are returned after the division by 1 - beta^step, so the
        next step starts from the wrong ones
    ~ corrected-m: m alone is returned after its division by 1 - beta^step
    ~ corrected-v: v alone is returned after its division by 1 - beta^step
    [share_m] 1 - beta1 = 1 - {beta1}
    ~ no-first-share = 1: the factor 1 - beta1 is forgotten
    ~ first-share-of-the-old: beta1 stands where 1 - beta1 belongs
    [share_v] 1 - beta2 = 1 - {beta2}
    ~ no-second-share = 1: the factor 1 - beta2 is forgotten
    ~ second-share-of-the-old: beta2 stands where 1 - beta2 belongs
    [first] the number of the step = 1 - {beta1} ** {step} | 1 - {beta2} ** {step}
        | {step}
    steps-from-zero = 0: the steps count from 0: beta^(step - 1) for beta^step
    steps-from-two = 2: the steps count one too far: beta^(step + 1) for beta^step
    [decays] what decays = {parameter}.dim() >= 2
        | {it} if {parameter}.dim() >= 2 else {parameter}
        | {decay} * ({parameter}.dim() >= 2)
        | {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))
    decay-of-vectors = True: biases and other vectors decay too
    no-decay = False: there is no weight decay
    = {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))
        | + {parameter} = {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))
        | {parameter}.dim() >= 2
    [decay_in_gradient] the decay = {parameter} = {parameter} * (1 - {lr} * {decay})
        | {parameter} = {parameter} * (1 - {lr} * {decay} * ({parameter}.dim() >= 2))
    decay-in-the-gradient = True: the decay is added to the gradient: that is Adam with
        L2, not AdamW
    [decay_rate] the decay's rate = 1 - {lr} * {decay} | {lr} * {decay}
    decay-without-rate: the decay is not multiplied by the learning rate
    growth: the decay has the wrong sign and makes weights grow
    [decay_after] the place of the decay
    decay-after-the-step = True: the decay comes after the step, not before it
    [divisor] √v + eps = {v} ** 0.5 + {eps} | {it} ** 0.5 + {eps} | {it} + {eps}
    eps-inside-the-root: eps is added inside the root
    no-eps: eps is forgotten
    no-root: the step is divided by v, not by its root
    [squared] the square = {gradient} ** 2
    no-square: v averages |gradient|, not its square
    gradient-for-square: v averages the gradient itself, not its square
    [momentum] m = {m}
    no-momentum = False: the step uses the gradient instead of its average m
    [sign] the sign of the step
    uphill = -1: the step is added, so the loss goes up
    [given] beta1 and beta2
    betas-swapped: beta1 and beta2 change places
    [pace] lr = {lr} * {it}
    ~ no-rate = 1: the step is not multiplied by lr
    ~ rate-squared: lr multiplies the step twice
    [averages_swapped] beta1 and beta2
    betas-of-the-averages-swapped = True: beta1 and beta2 change places in the averages
        m and v, but not in 1 - beta^step
    """,
    corrected_state=last,
    corrected_m=lambda plain, corrected: (corrected[0], plain[1]),
    corrected_v=lambda plain, corrected: (plain[0], corrected[1]),
    first_share_of_the_old=same,
    second_share_of_the_old=same,
    decay_without_rate=last,
    growth=lambda lr, decay: -lr * decay,
    eps_inside_the_root=lambda v, eps: (v + eps).sqrt(),
    no_eps=lambda v, eps: v.sqrt(),
    no_root=lambda v, eps: v + eps,
    no_square=torch.abs,
    gradient_for_square=same,
    betas_swapped=lambda *given: (*given[:6], given[7], given[6], *given[8:]),
    rate_squared=lambda lr: lr * lr,
)


def stages_of_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps, decay):
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


MODEL_HINTS = Hints(
    lines=(("model", ("model.eval()", "model.train()", "model.zero_grad()"), 1.5),)
)
STEP_HINTS = Hints(
    lines=(
        ("optimizer", ("optimizer.zero_grad()", "optimizer.step()"), 1.5),
        ("loss", ("loss.backward()",), 2.4),
    )
)

adamw_step = ADAMW.task(
    "adamw_step",
    parts=("parameter", "m", "v"),
    reference=reference_step,
    make=make_step,
    stages=stages_of_step,
    probes=probes("C F step eps axes", "2 3 1 | 3 2 3 | 3 0 2 | 2 2 2 1.0 | 2 3 2 _ 3"),
    least={"F": 0, "axes": 3},
    fixed=["step", "lr", "beta1", "beta2", "eps", "decay", "m", "v"],
)


def make_batches(
    draw: Draw, V: int, B: int, T: int, N: int, training: bool, uneven=False, scale=1.0
) -> Arguments:
    """Draw a model and batches."""
    return {
        "model": Bigrams(draw.normal(V, V), scale).train(training),
        "batches": [
            draw.ids(B + i * uneven, T + 1 + (N - i) * uneven, below=V)
            for i in range(N)
        ],
    }


def watched(program, arguments):
    """Train a copy of the model; return the losses, its table and what was noted."""
    model = copy.deepcopy(arguments["model"])
    batches = list(arguments["batches"])
    optimizer = WatchedOptimizer(model, batches)
    losses = program(model, list(batches), optimizer)
    return losses, model.table.detach(), optimizer.watch


def observe_training(program, arguments):
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


def but_last(rows: Tensor) -> Tensor:
    """Leave out the last column."""
    return rows[:, :-1]


def but_first(rows: Tensor) -> Tensor:
    """Leave out the first column."""
    return rows[:, 1:]


CUT_BY_ROWS = {"inputs": lambda rows: rows[:-1], "targets": lambda rows: rows[1:]}


def train_with(
    model,
    batches,
    optimizer,
    *,
    inputs=but_last,
    targets=but_first,
    mode=True,
    order="zero backward step",
    choose=lambda batches, i: batches[i],
    report="before",
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
        backward = partial(loss.backward, retain_graph=True)
        calls = {"zero": optimizer.zero_grad, "backward": backward}
        for word in order.removeprefix("once").split():
            calls.get(word, optimizer.step)()
        if report == "after":
            loss = model(inputs(rows), targets(rows))[1]
        losses.append(loss.item())
    return losses if report != "last" else losses[-1:]


LOOP = Reference(
    train_with,
    """
    [order] the order of the calls = + {optimizer}.zero_grad() | + {loss}.backward()
        | + {optimizer}.step() | @without
    zero-grad-forgotten = "backward step": `zero_grad` is forgotten, so gradients of all
        steps add up
    zero-grad-once = "once backward step": `zero_grad` is called once, before the loop,
        and the gradients add up
    zero-grad-too-late = "backward zero step": `zero_grad` stands between `backward` and
        `step`, so nothing is learned
    step-before-backward = "step zero backward": `step` comes before `backward`, with
        the gradients of the batch before
    step-finds-no-gradients = "zero step backward": `step` comes before `backward`, when
        the gradients have been cleared, so it finds none and nothing is learned
    no-step = "zero backward": `optimizer.step()` is missing
    no-backward = "zero step": `loss.backward()` is missing
    backward-twice = "zero backward backward step": `backward` runs twice, which doubles
        the gradients
    step-twice = "zero backward step step": `step` runs twice for each batch
    [targets] the targets = {rows}[:, 1:]
    targets-not-shifted: the targets are not shifted: the model learns to repeat its
        input
    [choose] the batch = {batches}[{i}] | {rows}
    first-batch-again: every step uses the first batch
    [mode] the mode = + {model}.train() | @without
    no-training-mode = None: the model is not put in training mode: no dropout
    evaluation-mode = False: the model is put in evaluation mode: there is no dropout
    [report] the losses = {loss}.item() | @without
    loss-after-the-step = "after": the losses are from after the steps, not before
    last-loss = "last": only the last loss is returned
    [given] the loop
    return-in-the-loop: `return` stands inside the loop, so it ends after the first
        batch
    [together] inputs and targets = {rows}[:, :-1] | {rows}[:, 1:]
        | ({rows}[:, :-1], {rows}[:, 1:])
    whole-rows: inputs and targets are both the whole row
    backwards: inputs and targets change places: the model learns the token before
    rows-for-columns: inputs and targets are cut by rows: `[:-1]` leaves out the last
        row, `[:, :-1]` the last column
    last-target-lost: the last id of each row is left out: inputs and targets end too
        early
    wrapped-targets: the targets are made by `roll`: the last one is the row's first
        token
    """,
    targets_not_shifted=but_last,
    first_batch_again=lambda all, i: all[0],
    return_in_the_loop=lambda model, batches, *rest: (model, batches[:1], *rest),
    whole_rows={"inputs": same, "targets": same},
    backwards={"inputs": but_first, "targets": but_last},
    rows_for_columns=CUT_BY_ROWS,
    last_target_lost={
        "inputs": lambda rows: rows[:, :-2],
        "targets": lambda rows: rows[:, 1:-1],
    },
    wrapped_targets={"inputs": same, "targets": lambda rows: rows.roll(-1, dims=1)},
)


HOLDS_GRAPHS = (
    "Your losses still hold their graphs, so memory grows with every step: store "
    "`loss.item()`."
)


def graphs_held(program, arguments):
    """Count the losses that hold a graph."""
    losses = observe_training(program, arguments)["losses"]
    return sum(isinstance(loss, Tensor) and loss.grad_fn is not None for loss in losses)


def keeps_no_graphs(held, arguments):
    """Whether no loss holds a graph."""
    return HOLDS_GRAPHS if held else None


def what_was_noted(program, arguments):
    """Remarks on the first probe whose losses or table are wrong, at most two.

    A right result gets none, however it came about.
    """
    for each in map(train.arguments_of, train.probes):
        losses, table, watch = watched(program, each)
        right = observe_training(train_with, each)
        trained = not find_difference(right["the trained table"], table)
        if trained and not find_difference(right["losses"], losses):
            continue
        found = list(remarks(watch, len(each["batches"])))
        if trained:
            found.append("The model is trained rightly; only the losses are not right.")
        return " ".join(found[:2])
    return ""


train = LOOP.task(
    "train",
    hints=MODEL_HINTS | STEP_HINTS,
    reference=train_with,
    make=make_batches,
    observe=observe_training,
    given=["model: a table of the next token's scores, which training mode halves"],
    # the last one has gradients with norms above 1, and above 10
    probes=probes(
        "V B T N training scale",
        "3 2 3 3 True | 5 2 2 4 False | 4 1 1 3 True | 5 1 2 4 True 40.0",
    ),
    least={"V": 2},
    properties=[
        remarks_on_calls("notes", what_was_noted),
        Property("graphs", graphs_held, keeps_no_graphs),
    ],
    limit=15.0,
)


def observe_evaluation(program, arguments):
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
    mode=False,
    after=same,
    inputs=but_last,
    targets=but_first,
    average="tokens",
    graph=False,
    count=lambda rows: rows[:, 1:].numel(),
    recorded=False,
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
    model.train(after(before))
    weighted = math.fsum(a * b for a, b in zip(losses, counts, strict=True))
    return {
        "tokens": weighted / sum(counts),
        "batches": sum(losses) / len(losses),
        "sum": weighted,
        "last": losses[-1],
        "first": losses[0],
        "perplexity": math.exp(weighted / sum(counts)),
    }[average]


EVALUATION = Reference(
    evaluate_with,
    """
    [after] the mode afterwards = + {model}.train({mode}) | {mode} | @without
    mode-not-restored = False: the model is left in evaluation mode, so training goes on
        without dropout
    always-training-afterwards = True: the model is left in training mode even if it was
        not before
    [mode] the mode = + {model}.eval() | @without
    no-evaluation-mode = None: the model is not put in evaluation mode: dropout is on
    training-mode = True: the model is put in training mode: dropout is on
    [average] the mean
        = sum(loss * rows[:, 1:].numel() for loss, rows in zip({losses}, {batches})) /
        sum(rows[:, 1:].numel() for rows in {batches}) | {it} * {rows}[:, 1:].numel()
        | sum(rows[:, 1:].numel() for rows in {batches}) | {it} / {count}
        | {total} / {count}
    mean-of-means = "batches": the batches' means are averaged, though a larger batch
        should count more
    sum = "sum": the losses are added, not averaged
    last-batch = "last": only the last batch counts
    first-batch = "first": only the first batch counts
    perplexity = "perplexity": the perplexity, exp of the loss, is returned
    [targets] the targets = {rows}[:, 1:]
    targets-not-shifted: the targets are not shifted: each token is compared with itself
    [count] the count of the targets = {rows}[:, 1:].numel() | {targets}.numel()
    weighted-by-rows: a batch counts by its rows, but longer ones have more targets
    weighted-by-ids: a batch counts by all its ids, the first of each row included,
        which is no target
    [recorded] `torch.no_grad()`
    gradients-recorded = True: the model runs without `with torch.no_grad():`, so all is
        recorded for gradients that nobody wants
    [graph] `backward` = @without
    backward = True: `backward` runs: its gradients enter the next training step
    [together] inputs and targets = {rows}[:, :-1] | {rows}[:, 1:]
        | ({rows}[:, :-1], {rows}[:, 1:])
    rows-for-columns: inputs and targets are cut by rows: `[:-1]` leaves out the last
        row, `[:, :-1]` the last column
    """,
    targets_not_shifted=but_last,
    weighted_by_rows=len,
    weighted_by_ids=lambda rows: rows.numel(),
    rows_for_columns={**CUT_BY_ROWS, "count": lambda rows: rows[1:].numel()},
)


evaluate = EVALUATION.task(
    "evaluate",
    hints=MODEL_HINTS,
    reference=evaluate_with,
    make=make_batches,
    observe=observe_evaluation,
    given=["model: a table of the next token's scores, which training mode halves"],
    probes=probes("V B T N training uneven", "3 1 3 3 True True | 5 2 2 2 False True"),
    least={"V": 2},
)
