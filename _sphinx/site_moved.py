"""Sections that were renamed or moved: links to their old names still lead somewhere.

`moved.yml` gives, for a page, the id of each old section and the id it leads to now.
What went to another page has `there`, the page and the id, and `here`, the section of
this page that leads on to it, for readers without scripts. An old name that ends in *
is the beginning of names; the rest takes the place of the * of `there`.
"""

from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from site_builders import SCREENS
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

TABLE = Path(__file__).with_name("moved.yml")
LOG = logging.getLogger(__name__)


class KeepOldAnchors(SphinxPostTransform):
    """Gives a section the ids of those that it replaces, and notes what moved away."""

    default_priority = 890  # before the second reading is folded
    formats = ("html",)

    def run(self, **kwargs) -> None:
        moved = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
        table = moved.get(self.env.docname, {})
        away = {
            old: new["there"] for old, new in table.items() if isinstance(new, dict)
        }
        stays = {
            old: new["here"] if isinstance(new, dict) else new
            for old, new in table.items()
            if not isinstance(new, dict) or "here" in new
        }
        problems = keep(self.document, stays)
        problems += [p for one in away.values() for p in self._lost(one)]
        for problem in problems:
            LOG.warning(
                "%s: %s, %s", TABLE.name, self.env.docname, problem, type="moved"
            )
        if self.app.builder.name in SCREENS:
            self.document += [signpost(old, new) for old, new in away.items()]

    def _lost(self, there: str) -> list[str]:
        name, _, target = there.partition("#")
        page = self.env.docname.rpartition("/")[0] + "/" + name
        if page not in self.env.found_docs:
            return [f"{there!r} is on no page"]
        ids = self.env.get_doctree(page).ids
        return [] if target in ids or "*" in target else [f"{there!r} is nowhere"]


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


def signpost(old: str, there: str) -> nodes.raw:
    """What site.js reads: an old name, and where to go on from it."""
    page, _, target = there.partition("#")
    where = escape(f"{page}.html#{target}")
    return nodes.raw(
        "",
        f'<data class="moved" hidden data-old="{escape(old)}" value="{where}"></data>',
        format="html",
    )


def setup(app: Sphinx) -> None:
    app.add_post_transform(KeepOldAnchors)
