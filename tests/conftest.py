"""Shapes in the package's signatures are checked in the tests, and only there."""

import json
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# beartype draws which items of a list to check. It gets a generator of its own, so that
# the package's calls leave Python's alone.
OF_BEARTYPE = random.Random(0)
own, random.getrandbits = random.getrandbits, OF_BEARTYPE.getrandbits
import helpers.typechecks  # noqa: E402, F401

random.getrandbits = own
# The checker runs programs thousands of times, and has no shapes in its signatures.
PARTS = {path.stem for path in (Path(__file__).parents[1] / "mygpt").iterdir()}
PARTS -= {"__init__", "__pycache__", "check"}
install_import_hook([f"mygpt.{part}" for part in PARTS], "helpers.typechecks.check")
# Their processes come from a fork server and are stopped by signals: not on Windows.
PROCESSES = ["distributed/test_distributed.py", "distributed/test_launch.py"]
collect_ignore = PROCESSES if sys.platform == "win32" else []
# The same examples in every run, on machines of any speed.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


def pytest_addoption(parser):
    parser.addoption(
        "--store", action="store_true", help="store what is stored anew, for the diff"
    )


@pytest.fixture
def as_stored(request):
    """Compare lines with those that a file holds under a name, or store them."""
    from tools.comparison import difference

    def compare(path: Path, name: str, lines: list[str]) -> None:
        kept = json.loads(path.read_text("utf-8"))
        if request.config.getoption("--store"):
            kept[name] = lines
            text = json.dumps(kept, indent=0, ensure_ascii=False)
            path.write_text(f"{text}\n", "utf-8")
        changed = difference("\n".join(kept[name]), "\n".join(lines))
        assert changed is None, f"{changed}\nif so meant: pytest --store {path}"

    return compare


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Start every test from the same seed, whether it runs alone or with others.

    beartype's too: a wrong item of a list that it finds never reaches the package's
    own check, whatever the tests before it have drawn.
    """
    import torch

    random.seed(0)
    OF_BEARTYPE.seed(0)
    torch.manual_seed(0)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Leave the tries that the user's own cache remembers alone."""
    os.environ["MYGPT_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def mygpt(tmp_path_factory, own_cache):
    """A command line that has imported the package."""
    from helpers.command_line import CommandLine

    start = "fork" if sys.platform == "linux" else "spawn"
    line = CommandLine(tmp_path_factory.mktemp("server"), start)
    yield line
    line.close()


@pytest.fixture
def left_empty(tmp_path):
    """A folder in which nothing may be left when the test ends."""
    yield tmp_path
    assert not list(tmp_path.iterdir())


@pytest.fixture
def my(tmp_path):
    """Write my.py and give its path."""

    def write(text: str) -> Path:
        path = tmp_path / "my.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write
