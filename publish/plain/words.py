"""A piece of running text in plain Markdown: its roles and links."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from publish.plain.labels import Labels, LabelTarget, key_of
from publish.plain.marks import CODE, FORMULA, LINK, ROLE, NotPlain, titled
from publish.plain.sources import Sources

PIECE = re.compile(
    f"(?P<is_role>{ROLE.pattern})|(?P<is_code>{CODE.pattern})"
    f"|(?P<is_formula>{FORMULA.pattern})|(?P<is_link>{LINK.pattern})",
    re.S,
)
NAMES = {"figure": "Figure", "exercise": "Exercise"}
REST = re.compile(r"\{[a-z][\w:-]*\}`|\{\{|\}\{")


@dataclass
class Words:
    """Writes the words of one notebook.

    cited: the keys of what the notebook cites. linked: the headings, by notebook, to
    which links lead.
    """

    notebook: str
    labels: Labels
    sources: Sources
    cited: list[str] = field(default_factory=list)
    linked: set[tuple[str, str]] = field(default_factory=set)

    def plain(self, text: str) -> str:
        """The text with every role and link in plain Markdown."""

        def piece(found: re.Match) -> str:
            if found["is_role"]:
                return self.role(found["role"], found["of"])
            if found["is_link"]:
                return self.link(self.plain(found["shown"]), found["to"])
            return found[0]

        made = PIECE.sub(piece, text)
        outside = FORMULA.sub("", CODE.sub("", made))
        if rest := REST.search(outside):
            near = outside[max(0, rest.start() - 20) : rest.end() + 20]
            raise NotPlain(f"expected no mark of MyST to be left; got {near!r}")
        return made

    def role(self, name: str, text: str) -> str:
        roles: dict[str, Callable[[str], str]] = {
            "term": self.term,
            "define": lambda text: f"**{titled(text)[0]}**",
            "numref": self.numbered,
            "ref": self.numbered,
            "eq": self.equation,
            "cite:p": lambda text: f"({self.cite(text)})",
            "cite:t": lambda text: self.cite(text, in_text=True),
            "sourced": self.sourced,
            "show": lambda text: titled(text)[0],
            "download": lambda text: f"`{titled(text)[0]}`",
        }
        if name not in roles:
            raise NotPlain(f"the role {name!r} is not known: {{{name}}}`{text}`")
        return roles[name](text)

    # References

    def place(self, label: str) -> LabelTarget:
        if label not in self.labels.places:
            raise NotPlain(f"there is no label {label!r}")
        return self.labels.places[label]

    def to(self, label: str) -> str:
        """The part of a link that leads to a label."""
        place = self.place(label)
        return f"({self.address(place.notebook, place.heading)})"

    def address(self, notebook: str, heading: str) -> str:
        """Where a heading is, as Jupyter names it; the notebook's beginning if none."""
        if heading:
            self.linked.add((notebook, heading))
        page = "" if notebook == self.notebook else f"{notebook}.ipynb"
        return f"{page}#{anchor(heading)}" if heading else page or "#"

    def equation(self, label: str) -> str:
        place = self.place(label)
        if place.notebook == self.notebook:
            return f"({place.number})"
        return f"[({place.number})]{self.to(label)}"

    def numbered(self, text: str) -> str:
        """A figure or an exercise by its number, linked from another notebook."""
        shown, label = titled(text)
        place = self.place(label)
        if shown == label:
            shown = f"{NAMES.get(place.kind, place.kind)} {place.number}".strip()
        if place.kind == "figure" and place.notebook == self.notebook:
            return shown  # a link would lead to the heading above both
        return f"[{shown}]{self.to(label)}"

    def link(self, shown: str, to: str) -> str:
        """A link of the book's; one that leads out stays."""
        if "://" in to or to.startswith("mailto:"):
            return f"[{shown}]({to})"
        page, _, name = to.partition("#")
        if page.endswith(".md"):
            return shown  # the plain edition has the notebooks alone
        notebook = page.removesuffix(".ipynb") or self.notebook
        if notebook not in self.labels.headings:
            raise NotPlain(f"the link to {to!r} leads to no notebook")
        if not name:
            return f"[{shown}]({self.address(notebook, '')})"
        if heading := self.labels.headings[notebook].get(name):
            return f"[{shown}]({self.address(notebook, heading)})"
        place = self.labels.places.get(name)
        if place is None or place.notebook != notebook:
            raise NotPlain(f"the link to {to!r} leads to no heading and no label")
        return f"[{shown}]({self.address(notebook, place.heading)})"

    def term(self, text: str) -> str:
        """A word, linked to the place that explains it, with its meaning."""
        shown, term = titled(text)
        key = key_of(term)
        if key not in self.labels.meanings:
            raise NotPlain(f"the glossary has no term {term!r}")
        if key not in self.labels.defined:
            return shown
        place = self.labels.defined[key]
        meaning = spoken(self.labels.meanings[key])
        return f'[{shown}]({self.address(place.notebook, place.heading)} "{meaning}")'

    # Sources

    def cite(self, text: str, in_text: bool = False) -> str:
        keys = [key.strip() for key in text.split(",")]
        return (" and " if in_text else "; ").join(
            self.cited_as(key, in_text) for key in keys
        )

    def cited_as(self, key: str, in_text: bool) -> str:
        source = self.source(key)
        year = f" ({source.year})" if in_text else f", {source.year}"
        return f"[{source.authors}{year}]({source.address or '#Sources'})"

    def sourced(self, text: str) -> str:
        shown, key = titled(text)
        source = self.source(key)
        said = f"{source.authors}, {source.year}"
        return f'[{shown}]({source.address or "#Sources"} "{said}")'

    def source(self, key: str):
        if key not in self.sources:
            raise NotPlain(f"references.bib has no {key!r}")
        if key not in self.cited:
            self.cited.append(key)
        return self.sources[key]


def anchor(heading: str) -> str:
    """Jupyter's name for a heading; what would end a link is escaped."""
    name = heading.replace(" ", "-")
    return re.sub(r"[()<>\\]", lambda mark: f"%{ord(mark[0]):02X}", name)


def spoken(text: str) -> str:
    """A sentence for a link's title, where no mark is read."""
    text = re.sub(r"[$`*\\{}]", "", text)
    return text.replace('"', "”")
