"""How large the noise should be: beside what the other settings change here.

    python -m tools.processors.trial

For each operation of the probe: the root mean square of the change, in units of the
last place of a float32 of the result's typical size. On an AMD EPYC (family 25, model
17; torch 2.13.0) the settings change up to 2.5 units in products and 0.3 to 0.8 in the
others; 1 bit of noise changes 1.1 and 0.6, 2 bits 1.4 and 1.0, 3 bits 2.2 and 1.9. At
2 bits no operation is disturbed by less than half of what a real setting does, and the
curves by no more than twice as much.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tools.processors.settings import ALL, ROOT, Setting, noise

COMPARED = [one for one in ALL if one.possible and not one.name.startswith("noise")]
SIZES = [(f"{bits} bits", noise(1, bits)) for bits in (1, 2, 3, 4)]


def results(setting: Setting, folder: str) -> dict[str, np.ndarray]:
    path = Path(folder, "results.npz")
    subprocess.run(
        [sys.executable, "-m", "tools.processors.probe", "--save", path],
        cwd=ROOT,
        env={**os.environ, **setting.environment()},
        check=True,
    )
    with np.load(path) as found:
        return dict(found)


def change(plain: np.ndarray, other: np.ndarray) -> float:
    """The root mean square of the change, in units of the last place."""
    unit = np.sqrt(np.square(plain, dtype=float).mean()) * 2.0**-23
    return float(np.sqrt(np.square(other.astype(float) - plain).mean()) / unit)


def main() -> None:
    rows = [(one.name, one) for one in COMPARED] + SIZES
    with tempfile.TemporaryDirectory() as folder:
        found = {name: results(setting, folder) for name, setting in rows}
    plain = found.pop("plain")
    print(f"{'':26}", *(f"{name:>12}" for name in found))
    for name, value in plain.items():
        moved = (change(value, other[name]) for other in found.values())
        print(f"{name:26}", *(f"{size:12.2f}" for size in moved))


if __name__ == "__main__":
    main()
