"""The explorers' geometry is tested under plain node, without a page."""

import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent / "js"


def node() -> str:
    """The node on the PATH, or else the one that comes with Playwright."""
    if found := shutil.which("node"):
        return found
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def test_geometry_and_formats_under_node():
    files = sorted(map(str, FOLDER.glob("*.test.mjs")))
    assert files
    run = subprocess.run(
        [node(), "--test", *files], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
