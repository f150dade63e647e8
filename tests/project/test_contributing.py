"""CONTRIBUTING.md and docs/: short, complete, and true of the files that they name."""

import glob
import re
from itertools import chain

import nbformat
import pytest

from make import ROOT
from mygpt.check.locate.stage import stage
from mygpt.check.order import check
from mygpt.check.reference import Reference
from mygpt.check.task import probes
from tools.execute import chosen
from tools.openings import is_chapter

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md"))]
MOST_LINES = LONGEST_LINE = 120
MADE = ("_build", ".venv", "notebooks")  # folders that no checkout has

START = r"(?<![\w/.:-])"  # so that an address of the web is no path
ENDS = "py|md|ipynb|mjs|js|css|json|svg|ya?ml|toml|txt|cff|bib|safetensors"
PATH = re.compile(rf"{START}(?:(?:[\w.*-]+/)+[\w.*-]*|[\w.*-]+\.(?:{ENDS})\b)")
MODULE = re.compile(r"-m (\w+(?:\.\w+)+)")
PLACEHOLDER = re.compile("NAME|NN")
# A row of the map, whose names have neither folder nor suffix.
ROW = re.compile(r"^\| (tensors|\d\d[a-z]?_\w+) \|(.+)\|$", re.MULTILINE)
CHAPTERS = {path.stem: path for path in chosen([]) if is_chapter(path)}


def there(path, *folders):
    pattern = PLACEHOLDER.sub("*", path.rstrip("."))
    return any(glob.glob(pattern, root_dir=folder) for folder in folders)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_and_module_that_a_page_names_is_there(page):
    text = ROW.sub("", page.read_text(encoding="utf-8"))
    paths = {path for path in PATH.findall(text) if path.split("/")[0] not in MADE}
    missing = {path for path in paths if not there(path, page.parent, ROOT)}
    for name in MODULE.findall(text):
        file = name.replace(".", "/")
        if not there(f"{file}.py", ROOT) and not there(f"{file}/__main__.py", ROOT):
            missing.add(name)
    assert missing == set()
    assert paths


def test_contributing_stays_short():
    lines = CONTRIBUTING.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def test_contributing_links_to_each_of_its_pages_once():
    links = re.findall(r"\]\((docs/[^)#]+)\)", CONTRIBUTING.read_text("utf-8"))
    assert sorted(links) == [page.relative_to(ROOT).as_posix() for page in PAGES[1:]]


def rows():
    """The map's rows: of each chapter five lists of names."""
    for chapter, cells in ROW.findall(CONTRIBUTING.read_text(encoding="utf-8")):
        yield chapter, [re.findall(r"[\w/]+", cell) for cell in cells.split("|")]


MAP = dict(rows())


def test_the_map_has_every_chapter_in_order():
    numbered = sorted(CHAPTERS, key=lambda name: name != "tensors")
    assert list(MAP) == numbered


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_map_says_what_a_chapter_uses(chapter):
    modules, runs, figures, explorers, tests = MAP[chapter]
    cells = nbformat.read(CHAPTERS[chapter], as_version=4).cells
    sources = "\n".join(cell.source for cell in cells)
    classes = re.findall(r"\bexplorers\.([A-Z]\w+)", sources)
    folders = {re.sub("(?<=[a-z])(?=[A-Z])", "_", one).lower() for one in classes}
    assert set(runs) == set(re.findall(r'\bload_runs\("(\w+)"\)', sources))
    assert set(figures) == set(re.findall(r"schematics/(\w+)\.svg", sources))
    assert set(explorers) == folders
    named = chain(
        (f"mygpt/{name if name.endswith('/') else f'{name}.py'}" for name in modules),
        (f"mygpt/data/stored/{name}.json" for name in runs),
        (f"chapters/schematics/{name}.svg" for name in figures),
        (f"mygpt/explorers/{name}/" for name in explorers),
        (f"tests/*/test_{name}.py" for name in tests),
    )
    missing = {path for path in named if not there(path, ROOT)}
    assert missing == set()


def test_the_whole_task_of_the_page_on_the_checker_names_its_mistakes():
    page = (ROOT / "docs" / "checker.md").read_text(encoding="utf-8")
    names = {"Reference": Reference, "probes": probes, "stage": stage}
    exec(re.search(r"```python\n(.+?)```", page, re.S)[1], names)
    task = names["row_times_matrix"]
    assert check(task, task.reference)
    assert {"no-sum", "mean-for-sum"} < {mistake.name for mistake in task.mistakes}
    assert check(task, lambda x, W: (x[:, None] * W).mean(0)).mistake == "mean-for-sum"
    assert check(task, lambda x, W: W.mT @ x)
