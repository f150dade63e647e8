"""Chapters and their figures take their number from the chapter's file name."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

NUMBERED = re.compile(r"(?:.*/)?(\d\d[a-z]?)_[^/]*")


def assign_section_numbers(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
    """Number only the chapters' titles; return the documents whose numbers changed.

    Replaces Sphinx's own, which counts from one: chapter 7 is chapter 7 whether or not
    those before it are written.
    """
    before, env.toc_secnumbers = env.toc_secnumbers, {}
    for docname, contents in env.tocs.items():
        found = NUMBERED.fullmatch(docname)
        if not found:
            continue
        number = (found[1].removeprefix("0"),)  # "6", "14b"
        headings = list(contents.findall(nodes.reference))
        for heading in headings:
            heading["secnumber"] = number if heading is headings[0] else None
        env.titles[docname]["secnumber"] = number
        env.toc_secnumbers[docname] = {
            one["anchorname"]: one["secnumber"] for one in headings
        }
    now = env.toc_secnumbers
    return [
        name for name in now.keys() | before.keys() if now.get(name) != before.get(name)
    ]


def setup(app: Sphinx) -> None:
    TocTreeCollector.assign_section_numbers = assign_section_numbers
