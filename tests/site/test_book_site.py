"""The site's extension: each part alone, then a small book built with all of them."""

import base64
import hashlib
import inspect
import json
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
import quickjs
from docutils.core import publish_doctree
from helpers.refusals import refused
from helpers.small_book import (
    DRAWING,
    INTRO,
    MODULE,
    PNG,
    build_book,
    widget_notebook,
    write_book,
)
from PIL import Image, ImageColor

import website
from make import ROOT
from mygpt import plots
from tools import executed
from website import drawings, formulas, launch, lean, missing, widgets
from website.palette import palette
from website.text import numbers, prose, streams

# Mathematics


def test_a_formula_is_drawn_and_spoken():
    html = formulas.typeset(r"x\,\Phi(x)", False)
    assert 'class="katex-html" aria-hidden="true"' in html
    assert "<math" in html


test_a_formula_that_katex_cannot_read_is_an_error = refused(
    formulas.typeset,
    (r"\frac{1", False, "Unexpected end of input"),
    (r"\nosuchcommand", True, "Undefined control sequence"),
    error=formulas.TexError,
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b", "a = b"),
        ("a\n\nb", r"\begin{aligned}a \\ b\end{aligned}"),
        (r"a \\ b", r"\begin{aligned}a \\ b\end{aligned}"),
        (r"\begin{align}a &= b\end{align}", r"\begin{aligned}a &= b\end{aligned}"),
        (r"\begin{gather*}a\end{gather*}", r"\begin{gathered}a\end{gathered}"),
        (r"\begin{equation}a\end{equation}", "a"),
        (r"\begin{pmatrix}1 \\ 2\end{pmatrix}", r"\begin{pmatrix}1 \\ 2\end{pmatrix}"),
    ],
)
def test_displays_take_the_form_that_katex_accepts(source, expected):
    assert formulas.display_tex(source) == expected
    formulas.typeset(expected, True)


# Explorers


def test_a_module_becomes_a_script_that_registers_itself():
    context = quickjs.Context()
    context.eval("globalThis.window = globalThis")
    context.eval(widgets.classic_script(MODULE, "abc"))
    assert context.eval("typeof bookExplorers.abc.render") == "function"
    assert context.eval("typeof two") == "undefined"


@pytest.mark.parametrize(
    "module",
    [
        "function render() {}",
        MODULE + "export default {};\n",
        'import d3 from "d3";\n' + MODULE,
        "export const one = 1;\n" + MODULE,
    ],
)
def test_a_module_that_imports_or_exports_more_is_refused(module):
    with pytest.raises(widgets.ModuleError):
        widgets.classic_script(module, "abc")


def test_the_host_is_a_classic_script_that_holds_the_explorers_model():
    script = widgets.host_script()
    assert not widgets.MODULE_LINE.search(script)
    assert "function makeModel(" in script
    quickjs.Context().eval(f"new Function({json.dumps(script)})")


def test_a_page_keeps_the_state_and_not_the_code():
    state = {"_esm": MODULE, "_css": "p{}", "_model_name": "AnyModel", "x": 1}
    buffers = [{"path": ["data"], "data": "AAAA", "encoding": "base64"}]
    model = {"state": state | {"layout": "IPY_MODEL_x"}, "buffers": buffers}
    kept, files = widgets.page_model(model)
    assert kept["state"] == {"x": 1}
    assert kept["buffers"] == model["buffers"]
    assert set(files) == {f"{kept['module']}.js", f"{widgets.digest('p{}')}.css"}


def test_our_explorers_share_one_kit():
    """On a page with several, what they have in common is there once."""
    context = quickjs.Context()
    context.eval("globalThis.window = globalThis")
    stems, scripts = ("memory", "train_stack"), {}
    for stem in stems:
        scripts |= widgets.own_files(stem)[1]
    assert sum(name.startswith("kit-") for name in scripts) == 2  # and its styles
    for name, text in scripts.items():
        if name.endswith(".js"):
            assert text.count("function niceStep(") == name.startswith("kit-")
            context.eval(text)
    for stem in stems:
        render = f"bookExplorers[{json.dumps(widgets.own_files(stem)[0])}].render"
        assert context.eval(f"typeof {render}") == "function"
    common = [name for name, text in scripts.items() if "\n.mygpt-explorer {" in text]
    assert [name[:4] + name[-4:] for name in common] == ["kit-.css"]


