"""A first use of an installed package: its modules, its commands and its notebooks.

    python trial.py VERSION NOTEBOOK…

Run by the environment's Python, from a copy in a folder that also has patience.py,
notebooks/, the plain edition, and workbook/, solved. The first cell of every notebook
is run, and the whole of those that are named; if all are, the whole workbook is checked
too.
"""

import contextlib
import importlib
import io
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
VERSION, WHOLE = sys.argv[1], sys.argv[2:]
SMALL = ("--layers=1", "--heads=2", "--width=16", "--length=16", "--steps=4", "--quiet")
PATIENT = "--limit=120"  # seconds: the machine may be busy
WRONG = "def softmax(scores):\n    return scores.softmax(0)\n"
SECONDS = 600  # for one cell of a notebook


def expect(what: str, holds: object) -> None:
    if not holds:
        sys.exit(f"Error: expected that {what}")
    print(what, flush=True)


def command(*arguments: object, status: int = 0) -> str:
    """What `mygpt …` prints; another exit status than expected ends the trial."""
    from mygpt.__main__ import main

    sys.argv = ["mygpt", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            found = main()
        except SystemExit as end:
            found = end.code
    if found != status:
        sys.exit(f"Error: {' '.join(sys.argv)}: {found}\n{err.getvalue()}")
    return out.getvalue()


def only_this_package() -> None:
    """No other mygpt can be seen, as that of a checkout from which this was built."""
    seen = {Path(each or ".").resolve() / "mygpt" for each in sys.path}
    found = [each for each in seen if (each / "__init__.py").exists()]
    editable = [each for each in sys.meta_path if "editable" in repr(each).lower()]
    expect("one mygpt can be seen", len(found) == 1 and not editable)

    import mygpt

    place = Path(mygpt.__file__)
    expect("it is an installed one", Path(sys.prefix).resolve() in place.parents)
    expect(f"it is mygpt {VERSION}", mygpt.__version__ == VERSION)


def modules() -> None:
    import mygpt

    found = [each.name for each in pkgutil.walk_packages(mygpt.__path__, "mygpt.")]
    for name in found:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    expect(f"{len(found)} modules can be imported", len(found) > 150)


def starts() -> None:
    """The console script, and `python -m mygpt`, as processes of their own."""
    script = shutil.which("mygpt", path=os.path.dirname(sys.executable))
    expect("the command mygpt is installed", script)
    said = subprocess.check_output([script, "--help"], text=True)
    expect("it lists its commands", "workbook" in said and "train" in said)
    module = [sys.executable, "-m", "mygpt"]
    said = subprocess.check_output(module, text=True)
    expect("python -m mygpt prints the running example", "164" in said)


def explorer() -> None:
    from mygpt import explorers, load_world_model

    small = load_world_model()
    live = explorers.LiveModel(small.model.state_dict(), small.words, num_heads=4)
    live.write_html("live.html")
    expect("an explorer is a page", "<script" in Path("live.html").read_text("utf-8"))


def trained() -> None:
    train = ("train", "stories", *SMALL, "--save-every=2", "--out")
    end = command(*train, "run")
    shutil.rmtree("run/step-00000004")
    expect("a run goes on", command(*train, "run", "--resume") == end)
    said = command("generate", "run", "--prompt", "the", "--tokens", 3)
    expect("a model trains and writes", said.strip())
    for source, target in (("run", "folder"), ("folder", "back")):
        command("convert", source, target)
    expect("a model is converted", Path("folder/model.safetensors").exists())
    expect("and back", list(Path("back").glob("step-*/model.safetensors")))


def checked() -> None:
    command("workbook", "mine")
    expect("the workbook is written", len(list(Path("mine").glob("*.py"))) > 20)
    check = ("check", "softmax", PATIENT)
    expect("a check passes", "right" in command(*check, "workbook/softmax.py"))
    Path("wrong.py").write_text(WRONG, encoding="utf-8")
    said = command(*check, "wrong.py", status=1)
    expect("a check names a mistake", "comes out when" in said)
    if len(WHOLE) == len(list(Path("notebooks").glob("*.ipynb"))):
        said = command("check", "--all", "workbook", PATIENT)
        expect("a solved workbook is right", "28 of 28 right" in said)


def first_cells() -> None:
    """The first two cells of code: what installs the package, and the imports."""
    paths = sorted(Path("notebooks").glob("*.ipynb"))
    for path in paths:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        names: dict = {"install_again": install_again}
        for source in code[:2]:
            source = re.sub(r"%pip .*", "install_again()", source)
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, path.name, "exec"), names)
    expect(f"the first cells of {len(paths)} notebooks run", len(paths) > 20)


def install_again() -> None:
    sys.exit("Error: a notebook's first cell would install the package again")


def whole_notebooks() -> None:
    import nbformat
    import patience  # a copy of the project's
    from nbclient import NotebookClient

    patience.mend()
    settings = {"kernel_name": "python3", "timeout": SECONDS, "startup_timeout": 300}
    for name in WHOLE:
        notebook = nbformat.read(f"notebooks/{name}.ipynb", as_version=4)
        start = time.monotonic()
        NotebookClient(notebook, **settings).execute()
        print(f"{name} runs: {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    os.chdir(FOLDER)
    steps: list[Callable[[], None]] = [only_this_package, modules, starts, explorer]
    steps += [trained, checked, first_cells, whole_notebooks]
    for step in steps:
        step()


if __name__ == "__main__":
    main()
