"""Pages of the small books that the tests build."""

import base64
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

from make import ROOT
from tools import live_lab

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

MODULE = """\
const two = () => 2;
function render({ model, el }) {}
export default { render };
"""
DRAWING = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" id="svg-a" viewBox="0 0 480 200" width="480">
<title>A</title><desc>B</desc>
<style>
:root{--mygpt-ink:#1f2328}
@media (prefers-color-scheme: dark) { :root { --mygpt-ink: #e6e8eb } }
#svg-a .box{fill:var(--mygpt-blue)}
</style>
<marker id="arrow"/><path id="svg-a-line" marker-end="url(#arrow)"/><use href="#arrow"/>
</svg>
"""


INTRO = r"""# Book

A number, {sourced}`0.02 <radford2019>`, and {eq}`eq-y`.

$$
y = x + \mathrm{MLP}(x)
$$ (eq-y)

:::{figure-md} fig-a
![The vector is widened and narrowed again.](schematics/a.svg)

A schematic.
:::

:::{exercise}
:label: ex-a
Try.
:::

:::{solution} ex-a
:label: sol-a
:class: dropdown
Done.
:::
"""


TWO_READINGS = """# Two readings

The {define}`loss` is explained here, and {define}`many losses <loss function>` too.

## Exercises

None. See [the spread](#how-far-it-is-true).

## Stop here, or go deeper

:::{admonition} You can build it now
:class: stop-here
Two sections follow.
:::

## How *far* it is true

It is, and the {term}`loss` says so.

### A part of it

Small.

## Where it comes from

It has (`a`). `b` is ($x^2$). `c` has none.
"""


def widget_notebook():
    """A stored chapter with an explorer, a live lab, a raised error and a timing."""
    view, text = live_lab.VIEW, "text/plain"
    png = base64.b64encode(PNG).decode()
    code, output = nbformat.v4.new_code_cell, nbformat.v4.new_output

    def shows(model, **data):
        shown = {"version_major": 2, "version_minor": 0, "model_id": model}
        return [output("display_data", {view: shown, text: "<W>", **data})]

    alt = {"image": {"alt": "A line that rises."}}
    lab = {"mystnb": alt, "tags": ["live-lab"]}
    trace = ['File "/home/me/f.py"', "ValueError: got 3"]
    raised = output("error", ename="ValueError", evalue="got 3", traceback=trace)
    took = [output("stream", text=part) for part in ("took ", "3.1 s\n")]
    cells = [
        nbformat.v4.new_markdown_cell("# A chapter\n\nText with $x^2$."),
        code("%pip install mygpt", metadata={"tags": ["setup"]}),
        code("W()", metadata={"mystnb": alt}, outputs=shows("w", **{"image/png": png})),
        code("interact(f)", metadata=lab, outputs=shows("box")),
        code("f()", outputs=[raised]),
        code("t()", metadata={"tags": ["varies"]}, outputs=took),
    ]
    drawn = {"output_type": "display_data", "metadata": {}, "data": {"image/png": png}}
    kept = {"_esm": MODULE, "_css": ".w{}", "level": 3, "note": "</script>"}
    state = {
        "w": {"state": kept},
        "box": {"state": {"children": ["IPY_MODEL_out"]}},
        "out": {"state": {"outputs": [drawn]}},
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    widgets = {"version_major": 2, "version_minor": 0, "state": state}
    metadata = {
        "kernelspec": kernel,
        "language_info": {"name": "python"},
        "widgets": {live_lab.STATE: widgets},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def write_book(
    folder: Path, toc: str, chapter, settings: dict, files: dict, *extensions: str
) -> None:
    """Write a small book with the book's extension and configuration.

    settings: keys of Sphinx's configuration that differ from the book's
    files: the text of each file that other small books lack
    extensions: modules among these files, loaded before the site's extension
    """
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    config["execute"]["execute_notebooks"] = "off"
    sphinx = config["sphinx"]
    sphinx["config"] |= {"published": True, **settings}
    own = sphinx["local_extensions"]
    sphinx["local_extensions"] = dict.fromkeys(extensions, ".") | own
    shared = {
        "_config.yml": yaml.safe_dump(config, sort_keys=False),
        "_toc.yml": f"format: jb-book\nroot: intro\n{toc}",
        "schematics/a.svg": DRAWING,
        "chapters/06_b.md": TWO_READINGS,
        "chapters/05_a.ipynb": nbformat.writes(chapter),
        "pages/references.bib": (ROOT / "pages" / "references.bib").read_text("utf-8"),
    }
    for name, text in (shared | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("website", "tools"):  # the extension, and what it imports
        shutil.copytree(ROOT / name, folder / name)


def build_book(folder, program, *arguments):
    """Run a program that builds the book of a folder: its status, and what it says."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.returncode, done.stdout + done.stderr
