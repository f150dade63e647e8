"""What this machine has, and whether a training fits."""

import re
from pathlib import Path

import torch

TIMEOUT = 120.0  # seconds that one process of a run waits for the others
WEIGHT, TRAINED = 4, 16  # bytes for each parameter: float32; with gradient and AdamW's
MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def check_fits(
    parameters: int, device: torch.device, processes: int = 1, parts: int = 1
) -> None:
    """Raise a ValueError for a training that this machine has no memory for.

    `processes` run on this machine, and the model's state is split into `parts`; each
    process holds all weights once, while it starts. Activations come on top, and where
    the free memory is not known (macOS, Windows), nothing is refused.
    """
    free = free_memory(device)
    each = max(WEIGHT * parameters, TRAINED * parameters // parts)
    here = each * (processes if device.type == "cpu" else 1)
    if free is None or here <= free:
        return
    shared = f" for {processes} processes" if processes > 1 else ""
    raise ValueError(
        f"the run is too large for this machine: {parameters:,} parameters need at "
        f"least {in_gigabytes(here)}{shared}, and {in_gigabytes(free)} are free; "
        "expected a smaller model, or more machines and --shard"
    )


def free_memory(device: torch.device) -> int | None:
    """The bytes that a new process can have, or None if the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu":
        return None
    known = [one for one in (_of_machine(), _of_container()) if one is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    try:
        told = MEMINFO.read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", told, re.M)
    return int(found[1]) * 1024 if found else None


def _of_container() -> int | None:
    """What the limit of this process's control group leaves (Linux, version 2)."""
    try:
        most = int((CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((CGROUP / "memory.current").read_text(encoding="ascii"))
        told = (CGROUP / "memory.stat").read_text(encoding="ascii")
    except (OSError, ValueError):  # no limit: the file says "max"
        return None
    cached = re.search(r"^inactive_file (\d+)", told, re.M)
    return most - used + (int(cached[1]) if cached else 0)


def in_gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"
