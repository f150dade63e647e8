"""The table of claims: its verdicts counted, and a choice among them."""

from collections import Counter
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from website.builders import add_transform

HEAD = ["Claim", "Verdict", "Measured"]
VERDICTS = {"true": "true", "when": "true when …", "false": "false"}
# On this page alone: with `:has`, each change of a page restyles all of it.
CHOSEN = (
    "#all-claims-at-a-glance:has(#only-{0}:checked) "
    ":is(tbody:not(:has(> .{0})), tbody > :not(.topic, .{0})) {{ display: none; }}"
)


def count_claims(page: SphinxPostTransform) -> None:
    """Sort the rows by topic and verdict, and put the choice before the table."""
    for table in list(page.document.findall(nodes.table)):
        heads = [one.astext() for one in table.findall(nodes.thead)]
        if heads == ["\n\n".join(HEAD)]:
            body = next(table.findall(nodes.tbody))
            body.parent += by_topic(body)
            body.parent.remove(body)
            counts = Counter(name for row in body for name in row["classes"])
            table.parent.insert(table.parent.index(table), choice(counts))


def by_topic(body: nodes.tbody) -> list[nodes.tbody]:
    """A body for each topic, whose name takes a whole row."""
    made = [nodes.tbody()]
    for row in list(body):
        row["classes"] = [name_verdict(row)]
        if row["classes"] == ["topic"]:
            row[0]["morecols"] = len(HEAD) - 1
            del row[1:]
            made.append(nodes.tbody())
        made[-1] += row
    return [one for one in made if one.children]


def name_verdict(row: nodes.row) -> str:
    """The name of a verdict; its condition loses the bold type."""
    for verdict in row[1].findall(nodes.strong):
        said, when, condition = verdict.astext().partition(" when ")
        if not when:
            return said
        verdict.parent += nodes.Text(f" {condition}")
        verdict.children = [nodes.Text(f"{said} when")]
        return "when"
    return "topic"


def choice(counts: Counter) -> nodes.raw:
    """Buttons with counts, and the style that hides the rows that are not chosen."""
    shown = {"all": "all", **VERDICTS}
    total = sum(counts[name] for name in VERDICTS)
    buttons = "".join(
        f'<label><input type="radio" name="verdict" id="only-{name}"'
        f"{' checked' if name == 'all' else ''}/> {escape(words)}"
        f" <b>{total if name == 'all' else counts[name]}</b></label>"
        for name, words in shown.items()
    )
    style = "".join(map(CHOSEN.format, VERDICTS))
    legend = "<legend>Show the claims</legend>"
    html = f'<fieldset class="tally">{legend}{buttons}</fieldset><style>{style}</style>'
    return nodes.raw("", html, format="html")


def setup(app: Sphinx) -> None:
    add_transform(app, count_claims, 900)  # after references are resolved
