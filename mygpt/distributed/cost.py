"""What one training run costs on many devices: memory, traffic, time.

The formulas are those of the papers that the docstrings name, and hold for training
in mixed precision with Adam whose batch is split over the devices, each of which
computes the whole model for its sequences. Bytes, FLOPs and seconds are plain numbers;
a gigabyte is 10⁹ bytes. What is left out: latency, the optimizer's own time, logits,
the allocator's waste, and models whose layers or matrices are split (tensor and
pipeline parallelism).
"""

import json
import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mygpt.support.arguments import (
    check_choice,
    check_range,
    is_real,
    is_whole,
    store_numbers,
)

Number = int | float

# Models, devices and published runs; the explorer Scale reads the same file.
STORED = json.loads(Path(__file__).with_name("training_runs.json").read_text("utf-8"))
LIMITS: dict[str, int] = STORED["limits"]  # of whole numbers, from 1
MOST = 1e21  # bytes, FLOPs a second, bytes a second
SPREADS = ("copies", "optimizer", "sharded")
KEPT = ("everything", "no scores", "inputs")
WEIGHT, GRADIENT, OPTIMIZER = 2, 2, 12  # bytes for each parameter: ZeRO, section 3.1
INTERRUPTIONS = 419 / (54 * 24 * 16_384)  # unexpected, in a device-hour: Llama 3, 3.3.4


def check_within_limits(**values: object) -> None:
    """Raise a ValueError unless each is a whole number from 1 to its limit."""
    for name, value in values.items():
        most = LIMITS[name]
        if not is_whole(value) or not 1 <= value <= most:
            raise ValueError(
                f"{name} must be a whole number from 1 to {most:,}, got {value!r}"
            )


@dataclass(frozen=True)
class Model:
    """The numbers of a GPT that its training costs depend on."""

    parameters: int
    num_layers: int
    embed_dim: int
    num_heads: int
    length: int
    """Tokens in a training sequence."""

    def __post_init__(self) -> None:
        store_numbers(self)
        check_within_limits(**vars(self))


@dataclass(frozen=True)
class Device:
    """A device that computes, and its connections.

    Bandwidths are in bytes a second and in one direction: makers often give the sum of
    both. `within` is that of one device to the others of its machine, `between` that of
    a whole machine, of `per_machine` devices, to the other machines.
    """

    memory: Number
    peak: Number
    """FLOPs a second, of products of 16-bit numbers where the device has them."""
    within: Number
    between: Number
    per_machine: int = 1

    def __post_init__(self) -> None:
        numbers = dict(vars(self))
        check_within_limits(per_machine=numbers.pop("per_machine"))
        check_range(1, MOST, **numbers)


MODELS = {name: Model(**one) for name, one in STORED["models"].items()}
# Peaks, memories and NVLink, of which half is one direction: NVIDIA's data sheets.
# Between machines, 200 Gbit/s for each A100 (Narayanan et al., 2021, section 5) and 400
# for each H100 (Llama 3, 3.3.1). The laptop's core is a setting, near what we measure.
DEVICES = {name: Device(**one) for name, one in STORED["devices"].items()}
# Tokens and batches of GPT-3 and Llama 3 are theirs; the rest are settings.
DATA: dict[str, dict[str, Any]] = STORED["data"]
HOME = 12.5e6  # bytes a second: 100 Mbit/s


@dataclass(frozen=True)
class Plan:
    """One training run: a model, its data, and `devices` that share each batch.

    `spread` says what every device holds: "copies" of everything, all but the
    "optimizer", which is split over the devices (ZeRO's first stage), or nothing whole:
    "sharded" (its third stage, and PyTorch's FSDP). A device takes `at_once` sequences
    through the model together, and the next after them. For the backward pass it has
    "everything" that the forward pass computed, all but attention's scores and their
    softmax ("no scores"), or the "inputs" of the layers alone, and computes the rest
    again. `share` is the hardware utilisation: a second forward pass counts, unlike in
    PaLM's model FLOPs utilisation.
    """

    model: Model
    device: Device
    devices: int = field(kw_only=True)
    tokens: int = field(kw_only=True)
    batch_tokens: int = field(kw_only=True)
    spread: str = field(default="sharded", kw_only=True)
    kept: str = field(default="no scores", kw_only=True)
    at_once: int = field(default=1, kw_only=True)
    share: Number = field(default=0.4, kw_only=True)

    def __post_init__(self) -> None:
        store_numbers(self)
        check_within_limits(
            tokens=self.tokens,
            batch_tokens=self.batch_tokens,
            at_once=self.at_once,
            devices=self.devices,
        )
        check_choice(SPREADS, spread=self.spread)
        check_choice(KEPT, kept=self.kept)
        if not is_real(self.share) or not 0 < self.share <= 1:
            raise ValueError(
                f"share must be above 0 and at most 1, got {self.share!r}: "
                "0.4 for 40 % of the peak"
            )
        if not self.sequences:
            raise ValueError(
                f"a batch of {self.batch_tokens:,} tokens has no whole sequence of "
                f"{self.model.length:,}: take a larger batch or a shorter length"
            )
        if self.devices > self.sequences:
            raise ValueError(
                f"a batch of {self.sequences:,} sequences cannot be split over "
                f"{self.devices:,} devices: take fewer devices or a larger batch"
            )

    @property
    def sequences(self) -> int:
        """Whole sequences in a batch."""
        return self.batch_tokens // self.model.length

    @property
    def steps(self) -> int:
        """Steps until all tokens are used."""
        return math.ceil(self.tokens / (self.sequences * self.model.length))

    @property
    def most_sequences(self) -> int:
        """Sequences of the device that has most of a batch; the others wait for it."""
        return math.ceil(self.sequences / self.devices)


