"""What the project imports, and what its files declare."""

import ast
import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from make import ROOT


def imported(*folders: str) -> dict[str, set[str]]:
    """The distributions that provide each package imported in the folders."""
    providers = packages_distributions()
    names = {
        name.partition(".")[0]
        for folder in folders
        for text in code(ROOT / folder)
        for name in modules(ast.parse(text))
    }
    installed = names & providers.keys() - {"mygpt"}
    return {name: set(map(normal, providers[name])) for name in installed}


def code(folder: Path):
    """The text of each module, and the cells of each notebook."""
    for path in folder.rglob("*.py"):
        yield path.read_text("utf-8")
    for path in folder.glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        codes = ("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        yield "\n".join(codes)


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
            found |= pins(str((ROOT / name).parent / line.removeprefix("-r ")))
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
