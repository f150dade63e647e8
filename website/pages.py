"""The last pass over the written pages: the theme repaired, the page's policy added.

Repeating the pass on a finished page changes nothing.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from PIL import Image
from sphinx.application import Sphinx

from website.addresses import address
from website.security_policy import refuse_handlers, with_policy

SHARED = re.compile(r'<meta (?:property="og:|name="(?:description|twitter:))[^>]*>')
THEME_AT_ONCE = """\
<script data-cfasync="false">
    (({ dataset }) => {
      let mode = "auto";
      try { mode = localStorage.getItem("mode") || mode; } catch { /* no storage */ }
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      dataset.mode = mode;
      dataset.theme = mode === "auto" ? (dark ? "dark" : "light") : mode;
    })(document.documentElement);
  </script>"""
DENSITY = 1.4
PLOT = re.compile(
    r'(?P<start><img (?![^>]*\bwidth=)[^>]*src="(?P<file>[^":]*_images/[^"]+\.png)")'
    r"(?P<end>[^>]*>)"
)
# What the theme writes, and what it should be. docs/site.md lists these by name, and
# a test fails when a pattern no longer finds its place in the theme's HTML.
REPAIRS = {
    "no icon script": (
        r'\s*<script src="[^"]*scripts/fontawesome\.js[^"]*"></script>',
        "",
    ),
    "no comment about icons": (r"\s*<!-- So that users can add custom icons -->", ""),
    "one viewport": (
        r'(<meta name="viewport"[^>]*>)\s*<meta name="viewport"[^>]*>',
        r"\1",
    ),
    "no search crawler's metadata": (r'\s*<meta name="docsearch:[^>]*>', ""),
    "no place for advertisements": (
        r'\s*<div class="sidebar-primary-items__end.*?<div id="ethical-ad-placement"'
        r".*?</div>\s*</div>\s*</div>",
        "",
    ),
    "named sidebar buttons": (
        r'<button class="(sidebar-toggle [^"]*)" title="([^"]*)"(?! aria-label)',
        r'<button class="\1" title="\2" aria-label="\2"',
    ),
    "a named repository button": (
        r'<a (href="https://github[^"]*" target="_blank"\s+'
        r'class="[^"]*repository-button")',
        r'<a aria-label="Source repository" \1',
    ),
    "references as items of their list": ('role="doc-biblioentry"', 'role="listitem"'),
    "a named sidebar": (
        '<div id="pst-primary-sidebar" class="',
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book" class="',
    ),
    "a named search dialog": (
        '<dialog id="pst-search-dialog">',
        '<dialog id="pst-search-dialog" aria-label="Search">',
    ),
    "the colour theme set at once": (
        r'<script data-cfasync="false">.*?</script>',
        THEME_AT_ONCE,
    ),
}


def mend(html: str) -> str:
    for pattern, replacement in REPAIRS.values():
        html = re.sub(pattern, replacement, html, flags=re.DOTALL)
    return html


def with_sizes(html: str, folder: Path) -> str:
    """Give the pictures of outputs their size, so that no text moves when they load.

    A plot has 144 pixels per inch and 11.5-point letters. At `DENSITY` pixels of the
    plot to one of the page, they are as large as the text.
    """

    def sized(tag: re.Match) -> str:
        with Image.open(folder / unquote(tag["file"])) as image:
            width, height = (round(side / DENSITY) for side in image.size)
        return f'{tag["start"]} width="{width}" height="{height}"{tag["end"]}'

    return PLOT.sub(sized, html)


def redirect_page(root: str, title: str, tags: str = "") -> str:
    """`index.html` of a book whose first page has another name, with its meta tags."""
    return f"""<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="refresh" content="0; url={root}.html" />
    {tags}
    <title>{title}</title>
  </head>
  <body>
    <main><h1>{title}</h1><p><a href="{root}.html">To the first page</a></p></main>
  </body>
</html>
"""


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    root = address(app.config.root_doc)
    if root != "index":
        tags = "\n    ".join(SHARED.findall((out / f"{root}.html").read_text("utf-8")))
        (out / "index.html").write_text(
            redirect_page(root, app.config.html_title, tags), encoding="utf-8"
        )
    for page in sorted(out.rglob("*.html")):
        if "_static" in page.parts or "_sources" in page.parts:
            continue
        html = page.read_text(encoding="utf-8")
        finished = with_policy(with_sizes(mend(html), page.parent))
        refuse_handlers(page.name, finished)
        if finished != html:
            page.write_text(finished, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", finish, priority=900)  # after all other handlers
