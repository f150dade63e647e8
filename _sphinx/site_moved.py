"""Sections that were renamed or merged: links to their old names still lead somewhere.

`moved.yml` gives, for a page, the id of each old section and the id it leads to now.
"""

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

TABLE = Path(__file__).with_name("moved.yml")
LOG = logging.getLogger(__name__)


class KeepOldAnchors(SphinxPostTransform):
    """Gives a section the ids of those that it replaces."""

    default_priority = 890  # before the second reading is folded
    formats = ("html",)

    def run(self, **kwargs) -> None:
        moved = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
        for problem in keep(self.document, moved.get(self.env.docname, {})):
            LOG.warning(
                "%s: %s, %s", TABLE.name, self.env.docname, problem, type="moved"
            )


def keep(document: nodes.document, moved: dict[str, str]) -> list[str]:
    """Add the old ids; what cannot be done comes back, one sentence each."""
    sections = {
        name: one for one in document.findall(nodes.section) for name in one["ids"]
    }
    problems = []
    for old, new in moved.items():
        if old in sections:
            problems.append(f"{old!r} is a section still")
        elif new not in sections:
            problems.append(f"{old!r} leads to {new!r}, which is no section")
        else:
            sections[new]["ids"].append(old)
    return problems


def setup(app: Sphinx) -> None:
    app.add_post_transform(KeepOldAnchors)
