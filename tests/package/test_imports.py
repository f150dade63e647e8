"""The package's order is the book's: imports point one way."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "mygpt"
ORDER = [
    *("support", "workbook.asked", "workbook.stub", "workbook.files", "workbook"),
    *("by_hand", "embedding", "attention", "feed_forward", "norm"),
    *("inference", "block", "tokenizers", "gpt", "sizes", "distributed.cost"),
    *("distributed.published_runs", "world.corpus", "data", "distributed.shards"),
    *("modern", "checkpoint", "training.config", "training.optimizers"),
    *("training.loop", "training", "distributed.parts", "distributed.training"),
    *(
        "distributed",
        "sampling",
    ),
    *("huggingface", "inside.depth", "inside.hooks", "inside.world_models", "world"),
    *("inside.memory", "inside.editing", "inside.null_models", "inside.fresh_network"),
    *("inside.experiments", "inside", "check", "bare", "plots", "explorers"),
    *("distributed.launch", "cli.train", "cli.doctor.probes"),
    *("cli.doctor.examination", "cli.doctor", "cli.generate", "cli.convert"),
    *("cli.world_model", "cli.workbook", "cli.verdicts", "cli.check", "cli.commands"),
    "cli",
    "__main__",
]
PACKAGES = (
    "support",
    "explorers",
    "check",
    "inside.experiments",
)  # each has an order of its own
LIVE = (
    *("live_model/", "scale/counts", "shapes/counts"),
    *("train_gpt/widget", "train_stack/training"),
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return listed(".".join(part for part in parts if part != "__init__"))


def listed(name: str) -> str:
    """The part of the order that a module belongs to: the longest name that fits."""
    fits = [one for one in ORDER if f"{name}.".startswith(f"{one}.")]
    return max(fits, key=len, default="")


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
            there = ORDER.index(listed(name.removeprefix("mygpt.")))
            assert there <= here, f"{part(path)} imports {name}, which comes later"
            assert there < here or part(path) in PACKAGES


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_of_the_explorers_only_what_is_live_computes(path):
    """The drawing kit takes arrays; an explorer that runs a model runs ours."""
    name = path.relative_to(PACKAGE).as_posix().removeprefix("explorers/")
    if part(path) in ("plots", "explorers") and not name.startswith(LIVE):
        outside = {name.split(".")[0] for name in imports(path)}
        assert "torch" not in outside
        ours = {n.split(".")[1] for n in imports(path) if n.startswith("mygpt.")}
        assert ours <= {"plots", "explorers"}