def test_only_links_between_shown_models_are_kept():
    def link(source, target, name):
        source, target = [f"IPY_MODEL_{source}", "x"], [f"IPY_MODEL_{target}", "y"]
        return {"state": {"_model_name": name, "source": source, "target": target}}

    shown, other = link("a", "b", "LinkModel"), link("a", "z", "DirectionalLinkModel")
    links = widgets.links_between({"1": shown, "2": other}, {"a", "b"})
    assert links == [{"ends": [["a", "x"], ["b", "y"]], "both": True}]


# Schematics


def test_a_schematic_takes_the_colours_of_the_page():
    html = drawings.inline(DRAWING, "A description.")
    assert ":root" not in html
    assert "@media" not in html
    assert "#svg-a .box{fill:var(--mygpt-blue)}" in html
    assert 'role="img" aria-label="A description."' in html
    assert "<title>" not in html
    assert not re.search(r'<svg[^>]*\swidth="', html)


def test_ids_of_a_schematic_are_unique():
    html = drawings.inline(DRAWING, "A")
    assert 'id="svg-a-arrow"' in html
    assert 'marker-end="url(#svg-a-arrow)"' in html
    assert 'href="#svg-a-arrow"' in html
    assert 'id="svg-a-line"' in html
    second = drawings.inline(DRAWING, "A", copy=2)
    ids = re.findall(r'id="([^"]+)"', html) + re.findall(r'id="([^"]+)"', second)
    assert len(ids) == len(set(ids)) == 6
    assert "#svg-a-2 .box" in second


def test_the_description_of_a_schematic_is_escaped():
    html = drawings.inline(DRAWING, 'a < b\n "c"')
    assert 'aria-label="a &lt; b &quot;c&quot;"' in html


@pytest.mark.parametrize(
    "svg",
    [
        "<p>no drawing</p>",
        '<svg viewBox="0 0 1 1"></svg>',
        '<svg id="a"></svg>',
        '<svg id="a" viewBox="0 0 1 1"><script>1</script></svg>',
        '<svg id="a" viewBox="0 0 1 1"><image href="x.png"/></svg>',
    ],
)
def test_a_schematic_that_cannot_be_inlined_is_refused(svg):
    with pytest.raises(drawings.SchematicError):
        drawings.inline(svg, "A")


# Launch lines


COLAB, BINDER = "https://colab.research.google.com", "https://mybinder.org"


class Settings(dict):
    """Of a book that is published, or not."""

    def __init__(self, published=True):
        super().__init__(published=published, site_url="pages", package_from="site")
        buttons = {"colab_url": COLAB, "binderhub_url": BINDER}
        self.html_theme_options = {
            "repository_url": "https://github.com/some/book/",
            "launch_buttons": buttons,
        }


def test_the_launch_line_opens_the_plain_edition():
    line = launch.launch_line(Settings(), "chapters/05_x")
    assert f"{COLAB}/github/some/book/blob/notebooks/05_x.ipynb" in line
    notebook = "notebooks?urlpath=lab/tree/05_x.ipynb"
    assert f"{BINDER}/v2/gh/some/book/{notebook}" in line
    assert 'href="../notebooks/05_x.ipynb" download' in line
    assert 'href="notebooks/x.ipynb"' in launch.launch_line(Settings(), "x")


def test_unpublished_it_says_how_to_open_a_chapter_and_leads_nowhere_else():
    line = launch.launch_line(Settings(published=False), "chapters/05_x")
    links = ["../notebooks/05_x.ipynb", "../using.html#install-the-package"]
    assert re.findall(r'href="([^"]*)"', line) == links
    assert "<code>make lab</code>" in line
    assert "Colab and Binder will open them from here" in line


