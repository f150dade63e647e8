"""The package's order is the book's: imports point one way."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "mygpt"
ORDER = [
    *("arguments", "moved", "checks", "files", "runs", "seed", "machine", "by_hand"),
    *("embedding", "attention", "feed_forward", "norm", "inference", "block"),
    *("tokenizers", "gpt", "sizes", "scale", "published", "world", "data", "shards"),
    *("modern", "muon", "checkpoint", "training", "distributed", "sampling"),
    *("huggingface", "gpt2", "depth", "probes", "world_model", "memory", "editing"),
    *("nulls", "relearning", "evidence", "check", "bare", "plots", "explorers"),
    *("launch", "training_command", "commands", "__main__"),
]
MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names of what a file imports, `from a import b` counting as `a.b`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_import_points_up(path):
    if path == PACKAGE / "__init__.py":
        return
    here = ORDER.index(part(path))
    for name in imports(path):
        if name.startswith("mygpt."):
            there = ORDER.index(name.split(".")[1])
            assert there <= here, f"{part(path)} imports {name}, which comes later"
            assert there < here or part(path) in ("explorers", "check", "evidence")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_of_the_explorers_only_what_is_live_computes(path):
    """The drawing kit takes arrays; an explorer that runs a model runs ours."""
    if part(path) in ("plots", "explorers") and not path.stem.startswith("live_"):
        outside = {name.split(".")[0] for name in imports(path)}
        assert "torch" not in outside
        ours = {n.split(".")[1] for n in imports(path) if n.startswith("mygpt.")}
        assert ours <= {"plots", "explorers"}
