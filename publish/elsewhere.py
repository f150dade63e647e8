"""Run every notebook where readers open it: in Colab, or on Binder.

    python -m publish.elsewhere colab     the wheel, beside the versions of colab.txt
    python -m publish.elsewhere binder    what .binder/ installs

Each makes an environment of this Python under _build/environments, and needs the
package index. The packages of colab.txt are those that Colab has; the setup cell must
leave them alone.
"""

import re
import sys
import tempfile
from pathlib import Path

from publish.environments import FOLDER, ROOT, Environment, make, status
from publish.package import build

HERE = Path(__file__).parent
VERSIONS = HERE / "colab.txt"
RUN = ("-m", "publish.run_notebooks")
BINDERS = 2000  # megabytes: what Binder gives to a reader
SITE_TOOLS = ("sphinx", "jupyter-book", "myst-nb", "quickjs-ng")


def colab() -> None:
    """Only the wheel and Colab's versions; the notebooks stand in an empty folder."""
    warn_of_another_python()
    make.install("requirements.txt")
    _, built = build(FOLDER / "wheel")
    place = Environment("colab")
    place.install("-r", VERSIONS)
    before = place.versions()
    with tempfile.TemporaryDirectory() as folder:
        package = f"mygpt[notebooks] @ {built.as_uri()}"
        notebooks = plain_edition(Path(folder), "--package", package)
        place.run("the first cell", *RUN, "--setup", folder, notebooks[-1])
        leave_alone(before, place.versions())
        place.run("every notebook with Colab's versions", *RUN, folder, *notebooks)


def plain_edition(folder: Path, *options: object) -> "list[Path]":
    """The notebooks that readers open, made with the project's own environment."""
    make.install("requirements.txt")
    command = [make.PYTHON, "-m", "publish.plain", folder, *options]
    make.run("the plain edition", command)
    return sorted(folder.glob("*.ipynb"))


def warn_of_another_python() -> None:
    (listed,) = re.findall(r"Python (\d+\.\d+)", VERSIONS.read_text("utf-8"))
    here = ".".join(map(str, sys.version_info[:2]))
    if here != listed:
        make.say(f"!! colab.txt lists packages of Python {listed}; this is {here}")


def leave_alone(before: "dict[str, str]", after: "dict[str, str]") -> None:
    """Stop if the setup cell changed a package that was there."""
    changed = [
        f"{name} {version} became {after.get(name, 'nothing')}"
        for name, version in before.items()
        if after.get(name) != version
    ]
    new = [f"{name} {after[name]}" for name in sorted(after.keys() - before.keys())]
    make.say(f"the setup cell added {', '.join(new)}")
    if changed:
        raise make.Stop(f"the setup cell replaces what Colab has: {', '.join(changed)}")


def binder() -> None:
    """As repo2docker does: the requirements from the repository's root."""
    place = Environment("binder")
    place.install("-r", ROOT / ".binder" / "requirements.txt")
    size = place.megabytes()
    make.say(f"the environment takes {size:,.0f} MB of disk")
    if found := sorted(place.versions().keys() & set(SITE_TOOLS)):
        raise make.Stop(f".binder/ installs what only the site needs: {found}")
    place.run("JupyterLab starts", "-m", "jupyterlab", "--version")
    memory = f"--memory={BINDERS}"
    with tempfile.TemporaryDirectory() as folder:
        notebooks = plain_edition(Path(folder))
        place.run("every notebook on Binder", *RUN, memory, folder, *notebooks)


PLACES = {"colab": colab, "binder": binder}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in PLACES:
        make.say(f"expected one of {', '.join(PLACES)}; got {sys.argv[1:]}")
        return 2
    return status(PLACES[sys.argv[1]])


if __name__ == "__main__":
    sys.exit(main())
