"""What the book cites: a name for the text, an address, and a line for the list."""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from pybtex.database import parse_file
from pybtex.plugin import find_plugin

ARXIV, DOI = "https://arxiv.org/abs/", "https://doi.org/"
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!<>-])")
URL = re.compile(
    r"\\+url\s*\{?(https?://[^\s{},]+)\}?|(?<![(<\]])\b(https?://[^\s,)]+)"
)


@dataclass(frozen=True)
class NotebookSource:
    """A work: "Ba et al." and "2016" for the text, and the whole reference."""

    authors: str
    year: str
    address: str
    reference: str


class Sources:
    """The works of a BibTeX file, by key."""

    def __init__(self, path: Path):
        self.path = path

    @cached_property
    def entries(self) -> dict:
        return parse_file(str(self.path), "bibtex").entries

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __getitem__(self, key: str) -> NotebookSource:
        entry = self.entries[key]
        return NotebookSource(
            authors(entry), entry.fields["year"], address(entry), reference(entry)
        )


def authors(entry) -> str:
    """ "Ba et al.", "Hendrycks and Gimpel", "Meta"."""
    people = entry.persons.get("author") or entry.persons["editor"]
    names = [" ".join(map(str, person.rich_last_names)) for person in people]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)


def address(entry) -> str:
    """Where a work can be read; empty if its entry names no place."""
    fields = entry.fields
    if "url" in fields:
        return fields["url"]
    if "doi" in fields:
        return DOI + fields["doi"]
    if "eprint" in fields:
        return ARXIV + fields["eprint"]
    found = re.search(r"\\url\{([^}]+)\}", fields.get("howpublished", ""))
    return found[1] if found else ""


def reference(entry) -> str:
    """The reference in one line of Markdown, as the site's list gives it."""
    (formatted,) = plugin("pybtex.style.formatting", "plain").format_entries([entry])
    markdown = plugin("pybtex.backends", "markdown")
    text = " ".join(formatted.text.render(markdown).split())
    return URL.sub(lambda url: f"<{url[1] or url[2]}>", plain_marks(text))


@cache
def plugin(group: str, name: str):
    return find_plugin(group, name)()


def plain_marks(text: str) -> str:
    """Without the backslashes before marks that mean nothing in running text."""
    return ESCAPED.sub(lambda mark: mark[0] if mark[1] in "\\*_`[]<" else mark[1], text)