def test_a_page_that_is_not_a_notebook_has_no_launch_group():
    def groups_of(suffix):
        labels = ("launch-buttons", "download-buttons")
        groups = [{"type": "group", "label": one, "buttons": []} for one in labels]
        context = {"page_source_suffix": suffix, "header_buttons": groups}
        app = SimpleNamespace(config=Settings())
        launch.plain_buttons(app, "x", "page.html", context, None)
        return [group["label"] for group in context["header_buttons"]]

    assert groups_of(".ipynb") == ["launch-buttons", "download-buttons"]
    assert groups_of(".md") == ["download-buttons"]


# Shared pages


def card_tags(site_url):
    config = SimpleNamespace(site_url=site_url, html_title="Book")
    html = website.card.tags(config, "chapters/05_a", 'A "b" & c', "What it is.")
    tag = r'<meta (?:property|name)="([^"]+)" content="([^"]*)"'
    return dict(re.findall(tag, html))


def test_a_shared_page_has_absolute_addresses_where_the_site_has_one():
    found = card_tags("https://a.example/b/")
    assert found["og:url"] == "https://a.example/b/chapters/05_a.html"
    assert found["og:image"] == "https://a.example/b/_static/card.png"
    assert found["og:title"] == "A &quot;b&quot; &amp; c"
    assert found["og:description"] == found["description"] == "What it is."
    assert found["twitter:card"] == "summary_large_image"


def test_without_an_address_a_shared_page_names_nothing_absolute():
    found = card_tags("")
    assert found["og:image"] == "../_static/card.png"
    assert "og:url" not in found
    assert not [value for value in found.values() if "://" in value]


def test_a_summary_is_the_first_paragraph_with_the_list_that_it_introduces():
    def summary(source):
        return website.card.summary(publish_doctree(source))

    assert summary("Title\n=====\n\nOne\ntwo.\n\n- three\n") == "One two."
    assert summary("You can\n\n- say;\n- show.\n") == "You can say; show."
    assert summary("") == ""
    long = summary("word, " * 100)
    assert long.endswith("word …")
    assert len(long) <= website.card.LONGEST_SUMMARY + 2


def test_the_card_has_the_declared_size_and_is_opaque(tmp_path):
    website.card.draw(tmp_path / "card.png", "Book")
    with Image.open(tmp_path / "card.png") as card:
        assert card.size == website.card.SIZE
        assert card.convert("RGBA").getextrema()[3] == (255, 255)
        colours = card.convert("RGB").getcolors(1 << 20)
    assert max(colours)[1] == ImageColor.getrgb(palette("light")["paper"])
    drawn = {colour for count, colour in colours if count > 100}
    assert {ImageColor.getrgb(one) for one in plots.SERIES[:3]} <= drawn


# The page for wrong addresses


def test_the_page_for_wrong_addresses_needs_no_other_file():
    pages = [("chapters/05_a.html", "5. A < b")]
    html = missing.missing_page("B & b", "intro.html", pages, "/book/")
    assert not re.search(r'<(?:link|script|img)[^>]+(?:href|src)="(?!data:)', html)
    assert '<a class="home" href="intro.html">To the start of B &amp; b</a>' in html
    assert '<a href="chapters/05_a.html">5. A &lt; b</a>' in html
    assert 'pathname.startsWith("/book/")' in html
    assert set(re.findall(r"var\(--(\w+)\)", html)) <= set(palette("dark"))


# A lean site


def test_icons_that_no_page_shows_lose_their_rules():
    styles = '.fa-sun:before{content:"\uf185"}.fa-bars:before,'
    styles += '.fa-navicon:before{content:"\\f0c9"}p{}'
    pages = '<i class="fa-solid fa-bars"></i>'
    kept = '.fa-bars:before{content:"\\f0c9"}p{}'
    assert lean.without_unused_icons(styles, pages) == kept
    assert lean.glyphs_used(pages, styles) == {"\uf0c9"}


