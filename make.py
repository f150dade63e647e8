"""What `make book`, `make test` and the other commands do; standard library only.

    python3 make.py COMMAND    book, lab, plain, epub, pdf, test, unit, slow, chapters,
                               processors, mutants, mends, links, javascript, kernels,
                               one of CHECKS, or a run in other environments (see APART)
    python3 make.py test chapter NAME    what belongs to one chapter, by CONTRIBUTING.md
    python3 make.py processors NAME …    some settings or notebooks alone
    python3 make.py slow NAME …          some files of slow tests alone: launch, browser
    python3 make.py mutants NAME …       see tools/mutants/__main__.py
    python3 make.py mends NAME …         see tools/mends/__main__.py

All output goes to standard error; when something fails, the last line says why. This
file also starts on an old Python (from 3.6), which is then named.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
NODE_MODULES = ROOT / "node_modules"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
BUILD = ROOT / "_build"
NOTEBOOKS = ROOT / "notebooks"  # where `make lab` puts them, to work in
SITE = BUILD / "html"
KERNELS = ROOT / "mygpt" / "explorers" / "engine" / "bytes.mjs"
STAGING = BUILD / "staging"
WITHOUT_SOURCE = ("404", "genindex", "index", "search")  # pages that Sphinx makes
PYTEST = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"]
NBVAL = ["--nbval", "--nbval-current-env", "--dist", "loadfile"]
JUPYTER_BOOK = [PYTHON, "-c", "from jupyter_book.cli.main import main; main()"]
UNIT_TESTS = ["tests", "--ignore=tests/browser"]
SLOWEST = ["--durations=20", "--durations-min=1"]
PATIENT = ["-o", "faulthandler_timeout=1800"]
# What holds all of a file of requirements, and more.
FOR_TESTS = ("requirements/dev.txt", "requirements/mutants.txt")
WIDER = {
    "requirements/site.txt": ("requirements.txt", "requirements/lab.txt", *FOR_TESTS),
    "requirements.txt": ("requirements/lab.txt", *FOR_TESTS),
    "requirements/lab.txt": (),
    "requirements/dev.txt": FOR_TESTS[1:],
    "requirements/mutants.txt": (),
}
# Quick enough to run alone; the hooks before a commit run them too, all but the types.
CHECKS = {
    "style": [PYTHON, "-m", "ruff", "check", "."],
    "format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "spelling": [PYTHON, "-m", "codespell_lib"],
    "notebooks": [PYTHON, "-m", "tools.execute", "--check"],
    "types": [PYTHON, "-m", "mypy"],
}
# The same for the scripts: package.json says what each runs.
SCRIPTS = ("style", "format", "types")
# These make environments of their own, of the Python that runs this file.
APART = {
    "colab": ["publish.elsewhere", "colab"],
    "binder": ["publish.elsewhere", "binder"],
    "newest": ["publish.newest"],
    "release": ["publish.distributions"],
}
# Variables that would change what is printed; the second row is of tools/processors.
PYTHONS = ("MPLBACKEND", "PYTHONPATH", "PYTHONWARNINGS", "PYTHONHOME")
SETTINGS = (
    *("ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA"),
    *("MYGPT_ROUNDING_NOISE", "MYGPT_SETTING", "MYGPT_THREADS"),
)
# The shell is the same engine without windows: a page opens with half the work.
BROWSERS = (
    *("chromium-headless-shell", "chromium"),
    *("chromium-browser", "google-chrome"),
)
NO_BROWSER = (
    "none is on the PATH (Debian: apt-get install chromium-headless-shell; "
    "macOS: brew install --cask chromium)"
)
NO_NODE = (
    "need node and npm, and they are not both on the PATH "
    "(Debian: apt-get install nodejs npm; macOS: brew install node)"
)
DEV = "requirements/dev.txt"
# What a command installs and then runs in .venv, with the names that follow it.
MODULES = {
    "plain": ("requirements.txt", "publish.plain", BUILD / "notebooks"),
    "chapters": ("requirements.txt", "tools.execute"),
    "unit": (DEV, *PYTEST[2:], *SLOWEST, *UNIT_TESTS),
    "processors": (DEV, "tools.processors"),
    "mutants": ("requirements/mutants.txt", "tools.mutants"),
    "mends": (DEV, "tools.mends"),
}
WITH_NAMES = ("processors", "mutants", "mends", "slow", "test")


class Stop(Exception):
    """A command cannot go on; the message gives the cause in one line."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def environment() -> "dict[str, str]":
    """The caller's environment without the settings that would change the output."""
    home = BUILD / "home"
    home.mkdir(parents=True, exist_ok=True)  # IPython warns of a home that is not there
    env = {
        **os.environ,
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "jupyter"),
        "JUPYTER_DATA_DIR": str(home / "jupyter-data"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",  # threads that wait for each other are far slower
        "NO_COLOR": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUTF8": "1",
    }
    for name in (*PYTHONS, *SETTINGS):
        env.pop(name, None)
    return env


