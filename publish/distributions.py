"""Try the wheel and the sdist as readers install them.

    python -m publish.distributions            both, in environments of their own
    python -m publish.distributions SITE       those of a built site, in two that take
                                               all but mygpt from this environment

The first form makes a release: it builds both and the release's notes in
_build/release, installs what they ask for from the package index, and runs every
notebook. With the variable MYGPT_TAG, a tag that is not of this version stops it before
anything is built. The second form is part of `make test`.
"""

import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from publish.environments import FOLDER, ROOT, Environment, make, status
from publish.package import build, check_files, files_in_git
from tools.borrowed import borrow
from tools.publication import PACKAGES
from tools.release import version

TRIAL = Path(__file__).with_name("trial.py")
PATIENCE = ROOT / "tools" / "patience.py"
RELEASE, PACKED = ROOT / "_build" / "release", ROOT / "_build" / "packages"
KERNEL = ("nbclient==0.11.0", "ipykernel==6.31.0")
LARGEST_WHEEL = 4e6
WORKBOOK = ROOT / "tests" / "check" / "workbook"
NOTEBOOKS = ("01_tokens", "12_gpt", "tensors")  # run whole at every change


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


def check(sdist: Path, wheel: Path) -> None:
    """Stop if either lacks a file, has one that git does not track, or is too large."""
    for path in (sdist, wheel):
        make.say(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
        check_files(path, files_in_git())
    if wheel.stat().st_size > LARGEST_WHEEL:
        raise make.Stop(f"{wheel.name} is larger than {LARGEST_WHEEL / 1e6:.0f} MB")
    with tarfile.open(sdist) as packed:
        names = [name.partition("/")[2] for name in packed.getnames()]
    needed = {"LICENSE", "LICENSE-prose", "CHANGELOG.md", "pyproject.toml"}
    if missing := needed - set(names):
        raise make.Stop(f"{sdist.name} lacks {', '.join(sorted(missing))}")


def try_out(
    path: Path, python: Path, notebooks: Path, whole: "tuple[str, ...]"
) -> None:
    """Use what is installed from a file as a reader does, from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        for script in (TRIAL, PATIENCE):
            shutil.copy(script, folder)
        shutil.copytree(WORKBOOK, Path(folder, "workbook"))
        shutil.copytree(notebooks, Path(folder, "notebooks"))
        trial = [python, Path(folder, TRIAL.name), version(), *whole]
        make.run(f"a first use of {path.name}", trial)


def release() -> None:
    check_tag(os.environ.get("MYGPT_TAG"))
    said = notes()
    make.install("requirements.txt")
    packed = build(RELEASE)
    check(*packed)
    with tempfile.TemporaryDirectory() as folder:
        command = [make.PYTHON, "-m", "publish.plain", folder]
        make.run("the plain edition", command)
        for path in packed:
            place = Environment("sdist" if path.suffix == ".gz" else "wheel")
            place.install(*KERNEL, f"mygpt[notebooks] @ {path.as_uri()}")
            every = tuple(path.stem for path in sorted(Path(folder).glob("*.ipynb")))
            try_out(path, place.python, Path(folder), every)
    (RELEASE / "notes.md").write_text(said, encoding="utf-8")
    make.say(f"\nThe release is in {RELEASE}")


def of_site(site: Path) -> Callable[[], None]:
    """Try the wheel that a site offers, and the sdist that it was built from."""

    def trial() -> None:
        (sdist,) = PACKED.glob("*.tar.gz")
        (wheel,) = (site / PACKAGES).glob("*.whl")
        check(sdist, wheel)
        for path in (wheel, sdist):
            place = FOLDER / f"borrowed-{path.suffix[1:]}"
            shutil.rmtree(place, ignore_errors=True)
            python, _ = borrow(place)
            pip = [sys.executable, "-m", "pip", "--python", python, "install"]
            options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
            make.run(f"installing {path.name}", [*pip, *options, path])
            whole = NOTEBOOKS if path is wheel else ()
            try_out(path, python, site / "notebooks", whole)

    return trial


if __name__ == "__main__":
    sys.exit(status(of_site(Path(sys.argv[1])) if sys.argv[1:] else release))
