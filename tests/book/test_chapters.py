"""The rules for every committed chapter; no kernel runs here."""

import ast
import re
import statistics
from decimal import Decimal

import pytest
import yaml
from helpers.notebooks import PATHS, ROOT, code, notebook, read, text
from helpers.notebooks import printed as printed_text
from helpers.programs import run_python
from nbformat import v4

from tools import execute, prose, reading
from tools.comparison import NUMBER, is_integer, unit, value
from tools.live_lab import VIEW
from tools.reading import tags

TAGS = re.compile(
    r"setup|bare|live-lab|nbval-ignore-output|varies|rtol-\S+|raises-exception|warns|"
    r"(hide|remove)-(cell|input|output)|full-width"
)
MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(home|root|tmp|work|Users|opt|usr)/|\b[CD]:\\+Users"
)
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")
TIMING = re.compile(r"\d ?(ns|µs|us|ms|s|sec|secs|seconds|minutes)\b")
BANNED = re.compile(r"\b(simply|obviously|trivially|just works)\b", re.IGNORECASE)
ALT_LENGTH, CELL_LINES, MEDIAN_LINES, FILE_BYTES = 30, 20, 6, 400_000
ALT_WANTED = f"its alt text must say what it shows, in {ALT_LENGTH} letters or more"


# Each check takes a chapter and gives its problems, one sentence each.


def code_cells(chapter):
    return [cell for cell in chapter.cells if cell.cell_type == "code"]


def texts(cell):
    """The stored text of a code cell's outputs."""
    for output in cell.outputs:
        yield output.get("text", "")
        data = output.get("data", {}).items()
        yield from (stored for kind, stored in data if "text/" in kind)


def opening(chapter):
    """The first cell is prose and holds the one title."""
    titles = [
        (place, heading.children[0].content)
        for place, cell in enumerate(chapter.cells)
        if cell.cell_type == "markdown"
        for heading in prose.within(prose.parse(cell.source), "heading")
        if heading.tag == "h1"
    ]
    if [place for place, _ in titles] != [0]:
        yield f"the first cell must hold the one title, found {titles}"


def execution(chapter):
    """Every cell has run once, in order; errors and warnings are announced by a tag."""
    counts = [cell.execution_count for cell in code_cells(chapter)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts {counts} are not 1, 2, 3, …"
    for cell in code_cells(chapter):
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in tags(cell):
                yield f"{cell.id!r} holds an error without the tag raises-exception"
            if output.get("name") == "stderr" and "warns" not in tags(cell):
                yield f"{cell.id!r} holds stderr without the tag warns: {output.text}"


def outputs(chapter):
    """A cell that prints has an output stored."""
    for cell in code_cells(chapter):
        if prints(cell.source) and not cell.outputs:
            yield f"cell {cell.id!r} prints and no output is stored"


def prints(source):
    """Whether the source prints unconditionally."""
    waiting = ast.parse(re.sub(r"^\s*%.*", "", source, flags=re.M)).body
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.For | ast.With):
            waiting += node.body
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in (
            "print",
            "display",
        ):
            return True
    return False


def known_tags(chapter):
    """No tag is misspelt, and only a live lab escapes the comparison."""
    for cell in code_cells(chapter):
        for tag in tags(cell):
            if not TAGS.fullmatch(tag):
                yield f"cell {cell.id!r} has the unknown tag {tag!r}"
        if ("live-lab" in tags(cell)) != ("nbval-ignore-output" in tags(cell)):
            yield f"cell {cell.id!r}: live-lab and nbval-ignore-output go together"
        if re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)_", cell.source):
            yield f"cell {cell.id!r} controls nbval with a comment: use tags"


def narrow(chapter):
    """No tolerance hides a last digit that is wrong by three."""
    for cell in code_cells(chapter):
        for tag in tags(cell):
            wide = Decimal(tag[5:]) if tag.startswith("rtol-") else 0
            for number in NUMBER.findall("\n".join(texts(cell))):
                near = wide * abs(value(number)) < 3 * unit(number)
                if not is_integer(number) and not near:
                    yield f"cell {cell.id!r}: {tag} is too wide for {number}"


def portable(chapter):
    """Nothing stored names this machine, this run or its duration."""
    for cell in chapter.cells:
        stored = [cell.source, *(texts(cell) if cell.cell_type == "code" else [])]
        for one in stored:
            if found := MACHINE_PATH.search(one) or ADDRESS.search(one):
                yield f"cell {cell.id!r} holds {found[0]!r}"
        for one in stored[1:]:
            if found := OVERWRITTEN.search(one):
                yield f"cell {cell.id!r} holds text that is overwritten: {found[0]!r}"
            found = TIMING.search(one)
            if found and "varies" not in tags(cell):
                yield f"cell {cell.id!r} prints a duration: {found[0]!r}"