def run(what: str, command: list, aside: bool = False) -> None:
    """Run a command from the project's root; Stop when it fails.

    Its output is shown as it comes or, when it runs `aside`, in one piece at the end.
    """
    say(f"\n== {what}{' (shown at the end)' if aside else ''}")
    start = time.monotonic()
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    lines = []
    with process.stdout as printed:
        for line in printed:
            lines.append(line)
            if not aside:
                sys.stderr.write(line)
                sys.stderr.flush()
    status, cores = wait(process)
    if aside:
        say(f"\n== {what}\n{''.join(lines)}")
    say(f"-- {what}: {time.monotonic() - start:.0f} s, {cores} core-seconds")
    if status:
        plain = (re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in lines)
        raise Stop(f"{what} failed: {cause(list(filter(None, plain)))}")


def wait(process: "subprocess.Popen") -> "tuple[int, str]":
    """The exit status of a process, and what it and its children used of the cores."""
    if not hasattr(os, "wait4"):
        return process.wait(), "?"
    _, ended, used = os.wait4(process.pid, 0)
    process.returncode = -(ended & 127) or ended >> 8  # so that nothing waits again
    return process.returncode, f"{used.ru_utime + used.ru_stime:.0f}"


NO_NETWORK = (
    r"Failed to establish a new connection|NameResolutionError|Network is unreachable"
    r"|code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED)"
)
KNOWN = (
    (r"No space left on device", "the disk is full"),
    (NO_NETWORK, "the package index cannot be reached (no network?)"),
    (r"ensurepip is not available", "ensurepip is missing: install python3-venv"),
)
TELLING = (
    r"^(ERROR|Error|FAILED)\b|: (ERROR|WARNING|error)[: ]|^\w*(Error|Exception):"
    r"|^Found \d+ error|^✖ \d+ problem|^\[warn\] Code style|^npm error (?!A complete)"
)


def cause(lines: "list[str]") -> str:
    """Why a command failed, from what it printed."""
    for pattern, meaning in KNOWN:
        if any(re.search(pattern, line) for line in lines):
            return meaning
    telling = [line for line in lines if re.search(TELLING, line)]
    setting = [line for line in lines if line.startswith("_config.yml: ")]
    return (setting or telling or lines or ["it printed nothing"])[-1][:300]


def install(requirements: str) -> None:
    """Install the requirements and this package in .venv, if anything has changed.

    Modules are compiled when they are first imported; most never are.
    """
    check_version()
    files = [
        ROOT / "requirements.txt",
        *sorted(ROOT.glob("requirements/*.txt")),
        ROOT / "pyproject.toml",
    ]
    key = digest(files, sys.version.encode() + bytes(ROOT))
    stamps = [
        VENV / f"installed-{name.replace('/', '-')}"
        for name in (requirements, *WIDER[requirements])
    ]
    if any(one.exists() and one.read_text() == key for one in stamps) and works(PYTHON):
        return
    if not works(PYTHON):
        run("creating .venv", [sys.executable, "-m", "venv", "--clear", VENV])
    pip = [PYTHON, "-m", "pip", "install", "--progress-bar", "off", "--no-compile"]
    run("installing", [*pip, "-r", requirements])
    here = ["--no-deps", "--no-build-isolation", "-e", "."]  # setuptools is there
    run("installing mygpt", [*pip, *here])
    # Built now, or the first import would announce it in a notebook's output.
    run("building the font cache", [PYTHON, "-c", "import matplotlib.font_manager"])
    stamps[0].write_text(key)


def digest(files: "list[Path]", more: bytes = b"") -> str:
    """A name for the contents of some files."""
    content = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(content + more).hexdigest()


def install_scripts_tools(npm: str) -> None:
    """Install what package-lock.json lists in node_modules, if anything has changed."""
    files = [ROOT / name for name in ("package.json", "package-lock.json", ".npmrc")]
    key = digest(files)
    stamp = NODE_MODULES / "installed"
    if stamp.exists() and stamp.read_text() == key:
        return
    if NODE_MODULES.is_symlink():  # of another work tree, say
        raise Stop("node_modules is a link: npm ci would empty the folder it leads to")
    run("installing the scripts' tools", [npm, "ci"])
    stamp.write_text(key)


