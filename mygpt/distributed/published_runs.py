"""Published runs beside what `cost` says of them, and by how much it misses.

What each tests is not the same. Of Llama 3 405B the utilisation comes from a table of
its paper and the hours from its model card: the difference is what a run loses that no
step shows, interruptions and later stages with longer texts. GPT-3's utilisation was
measured on 384 devices, and its network is that of the paper's machines: the days on
768 and 1,536 test the communication model, which fails. The two models of 530 billion
parameters, of which one fitted its devices and one did not, test the memory.
"""

import math
from dataclasses import dataclass

from mygpt.distributed.cost import (
    DEVICES,
    STORED,
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


def _published(
    name: str, quantity: str, reported: list, model: str, device: str, plan: dict
) -> Published:
    """Make a stored run; a bound that was not reported is infinite."""
    low, high = (math.inf if one is None else one for one in reported)
    shape = Model(**STORED["published_models"][model])
    run = Plan(shape, DEVICES[device], **plan)
    return Published(name, run, quantity, (low, high))


# Llama 3's paper (tokens, batch, share: its table 4) and model card (hours), with as
# many devices as the batch has sequences: they had 16,384. The others: Narayanan et al.
# (2021), table 2, ZeRO-3; their share is 144 of 312 TFLOP/s, measured on 384 devices.
PUBLISHED = tuple(_published(**one) for one in STORED["published"])
