"""Bring colab.txt up to date with the list of packages that Colab publishes.

    python -m publish.colab_versions pip-freeze.txt os-info.txt

Both files are of https://github.com/googlecolab/backend-info. The packages stay those
of colab.txt. One that Colab no longer has is dropped: the setup cell installs it.
"""

import re
import sys
from datetime import date
from pathlib import Path

VERSIONS = Path(__file__).parent / "colab.txt"
# torch is listed by the address of its wheel.
LISTED = re.compile(r"([\w.-]+)(?:==| @ https://\S+/[\w.]+?-)(\d[\w.]*)\S*")
HEAD = """\
# What Colab has of the packages that a notebook meets, on {date}: Python {python}.
# From pip-freeze.txt of https://github.com/googlecolab/backend-info, written by
# publish/colab_versions.py. `make colab` runs every notebook with these versions.
"""


def versions(text: str) -> dict[str, str]:
    """Version by name, in a requirements file or a freeze."""
    found = filter(None, map(LISTED.match, text.splitlines()))
    return {re.sub(r"[-_.]+", "-", m[1]).lower(): m[2] for m in found}


def updated(old: str, freeze: str, system: str, day: str) -> str:
    """The list with the versions of a freeze and the Python of `os-info.txt`."""
    (python,) = re.findall(r"^Python (\d+\.\d+\.\d+)", system, re.MULTILINE)
    there = versions(freeze)
    lines = [
        f"{name}=={there[name]}" for name in sorted(versions(old)) if name in there
    ]
    if not lines:
        raise SystemExit("the freeze names no package of colab.txt")
    return HEAD.format(date=day, python=python) + "\n".join(lines) + "\n"


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("expected two files: pip-freeze.txt os-info.txt")
    freeze, system = (Path(name).read_text("utf-8") for name in sys.argv[1:])
    old = VERSIONS.read_text("utf-8")
    day = date.today().isoformat()
    VERSIONS.write_text(updated(old, freeze, system, day), encoding="utf-8")


if __name__ == "__main__":
    main()
