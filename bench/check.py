"""How long a check takes beyond importing PyTorch, and how soon a save is noticed.

    python -m bench.check [WORKBOOK]

Each task of a solved workbook (default: the tests' own) is checked three times by
`mygpt check`; the median stands beside that of `python -c "import torch"`. Then a file
is saved ten times under `--watch`, with the time to the first line of the answer.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.machine import print_machine
from mygpt.check import TASKS

WORKBOOK = Path(__file__).parents[1] / "tests" / "check" / "workbook"


def seconds(*command: str | Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def median(*command: str | Path) -> float:
    return statistics.median(seconds(*command) for _ in range(3))


def notice() -> list[float]:
    """Save a file again and again; give the times until it is checked."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gelu.py")
        path.write_text((WORKBOOK / "gelu.py").read_text())
        command = [sys.executable, "-m", "mygpt", "check", "gelu", path, "--watch"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            process.stdout.readline()
            for i in range(10):
                time.sleep(0.37)
                start = time.perf_counter()
                path.write_text(path.read_text() + f"# save {i}\n")
                process.stdout.readline()
                times.append(time.perf_counter() - start)
            process.terminate()
    return times


def main() -> None:
    print_machine()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else WORKBOOK
    torch = median("-c", "import torch")
    print(f"import torch {torch:.2f} s; beyond it:")
    for name in TASKS:
        taken = median("-m", "mygpt", "check", name, folder / f"{name}.py")
        print(f"  {name:20} {taken - torch:5.2f} s", flush=True)
    times = notice()
    print(
        f"a save is answered after {statistics.median(times):.2f} s "
        f"(median of 10), {max(times):.2f} s at most"
    )


if __name__ == "__main__":
    main()
