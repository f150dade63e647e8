"""Run unit tests and notebooks with the newest release of what the package uses.

    python -m publish.newest

What only builds or tests the book keeps its pin: a reader installs none of it.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path

from publish.elsewhere import RUN, plain_edition
from publish.environments import FOLDER, ROOT, Environment, make, status

EXTRAS = ("hub", "notebooks")


def used() -> set[str]:
    """The packages that the package and the chapters use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = project["dependencies"]
    lines += [
        line for name in EXTRAS for line in project["optional-dependencies"][name]
    ]
    return {re.match(r"[\w.-]+", line)[0] for line in lines}


def requirements() -> list[str]:
    """The pins of the requirement files, without those of what is used."""
    names = ("requirements/site.txt", "requirements.txt", "requirements/dev.txt")
    lines = [
        line
        for name in names
        for line in (ROOT / name).read_text("utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    ]
    free = used()
    return [
        name if (name := line.partition("==")[0]) in free else line for line in lines
    ]


def newest() -> None:
    chosen = FOLDER / "newest.txt"
    place = Environment("newest")
    chosen.write_text("\n".join(requirements()) + "\n", encoding="utf-8")
    place.install("--upgrade", "-e", ROOT, "-r", chosen)
    found = place.versions()
    listed = [f"{name} {found[name.lower()]}" for name in sorted(used())]
    make.say(f"newest: {', '.join(listed)}")
    with tempfile.TemporaryDirectory() as folder:
        place.run("every notebook", *RUN, folder, *plain_edition(Path(folder)))
    place.run("unit tests", *make.PYTEST[1:], *make.UNIT_TESTS)


if __name__ == "__main__":
    sys.exit(status(newest))
