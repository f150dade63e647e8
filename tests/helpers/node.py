"""The page's own scripts under Node, for tests that compare them with Python."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

from mygpt import explorers

FOLDER = Path(explorers.__file__).parent
GIVEN = Path(__file__).parents[1] / "js" / "given.mjs"


def executable() -> str:
    """The node on the PATH, or else the one that comes with Playwright."""
    if found := shutil.which("node"):
        return found
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def run(*arguments, timeout=60) -> str:
    """What node prints; its errors fail the test."""
    quiet = "--disable-warning=ExperimentalWarning"  # of importing JSON
    command = [executable(), quiet, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def in_node(script, given, tmp_path, imports, first=""):
    """What an expression makes of `given`, in which bytes come as a DataView.

    imports: what is imported (`* as gpt`, `{ fixed }`), with the module's path, or its
    name below mygpt/explorers without suffix. first: statements before the expression.
    """
    data = tmp_path / "given.json"
    data.write_text(json.dumps(given, default=in_json), encoding="utf-8")
    own = {"{ inJson, readGiven }": GIVEN}
    lines = [
        *(f'import {what} from "{uri(m)}";' for what, m in (own | imports).items()),
        f"const given = readGiven({json.dumps(str(data))});",
        first,
        f"console.log(inJson({script}));",
    ]
    program = tmp_path / "run.mjs"
    program.write_text("\n".join(lines), encoding="utf-8")
    return json.loads(run(program))


def in_json(value):
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value.tolist()


def uri(module: str | Path) -> str:
    return (FOLDER / f"{module}.mjs" if isinstance(module, str) else module).as_uri()
