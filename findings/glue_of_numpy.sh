#!/usr/bin/env bash
# myst-nb 1.4.0, ipykernel 7.4.0, numpy 2.4.6, Python 3.11.
# Guess: a page that glues a NumPy number shows it in its text as 2.5, and as 2.50 with
#   :.2f.
# Seen: it shows np.float64(2.5), and with :.2f nothing at all; a Python float shows
#   2.50. A loss from NumPy has to be glued as float(loss).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet myst-nb==1.4.0 sphinx==9.0.4 myst-parser==5.2.0 ipykernel==7.4.0 numpy==2.4.6
JUPYTER_PREFER_ENV_PATH=1 "$folder/environment/bin/python" - <<'PYTHON'
import pathlib
import subprocess
import sys
import tempfile

page = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python}
---
# Page

```{code-cell}
import numpy as np
from myst_nb import glue

glue("numpy", np.float64(2.5), display=False)
glue("python", 2.5, display=False)
```

One {glue:text}`numpy`, two ({glue:text}`numpy:.2f`), three {glue:text}`python:.2f`.
"""
with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "conf.py").write_text('extensions = ["myst_nb"]\n')
    (root / "index.md").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "text", folder, f"{folder}/out"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    text = (root / "out" / "index.txt").read_text()
shown = text[text.index("One") :].strip()
print(shown)
assert shown == "One np.float64(2.5), two (), three 2.50."
PYTHON
