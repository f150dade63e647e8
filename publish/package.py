"""Build the package's sdist and, from it, the wheel that readers install.

    python -m publish.package FOLDER

Both are built from copies in which nothing of an earlier build is left.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from publish.environments import ROOT, make, status

BESIDE = ("*.toml", "MANIFEST.in", "README.md", "LICENSE*", "CHANGELOG.md", "*.cff")
SDIST = (
    "import os, sys; from setuptools.build_meta import build_sdist;"
    "os.chdir(sys.argv[1]); build_sdist(sys.argv[2], {'quiet': 'yes'})"
)


def build(folder: Path, root: Path = ROOT) -> tuple[Path, Path]:
    """Write the sdist and the wheel into a new folder, and return their paths."""
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as copy:
        compiled = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / "mygpt", Path(copy, "mygpt"), ignore=compiled)
        for path in (path for pattern in BESIDE for path in root.glob(pattern)):
            shutil.copy(path, copy)
        make.run("building the sdist", [make.PYTHON, "-c", SDIST, copy, folder])
    (sdist,) = folder.glob("*.tar.gz")
    pip = [make.PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    options = ["--no-build-isolation", "--wheel-dir", folder]
    make.run("building the wheel", [*pip, *options, sdist])
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def files_in(path: Path) -> set[str]:
    """The package's files in a wheel or an sdist, as "mygpt/…"."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    else:
        with tarfile.open(path) as packed:
            members = [each for each in packed.getmembers() if each.isfile()]
            names = [each.name.partition("/")[2] for each in members]
    return {name for name in names if name.startswith("mygpt/")}


def files_in_git(root: Path = ROOT) -> set[str]:
    """The package's files that git tracks."""
    command = ["git", "ls-files", "-z", "mygpt"]
    listed = subprocess.check_output(command, cwd=root).decode("utf-8")
    return set(filter(None, listed.split("\0")))


def check_files(packed: Path, expected: set[str]) -> None:
    """Stop unless a wheel or an sdist has the expected files and no other."""
    found = files_in(packed)
    if lost := sorted(expected - found):
        more = f" and {len(lost) - 1} more" if lost[1:] else ""
        raise make.Stop(f"{packed.name} lacks {lost[0]}{more}")
    if added := sorted(found - expected):
        raise make.Stop(f"git lacks {added[0]}, which {packed.name} has")


def main() -> int:
    if len(sys.argv) != 2:
        make.say(f"expected FOLDER, got {sys.argv[1:]}")
        return 2
    return status(lambda: build(Path(sys.argv[1])) and None)


if __name__ == "__main__":
    sys.exit(main())
