"""The command `mygpt doctor`: examine a device, and say what to do."""

import argparse

import torch

from mygpt.cli.doctor.examination import Finding, examine
from mygpt.cli.train import usable_device

FALLBACK = (
    "PYTORCH_ENABLE_MPS_FALLBACK=1 lets the CPU compute what MPS has not implemented."
)
ON_CPU = ", or train on the CPU: mygpt train ... --device cpu"
CONTIGUOUS = "It is right where a tensor is not transposed: call .contiguous() on it."


def run(options: argparse.Namespace) -> int:
    """Print a line for each operation, then what to do; return the exit status."""
    device = usable_device(best_device() if options.device is None else options.device)
    print(f"{device} in float32, with PyTorch {torch.__version__}")
    print(f"{'':33}{'difference':>10}  {'allowed':>7}", flush=True)
    findings = []
    for finding in examine(device):
        findings.append(finding)
        print(as_line(finding), flush=True)
    print(f"\n{advice(findings, device)}")
    return 0 if all(finding.agrees for finding in findings) else 1


def best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def as_line(finding: Finding) -> str:
    if finding.error:
        return f"{finding.operation:33}failed: {finding.error}"
    line = f"{finding.operation:33}{finding.difference:10.1e}  {finding.bar:7.1e}"
    return line if finding.agrees else f"{line}  DIFFERS: {finding.part}"


def advice(findings: list[Finding], device: torch.device) -> str:
    """What the findings come to, and what to do."""
    wrong = {found.operation: found for found in findings if not found.agrees}
    if not wrong:
        return f"All {len(findings)} agree with float64 on the CPU."
    first = next(iter(wrong.values()))
    what = f"{first.operation} ({first.part or 'failed'})"
    told = [f"{len(wrong)} of {len(findings)} do not agree. The first is {what};"]
    told.append("operations further down may differ because of it.")
    if any("NotImplementedError" in found.error for found in wrong.values()):
        told += [FALLBACK] if device.type == "mps" else []
    if first.operation.endswith(", transposed"):
        told.append(CONTIGUOUS)
    told.append(f"Try another PyTorch than {torch.__version__}")
    elsewhere = ", or another computer" if device.type == "cpu" else ON_CPU
    return " ".join(told) + elsewhere + "."
