"""A line is shown as it was printed.

A kernel sends what a cell prints in messages, cut at moments of its own; myst-nb joins
them with a line break, also where a line was cut in two. Here they are joined first.
"""

from itertools import groupby

from myst_nb.core import render
from myst_nb.core.utils import coalesce_streams
from nbformat import NotebookNode
from sphinx.application import Sphinx


def stream_of(output: NotebookNode) -> str:
    return output.name if output.output_type == "stream" else ""


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """In the place of myst-nb's own: neighbouring messages are one text."""
    whole = []
    for name, group in groupby(outputs, stream_of):
        parts = list(group)
        if name:
            text = "".join(part.text for part in parts)
            parts = [NotebookNode(parts[0], text=text)]
        whole += parts
    return coalesce_streams(whole)


def setup(app: Sphinx) -> None:
    render.coalesce_streams = joined
