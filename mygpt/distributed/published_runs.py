"""Published runs beside what `cost` says of them, and by how much it misses.

What each tests is not the same. Of Llama 3 405B the utilisation comes from a table of
its paper and the hours from its model card: the difference is what a run loses that no
step shows, interruptions and later stages with longer texts. GPT-3's utilisation was
measured on 384 devices, and its network is that of the paper's machines: the days on
768 and 1,536 test the communication model, which fails. The two models of 530 billion
parameters, of which one fitted its devices and one did not, test the memory.
"""

import math
from dataclasses import dataclass, replace

from mygpt.distributed.cost import (
    DATA,
    DEVICES,
    MODELS,
    Model,
    Number,
    Plan,
    memory_per_device,
    training_time,
)


@dataclass(frozen=True)
class Published:
    """A run of a paper: what the calculator says, and from where to where it was.

    `quantity` is "device-hours", those of the arithmetic alone, "days" or "bytes" of
    one device.
    """

    name: str
    run: Plan
    quantity: str
    reported: tuple[Number, Number]

    def predicted(self) -> tuple[float, float]:
        """The least and the most that the calculator says."""
        time = training_time(self.run)
        if self.quantity == "days":
            return time.overlapped / 86_400, time.sequential / 86_400
        one = float(sum(memory_per_device(self.run).values()))
        if self.quantity == "device-hours":
            one = self.run.devices * time.arithmetic / 3600
        return one, one

    def miss(self) -> tuple[float, float]:
        """By which shares the least and the most lie outside what was reported."""
        low, high = self.reported
        least, most = (one / min(max(one, low), high) - 1 for one in self.predicted())
        return least, most


_LLAMA = Plan(
    MODELS["Llama 3 405B"],
    DEVICES["H100"],
    devices=2048,  # as many as the batch has sequences; they had 16,384
    share=0.41,
    **(DATA["Llama 3 405B"] | {"kept": "no scores"}),
)
_GPT3 = Plan(
    replace(MODELS["GPT-3 175B"], parameters=174_600_000_000),
    DEVICES["A100"],
    devices=768,
    tokens=300_000_000_000,
    batch_tokens=1536 * 2048,
    kept="inputs",
    at_once=2,
    share=144 / 312,  # what they measured on 384 devices
)
_GPT_530B = replace(
    _GPT3,
    model=Model(529_600_000_000, 105, 20_480, 128, 2048),
    devices=560,
    batch_tokens=2240 * 2048,
    at_once=4,
)
# Llama 3's paper (tokens, batch, share: its table 4) and model card (hours), and
# Narayanan et al. (2021), table 2, ZeRO-3.
PUBLISHED = (
    Published("Llama 3 405B", _LLAMA, "device-hours", (30.84e6, 30.84e6)),
    Published("GPT-3 on 768 A100", _GPT3, "days", (74, 74)),
    Published(
        "GPT-3 on 1,536 A100", replace(_GPT3, devices=1536, at_once=1), "days", (74, 74)
    ),
    Published("530B on 560 A100", _GPT_530B, "bytes", (80e9, math.inf)),
    Published(
        "530B on 640 A100",
        replace(_GPT_530B, devices=640, batch_tokens=2560 * 2048),
        "bytes",
        (0, 80e9),
    ),
)