def test_a_subset_font_holds_what_was_asked_for():
    import pydata_sphinx_theme
    from fontTools.ttLib import TTFont

    theme = Path(pydata_sphinx_theme.__file__).parent
    source = next(theme.rglob("fa-solid-900.woff2")).read_bytes()
    small = lean.subset_font(source, frozenset("\uf0c9\uf002"))
    with TTFont(BytesIO(small)) as font:
        assert set(font.getBestCmap()) == {0xF0C9, 0xF002}
    assert len(small) < 2000


# The last pass


def test_the_policy_allows_nothing_else():
    policy = website.security_policy.POLICY.format(scripts="", workers="")
    assert policy == (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; script-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'"
    )


def test_the_policy_names_each_inline_script_by_its_hash():
    html = '<head><meta charset="utf-8"><script>let a = 1;</script>'
    html += '<script src="b.js"></script></head>'
    page = website.security_policy.with_policy(html)
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in page
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert website.security_policy.with_policy(page) == page


def test_only_where_a_model_is_trained_may_a_page_compile_and_start_a_worker():
    html = '<head><meta charset="utf-8"></head><div class="explorer"{}>'
    policy = website.security_policy
    plain = policy.with_policy(html.format(""))
    trains = policy.with_policy(html.format(policy.TRAINS))
    assert "wasm" not in plain
    assert "worker" not in plain
    assert "script-src 'self' 'wasm-unsafe-eval';" in trains
    assert "form-action 'self'; worker-src blob:\"" in trains
    more = " 'wasm-unsafe-eval'; worker-src blob:" + policy.TRAINS
    assert len(trains) - len(plain) == len(more)


def test_data_in_a_script_element_needs_no_hash():
    data = '<script type="application/json">{}</script>'
    assert website.security_policy.script_hashes(data) == []


def test_a_handler_in_the_page_is_found():
    assert website.security_policy.HANDLER.search('<button class="a" onclick="go()">')
    assert not website.security_policy.HANDLER.search("<p>on click = go</p>")


# Prose


@pytest.mark.parametrize(
    ("traceback", "expected"),
    [
        ('Traceback\n  File "/home/x.py", line 1\nOSError: got 3', "OSError: got 3"),
        ("Traceback\nmygpt.ShapeError: a\nand b", "mygpt.ShapeError: a\nand b"),
        ("nothing known\nlast", "last"),
    ],
)
def test_a_traceback_is_cut_to_its_last_message(traceback, expected):
    assert prose.last_words(traceback) == expected


# What a cell prints


def test_a_line_that_came_in_two_messages_is_one_line():
    new = nbformat.v4.new_output
    outputs = [
        new("stream", name="stdout", text="one "),
        new("stream", name="stdout", text="line\ntwo"),
        new("display_data", data={"image/png": ""}),
        new("stream", name="stdout", text="half of it\r        \rthree\n"),
        new("stream", name="stderr", text="not "),
        new("stream", name="stderr", text="this"),
    ]
    found = streams.joined(outputs)
    texts = {one.name: one.text for one in found if one.output_type == "stream"}
    assert texts == {"stdout": "one line\ntwo\nthree\n", "stderr": "not this\n"}
    assert len(found) == 3
    assert outputs[0].text == "one "
    assert streams.joined([]) == []


# The cache of executed notebooks


def test_pages_are_written_again_when_the_style_sheet_changes():
    """Sphinx copies no file and stamps no address unless a page is out of date."""
    sheet = ROOT / "website" / "static" / "mygpt.css"
    assert sheet in [p for one in website.READ_WITH for p in ROOT.glob(one)]


def test_the_cache_key_changes_with_the_package(tmp_path):
    (tmp_path / "mygpt").mkdir()
    source = tmp_path / "mygpt" / "norm.py"
    source.write_text("a = 1\n")
    key = executed.key_of_sources(tmp_path)
    source.touch()
    assert executed.key_of_sources(tmp_path) == key
    source.write_text("a = 2\n")
    assert executed.key_of_sources(tmp_path) != key


# A small book


