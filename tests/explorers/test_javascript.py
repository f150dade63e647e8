"""The explorers' geometry under node, and how their modules are joined."""

import subprocess
from pathlib import Path

import pytest
from helpers import node
from helpers.examples import STEMS

from mygpt.explorers.kit import base

FOLDER = Path(__file__).parents[1] / "js"


@pytest.mark.parametrize("stem", STEMS)
def test_the_modules_of_an_explorer_share_no_name(stem, tmp_path):
    """Joined, they are one scope: node refuses a name that is declared twice."""
    path = tmp_path / "joined.mjs"
    path.write_text(base.module(stem), encoding="utf-8")
    assert _parses(path) == ""


def _parses(path: Path) -> str:
    command = [node.executable(), "--check", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stderr


def _modules(folder, monkeypatch, **texts):
    """An explorer `top` of these modules, beside an empty kit."""
    (folder / "kit").mkdir()
    (folder / "top").mkdir()
    monkeypatch.setattr(base, "_KIT", folder / "kit")
    for name, text in texts.items():
        (folder / "top" / f"{name}.mjs").write_text(text, encoding="utf-8")


def test_a_module_comes_after_all_that_it_imports_at_any_depth(monkeypatch, tmp_path):
    _modules(
        tmp_path,
        monkeypatch,
        widget='import { b } from "./left.mjs";\n'
        'import {\n  c,\n} from "./right.mjs";\n'
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


def test_imported_data_are_declared_as_they_are(monkeypatch, tmp_path):
    widget = 'import DATA from "../data.json" with { type: "json" };\nDATA.a;\n'
    _modules(tmp_path, monkeypatch, widget=widget)
    (tmp_path / "data.json").write_text('{ "a": [1, null, "\\\\"] }', encoding="utf-8")
    assert base.module("top") == 'const DATA = {"a":[1,null,"\\\\"]};\nDATA.a;\n'


def test_documentation_and_types_are_not_sent_and_other_comments_stay(
    monkeypatch, tmp_path
):
    widget = (
        "/** What it does.\n * @type {() => void} */\nfunction a() {\n"
        "  /** @type {number[]} */\n  const b = [];\n"
        "  return /** @type {any} */ (\n    b\n  );\n}\n"
        "// why\n/** One line. */\nexport const c = a; // how\nexport default {};\n"
    )
    _modules(tmp_path, monkeypatch, widget=widget)
    assert base.module("top") == (
        "function a() {\n  const b = [];\n"
        "  return (\n    b\n  );\n}\n"
        "const c = a; // how\nexport default {};\n"
    )


def test_a_name_that_two_modules_declare_is_noticed(monkeypatch, tmp_path):
    _modules(
        tmp_path,
        monkeypatch,
        widget='import { a } from "./low.mjs";\nconst own = a;\nexport default {};\n',
        low="export const a = 1;\nconst own = 2;\n",
    )
    path = tmp_path / "joined.mjs"
    path.write_text(base.module("top"), encoding="utf-8")
    assert "'own' has already been declared" in _parses(path)


def test_a_stylesheet_has_those_of_the_imported_modules(monkeypatch, tmp_path):
    reached = 'import { a } from "./low.mjs";\nimport { b } from "../kit/b.mjs";\n'
    _modules(tmp_path, monkeypatch, widget=reached, low="", other="")
    (tmp_path / "kit" / "b.mjs").touch()
    for name in ("kit/explorer", "top/low", "top/widget", "top/other", "kit/b"):
        sheet = f".{name.replace('/', '-')} {{}}"
        (tmp_path / f"{name}.css").write_text(sheet, encoding="utf-8")
    first, *parts, last = base.stylesheet("top").split("\n")
    assert first == ".kit-explorer {}"
    assert sorted(parts) == [".kit-b {}", ".top-low {}"]
    assert last == ".top-widget {}"


def test_geometry_and_formats_under_node():
    files = sorted(map(str, FOLDER.rglob("*.test.mjs")))
    assert files
    assert "# fail 0" in node.run("--test", *files, timeout=120)
