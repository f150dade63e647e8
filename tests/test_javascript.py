"""The explorers' geometry under node, and the limits that keep their code readable."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mygpt import explorers
from mygpt.explorers import base

FOLDER = Path(__file__).parent / "js"
SOURCES = sorted(Path(explorers.__file__).parent.glob("*.mjs"))
LONG = {"gpt"}  # the model, forward and edited
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
STEMS = [re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in explorers.__all__]
# `function f(…) {`, `f(…) {` of an object, or an arrow, at the end of its line.
OPENS = re.compile(r"\bfunction\b|=>|^\s*(?!if|for|while|switch|catch)\w+\(.*\{$")


def node() -> str:
    """The node on the PATH, or else the one that comes with Playwright."""
    if found := shutil.which("node"):
        return found
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def in_node(script, given, tmp_path, imports, first=""):
    """What an expression makes of `given`, with names imported from modules."""
    data = tmp_path / "given.json"
    data.write_text(json.dumps(given), encoding="utf-8")
    lines = [
        'import { readFileSync } from "node:fs";',
        *(
            f"import {what} from {json.dumps(m.as_uri())};"
            for what, m in imports.items()
        ),
        f'const given = JSON.parse(readFileSync({json.dumps(str(data))}, "utf8"));',
        first,
        f"console.log(JSON.stringify({script}));",
    ]
    done = subprocess.run(
        [node(), "--input-type=module", "-e", "\n".join(lines)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def functions(source: str) -> list[tuple[int, int]]:
    """The first line of each function, from 1, and how many lines it has.

    It goes on over the lines that are indented more, with the bracket that closes them;
    when that line opens another, as after parameters on lines of their own, over those.
    """
    lines = source.splitlines()
    found = []
    for start, line in enumerate(lines):
        if not OPENS.search(line) or line.lstrip().startswith(("//", "*", "/*")):
            continue
        last, end = -1, start
        while end > last and lines[end].endswith(("{", "(", "[", "=>")):
            last, end = end, _end_of_block(lines, end, _indent(line))
        found.append((start + 1, end - start + 1))
    return found


def _end_of_block(lines: list[str], start: int, indent: int) -> int:
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    closed = end < len(lines) and lines[end].lstrip().startswith(("}", ")", "]"))
    return end if closed else end - 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


SAMPLE = """\
// => {
export function long({ a, b }) {
  if (a) {
    b();

  }
  const inner = (one) => {
    one();
  };
  return {
    method(x) {
      x();
    },
  };
}
const short = (x) => x + 1;
function spread(
  a,
  b,
) {
  a(b);
}
const list = [1, 2].map((x) =>
  x + 1);
"""


def test_a_function_is_measured_from_its_first_line_to_its_last():
    assert functions(SAMPLE) == [
        (2, 14),
        (7, 3),
        (11, 3),
        (16, 1),
        (17, 6),
        (23, 2),
    ]
    body = "  a();\n" * MOST_LINES_OF_A_FUNCTION
    [(_, lines)] = functions(f"function f() {{\n{body}}}\n")
    assert lines == MOST_LINES_OF_A_FUNCTION + 2


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_module_and_no_function_is_too_long(path):
    source = path.read_text("utf-8")
    if path.stem not in LONG:
        assert len(source.splitlines()) <= MOST_LINES
    long = [one for one in functions(source) if one[1] > MOST_LINES_OF_A_FUNCTION]
    assert long == [], "first line and length"


def test_the_functions_of_every_module_are_found():
    for path in SOURCES:
        source = path.read_text("utf-8")
        starts = {start for start, _ in functions(source)}
        for number, line in enumerate(source.splitlines(), 1):
            if re.match(r"(export )?function \w+\(", line):
                assert number in starts, (path.name, line)


@pytest.mark.parametrize("stem", STEMS)
def test_the_modules_of_an_explorer_share_no_name(stem, tmp_path):
    """Joined, they are one scope: node refuses a name that is declared twice."""
    path = tmp_path / "joined.mjs"
    path.write_text(base.module(stem), encoding="utf-8")
    assert _parses(path) == ""


def _parses(path: Path) -> str:
    run = subprocess.run(
        [node(), "--check", str(path)], capture_output=True, text=True, timeout=60
    )
    return run.stderr


def _modules(folder, monkeypatch, **texts):
    monkeypatch.setattr(base, "_FOLDER", folder)
    for name, text in texts.items():
        (folder / f"{name}.mjs").write_text(text, encoding="utf-8")


def test_a_module_comes_after_all_that_it_imports_at_any_depth(monkeypatch, tmp_path):
    _modules(
        tmp_path,
        monkeypatch,
        top='import { b } from "./left.mjs";\nimport {\n  c,\n} from "./right.mjs";\n'
        "b(c);\nexport default {};\n",
        left='import { a } from "./base.mjs";\nexport function b() { a(); }\n',
        right='import { a } from "./base.mjs";\nexport const c = a();\n',
        base="export function a() {}\n",
    )
    lines = base.module("top").split("\n")
    code = [line for line in lines if line]
    assert code[0] == "function a() {}"
    assert sorted(code[1:3]) == ["const c = a();", "function b() { a(); }"]
    assert code[3:] == ["b(c);", "export default {};"]


def test_a_name_that_two_modules_declare_is_noticed(monkeypatch, tmp_path):
    _modules(
        tmp_path,
        monkeypatch,
        top='import { a } from "./low.mjs";\nconst own = a;\nexport default {};\n',
        low="export const a = 1;\nconst own = 2;\n",
    )
    path = tmp_path / "joined.mjs"
    path.write_text(base.module("top"), encoding="utf-8")
    assert "'own' has already been declared" in _parses(path)


def test_a_stylesheet_has_those_of_the_imported_modules(monkeypatch, tmp_path):
    _modules(
        tmp_path, monkeypatch, top='import { a } from "./low.mjs";\n', low="", other=""
    )
    for name in ("explorer", "low", "top", "other"):
        (tmp_path / f"{name}.css").write_text(f".{name} {{}}", encoding="utf-8")
    assert base.stylesheet("top") == ".explorer {}\n.low {}\n.top {}"


def test_geometry_and_formats_under_node():
    files = sorted(map(str, FOLDER.glob("*.test.mjs")))
    assert files
    run = subprocess.run(
        [node(), "--test", *files], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
