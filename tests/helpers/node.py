"""The page's own scripts under Node, for tests that compare them with Python."""

import json
import shutil
import subprocess
from pathlib import Path

from mygpt import explorers

FOLDER = Path(explorers.__file__).parent


def executable() -> str:
    """The node on the PATH, or else the one that comes with Playwright."""
    if found := shutil.which("node"):
        return found
    from playwright._impl._driver import compute_driver_executable

    return compute_driver_executable()[0]


def run(*arguments) -> str:
    """What node prints; its errors fail the test."""
    done = subprocess.run(
        [executable(), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_node(script, given, tmp_path, imports, first=""):
    """What an expression makes of `given`.

    imports: what is imported (`* as gpt`, `{ fixed }`), with the module's path, or its
    name below mygpt/explorers without suffix. first: statements before the expression.
    """
    data = tmp_path / "given.json"
    data.write_text(json.dumps(given), encoding="utf-8")
    lines = [
        'import { readFileSync } from "node:fs";',
        *(f"import {what} from {json.dumps(uri(m))};" for what, m in imports.items()),
        f'const given = JSON.parse(readFileSync({json.dumps(str(data))}, "utf8"));',
        first,
        "const plain = (_, one) => (ArrayBuffer.isView(one) ? Array.from(one) : one);",
        f"console.log(JSON.stringify({script}, plain));",
    ]
    program = tmp_path / "run.mjs"
    program.write_text("\n".join(lines), encoding="utf-8")
    return json.loads(run(program))


def uri(module: str | Path) -> str:
    return (FOLDER / f"{module}.mjs" if isinstance(module, str) else module).as_uri()
