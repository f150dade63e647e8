"""Figures of the book itself, counted when it is built: no page can be out of date.

{count}`tests` is a number of `tools/counts.py`, or of the book's pages.
{reading-time}`03 04` is the time for these first readings, an hour each.
{chapter-table} lists the chapters: what each builds on, how long it is, its exercises.
{processors-table} says what `make processors` found when it was last run.
"""

import datetime
import json
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from tools.executed import key_of_sources

COUNTED = (
    "chapters/*.ipynb",
    "chapters/*.py",
    "mygpt/data/stored/*.json",
    "pages/glossary.md",
    "mygpt/**/*.py",
    "tests/**/*.py",
    "tests/js/**/*.mjs",
    "tools/*/last_run.json",
    "_toc.yml",
)
HEAD = """\
| chapter | builds on | words | lines of code | exercises |
| :-- | :-- | --: | --: | --: |
"""


LAST_RUN = Path("tools/processors/last_run.json")
PROCESSORS = """\
| computed with | changed | cells | differ |
| :-- | --: | --: | --: |
"""


class Counted:
    """A figure of the book; its page is read again when what it counts has changed."""

    env: BuildEnvironment

    def remember(self) -> Path:
        root = Path(self.env.srcdir)
        self.env.metadata[self.env.docname]["counted"] = key_of_sources(root, COUNTED)
        return root


class Count(Counted, SphinxRole):
    """{count}`tests`: a number, with its thousands set apart."""

    def run(self):
        self.remember()
        from tools.counts import COUNTS

        if self.text == "pages":
            return [nodes.Text(f"{len(self.env.found_docs):,}")], []
        if self.text not in COUNTS:
            names = ", ".join(["pages", *COUNTS])
            message = f"count: expected one of {names}; got {self.text!r}"
            error = self.inliner.reporter.error(message, line=self.lineno)
            return [nodes.problematic(self.rawtext, self.rawtext)], [error]
        return [nodes.Text(f"{COUNTS[self.text]():,}")], []


class ReadingTime(SphinxRole):
    """{reading-time}`03 04`: an hour for the first reading of each of these chapters.

    It is an estimate, the same for all; nobody was timed.
    """

    def run(self):
        from tools.execute import chosen

        return [nodes.Text(f"{len(chosen(self.text.split()))}\u00a0h")], []


class Table(Counted, SphinxDirective):
    """A table that is written in Markdown."""

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        holder = nodes.container()
        self.state.nested_parse(StringList(lines), 0, holder)
        return holder.children


class ChapterTable(Table):
    """A row for each chapter, from the notebooks."""

    def run(self):
        root = self.remember()
        from tools.bare_parts import chapters_in_order
        from tools.openings import is_chapter

        paths = filter(is_chapter, chapters_in_order(root))
        return self.parsed([*HEAD.splitlines(), *map(row, paths)])


def row(path: Path) -> str:
    """What the table says of a chapter."""
    import nbformat

    from tools import counts, reading
    from tools.openings import builds_on

    notebook = nbformat.read(path, as_version=4)
    first = reading.parts(notebook)[0]
    names = sorted(builds_on(notebook), key=lambda name: (name[0].isdigit(), name))
    needed = ", ".join(f"[{short(name)}](/chapters/{name}.ipynb)" for name in names)
    exercises = sum(len(counts.EXERCISE.findall(c.source)) for c in notebook.cells)
    cells = (
        f"{label(path.stem)}[](/chapters/{path.name})",
        needed or "school mathematics",
        f"{first.words:,}",
        str(first.lines),
        str(exercises),
    )
    return f"| {' | '.join(cells)} |"


def short(name: str) -> str:
    """A chapter's number, or the name of the page before the first."""
    number = name.partition("_")[0]
    return number.removeprefix("0") if name[0].isdigit() else name


def label(name: str) -> str:
    return f"{short(name)}. " if name[0].isdigit() else ""


class ProcessorsTable(Table):
    """When and where the settings were last compared, and a row for each."""

    def run(self):
        root = self.remember()
        run = json.loads((root / LAST_RUN).read_text(encoding="utf-8"))
        rows = map(setting_row, run["settings"])
        return self.parsed([*PROCESSORS.splitlines(), *rows, "", origin(run)])


def setting_row(row: dict) -> str:
    """What the table says of a setting."""
    if row["skipped"]:
        return f"| {row['meaning']} | | skipped: {row['skipped']} | |"
    changed = len(row["changed"]) if row["name"] != "plain" else ""
    return f"| {row['meaning']} | {changed} | {row['cells']:,} | {len(row['differ'])} |"


def origin(run: dict) -> str:
    """Where and when the table was made."""
    day = datetime.date.fromisoformat(run["date"])
    return (
        f"Made by `{run['command']}` on {day.day} {day:%B %Y}: {run['processor']}, "
        f"{run['cores']} cores, PyTorch {run['torch']}. The probe has "
        f"{run['operations']} operations."
    )


def outdated(app: Sphinx, env: BuildEnvironment, *changes) -> list[str]:
    """The pages whose counts may have changed."""
    now = key_of_sources(Path(app.srcdir), COUNTED)
    keys = {name: page.get("counted", now) for name, page in env.metadata.items()}
    return [name for name, key in keys.items() if key != now]


def setup(app: Sphinx) -> None:
    app.add_role("count", Count())
    app.add_role("reading-time", ReadingTime())
    app.add_directive("chapter-table", ChapterTable)
    app.add_directive("processors-table", ProcessorsTable)
    app.connect("env-get-outdated", outdated)
