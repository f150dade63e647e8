"""A search that leads to sections: each is a document of its own in Sphinx's index.

Sphinx's index knows in which document a word stands, and nothing smaller. Here the
documents of the index are the parts of the pages (sections, exercises, entries of the
glossary). `search.js` makes addresses of their names.
"""

from collections import Counter
from collections.abc import Iterable
from html import escape, unescape
from pathlib import Path

import sphinx.search
from docutils import nodes
from docutils.utils import new_document
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.search import IndexBuilder

from website.addresses import address
from website.search.parts import TAG, SearchEntry, parts_of
from website.words import BookWords

SCRIPT = Path(__file__).with_name("search.js")


class SectionIndex(IndexBuilder):
    """Sphinx's index, with the parts of the pages in place of the pages."""

    def feed(
        self, docname: str, filename: str, title: str, doctree: nodes.document
    ) -> None:
        docname = address(docname)  # `search.js` makes a link of it
        self._forget(docname)
        heading = unescape(TAG.sub("", title))  # its number is in an element
        parts = parts_of(docname, heading, doctree)
        if len(parts) > 1:
            self._note_subjects(parts)
        for number, part in enumerate(parts):
            name = f"{part.name}##{number}" if "##" in part.name else part.name
            # Only `search.js` reads the name of the file: for the order of the parts.
            self._feed(name, part, f"{filename}:{number}")

    def _note_subjects(self, parts: list[SearchEntry]) -> None:
        """A part is about the words that hardly any part of the page says more often.

        They count as words of its title. What comes later in the reading counts half.
        """
        counts = [Counter(self.lang.split(" ".join(one.text))) for one in parts]
        most: dict[str, float] = {}
        for part, count in zip(parts, counts, strict=True):
            for word, times in count.items():
                most[word] = max(most.get(word, 0), times * part.weight)
        for part, count in zip(parts, counts, strict=True):
            part.about += [
                word
                for word, times in count.items()
                if 1 < times * part.weight >= most[word] / 2
            ]

    def _forget(self, page: str) -> None:
        tables = self._titles, self._filenames, self._all_titles, self._index_entries
        for table in tables:
            for name in [name for name in table if page_of(name) == page]:
                del table[name]

    def _feed(self, name: str, part: SearchEntry, filename: str) -> None:
        title = escape(part.title, quote=False)
        document = new_document(name)
        document += nodes.title("", part.title)
        document += nodes.title("", " ".join(part.about))
        document += nodes.paragraph("", " ".join(part.text))
        document.extend(part.entries)
        super().feed(name, filename, title, document)
        del self._all_titles[name][:]  # `search.js` compares phrases with titles

    def prune(self, docnames: Iterable[str]) -> None:
        kept = set(map(address, docnames))
        super().prune([name for name in self._titles if page_of(name) in kept])
        for words in (self._mapping, self._title_mapping):
            for word in [word for word, names in words.items() if not names]:
                del words[word]


def page_of(name: str) -> str:
    return name.partition("#")[0]


def set_script(app: Sphinx, config: Config) -> None:
    config.html_search_scorer = str(SCRIPT)


def setup(app: Sphinx) -> None:
    app.add_search_language(BookWords)
    sphinx.search.IndexBuilder = SectionIndex  # the builder takes it from there
    app.connect("config-inited", set_script)
