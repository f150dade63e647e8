"""Notebooks that the tests read and make."""

import re

import nbformat
from nbformat import v4

from make import ROOT

PATHS = sorted((ROOT / "chapters").glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


def text(source, *tags, **fields):
    return v4.new_markdown_cell(source, metadata={"tags": [*tags]}, **fields)


def code(source, *tags, outputs=(), count=None, **fields):
    """A code cell; its outputs that are texts were printed."""
    stored = [printed(one) if isinstance(one, str) else one for one in outputs]
    made = v4.new_code_cell(source, outputs=stored, execution_count=count, **fields)
    made.metadata.tags = [*tags]
    return made


def printed(text, name="stdout"):
    return v4.new_output("stream", name=name, text=text)


def notebook(*cells, **metadata):
    return v4.new_notebook(cells=list(cells), metadata=metadata)


def write(path, *cells, **metadata):
    nbformat.write(notebook(*cells, **metadata), path)


def in_solutions(cells):
    """The code cells that stand in a solution."""
    inside = False
    for cell in cells:
        if cell.cell_type == "code" and inside:
            yield cell
        elif cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                inside = mark == "start"
