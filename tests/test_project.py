"""What the project's files declare: packages, versions, addresses."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

import mygpt

ROOT = Path(__file__).resolve().parents[1]
# Between two releases the citation and the change log name the last one.
RELEASED = None if ".dev" in mygpt.__version__ else mygpt.__version__


def imported(*folders: str) -> dict[str, set[str]]:
    """The distributions that provide each package imported in the folders."""
    providers = packages_distributions()
    names = {
        name.partition(".")[0]
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for name in modules(ast.parse(path.read_text(encoding="utf-8")))
    }
    installed = names & providers.keys() - {"mygpt"}
    return {name: set(map(normal, providers[name])) for name in installed}


def modules(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name: str) -> dict[str, str]:
    """Package and version of each line of a requirements file, included files too."""
    found = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= pins(line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            package, _, version = line.partition("==")
            found[normal(package)] = version
    return found


def dependencies(*extras: str) -> set[str]:
    """The packages that pyproject.toml declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = project["dependencies"] + [
        line for extra in extras for line in project["optional-dependencies"][extra]
    ]
    return {normal(re.match(r"[\w.-]+", line)[0]) for line in lines}


@pytest.mark.parametrize(
    ("folders", "declared"),
    [
        (["mygpt"], dependencies("hub")),
        (["mygpt", "_sphinx", "chapters"], set(pins("requirements.txt"))),
        (["tests", "bench", "paper"], set(pins("requirements-dev.txt"))),
    ],
    ids=["package", "book", "tests"],
)
def test_what_is_imported_is_declared(folders, declared):
    found = imported(*folders)
    assert len(found) > 5
    assert {name for name in found if not found[name] & declared} == set()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned(name):
    assert [package for package, version in pins(name).items() if not version] == []


def test_the_book_needs_no_tool_of_the_tests():
    assert "pytest-xdist" not in pins("requirements.txt")
    assert {"pytest", "nbval"} <= pins("requirements.txt").keys()


def test_the_citation_gives_the_version_and_the_address():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert RELEASED in (None, citation["version"])
    assert citation["repository-code"] == config["repository"]["url"]


def test_the_change_log_has_the_version_below_what_is_unreleased():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?([\w.]+)", log, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert RELEASED in (None, headings[1])