def size(chapter):
    """Cells are short and the file is light."""
    lines = {
        cell.id: reading.lines_of_code(cell.source)
        for cell in code_cells(chapter)
        if "setup" not in tags(cell)
    }
    for name, count in lines.items():
        if count > CELL_LINES:
            yield f"cell {name!r} has {count} lines, at most {CELL_LINES}"
        if not count:
            yield f"cell {name!r} is empty"
    if lines and (median := statistics.median(lines.values())) > MEDIAN_LINES:
        yield f"the median cell has {median} lines, at most {MEDIAN_LINES}"
    if (weight := len(execute.text_of(chapter).encode())) >= FILE_BYTES:
        yield f"the file weighs {weight:,} bytes, {FILE_BYTES:,} at most"


def widgets(chapter):
    """No widget state is stored, and no view of a widget."""
    if "widgets" in chapter.metadata:
        yield "the metadata holds widget state"
    for cell in code_cells(chapter):
        if any(VIEW in output.get("data", {}) for output in cell.outputs):
            yield f"cell {cell.id!r} holds a widget view"


def figures(chapter):
    """Every picture is described; every figure has a name and a caption."""
    for cell in code_cells(chapter):
        pictures = [
            data for out in cell.outputs if "image/png" in (data := out.get("data", {}))
        ]
        shown = cell.metadata.get("mystnb", {})
        if pictures and len(shown.get("image", {}).get("alt", "")) < ALT_LENGTH:
            yield f"the picture of cell {cell.id!r} has no description: {ALT_WANTED}"
        if "live-lab" in tags(cell):
            if not pictures:
                yield f"the live lab of cell {cell.id!r} has no still"
        elif any(data.get("text/plain", "").startswith("<Figure") for data in pictures):
            figure = shown.get("figure", {})
            if not figure.get("caption") or not figure.get("name", "").startswith(
                "fig-"
            ):
                yield f"the figure of cell {cell.id!r} needs a caption and a name fig-…"


def images(chapter):
    """Images in the prose are described, and are files of the book."""
    for cell in chapter.cells:
        if cell.cell_type == "code":
            continue
        for image in prose.within(prose.parse(cell.source), "image"):
            file = image.attrs["src"]
            if len(image.content.strip()) < ALT_LENGTH:
                yield f"the image {file} has no description: {ALT_WANTED}"
            if not (ROOT / "chapters" / file).is_file():
                yield f"the image {file} is not a file of the book"
        if {"image", "figure"} & {name for name, _, _ in directives(cell.source)}:
            yield f"cell {cell.id!r} shows an image with a directive: write figure-md"


def words(chapter):
    """No chapter uses a banned word."""
    for place, source in prose.passages(chapter):
        if found := BANNED.search(prose.plain(prose.parse(source))):
            yield f"{place} says {found[0]!r}"


def exercises(chapter):
    """Every exercise has a label and a solution with a cell that has run."""
    asked, solved, inside = [], {}, None
    for cell in chapter.cells:
        if cell.cell_type == "code":
            if inside and cell.execution_count:
                solved[inside] += 1
            continue
        for name, argument, label in directives(cell.source):
            if name in ("exercise", "exercise-start"):
                asked.append(label)
            if name in ("solution", "solution-start"):
                solved.setdefault(argument, 0)
            if name in ("solution-start", "solution-end"):
                inside = argument if name == "solution-start" else None
    if not asked:
        yield "the chapter has no exercise"
    for label in asked:
        if not label:
            yield "an exercise has no label"
        elif not solved.get(label):
            yield f"exercise {label!r} has no solution with an executed cell"
    for label in solved.keys() - set(asked):
        yield f"a solution answers the unknown exercise {label!r}"
    if inside:
        yield f"the solution of {inside!r} has no end"


def solutions_alone(chapter):
    """No solution uses a name that another solution made."""
    made, elsewhere, inside = {}, set(), None
    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            for name, argument, label in directives(cell.source):
                if name in ("exercise-start", "solution-start"):
                    inside = label if name == "exercise-start" else argument
                elif name in ("exercise-end", "solution-end"):
                    inside = None
            continue
        made_here, used = reading.bound_and_used(cell.source)
        known = made.setdefault(inside, set()) | made_here
        others = {n for key, names in made.items() if key != inside for n in names}
        if inside:
            for name in sorted((used & others) - known - elsewhere):
                yield f"cell {cell.id!r} needs another solution's {name!r}"
            made[inside] |= made_here
        else:
            elsewhere |= made_here