def check_version() -> None:
    """Stop unless this Python is new enough to make an environment of."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        needed = ".".join(map(str, OLDEST))
        raise Stop(f"mygpt needs Python {needed} or newer; {sys.executable} is {found}")


def works(python: Path) -> bool:
    """Whether a virtual environment's interpreter starts and has pip."""
    try:
        done = subprocess.run([python, "-c", "import pip"], capture_output=True)
    except OSError:
        return False
    return done.returncode == 0


def book() -> None:
    """Build the site and say how to open it."""
    for_the_book()
    build_site()
    page = (SITE / "index.html").as_uri()
    say(f"\nThe book is built. Open it in a browser:\n  {page}")


def for_the_book() -> None:
    """Install what pages need; run the chapters of which nothing fresh is stored."""
    install("requirements/site.txt")
    try:
        run("looking at what is stored", [PYTHON, "-m", "tools.executed"])
    except Stop:
        install("requirements.txt")
        run("running the chapters", [PYTHON, "-m", "tools.execute", "--keep"])


def lab() -> None:
    """Open the notebooks in JupyterLab, in a folder that holds nothing else."""
    install("requirements/lab.txt")
    made = [PYTHON, "-m", "publish.plain", NOTEBOOKS, "--to-work-in"]
    run("making the notebooks", made)
    quiet = BUILD / "home" / "jupyter" / "labconfig" / "page_config.json"
    quiet.parent.mkdir(parents=True, exist_ok=True)
    off = {"@jupyterlab/apputils-extension:announcements": True}
    quiet.write_text(json.dumps({"disabledExtensions": off}))
    say("\nJupyterLab opens in the browser; Ctrl-C, twice, ends it.\n")
    first = NOTEBOOKS / "00_contents.ipynb"
    command = [PYTHON, "-m", "jupyterlab", "--notebook-dir", NOTEBOOKS, first]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container one is root
    subprocess.run(list(map(str, command)), cwd=str(ROOT), env=environment())


def links() -> None:
    """Follow every link that leads out of the book."""
    for_the_book()
    builder = ["--builder", "custom", "--custom-builder", "linkcheck"]
    options = [*builder, "--path-output", BUILD / "links"]
    try:
        run("following the links", [*JUPYTER_BOOK, "build", *options, "."])
    except Stop as stop:
        raise Stop(broken_links(BUILD / "links") or str(stop)) from None


def broken_links(folder: Path) -> str:
    """Which links failed, in one line; empty when the check did not come so far."""
    found = "".join(path.read_text("utf-8") for path in folder.rglob("output.txt"))
    broken = [line for line in found.splitlines() if "[broken]" in line]
    if broken and all(re.search(NO_NETWORK, line) for line in broken):
        return f"none of {len(broken)} links could be followed (no network?)"
    return f"{len(broken)} links are broken, the first: {broken[0]}" if broken else ""


def left_over(site: Path) -> "list[Path]":
    """The pages whose source is no longer in the book: Sphinx leaves them."""
    pages = [*site.glob("*.html"), *site.glob("chapters/*.html")]
    return [
        page
        for page in pages
        if page.stem not in WITHOUT_SOURCE
        and not any(
            (folder / page.relative_to(site)).with_suffix(suffix).exists()
            for folder in (ROOT, ROOT / "pages")
            for suffix in (".md", ".ipynb")
        )
    ]


def build_site(aside: bool = False) -> None:
    """Build into _build/staging, and move the result into place when it is complete."""
    options = ["-W", "-n", "--keep-going", "--path-output", STAGING]
    plain, packed = BUILD / "plain", BUILD / "packages"
    shutil.rmtree(plain, ignore_errors=True)
    plain.mkdir(parents=True)
    page = [*JUPYTER_BOOK, "build", *options, "."]
    beside = {
        "the notebooks to download": [PYTHON, "-m", "publish.plain", plain],
        "the package to install": [PYTHON, "-m", "publish.package", packed],
    }
    others = ([partial(run, *part, aside=True)] for part in beside.items())
    run_all([partial(run, "building the book", page, aside=aside)], *others)
    built = STAGING / "_build" / "html"
    for folder in ("notebooks", "packages"):
        shutil.rmtree(built / folder, ignore_errors=True)
    shutil.copytree(plain, built / "notebooks")
    for wheel in packed.glob("*.whl"):
        (built / "packages").mkdir()
        shutil.copy(wheel, built / "packages")
    new, old = BUILD / "html.new", BUILD / "html.old"
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        shutil.copytree(built, new)
        for page in left_over(new):
            page.unlink()
    except OSError:
        shutil.rmtree(new)
        raise
    if SITE.exists():
        SITE.rename(old)
    new.rename(SITE)
    shutil.rmtree(old, ignore_errors=True)


