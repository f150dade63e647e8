"""Compare the notebooks under every setting that stands for another processor.

    make processors                              all settings, all notebooks
    python3 make.py processors noise-1 claims    one setting, one notebook

A setting that changes none of the probe's operations here is skipped, and said to be.
What a notebook printed is kept under _build/processors until something that it depends
on changes; it is compared anew every time.
"""

import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.processors.settings import ALL, BUILD, BY_NAME, ROOT, Setting, processor

PYTEST = "-q -c pyproject.toml -p no:cacheprovider -o faulthandler_timeout=0"
PYTEST += " --nbval --nbval-current-env --dist loadfile"
LAST_RUN = Path(__file__).parent / "last_run.json"


@dataclass
class Row:
    """What came of one setting.

    changed: the probe's operations whose results are others than plainly.
    cells: how many were compared; differ: which of them do, as `notebook, cell`.
    skipped: why the setting was not tried; empty if it was.
    """

    name: str
    meaning: str
    changed: list[str] = field(default_factory=list)
    cells: int = 0
    differ: list[str] = field(default_factory=list)
    skipped: str = ""
    minutes: float = 0.0


def chosen(names: list[str]) -> tuple[list[Setting], list[Path]]:
    """The settings and notebooks of these names; all where none is named."""
    notebooks = sorted((ROOT / "chapters").glob("*.ipynb"))
    settings = [BY_NAME[name] for name in names if name in BY_NAME]
    paths = []
    for name in names:
        found = [path for path in notebooks if path.name.startswith(name)]
        if name not in BY_NAME and not found:
            stems = ", ".join(path.stem for path in notebooks)
            raise ValueError(
                f"expected a setting ({', '.join(BY_NAME)}) or the beginning of a "
                f"notebook's name ({stems}); got {name!r}"
            )
        paths += found if name not in BY_NAME else []
    return settings or list(ALL), paths or notebooks


def probe(setting: Setting) -> dict[str, str]:
    """A hash of what each operation gives under a setting."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.processors.probe"],
        cwd=ROOT,
        env={**os.environ, **setting.environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def why_skipped(setting: Setting, changed: list[str]) -> str:
    if not setting.possible:
        return f"only {' and '.join(setting.machines)} can have it"
    if setting.name != "plain" and not changed:
        return "it changes none of the probe's operations on this processor"
    return ""


def compare(setting: Setting, notebooks: list[Path], report: Path, *options) -> str:
    """Run and compare the notebooks under a setting; return what pytest printed."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *PYTEST.split(), *options]
    done = subprocess.run(
        [*command, f"--junitxml={report}", *map(str, notebooks)],
        cwd=ROOT,
        env={**os.environ, **setting.environment()},
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.stdout + done.stderr


def read(report: Path) -> tuple[int, list[str], str]:
    """How many cells a report compares, which differ, and why, for the terminal."""
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failures = [
        (case, why)
        for case in cases
        for why in [*case.iter("failure"), *case.iter("error")]
    ]
    names = [f"{notebook(case)}, {cell(case, why)}" for case, why in failures]
    reasons = dict.fromkeys(reason(why) for _, why in failures)  # each once
    return len(cases), names, "\n\n".join(reasons)


def notebook(case: ElementTree.Element) -> str:
    return case.get("classname", "").removesuffix(".ipynb").rpartition(".")[2]


def cell(case: ElementTree.Element, why: ElementTree.Element) -> str:
    """The cell's id where the comparison names it, else its place."""
    _, found, rest = (why.text or "").partition("cell '")
    return rest.partition("'")[0] if found else case.get("name", "?")


def reason(why: ElementTree.Element) -> str:
    lines = (why.text or why.get("message", "")).splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("cell '")]
    return "\n".join(lines[starts[0] :] if starts else lines[-12:]).rstrip()


def table(rows: list[Row]) -> str:
    lines = ["", f"{'setting':12} {'cells':>6} {'differ':>7} {'minutes':>8}"]
    for row in rows:
        if row.skipped:
            lines.append(f"{row.name:12} {'skipped':>14}: {row.skipped}")
            continue
        lines.append(
            f"{row.name:12} {row.cells:6} {len(row.differ):7} {row.minutes:8.1f}"
        )
        lines += [f"{'':12} {name}" for name in row.differ]
    return "\n".join(lines)


def judge(setting: Setting, plainly: dict[str, str], notebooks: list[Path]) -> Row:
    """Try one setting, and say what differed."""
    row, start = Row(setting.name, setting.meaning), time.perf_counter()
    found = probe(setting) if setting.possible else plainly
    row.changed = [name for name in plainly if found[name] != plainly[name]]
    row.skipped = why_skipped(setting, row.changed)
    say(f"\n== {setting.name}: {setting.meaning}")
    names = ", ".join(row.changed) or "none"
    say(
        f"changes {len(row.changed)} of {len(plainly)} operations of the probe: {names}"
    )
    if row.skipped:
        say(f"SKIPPED: {row.skipped}")
        return row
    report = BUILD / f"{setting.name}.xml"
    printed = compare(setting, notebooks, report, "-n", "2")
    if report.is_file():
        row.cells, row.differ, why = read(report)
        say(why)
    if not row.cells:
        row.differ = [f"no notebook could be compared: {printed.strip()[-300:]}"]
    row.minutes = round((time.perf_counter() - start) / 60, 1)
    return row


def say(text: str) -> None:
    print(text, flush=True)


def main(names: list[str]) -> int:
    try:
        settings, notebooks = chosen(names)
    except ValueError as error:
        say(f"processors: {error}")
        return 2
    BUILD.mkdir(parents=True, exist_ok=True)
    say(f"processor: {processor()}, {os.cpu_count()} cores")
    plainly = probe(BY_NAME["plain"])
    rows = [judge(setting, plainly, notebooks) for setting in settings]
    say(table(rows))
    if not names:
        store(rows, len(plainly))
    differ = sorted({name for row in rows for name in row.differ})
    if differ:
        say(f"\nERROR: {len(differ)} cells differ, the first: {differ[0]}")
    return int(bool(differ))


def store(rows: list[Row], operations: int) -> None:
    """Write the table of a whole run for the page on checks."""
    import torch

    content = {
        "command": "make processors",
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "operations": operations,
        "settings": [asdict(row) for row in rows],
    }
    LAST_RUN.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
