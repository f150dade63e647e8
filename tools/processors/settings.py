"""The settings under which the notebooks are compared, and what is kept of each.

A setting is a name and the environment variables that make this processor compute as
another would. MYGPT_SETTING names the one that is on.
"""

import hashlib
import json
import os
import platform
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build" / "processors"
IN_EVERY_PROCESS = Path(__file__).parent / "in_every_process"
# How many last bits the noise changes. In units of the last place of a float32 of the
# result's typical size, the other settings change up to 2.5 in products and 0.3 to 0.8
# in the other operations (AMD EPYC, family 25, model 17; torch 2.13.0). 1 bit of noise
# changes 1.1 and 0.6, 2 bits 1.4 and 1.0, 3 bits 2.2 and 1.9.
BITS = 2
SLOWER = 8  # times as long as plainly a cell may take under a setting


@dataclass(frozen=True)
class Setting:
    """A way to compute: its name, what it is for readers, and its variables."""

    name: str
    meaning: str
    variables: dict[str, str] = field(default_factory=dict)
    machines: tuple[str, ...] = ()  # those that can have it; all of them by default

    @property
    def possible(self) -> bool:
        return not self.machines or platform.machine() in self.machines

    def environment(self) -> dict[str, str]:
        """What a process needs to compute under this setting, and its children too."""
        return {
            **self.variables,
            "MYGPT_SETTING": self.name,
            "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin keep others from working
            "PYTHONPATH": str(IN_EVERY_PROCESS),
        }


def noise(seed: int) -> Setting:
    return Setting(
        f"noise-{seed}",
        f"rounding noise, seed {seed}",
        {"MYGPT_ROUNDING_NOISE": f"{seed}:{BITS}"},
    )


X86 = ("x86_64", "AMD64")
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
COMPATIBLE = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
ALL = (
    Setting("plain", "this machine as it is"),
    Setting("avx2", "AVX2 instructions", AVX2, X86),
    Setting("compatible", "no vector instructions beyond the oldest", COMPATIBLE, X86),
    Setting("two-threads", "two threads", {"MYGPT_THREADS": "2"}),
    *(noise(seed) for seed in (1, 2, 3)),
)
BY_NAME = {setting.name: setting for setting in ALL}


def active() -> str:
    """Name the setting that is on in this process; empty outside `make processors`."""
    return os.environ.get("MYGPT_SETTING", "")


def processor() -> str:
    """The processor's name, with family and model where the maker hides the rest."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = dict(re.findall(r"(?m)^(model name|cpu family|model)\s*:\s*(.+)$", text))
    if "model name" not in found:
        return platform.processor() or platform.machine()
    numbers = f"family {found.get('cpu family')}, model {found.get('model')}"
    return f"{found['model name']}, {numbers}"


class Kept:
    """A notebook's run under the active setting, kept with all that it depended on.

    It counts as long as the cells, the files of the project that the run opened, the
    packages, the processor and the setting are the same.
    """

    def __init__(self, path: Path, folder: Path = BUILD) -> None:
        self.path, self.folder = path, folder / (active() or "none")
        self.place = self.folder / path.name
        self.opened = self.folder / f"{path.stem}-opened"

    def load(self) -> nbformat.NotebookNode | None:
        """The kept run, or None when something that it depended on has changed."""
        if not self.place.is_file():
            return None
        notebook = nbformat.read(self.place, as_version=4)
        record = notebook.metadata.pop("depends")
        files = record.pop("files")
        if record != json.loads(json.dumps(self.surroundings())):
            return None
        same = all(hash_of(ROOT / name) == known for name, known in files.items())
        return notebook if same and cells_of(notebook) == self.cells() else None

    def begin(self) -> None:
        """Have every process of the run write down what it opens."""
        shutil.rmtree(self.opened, ignore_errors=True)
        self.opened.mkdir(parents=True)
        os.environ["MYGPT_OPENED"] = str(self.opened)

    def save(self, notebook: nbformat.NotebookNode) -> None:
        files = {name: hash_of(ROOT / name) for name in self.files()}
        notebook.metadata["depends"] = {**self.surroundings(), "files": files}
        half = self.place.with_suffix(".part")
        nbformat.write(notebook, half)
        os.replace(half, self.place)
        del notebook.metadata["depends"]
        shutil.rmtree(self.opened)

    def cells(self) -> list[str]:
        return cells_of(nbformat.read(self.path, as_version=4))

    def surroundings(self) -> dict:
        pins = [ROOT / "requirements.txt", *sorted(ROOT.glob("requirements/*.txt"))]
        noisy = os.environ.get("MYGPT_ROUNDING_NOISE")
        tools = [ROOT / "tools" / "figures.py"]  # what a run notes
        tools += sorted(IN_EVERY_PROCESS.glob("*.py")) if noisy else []
        variables = {name: os.environ.get(name) for name in VARIABLES}
        return {
            "tools": [hash_of(path) for path in tools],
            "requirements": [hash_of(path) for path in pins],
            "python": platform.python_version(),
            "processor": processor(),
            "variables": variables,
        }

    def files(self) -> list[str]:
        """The sources and data that the run opened, by their paths in the project."""
        lines = [p.read_text(encoding="utf-8") for p in self.opened.iterdir()]
        names = {source_of(line) for text in lines for line in text.splitlines()}
        # Mapped, which no hook sees.
        models = (ROOT / "mygpt" / "data" / "models").iterdir()
        names |= {
            path.relative_to(ROOT).as_posix() for path in models if path.is_file()
        }
        return sorted(n for n in names if depends_on(n) and (ROOT / n).is_file())


VARIABLES = sorted({name for setting in ALL for name in setting.variables})


def depends_on(name: str) -> bool:
    return name.startswith(("mygpt/", "chapters/")) and not name.endswith(".ipynb")


def source_of(name: str) -> str:
    """The module of a compiled file; other names as they are, with slashes."""
    name = name.replace(os.sep, "/")
    return re.sub(r"__pycache__/([^./]+)\.[^/]*\.pyc(\.\d+)?$", r"\1.py", name)


def cells_of(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def hash_of(path: Path) -> str:
    if not path.is_file():
        return "missing"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