# An extension of the small book: it keeps what the theme and the other extensions give,
# before the book's own extension replaces some of it.
WITNESS = """
import json, shutil
from pathlib import Path

NOTES = {"modules": [], "assets": [], "bodies": [], "buttons": [], "labels": []}

def note_buttons(app, pagename, templatename, context, doctree):
    for button in context.get("header_buttons", []):
        NOTES["labels"].append(button.get("label"))
        NOTES["buttons"] += [dict(one) for one in button.get("buttons", [])]

def note_assets(app, pagename, templatename, context, doctree):
    for asset in context["css_files"] + context["script_files"]:
        name = str(getattr(asset, "filename", asset) or "").split("?")[0]
        NOTES["assets"].append(Path(name).name)
        NOTES["bodies"].append(getattr(asset, "attributes", {}).get("body") or "")

def keep(app, exception):
    target = Path(app.srcdir, "as_written")
    shutil.copytree(app.outdir, target)
    (target / "notes.json").write_text(json.dumps(NOTES, default=str), encoding="utf-8")

def setup(app):
    for listeners in app.events.listeners.values():
        NOTES["modules"] += [one.handler.__module__ for one in listeners]
    app.connect("html-page-context", note_buttons, priority=599)
    app.connect("html-page-context", note_assets, priority=949)
    app.connect("build-finished", keep, priority=799)
"""

GLOSSARY = """# Glossary

:::{glossary}
loss
loss function
  How wrong a model is, in one number: "0" is right. It is made smaller.
:::
"""


TOC = (
    "chapters:\n- file: chapters/05_a\n- file: chapters/06_b\n"
    "- file: references\n- file: pages/glossary\n"
)
BUILD = "from jupyter_book.cli.main import main; main()"


def build(folder, intro=INTRO):
    """Build a small book with our settings, nothing executed: (code, log, site)."""
    files = {
        "intro.md": intro,
        "references.md": "# References\n\n```{bibliography}\n```\n",
        "pages/glossary.md": GLOSSARY,
        "mygpt/__init__.py": '__version__ = "3.2.1"\n',
        "witness.py": WITNESS,
    }
    write_book(folder, TOC, widget_notebook(), {}, files, "witness")
    strict = ("-W", "-n", "--keep-going")
    return *build_book(folder, BUILD, "build", *strict, "."), folder / "_build" / "html"


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    code, log, site = build(tmp_path_factory.mktemp("a book"))
    assert code == 0, log
    return site