def on_paper(name: str) -> None:
    """Make the e-book or the PDF, `_build/mygpt.epub` or `_build/mygpt.pdf`."""
    if name == "pdf":
        install(DEV)
    for_the_book()
    run(f"making mygpt.{name}", [PYTHON, "-m", f"publish.paper.{name}"])
    say(f"\nThe book is on paper:\n  {BUILD / f'mygpt.{name}'}")


def check(name: str) -> None:
    """Run one of CHECKS, with what is installed already."""
    if not PYTHON.exists():
        raise Stop(f"there is no {PYTHON}: run `make test` once")
    run(name, CHECKS[name])


def scripts_command() -> "list[str]":
    """What runs a script of package.json, its tools installed; empty without node."""
    npm = shutil.which("npm")
    if npm is None or not shutil.which("node"):
        return []
    install_scripts_tools(npm)
    return [npm, "run", "--silent"]


def skip(needs: str, message: str) -> None:
    """Say loudly that checks are skipped; Stop where the environment requires them."""
    if os.environ.get(f"MYGPT_REQUIRE_{needs}"):
        raise Stop(message)
    say(f"\n!! {message}")


def javascript() -> None:
    """Check the scripts' style, format and types; without npm, say so loudly."""
    command = scripts_command()
    if not command:
        return skip("NODE", f"JAVASCRIPT CHECKS SKIPPED: they {NO_NODE}")
    names = {name: f"the scripts' {name}" for name in SCRIPTS}
    run_all([partial(run, what, [*command, name]) for name, what in names.items()])
    return None


def kernels() -> None:
    """Compile the kernels that train a GPT in the page."""
    command = scripts_command()
    if not command:
        raise Stop(f"the kernels {NO_NODE}")
    BUILD.mkdir(exist_ok=True)
    run("compiling the kernels", [*command, "kernels"])
    KERNELS.write_text(as_module(BUILD), encoding="utf-8")


def as_module(folder: Path) -> str:
    """A module of the page that holds the kernels which were compiled in a folder."""
    text = "// What `make kernels` compiles: WebAssembly, in base64.\n"
    for name in ("kernels", "fused"):
        compiled = base64.b64encode((folder / f"{name}.wasm").read_bytes()).decode()
        text += f'\nexport const {name.upper()} =\n  "{compiled}";\n'
    return text


def test(*of_chapter: str) -> None:
    """Run every check, the later ones too when an earlier one fails.

    Two rows of steps at a time, of which neither waits for the other: the book is built
    of what is stored, which the chapters' own step compares with a new run. With
    `chapter NAME`, run what belongs to that chapter alone.
    """
    if of_chapter:
        return test_chapter(*of_chapter)
    install(DEV)
    site = [partial(build_site, aside=True), installed, browser_tests, chapters_new]
    rest = [*(partial(check, name) for name in CHECKS), javascript, unit_tests]
    run_all(rest, site)
    return None


def test_chapter(word: str, *names: str) -> None:
    """Run what belongs to a chapter, by the map of CONTRIBUTING.md."""
    rows = chapters_map()
    found = [row for row in rows if names and row.startswith(names[0])]
    if word != "chapter" or len(names) != 1 or len(found) != 1:
        given = " ".join([word, *names])
        raise Stop(f"expected chapter and one of {', '.join(rows)}; got {given!r}")
    name, (*_, explorers, tests) = found[0], rows[found[0]]
    install(DEV)
    named = [*tests, *(f"explorer_{stem}" for stem in explorers)]
    found_tests = [
        path for stem in named for path in ROOT.glob(f"tests/*/test_{stem}.py")
    ]
    in_browser = [ROOT / "tests" / "browser" / f"test_{stem}.py" for stem in explorers]
    quick = [partial(check, kind) for kind in CHECKS if kind != "types"]
    parts = {
        "the chapter": [*NBVAL, f"chapters/{name}.ipynb"],
        "its place in the book": ["tests/book", "-k", name],
        "its modules and explorers": found_tests,
    }
    shown = {
        "its explorers in a browser": [
            path for path in in_browser if path.exists() and browser()
        ]
    }
    run_all([*quick, *tests_of(parts), build_site, *tests_of(shown)])