@dataclass(frozen=True)
class Times:
    """Seconds of arithmetic and of talking, and the two ways to put them together."""

    arithmetic: float
    talking: float

    @property
    def overlapped(self) -> float:
        """The least: both go on together all the time."""
        return max(self.arithmetic, self.talking)

    @property
    def sequential(self) -> float:
        """The most: the device talks while nothing is computed."""
        return self.arithmetic + self.talking


def training_flops_per_token(model: Model, kept: str = "no scores") -> int:
    """FLOPs of training for one token: 6N, and 12LCT for scores and values.

    Kaplan et al. (2020) count 6N; the rest is attention's part, as in PaLM's appendix B
    and as `mygpt.sizes` counts it. Where only the inputs of the layers are kept, a
    second forward pass comes on top, 8N and 16LCT: Narayanan et al. (2021), equation 3.
    """
    scores = model.num_layers * model.embed_dim * model.length
    passes = 4 if kept == "inputs" else 3  # a backward pass is two forward passes
    return passes * (2 * model.parameters + 4 * scores)


def activations(model: Model, sequences: int, kept: str = "no scores") -> int:
    """Bytes kept for the backward pass of so many sequences, in 16 bits.

    Korthikanti et al. (2022), equation 1: TC(34 + 5HT/C) in each layer, of which the
    second part is the scores'. With "inputs", 2TC in each layer, and on top what one
    layer has without its scores while it is computed again.
    """
    T, C, L = model.length, model.embed_dim, model.num_layers
    rest, scores = 34 * T * C, 5 * model.num_heads * T * T
    if kept == "inputs":
        return sequences * (L * 2 * T * C + rest)
    return sequences * L * (rest + scores * (kept == "everything"))


def memory_per_device(plan: Plan) -> dict[str, Number]:
    """Bytes of one device, by what they are for.

    Rajbhandari et al. (2020), section 3.1: 2 bytes of weights, 2 of gradients and 12 of
    the optimizer for each parameter, each divided by the devices where it is split. A
    sharded model has one layer whole, weights and gradients, while it computes it (Zhao
    et al., 2023).
    """
    N, n = plan.model.parameters, plan.devices
    states = n if plan.spread == "sharded" else 1
    whole = (WEIGHT + GRADIENT) * N / plan.model.num_layers if states > 1 else 0.0
    at_once = min(plan.at_once, plan.most_sequences)
    return {
        "weights": WEIGHT * N / states,
        "gradients": GRADIENT * N / states,
        "optimizer": OPTIMIZER * N / (1 if plan.spread == "copies" else n),
        "one layer, whole": whole,
        "activations": activations(plan.model, at_once, plan.kept),
    }


def fits(plan: Plan) -> bool:
    """Whether a device's memory holds its part of the run."""
    return sum(memory_per_device(plan).values()) <= plan.device.memory


def least_devices(plan: Plan) -> int | None:
    """The fewest devices that the run fits on, spread as it is; None if none do."""
    counts = range(1, min(plan.sequences, LIMITS["devices"]) + 1)
    place = bisect_left(
        counts, True, key=lambda count: fits(replace(plan, devices=count))
    )
    return counts[place] if place < len(counts) else None


def traffic_per_step(plan: Plan) -> float:
    """Bytes that one device sends in a step, and as many that it receives.

    A ring all-reduce of the gradients sends 2(n − 1)/n times their bytes (Patarasuk and
    Yuan, 2009); with the optimizer split, a reduce-scatter and an all-gather of the
    weights send the same. A sharded model gathers its weights twice and scatters its
    gradients, 3(n − 1)/n (Rajbhandari et al., 2020, section 7), and does so again for
    every `at_once` sequences.
    """
    passes = 2
    if plan.spread == "sharded":
        passes = 3 * math.ceil(plan.most_sequences / plan.at_once)
    return passes * GRADIENT * plan.model.parameters * (plan.devices - 1) / plan.devices


def bandwidth(plan: Plan) -> Number:
    """Bytes a second around the ring: of its slowest part, once it leaves a machine."""
    device = plan.device
    if plan.devices <= device.per_machine:
        return device.within
    return min(device.within, device.between)


def step_time(plan: Plan) -> Times:
    """Seconds of one step."""
    tokens = plan.most_sequences * plan.model.length
    flops = tokens * training_flops_per_token(plan.model, plan.kept)
    return Times(
        arithmetic=flops / (plan.device.peak * plan.share),
        talking=traffic_per_step(plan) / bandwidth(plan),
    )


def training_time(plan: Plan) -> Times:
    """Seconds of all steps, without an interruption."""
    step = step_time(plan)
    return Times(plan.steps * step.arithmetic, plan.steps * step.talking)


def device_hours(plan: Plan) -> tuple[float, float]:
    """The least and the most: with full overlap and without any."""
    time = training_time(plan)
    hours = plan.devices / 3600
    return hours * time.overlapped, hours * time.sequential


def interruptions(plan: Plan) -> tuple[float, float]:
    """Unexpected interruptions to expect, least and most, at Llama 3's rate.

    419 in 54 days on 16,384 devices: one in about 51,000 device-hours. Other machines
    have other rates.
    """
    least, most = device_hours(plan)
    return least * INTERRUPTIONS, most * INTERRUPTIONS


def limit(plan: Plan) -> str:
    """What limits a run: "memory", "network", "batch" or "arithmetic".

    The network does when talking takes longer than the arithmetic; the batch, when it
    has too few sequences for twice the devices.
    """
    if not fits(plan):
        return "memory"
    step = step_time(plan)
    if step.talking > step.arithmetic:
        return "network"
    return "batch" if 2 * plan.devices > plan.sequences else "arithmetic"