@pytest.fixture(scope="module")
def chapter(small_site):
    return (small_site / "chapters" / "05_a.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def intro(small_site):
    return (small_site / "intro.html").read_text(encoding="utf-8")


def test_an_explorer_is_in_the_page_with_its_code_beside_it(small_site, chapter):
    name = widgets.digest(MODULE)
    assert (small_site / "_static" / "explorers" / f"{name}.js").is_file()
    assert f"_static/explorers/{name}.js" in chapter
    assert (small_site / "_static" / "host.js").read_text() == widgets.host_script()
    assert re.search(r'src="(\.\./)?_static/host\.js\?v=\w+"', chapter)
    assert "function render" not in chapter
    model = r'data-model="w".*?<script type="application/json">(.*?)</script>'
    data = re.search(model, chapter, re.S)
    assert json.loads(data.group(1))["state"] == {"level": 3, "note": "</script>"}


def test_a_page_names_its_version_and_opens_the_plain_edition(chapter):
    assert "Version 3.2.1" in chapter
    launched = re.findall(r"/(?:blob|gh/[\w-]+/[\w-]+)/([^/?\"]+)", chapter)
    assert set(launched) == {"notebooks"}
    assert len(launched) >= 4  # two in the line under the title, two in the header


def test_the_still_of_an_explorer_is_stored_and_not_shown(small_site, chapter):
    place = re.search(r'<div class="explorer" .*?</noscript></div>', chapter, re.S)[0]
    data = r'data-still="\.\./(_images/[^"]+)" data-alt="A line that rises."'
    still = re.search(data, place)
    assert (small_site / still.group(1)).read_bytes() == PNG
    assert place.count("<img") == place.partition("<noscript>")[2].count("<img") == 1


def test_a_live_lab_is_a_still_with_its_launch_links(chapter):
    lab = chapter[chapter.index("tag_live-lab") : chapter.index("tag_varies")]
    assert '<img alt="A line that rises."' in lab
    assert "its controls need Python" in lab
    assert "mybinder.org" in lab


def test_no_page_names_a_file_of_the_machine(chapter):
    assert "/home/me" not in chapter
    assert "ValueError: got 3" in re.sub("<[^>]+>", "", chapter)


def test_the_setup_cell_is_folded_and_timings_are_marked(chapter):
    assert "Setup: finds the book" in chapter
    assert chapter.count("varies by machine") == 1


def test_a_line_in_two_messages_is_one_line_of_the_page(chapter):
    assert "took 3.1 s" in re.sub("<[^>]+>", "", chapter)


def test_a_sourced_number_links_to_its_reference(intro):
    link = r'<a class="reference internal" href="references.html#id\d+"[^>]*>0\.02</a>'
    assert re.search(link, intro)


@pytest.fixture(scope="module")
def two_readings(small_site):
    return (small_site / "chapters" / "06_b.html").read_text()


def test_the_second_reading_folds_and_the_first_does_not(two_readings):
    article = two_readings.partition('<article class="bd-article">')[2]
    folds = re.findall(r'<details class="further">\s*<summary><h2>(.*?)</h2>', article)
    names = [re.sub(r"<[^>]*>", "", fold) for fold in folds]
    assert names == ["How far it is true", "Where it comes from"]
    first, _, second = article.partition('<details class="further">')
    assert "Exercises" in first
    assert "Two sections follow." in first
    assert "A part of it" in second
    assert '<span class="katex' in second


def test_signs_move_to_their_formula_and_none_is_lost(two_readings):
    text = re.search(r"<p>It has.*?</p>", two_readings, re.S)[0]
    kept = re.search(r'<span class="beside-formula">(.).*</span>(..)</span>', text)
    assert kept.groups() == ("(", ").")
    assert [one[:2] for one in text.split("</code>")[1:]] == [").", " i", " h"]


def test_a_link_to_a_folded_section_leads_inside_it(two_readings):
    assert 'href="#how-far-it-is-true"' in two_readings
    inside = r'<details class="further">\s*<summary>.*?</summary>\s*'
    inside += r'<div class="further-anchor" id="how-far-it-is-true"></div>'
    assert re.search(inside, two_readings, re.S)
    assert two_readings.count('id="how-far-it-is-true"') == 1


def test_a_term_is_defined_once_and_its_links_say_what_it_means(two_readings):
    assert '<dfn id="define-loss">loss</dfn>' in two_readings
    assert '<dfn id="define-loss-function">many losses</dfn>' in two_readings
    (link,) = re.findall(r'<a class="[^"]*\bterm"[^>]*>loss</a>', two_readings)
    assert 'href="../glossary.html#term-loss"' in link
    meaning = "How wrong a model is, in one number: “0” is right."
    assert f'data-meaning="{meaning}"' in link


def test_an_entry_of_the_glossary_links_back_to_its_place(small_site):
    html = (small_site / "glossary.html").read_text(encoding="utf-8")
    link = r'<p class="explained"><a href="([^"]*)">([^<]*)</a></p></dd>'
    assert re.findall(link, html) == [
        ("chapters/06_b.html#define-loss", "6. Two readings")
    ]


def test_solutions_fold_without_a_script(intro):
    fold = r'<details class="[^"]*solution[^"]*" id="sol-a">\s*<summary>Solution'
    assert re.search(fold, intro)
    assert "togglebutton" not in intro


def test_equations_are_numbered_and_referred_to(intro):
    assert '<span class="eqno">(1)' in intro
    assert 'href="#equation-eq-y">(1)</a>' in intro


def test_a_chapter_has_the_number_of_its_file(chapter):
    assert '<span class="section-number">5. </span>A chapter' in chapter


def test_nothing_is_loaded_from_another_host(small_site):
    for page in small_site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        foreign = r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?//'
        assert not re.search(foreign, html)
        assert "Content-Security-Policy" in html
    assert not list(small_site.rglob("fontawesome.js"))
    assert not list(small_site.rglob("*thebe*.js"))


def test_every_page_names_a_card_that_exists(small_site):
    pages = [page for page in small_site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 4
    for page in pages:
        html = page.read_text(encoding="utf-8")
        head = html.partition("</head>")[0]
        for name in ("og:title", "og:description", "og:image", "twitter:card"):
            assert head.count(f'="{name}" content="') == 1, (page, name)
        assert 'content="https://mygpt-book.github.io/mygpt/_static/card.png"' in head
    assert (small_site / "_static" / "card.png").is_file()


def test_a_chapter_is_summarised_by_its_first_words(chapter):
    assert '<meta property="og:title" content="5. A chapter" />' in chapter
    assert '<meta name="description" content="Text with x^2." />' in chapter


def test_the_page_for_wrong_addresses_lists_the_book(small_site):
    html = (small_site / "404.html").read_text(encoding="utf-8")
    links = re.findall(r'<a (?:class="home" )?href="([^"]+)">([^<]+)</a>', html)
    names = ["intro", "chapters/05_a", "chapters/06_b", "references", "glossary"]
    assert [page for page, _ in links] == [f"{name}.html" for name in names]
    assert links[1][1] == "5. A chapter"
    assert all((small_site / page).is_file() for page, _ in links)
    assert 'pathname.startsWith("/mygpt/")' in html


def test_a_broken_formula_stops_the_build(tmp_path):
    code, log, _ = build(tmp_path, "# Book\n\nBroken $\\frac{1$ here.\n")
    assert code != 0
    assert "KaTeX parse error" in log
    assert "intro.md:3" in log


def on_white(picture: bytes) -> np.ndarray:
    image = Image.open(BytesIO(picture)).convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return np.asarray(Image.alpha_composite(white, image))


@pytest.mark.parametrize("transparent", [True, False])
def test_a_plot_in_a_palette_is_smaller_and_looks_the_same(transparent):
    figure, axes = plt.subplots()
    axes.plot([0, 1, 4, 9])
    axes.imshow([[0, 1], [2, 3]], extent=(0, 1, 0, 9))
    file = BytesIO()
    figure.savefig(file, dpi=100, transparent=transparent)
    plt.close(figure)
    small = lean.with_palette(file.getvalue())
    assert len(small) < 0.6 * len(file.getvalue())
    alpha = Image.open(BytesIO(small)).convert("RGBA").getchannel("A")
    assert (alpha.getextrema()[0] == 0) == transparent
    difference = abs(on_white(file.getvalue()).astype(float) - on_white(small))
    assert difference.mean() < 1  # of 255
    assert difference.max() < 64  # at the edges of letters and lines
    assert lean.with_palette(small) == small


def test_plots_in_outputs_get_their_size_once(tmp_path):
    (tmp_path / "_images").mkdir()
    Image.new("RGB", (140, 70)).save(tmp_path / "_images" / "a b.png")
    html = '<img alt="x" src="../_images/a%20b.png"/><img src="../_static/logo.svg"/>'
    html += '<img width="9" src="../_images/a%20b.png">'
    (tmp_path / "chapters").mkdir()
    sized = website.pages.with_sizes(html, tmp_path / "chapters")
    wide = 'a%20b.png" width="100" height="50"/>'
    assert sized == html.replace('a%20b.png"/>', wide, 1)
    assert website.pages.with_sizes(sized, tmp_path / "chapters") == sized


# What the site replaces in pinned packages: each must still find its place in them


@pytest.fixture(scope="module")
def as_written(small_site):
    """The small book as the theme and the other extensions wrote it."""
    return small_site.parents[1] / "as_written"


@pytest.fixture(scope="module")
def notes(as_written):
    return json.loads((as_written / "notes.json").read_text(encoding="utf-8"))


REPAIRS = website.pages.REPAIRS
PATTERNS = {name: re.compile(REPAIRS[name][0], re.DOTALL) for name in REPAIRS} | {
    "the size of a plot": website.pages.PLOT,
    "the policy's place": website.security_policy.CHARSET,
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_repair_finds_its_place_in_the_themes_page(as_written, name):
    pages = [page.read_text(encoding="utf-8") for page in as_written.rglob("*.html")]
    assert [page for page in pages if PATTERNS[name].search(page)] != []


def test_a_page_that_sphinx_does_not_write_again_is_repaired_once(as_written):
    for page in as_written.rglob("*.html"):
        once = website.pages.mend(page.read_text(encoding="utf-8"))
        assert website.pages.mend(once) == once


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repair_is_described(name):
    assert f"| {name} |" in (ROOT / "docs" / "site.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*lean.WHERE_USED, *lean.NEVER])
def test_an_asset_that_pages_leave_out_is_offered_to_them(notes, name):
    assert name in notes["assets"]


@pytest.mark.parametrize("name", lean.UNUSED_FILES)
def test_a_file_that_is_removed_was_there(as_written, name):
    assert (as_written / "_static" / name).exists()


@pytest.mark.parametrize("setting", lean.TOGGLE_SETTINGS)
def test_a_setting_of_togglebutton_that_is_removed_was_there(notes, setting):
    assert any(setting in body for body in notes["bodies"])


@pytest.mark.parametrize("module", lean.SILENT)
def test_an_extension_that_is_silenced_would_speak(notes, module):
    assert module in {name.partition(".")[0] for name in notes["modules"]}


@pytest.mark.parametrize(
    "pattern",
    [lean.ICON_RULE, lean.FACE, *lean.DRAWN, lean.SOURCE_MAP],
    ids=lambda pattern: pattern.pattern[:12],
)
def test_a_rule_about_icons_finds_its_place_in_the_themes_style_sheets(
    as_written, pattern
):
    styles = as_written / "_static" / "styles"
    sheets = [(styles / name).read_text("utf-8") for name in lean.SHEETS]
    assert any(map(pattern.search, sheets))


def test_the_header_buttons_that_are_left_out_were_there(notes):
    assert "launch-buttons" in notes["labels"]
    assert "javascript" in {button["type"] for button in notes["buttons"]}
    icons = [button["icon"] for button in notes["buttons"] if "icon" in button]
    assert not all(icon.startswith("fa") for icon in icons)


def test_every_download_of_a_notebook_is_the_plain_one(chapter):
    links = re.findall(r'href="(\.\./[^"]*\.ipynb)"', chapter)
    assert links == ["../notebooks/05_a.ipynb"] * 2


def test_every_chapter_has_its_launch_line(chapter):
    assert chapter.count('<p class="launch-line">') == 1


def test_the_functions_that_are_replaced_are_there():
    assert "coalesce_streams(" in inspect.getsource(streams.render)
    assert "assign_section_numbers" in vars(numbers.TocTreeCollector)


def test_the_search_page_has_what_the_books_script_replaces(small_site):
    tools = (small_site / "_static" / "searchtools.js").read_text(encoding="utf-8")
    script = website.search.SCRIPT.read_text(encoding="utf-8")
    for name in set(re.findall(r"Search\.(\w+) = ", script)) - {"_index"}:
        assert f"  {name}: " in tools, name
    for words in re.findall(r'(?:FOUND|NONE) =\s+"(.+)";', script):
        assert words in tools
    page = (small_site / "search.html").read_text(encoding="utf-8")
    scripts = re.findall(r'<script src="(?:_static/)?(\w+)\.js', page)
    order = [one for one in scripts if one.startswith(("search", "language"))]
    assert order == ["searchtools", "language_data", "searchindex"]


def test_the_search_knows_sections_and_entries_of_the_glossary(small_site):
    source = (small_site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(source.removeprefix("Search.setIndex(").removesuffix(")"))
    names = index["docnames"]
    assert {"chapters/06_b", "glossary#term-loss", "intro#ex-a"} <= set(names)
    assert names[index["terms"]["small"]] == "chapters/06_b#a-part-of-it"
    assert "chapters/06_b#how-far-it-is-true" in names  # it is folded
