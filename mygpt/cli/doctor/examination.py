"""Whether a device computes in float32 what the CPU computes in float64.

A bar is derived for each operation. The same computation is made on the CPU in float64
with every result rounded to float32, the best that float32 can do. The device may lose
`LOST_BITS` of float32's 24 bits against that: sums in another order and the fast
exponentials of GPUs need a few, and a wrong formula costs more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mygpt.cli.doctor.probes import PROBES, Probe, Side

LOST_BITS = 7
HALF_UNIT = 2.0**-24  # a rounding to float32, relative to the number


@dataclass(frozen=True)
class Finding:
    """How far an operation on a device is from float64 on the CPU.

    part: of the operation, the first that differs or else the farthest off.
    difference: the largest, as a share of the largest number that should come out; of
        whole numbers, the share that is not equal.
    bar: the difference that rounding accounts for.
    error: what the operation raised on the device, or nothing.
    """

    operation: str
    part: str = ""
    difference: float = 0.0
    bar: float = 0.0
    error: str = ""

    @property
    def agrees(self) -> bool:
        return not self.error and self.difference <= self.bar


class Rounded(TorchDispatchMode):
    """Rounds what each operation gives in float64 to float32."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        aliases = [returned.alias_info for returned in func._schema.returns]
        if any(alias and not alias.is_write for alias in aliases):
            return out  # a view of what is rounded already
        changed = args if func._schema.is_mutable and out is None else ()
        for tensor in tree_leaves((out, changed)):
            if isinstance(tensor, Tensor) and tensor.dtype == torch.float64:
                tensor.copy_(tensor.float())
        return out


def examine(device: torch.device | str, seed: int = 0) -> Iterator[Finding]:
    """Yield a finding for each operation, the simple before what is made of them.

    An operation that raises on the device is a finding too. PyTorch's random state and
    its precision of products stay as they were.
    """
    for operation, probe in PROBES.items():
        with torch.random.fork_rng(), torch.enable_grad(), full_precision():
            finding = compare(operation, probe, torch.device(device), seed)
        yield finding


def compare(operation: str, probe: Probe, device: torch.device, seed: int) -> Finding:
    """Make one computation three times, and find the part that is farthest off."""
    cpu = torch.device("cpu")
    with one_thread():
        expected = Side(cpu, torch.float64, seed).results(probe)
        with Rounded():
            rounded = Side(cpu, torch.float64, seed).results(probe)
    try:
        got = Side(device, torch.float32, seed).results(probe)
    except Exception as error:
        reason = f"{error}\n".splitlines()[0].partition(". ")[0]
        return Finding(operation, error=f"{type(error).__name__}: {reason}")
    found = []
    for (part, right), (_, best), (_, here) in zip(expected, rounded, got, strict=True):
        counts = not right.is_floating_point()
        least = max(difference(right, best), HALF_UNIT)
        bar = 0.0 if counts else 2**LOST_BITS * least
        found.append(Finding(operation, part, difference(right, here), bar))
    farthest = max(found, key=lambda one: one.difference / (one.bar or HALF_UNIT))
    return next((one for one in found if not one.agrees), farthest)


@contextmanager
def full_precision() -> Iterator[None]:
    """Multiply matrices in float32 itself, whatever the caller has allowed."""
    try:
        allowed = torch.get_float32_matmul_precision()
    except RuntimeError:  # set by the names that came with PyTorch 2.9: leave it
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(allowed)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, which is faster for tensors as small as these."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def difference(right: Tensor, got: Tensor) -> float:
    """The largest difference as a share of the largest finite number that is right."""
    if right.shape != got.shape:
        return float("inf")
    if not right.is_floating_point():
        return (right != got).double().mean().item()
    same = right == got  # infinities too
    off = torch.where(same, 0.0, (right - got).abs()).nan_to_num(nan=float("inf")).max()
    scale = right[right.isfinite()].abs().max()
    return (off / scale).item() if off else 0.0
