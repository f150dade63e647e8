"""Sphinx's other builders: each writes a small book, and the e-book is complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from test_book_site import DRAWING, INTRO, TWO_READINGS, widget_notebook

ROOT = Path(__file__).resolve().parents[1]
BUILDERS = (
    "epub",
    "singlehtml",
    "dirhtml",
    "text",
    "latex",
    "man",
    "pseudoxml",
    "linkcheck",
)
MORE = """
```{bibliography}
```

:::{glossary}
loss
loss function
  A number.
:::
"""
# All in one process, with jupyter-book's own configuration.
RUN = """
import sys
from jupyter_book.cli.main import main
from sphinx.cmd.build import build_main

main(["config", "sphinx", "."], standalone_mode=False)
for builder in sys.argv[1:]:
    # latex warns of SVG files, which it cannot convert without other programs.
    strict = [] if builder in ("latex", "linkcheck") else ["-W", "--keep-going"]
    target = ["-b", builder, "-d", "read", ".", f"out/{builder}"]
    code = build_main(["-q", *strict, *target])
    print(f"built {builder}: {code}", flush=True)
"""


def chapter_with_an_empty_cell():
    """A chapter whose last cell shows neither its source nor an output."""
    notebook = widget_notebook()
    tags = ["varies", "remove-input", "remove-output"]
    notebook.cells.append(nbformat.v4.new_code_cell("t()", metadata={"tags": tags}))
    hidden = nbformat.v4.new_code_cell("print(0)", metadata={"tags": ["hide-input"]})
    hidden.outputs = [nbformat.v4.new_output("stream", text="nought\n")]
    notebook.cells.append(hidden)
    return notebook


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with a folder for each builder, and what was said."""
    folder = tmp_path_factory.mktemp("book")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["execute"]["execute_notebooks"] = "off"
    config["sphinx"]["config"]["linkcheck_ignore"] = [".*"]
    (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    shutil.copytree(ROOT / "_sphinx", folder / "_sphinx")
    for name in ("chapters", "figures"):
        (folder / name).mkdir()
    (folder / "figures" / "a.svg").write_text(DRAWING)
    shutil.copy(ROOT / "references.bib", folder)
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: intro\nparts:\n- caption: One & all\n  chapters:\n"
        "  - file: chapters/05_a\n  - file: chapters/06_b\n"
    )
    (folder / "intro.md").write_text(INTRO + MORE, encoding="utf-8")
    (folder / "chapters" / "06_b.md").write_text(TWO_READINGS, encoding="utf-8")
    nbformat.write(chapter_with_an_empty_cell(), folder / "chapters" / "05_a.ipynb")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *BUILDERS],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    return folder / "out", done.stdout + done.stderr


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_builder_writes_the_book(built, builder):
    folder, said = built
    assert f"built {builder}: 0" in said, said
    assert any((folder / builder).iterdir())