def chapters_map() -> "dict[str, list[list[str]]]":
    """The names in each column after the first, by notebook."""
    rows = re.findall(
        r"^\| (tensors|\d\d[a-z]?_\w+) \|(.*)\|$",
        (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
        re.M,
    )
    return {
        name: [re.findall(r"[\w/]+", column) for column in rest.split("|")]
        for name, rest in rows
    }


def failures(steps: list) -> "list[str]":
    """Run some steps, one after the other; why those that failed did."""
    causes = []
    for step in steps:
        try:
            step()
        except Stop as stop:
            say(f"\n!! {stop}")
            causes.append(str(stop))
    return causes


def run_all(first: list, *others: list) -> None:
    """Run rows of steps side by side; Stop with the cause of each step that failed."""
    with ThreadPoolExecutor(len(others) + 1) as side_by_side:
        beside = side_by_side.map(failures, others)
        causes = sum(beside, failures(first))
    if causes:
        raise Stop("; ".join(causes))


def tests_of(parts: dict, *options: str) -> list:
    """The steps that run each part's tests, where a part has any."""
    command = [*PYTEST, *options]
    return [
        partial(run, what, [*command, *some]) for what, some in parts.items() if some
    ]


def unit_tests() -> None:
    """Run the tests of the package and of the site's parts, beside the other row."""
    workers = 2 if (os.cpu_count() or 1) > 2 else 1
    run("unit tests", [*PYTEST, *SLOWEST, "-n", workers, *UNIT_TESTS])


def installed() -> None:
    """Use the site's wheel, and the sdist, where the checkout cannot be seen."""
    command = [PYTHON, "-m", "publish.distributions", SITE]
    run("the package as installed", command, aside=True)


def chapters_new() -> None:
    """Run the notebooks, two at a time, and compare with what is stored of each."""
    run("chapters", [*PYTEST, *SLOWEST, *NBVAL, "chapters"], aside=True)


def slow(*names: str) -> None:
    """Run the tests that take minutes: trainings, kills, damaged files.

    A name chooses the files whose name begins so, or all of the browser's.
    """
    files = slow_files(names)
    install(DEV)
    in_browser = [path for path in files if path.parent.name == "browser"]
    if in_browser:
        for_the_book()
        build_site()
    parts = {
        "slow tests": [path for path in files if path not in in_browser],
        "slow tests in the browser": in_browser,
    }
    run_all(tests_of(parts, *SLOWEST, "-m", "slow", *PATIENT))


def slow_files(names: "tuple[str, ...]") -> "list[Path]":
    """The files that have a slow test; of some names, or all."""
    found = [
        path.relative_to(ROOT)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.slow" in path.read_text("utf-8")
    ]
    for name in names:
        if not any(named(path, name) for path in found):
            known = ", ".join(path.stem[len("test_") :] for path in found)
            raise Stop(f"expected browser or one of {known}; got {name!r}")
    return [path for path in found if not names or any(named(path, n) for n in names)]


def named(path: Path, name: str) -> bool:
    return path.stem.startswith(f"test_{name}") or path.parent.name == name


def browser():
    """The first of BROWSERS on the PATH, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def browser_tests() -> None:
    """Run the tests in a real browser; without one, say so loudly."""
    if browser():
        return run("browser tests", [*PYTEST, *SLOWEST, "tests/browser"], aside=True)
    return skip(
        "BROWSER", f"BROWSER TESTS SKIPPED: they need Chromium, and {NO_BROWSER}"
    )


def module(name: str, *names: str) -> None:
    """Run one of MODULES."""
    requirements, *command = MODULES[name]
    install(requirements)
    run(name, [PYTHON, "-m", *command, *names])


def apart(name: str) -> None:
    """Run one of APART."""
    check_version()
    run(name, [sys.executable, "-m", *APART[name]])


def commands() -> dict:
    """What each command runs, by name."""
    found = {"book": book, "lab": lab, "test": test, "slow": slow, "links": links}
    found.update({"javascript": javascript, "kernels": kernels})
    families = {module: MODULES, on_paper: ("epub", "pdf"), check: CHECKS, apart: APART}
    for function, names in families.items():
        found.update((name, partial(function, name)) for name in names)
    return found


def main() -> int:
    known = commands()
    name, names = [*sys.argv, ""][1], sys.argv[2:]
    if name not in known or (names and name not in WITH_NAMES):
        say(f"expected one of {', '.join(known)}; got {' '.join(sys.argv[1:])!r}")
        return 2
    try:
        known[name](*names)
    except Stop as stop:
        say(f"\n{stop}")
        return 1
    except OSError as error:
        say(f"\n{name} stopped: {cause(str(error).splitlines())}")
        return 1
    except KeyboardInterrupt:
        say("\ninterrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
