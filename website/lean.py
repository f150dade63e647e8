"""Pages without what they do not use: scripts, style sheets, icons, icon rules."""

import logging
import re
import shutil
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.application import Sphinx

logging.getLogger("fontTools").setLevel(logging.ERROR)  # it logs every step

# Style sheets and scripts of extensions, each with the markup that needs it.
WHERE_USED = {
    "sphinx-design.min.css": 'class="sd-',
    "design-tabs.js": 'class="sd-tab',
    "proof.css": 'class="proof',
    "copybutton.css": 'class="highlight',
    "copybutton.js": 'class="highlight',
    "clipboard.min.js": 'class="highlight',
}
# Replaced by the book's own, or useless without a kernel.
NEVER = ("sphinx-thebe.css", "togglebutton.css", "togglebutton.js", "exercise.css")
UNUSED_FILES = (
    "scripts/fontawesome.js",
    "locales",
    "sbt-webpack-macros.html",
    "webpack-macros.html",
    "copybutton_funcs.js",
    "images",
    "plus.png",
    "minus.png",
    "file.png",
)
ICON_RULE = re.compile(
    r'(?P<names>(?:\.fa-[\w-]+:before,?)+)\{content:"(?P<glyph>[^"]+)"\}'
)
# Icons that the theme's own style sheets draw.
DRAWN = (
    re.compile(r'--pst-icon-[\w-]+:"(.)"'),
    re.compile(r'content:"(\\f[0-9a-f]{3}|[\uf000-\uf8ff])"'),
)
SOURCE_MAP = re.compile(r"/\*# sourceMappingURL=.*?\*/")
SHEETS = ("pydata-sphinx-theme.css", "sphinx-book-theme.css")
TOGGLE_SETTINGS = ("toggleHint", "toggleOpenOnPrint", "togglebuttonSelector")
SILENT = ("sphinx_thebe", "sphinx_comments")  # jupyter-book always loads them
ICON_CLASS = re.compile(r"\bfa-[\w-]+")
FACE = re.compile(
    r'url\(([^)]+fa-[\w-]+)\.woff2\) format\("woff2"\),'
    r'url\([^)]+\) format\("truetype"\)'
)


def silence(app: Sphinx, *modules: str) -> None:
    """Disconnect every event handler of these packages."""
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one
            for one in listeners
            if one.handler.__module__.split(".")[0] not in modules
        ]


def name_of(asset) -> str:
    return Path(str(getattr(asset, "filename", asset) or "").split("?")[0]).name


def is_toggle_setting(asset) -> bool:
    body = getattr(asset, "attributes", {}).get("body") or ""
    return any(setting in body for setting in TOGGLE_SETTINGS)


def keep_used_assets(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    body = context.get("body", "")

    def used(asset) -> bool:
        name = name_of(asset)
        return not (
            name in NEVER
            or name.startswith("mystnb.")
            or is_toggle_setting(asset)
            or (name in WHERE_USED and WHERE_USED[name] not in body)
        )

    for kind in ("css_files", "script_files"):
        context[kind][:] = [asset for asset in context[kind] if used(asset)]


def glyphs_used(pages: str, styles: str) -> set[str]:
    """The icon characters that the pages' classes and the theme's own rules draw."""
    classes = set(ICON_CLASS.findall(pages))
    drawn = set()
    for rule in ICON_RULE.finditer(styles):
        names = set(ICON_CLASS.findall(rule["names"]))
        if names & classes:
            drawn.add(rule["glyph"])
    rest = ICON_RULE.sub("", styles)
    for pattern in DRAWN:
        drawn |= set(pattern.findall(rest))
    return {chr(int(one[1:], 16)) if one.startswith("\\") else one for one in drawn}


def without_unused_icons(styles: str, pages: str) -> str:
    classes = set(ICON_CLASS.findall(pages))

    def kept(rule: re.Match) -> str:
        names = [
            n
            for n in rule["names"].split(",")
            if n[1:].removesuffix(":before") in classes
        ]
        return f'{",".join(names)}{{content:"{rule["glyph"]}"}}' if names else ""

    styles = ICON_RULE.sub(kept, styles)
    return SOURCE_MAP.sub("", FACE.sub(r'url(\1.woff2) format("woff2")', styles))


@lru_cache(maxsize=8)
def subset_font(source: bytes, glyphs: frozenset[str]) -> bytes:
    """A WOFF2 font with only these characters."""
    options = subset.Options(
        flavor="woff2", layout_features=[], notdef_outline=True, desubroutinize=True
    )
    font = TTFont(BytesIO(source))
    chooser = subset.Subsetter(options)
    chooser.populate(unicodes=[ord(glyph) for glyph in glyphs])
    chooser.subset(font)
    font.flavor = "woff2"
    result = BytesIO()
    font.save(result, reorderTables=False)
    return result.getvalue()


def with_palette(picture: bytes) -> bytes:
    """A PNG reduced to 256 colours: for a plot, a third of the bytes.

    A picture that would grow stays as it is.
    """
    image = Image.open(BytesIO(picture))
    if image.mode == "P":
        return picture
    method = Image.Quantize.FASTOCTREE  # the one that keeps transparency
    result = BytesIO()
    image.convert("RGBA").quantize(256, method).save(result, "PNG", optimize=True)
    return min(picture, result.getvalue(), key=len)


def shrink(app: Sphinx, exception: Exception | None) -> None:
    """Cut icons, rules and pictures to what the site shows; remove unused files."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    pages = "".join(
        page.read_text(encoding="utf-8") for page in sorted(out.rglob("*.html"))
    )
    pages += "".join(
        script.read_text(encoding="utf-8") for script in static.glob("scripts/p*.js")
    )
    sheet, book = (static / "styles" / name for name in SHEETS)
    styles = sheet.read_text(encoding="utf-8")
    glyphs = frozenset(glyphs_used(pages, styles + book.read_text(encoding="utf-8")))
    sheet.write_text(without_unused_icons(styles, pages), encoding="utf-8")
    for font in static.glob("vendor/fontawesome/webfonts/*"):
        if font.suffix == ".woff2":
            font.write_bytes(subset_font(font.read_bytes(), glyphs))
        else:
            font.unlink()
    for picture in out.glob("_images/*.png"):
        picture.write_bytes(with_palette(picture.read_bytes()))
    for path in [static / name for name in UNUSED_FILES] + list(static.rglob("*.map")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    silence(app, *SILENT)
    app.connect("html-page-context", keep_used_assets, priority=950)
    app.connect("build-finished", shrink, priority=800)