def directives(source):
    """Name, argument and label of each directive in a markdown cell."""
    for found in prose.within(prose.parse(source), "directive"):
        label = found.meta["options"].get("label", "")
        yield found.meta["name"], found.meta["argument"], label


def printed(chapter):
    """Every number in the prose is printed in its section, or names its source."""
    for number in prose.unprinted(chapter, folder=ROOT / "chapters"):
        yield f"no cell prints {number}"
    keys = prose.bibliography_keys(
        (ROOT / "pages" / "references.bib").read_text(encoding="utf-8")
    )
    for role in prose.bad_sources(chapter, keys):
        yield f"{role} names no number and source"


def comments(chapter):
    """No line of text begins with %, which would hide it as a comment."""
    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.lstrip().startswith("%"):
                    yield f"cell {cell.id!r} loses the line {line!r}"


CHECKS = [
    *(opening, execution, outputs, known_tags, narrow, portable, size, widgets),
    *(figures, images, words, exercises, solutions_alone, printed, comments),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_chapter_follows_the_rule(path, check):
    rows = path.stem == "libraries"  # whose cells are rows of a table
    assert [one for one in check(read(path)) if not (rows and "median" in one)] == []


def test_the_chapters_are_spelt_correctly(tmp_path):
    for path in PATHS:
        words = "\n".join(cell.source for cell in read(path).cells)
        (tmp_path / f"{path.stem}.txt").write_text(words, encoding="utf-8")
    run_python("-m", "codespell_lib", tmp_path, cwd=ROOT)


def test_the_table_of_contents_names_every_chapter_and_no_missing_file():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    named = [contents["root"], *files(contents.get("parts", []))]
    missing = [name for name in named if not list(ROOT.glob(f"{name}.*"))]
    assert missing == []
    assert {f"chapters/{path.stem}" for path in PATHS} <= set(named)


def files(entry):
    """Every `file` below an entry of the table of contents."""
    if isinstance(entry, list):
        return [name for item in entry for name in files(item)]
    if isinstance(entry, dict):
        below = [name for value in entry.values() for name in files(value)]
        return [entry["file"], *below] if "file" in entry else below
    return []


def test_labels_are_unique_in_the_book():
    cells = (cell for path in PATHS for cell in read(path).cells)
    labels = [label for cell in cells for label in labels_of(cell)]
    assert sorted(label for label in set(labels) if labels.count(label) > 1) == []


def labels_of(cell):
    if cell.cell_type == "code":
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        return [name] if name else []
    found = directives(cell.source)
    return [
        label or (argument if name == "figure-md" else "")
        for name, argument, label in found
        if label or name == "figure-md"
    ]


# The checks themselves


def sample():
    """A small chapter without a problem."""
    described = {"image": {"alt": "A curve that falls from left to right."}}
    figure = {"figure": {"name": "fig-a", "caption": "A curve."}, **described}
    lab = ("live-lab", "nbval-ignore-output")
    exercise = "```{exercise-start}\n:label: ex-half\n```\nHow?\n```{exercise-end}\n```"
    drawn = {"image/png": "AAAA", "text/plain": "<Figure size 1>"}
    half = {"text/plain": "0.5"}
    shown = [v4.new_output("display_data", drawn)]
    result = v4.new_output("execute_result", half, execution_count=4)
    return notebook(
        text("# A chapter\n\nIt prints 0.25."),
        code("print(1 / 4)", outputs=["0.25\n"], count=1),
        code("draw()", outputs=shown, count=2, metadata={"mystnb": figure}),
        code("lab();", *lab, outputs=shown, count=3, metadata={"mystnb": described}),
        text(exercise),
        text("```{solution-start} ex-half\n:class: dropdown\n```"),
        code("1 / 2", outputs=[result], count=4),
        text("```{solution-end}\n```"),
    )


def test_the_sample_has_no_problem():
    assert [problem for check in CHECKS for problem in check(sample())] == []


ERROR = v4.new_output("error", ename="E", evalue="", traceback=[])
STDERR = printed_text("careful", "stderr")
PRINTS = "for i in range(3):\n    print(i)"
OTHER = "```{exercise}\n:label: ex-b\nWhy?\n```"
SPOILED = [
    (opening, "one title", lambda c: c[1:2] + c[0:1]),
    (opening, "one title", lambda c: [*c, text("# Again")]),
    (execution, "not 1, 2", lambda c: change(c[1], execution_count=None)),
    (execution, "the tag raises-exception", lambda c: change(c[1], outputs=[ERROR])),
    (execution, "the tag warns", lambda c: change(c[1], outputs=[STDERR])),
    (outputs, "no output is stored", lambda c: change(c[1], outputs=[])),
    (outputs, "is stored", lambda c: change(c[1], source=PRINTS, outputs=[])),
    (known_tags, "unknown tag 'vareis'", lambda c: tag(c[1], "vareis")),
    (known_tags, "unknown tag", lambda c: tag(c[1], "nbval-skip")),
    (known_tags, "together", lambda c: tag(c[1], "nbval-ignore-output")),
    (known_tags, "with a comment", lambda c: change(c[1], source="# NBVAL_SKIP\n1")),
    (
        narrow,
        "rtol-2e-2 is too wide for 2.05",
        lambda c: (prints_text(c[1], "of 7: 2.05"), tag(c[1], "rtol-2e-2")),
    ),
    (portable, "/home/", lambda c: prints_text(c[1], "see /home/me/x")),
    (portable, "/home/", lambda c: change(c[1], source="open('/home/me/x')")),
    (portable, "at 0x", lambda c: prints_text(c[1], "<X at 0x7f01ab23>")),
    (portable, "overwritten: 'stale", lambda c: prints_text(c[1], "stale\rnew")),
    (portable, "a duration: '1 s'", lambda c: prints_text(c[1], "took 3.1 s")),
    (size, "21 lines", lambda c: change(c[1], source="x\n" * 21)),
    (size, "median", lambda c: [change(cell, source="x\n" * 7) for cell in c[1:4]]),
    (size, "is empty", lambda c: change(c[1], source="")),
    (size, "bytes", lambda c: prints_text(c[1], "a" * 400_000)),
    (widgets, "widget view", lambda c: c[2].outputs[0].data.update({VIEW: {}})),
    (figures, "no description", lambda c: c[2].metadata.mystnb.pop("image")),
    (figures, "needs a caption", lambda c: c[2].metadata.mystnb.pop("figure")),
    (figures, "has no still", lambda c: change(c[3], outputs=[])),
    (images, "not a file", lambda c: say(c[0], f"![{ALT_WANTED}](../no.svg)")),
    (images, "README", lambda c: say(c[0], "![short](../README.md)")),
    (images, "figure-md", lambda c: say(c[0], "```{figure} a.svg\n```")),
    (words, "says 'Simply'", lambda c: say(c[0], "This is Simply so.")),
    (words, "'just works'", lambda c: figure_of(c[2]).update(caption="It just works.")),
    (exercises, "no exercise", lambda c: c.__delitem__(slice(4, 8))),
    (exercises, "no label", lambda c: say(c[4], "```{exercise}\nWhy?\n```")),
    (exercises, "exercise 'ex-b' has no solution", lambda c: say(c[4], OTHER)),
    (exercises, "with an executed cell", lambda c: c.pop(6)),
    (exercises, "an executed cell", lambda c: change(c[6], execution_count=None)),
    (exercises, "has no end", lambda c: c.pop(7)),
    (
        exercises,
        "exercise 'ex-c'",
        lambda c: say(c[7], "```{solution} ex-c\nYes.\n```"),
    ),
    (
        solutions_alone,
        "needs another solution's 'half'",
        lambda c: [
            text("```{solution-start} ex-b\n```"),
            code("half = 1 / 2"),
            text("```{solution-end}\n```"),
            c[5],
            code("half"),
        ],
    ),
    (printed, "no cell prints 0.26", lambda c: say(c[0], "It prints 0.26.")),
    (printed, "no number and source", lambda c: say(c[0], "{sourced}`0.02 <nobody>`")),
    (comments, "the line '% of all.'", lambda c: say(c[0], "It is 25\n% of all.")),
]


def change(cell, **parts):
    cell.update(parts)


def figure_of(cell):
    return cell.metadata.mystnb.figure


def tag(cell, name):
    cell.metadata["tags"] = [name]


def prints_text(cell, said):
    cell.outputs = [printed_text(said)]


def say(cell, words):
    cell.source += f"\n\n{words}"


@pytest.mark.parametrize(("check", "problem", "spoil"), SPOILED)
def test_a_spoiled_chapter_is_caught(check, problem, spoil):
    chapter = sample()
    cells = spoil(chapter.cells)
    if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells):
        chapter.cells = cells
    assert any(problem in found for found in check(chapter)), list(check(chapter))
