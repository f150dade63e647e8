"""Build the release's wheel and sdist, and try each in a fresh environment.

    python -m publish.distributions

Writes both, and the release's notes, to _build/release. With the variable MYGPT_TAG, a
tag that is not of this version stops it before anything is built.
"""

import os
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from publish.elsewhere import RUN
from publish.environments import ROOT, Environment, make, status
from tools.release import version

HERE = Path(__file__).parent
RELEASE = ROOT / "_build" / "release"
BUILDER = "build==1.6.1"
KERNEL = ("nbclient==0.11.0", "ipykernel==6.31.0", "psutil==7.2.2")
LARGEST_WHEEL = 4e6
CHAPTER = ROOT / "chapters" / "07_residual_connections.ipynb"
PROGRAM = ROOT / "tests" / "check" / "workbook" / "softmax.py"
NEEDED = (HERE / "trial.py", CHAPTER, PROGRAM)


def check_tag(tag: "str | None") -> None:
    if tag and tag != f"v{version()}":
        raise make.Stop(f"the tag {tag} is not of this version, which is {version()}")


def notes() -> str:
    """What the change log says of this version."""
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for part in re.split(r"^## ", log, flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        if head.split()[0] == version():
            return text.strip() + "\n"
    raise make.Stop(f"CHANGELOG.md has no section for {version()}")


def build() -> "tuple[Path, Path]":
    """The sdist, and the wheel that is built from it."""
    shutil.rmtree(RELEASE, ignore_errors=True)
    tools = Environment("tools")
    tools.install(BUILDER)
    tools.run("building", "-m", "build", "--outdir", RELEASE, ROOT)
    (sdist,), (wheel,) = RELEASE.glob("*.tar.gz"), RELEASE.glob("*.whl")
    for path in (sdist, wheel):
        make.say(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    if wheel.stat().st_size > LARGEST_WHEEL:
        raise make.Stop(f"{wheel.name} is larger than {LARGEST_WHEEL / 1e6:.0f} MB")
    with tarfile.open(sdist) as packed:
        names = [name.partition("/")[2] for name in packed.getnames()]
    needed = {"LICENSE", "LICENSE-prose", "CHANGELOG.md", "pyproject.toml"}
    if missing := needed - set(names):
        raise make.Stop(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    return sdist, wheel


def try_out(path: Path) -> None:
    """Install a file as a reader does, and use it from an empty folder."""
    place = Environment("sdist" if path.name.endswith(".tar.gz") else "wheel")
    place.install(*KERNEL, path)
    with tempfile.TemporaryDirectory() as folder:
        for needed in NEEDED:
            shutil.copy(needed, folder)
        here = Path(folder)
        place.run(f"a first use of {path.name}", here / "trial.py", here, version())
        copied = here / CHAPTER.name
        place.run("a chapter", *RUN, here, copied)


def release() -> None:
    check_tag(os.environ.get("MYGPT_TAG"))
    said = notes()
    for path in build():
        try_out(path)
    (RELEASE / "notes.md").write_text(said, encoding="utf-8")
    make.say(f"\nThe release is in {RELEASE}")


if __name__ == "__main__":
    sys.exit(status(release))
