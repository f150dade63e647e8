"""Lines are shown as they were printed.

A kernel sends what a cell prints in several messages, and may cut a line in two;
myst-nb joins messages with a line break. Here they are joined first, without one, and
of a progress bar nothing is left.
"""

import re
from itertools import groupby

from myst_nb.core import render
from myst_nb.core.utils import coalesce_streams
from nbformat import NotebookNode
from sphinx.application import Sphinx

WRITTEN_OVER = re.compile(r".*\r(?=[^\n])")


def stream_of(output: NotebookNode) -> str:
    return output.name if output.output_type == "stream" else ""


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Replaces myst-nb's own: consecutive messages of a stream become one text."""
    whole = []
    for name, group in groupby(outputs, stream_of):
        parts = list(group)
        if name:
            text = WRITTEN_OVER.sub("", "".join(part.text for part in parts))
            parts = [NotebookNode(parts[0], text=text)]
        whole += parts
    return coalesce_streams(whole)


def setup(app: Sphinx) -> None:
    render.coalesce_streams = joined
