"""The built site: self-contained, light, legible, and complete in both themes."""

import re
import zipfile
from html import unescape
from itertools import count
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import nbformat
import pytest
import yaml
from conftest import ROOT, pages_of
from figures import bottom, has_focus, width_of
from judged import colour_violations, violations

from tools.publication import publication, wheel_name

CHAPTER_6 = "chapters/06_activations.html"
CHAPTER_7 = "chapters/07_residual_connections.html"
FIRST_LOAD_LIMIT = 600_000  # bytes, gzipped
SHOWN = {"light": "http", "dark": "file"}
# Of pages made of the same parts these have each; the others' dark is a slow test.
DARK = ("intro", "glossary", "chapters/06_activations", "chapters/gallery")
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 900}
UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"
# Thousands of tokens of code have a few looks: one of each in every block stays.
# Formulas within a line have one markup: five of a page stay.
JUDGE_ONCE = """() => {
    const inline = [...document.querySelectorAll(".katex")].filter(
        (formula) => !formula.closest(".katex-display"));
    inline.slice(5).forEach((formula) => formula.replaceWith("x"));
    const again = [...document.querySelectorAll("pre")].flatMap((block) => {
        const seen = new Set();
        return [...block.querySelectorAll("span")].filter((token) => {
            const { color, backgroundColor, fontWeight } = getComputedStyle(token);
            const { className } = token.parentElement;
            const look = [color, backgroundColor, fontWeight, className].join();
            const known = seen.has(look);
            if (token.textContent.trim() && token.checkVisibility()) seen.add(look);
            return known;
        });
    });
    again.forEach((token) => token.replaceWith(...token.childNodes));
}"""
WIDTH_RULES = [
    "aria-hidden-focus",
    "button-name",
    "label",
    "link-name",
    "region",
    "scrollable-region-focusable",
    "target-size",
]


def pytest_generate_tests(metafunc):
    """One test for each page of the site, so that a failure names its page."""
    pages = pages_of() or ["no page was built"]
    if "page_path" in metafunc.fixturenames:
        metafunc.parametrize("page_path", pages)
    if "chapter_path" in metafunc.fixturenames:
        chapters = [page for page in pages if page.startswith("chapters/")]
        metafunc.parametrize("chapter_path", chapters or ["no chapter was built"])
    if "shown" in metafunc.fixturenames:
        both = [
            pytest.param((page, theme), id=f"{page}-{theme}", marks=marks(page, theme))
            for page in pages
            for theme in SHOWN
        ]
        metafunc.parametrize("shown", both, indirect=True, scope="module")


def marks(page, theme):
    quick = theme == "light" or page.removesuffix(".html") in DARK
    return () if quick else pytest.mark.slow


@pytest.fixture(scope="module")
def shown(request, page_opener, http_url, site):
    """One page in one theme, opened once, with everything unfolded."""
    path, theme = request.param
    address = http_url if SHOWN[theme] == "http" else site.as_uri()
    with page_opener() as open_page:
        page = open_page(f"{address}/{path}", theme=theme)
        page.evaluate(UNFOLD)
        yield page


@pytest.fixture
def html(site, page_path):
    return (site / page_path).read_text(encoding="utf-8")


OUTLINE = "parseFloat(getComputedStyle(document.activeElement).outlineWidth)"


@pytest.fixture(scope="module")
def settings():
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def test_a_page_loads_nothing_from_other_hosts_and_logs_no_error(shown):
    shown.wait_for_timeout(150)
    shown.watch.check()


def test_no_page_scrolls_sideways_on_a_phone(shown):
    """Before axe's test takes formulas away."""
    shown.set_viewport_size(PHONE)
    assert width_of(shown) <= 390


def test_a_page_on_the_disk_is_whole_in_the_dark(open_page, site, page_path):
    """What `shown` opens in the dark quickly is but some pages."""
    page = open_page(f"{site.as_uri()}/{page_path}", theme="dark")
    page.set_viewport_size(PHONE)
    assert width_of(page) <= 390
    page.watch.check()


def test_axe_finds_no_violation(shown):
    """All rules on a desk; on a phone those that the width can change."""
    shown.evaluate(JUDGE_ONCE)
    shown.set_viewport_size(DESK)
    assert colour_violations(shown) == []
    assert violations(shown) == []
    shown.set_viewport_size(PHONE)
    shown.wait_for_timeout(100)  # what scrolls at this width gets its name
    assert violations(shown, WIDTH_RULES) == []


def test_every_page_states_its_policy_first(html):
    policy = html.index('http-equiv="Content-Security-Policy"')
    assert policy < html.index("<script") if "<script" in html else policy
    assert "default-src 'self'" in html
    assert "'unsafe-eval'" not in html
    assert ("'wasm-unsafe-eval'" in html) == (" data-trains" in html)
    assert ("worker-src" in html) == (" data-trains" in html)
    assert "script-src 'self' 'unsafe-inline'" not in html


def test_formulas_are_typeset_and_spoken(html):
    assert "katex-error" not in html
    assert html.count('class="katex-mathml"') == html.count('class="katex-html"')
    assert "mathjax" not in html.lower()


def test_every_image_and_drawing_is_described(html):
    article = "".join(re.findall(r"<article.*?</article>", html, re.S))
    for image in re.findall(r"<img [^>]*>", article):
        alt = re.search(r'alt="([^"]{8,})"', image)
        assert alt, image
        assert "_build/jupyter_execute" not in alt.group(1), image
    for drawing in re.findall(r'<svg [^>]*class="schematic"[^>]*>', article):
        assert re.search(r'aria-label="[^"]{20,}"', drawing), drawing


def test_every_picture_is_in_a_numbered_figure(site, chapter_path):
    """Except the stills of live labs, which no text refers to."""
    html = (site / chapter_path).read_text(encoding="utf-8")
    article = re.search(r"<article.*?</article>", html, re.S).group()
    article = re.sub(r"<noscript>.*?</noscript>", "", article, flags=re.S)
    shows = re.compile(r'<img |class="schematic"|class="explorer"')
    figures = re.findall(r"<figure.*?</figure>", article, re.S)
    assert bool(figures) == (
        Path(chapter_path).stem not in ("claims", "libraries", "14b_cache")
    )
    labels = figure_labels(chapter_path)
    for figure in figures:
        assert shows.search(figure)
        assert f'"caption-number">Fig. {next(labels)} <' in figure
        assert re.search(r'"caption-text">.{20,}', figure)
    labs = article.count("its controls need Python")
    assert len(shows.findall(article)) == len(figures) + labs


def figure_labels(chapter_path):
    """6.1, 6.2, … in chapter 6; the pages without a number count on."""
    chapter = re.search(r"/(\d\d[a-z]?)_", chapter_path)
    if chapter:
        return (f"{chapter[1].removeprefix('0')}.{number}" for number in count(1))
    firsts = {
        "tensors": 2,
        "claims": 5,
        "libraries": 5,
        "gallery": 5,
    }  # 1 is the cover's
    return count(firsts[Path(chapter_path).stem])


def test_internal_links_have_a_target(site, page_path, html):
    here = (site / page_path).as_uri()
    for link in re.findall(r'(?:href|src)="([^"]+)"', html):
        address, anchor = urldefrag(urljoin(here, link.replace("&amp;", "&")))
        if not address.startswith("file:"):
            continue
        target = unquote(urlsplit(address).path)
        assert target.startswith(str(site)), f"{link} leaves the site"
        text = Path(target).read_bytes()
        if anchor and target.endswith(".html"):
            assert f'id="{unquote(anchor)}"'.encode() in text, f"{link} has no target"


def test_chapter_pages_say_where_they_run(site, chapter_path):
    name = Path(chapter_path).stem
    html = (site / chapter_path).read_text(encoding="utf-8")
    line = re.search(r'<p class="launch-line">.*?</p>', html).group()
    for place, address in publication().launch_links(name):
        assert f'<a href="{address}">{place}</a>' in line.replace("&amp;", "&")
    assert f'href="../notebooks/{name}.ipynb" download' in line
    notebook = nbformat.read(site / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")


def test_pages_stand_at_the_top_of_the_site(site):
    """Their folder is for the repository alone; these addresses are linked to."""
    names = "intro using teachers checked changes words glossary references"
    assert set(names.split()) <= {page.stem for page in site.glob("*.html")}
    assert not (site / "pages").exists()


def test_the_site_carries_the_package(site):
    with zipfile.ZipFile(site / "packages" / wheel_name()) as wheel:
        assert "mygpt/bare.py" in wheel.namelist()
    html = (site / "using.html").read_text("utf-8")
    assert publication().install_line() in unescape(re.sub(r"<[^>]*>", "", html))
    assert publication().package or f'href="packages/{wheel_name()}" download' in html


def test_unpublished_no_page_names_an_address_of_the_book(site, settings):
    owner = settings["repository"]["url"].split("/")[-2]
    if publication().repository:
        pytest.skip("the book is published")
    pages = [path for path in site.rglob("*.html") if owner in path.read_text("utf-8")]
    assert pages == []


def test_a_live_lab_shows_a_still_and_where_it_runs(site):
    labs = 0
    in_cell = r'<div class="cell [^"]*tag_live-lab.*?class="output-note">.*?</p>'
    for path in sorted((site / "chapters").glob("*.html")):
        html = path.read_text(encoding="utf-8")
        for lab in re.findall(in_cell, html, re.S):
            labs += 1
            still = re.search(r'<img alt="([^"]+)" [^>]*src="([^"]+)"', lab)
            assert (path.parent / still.group(2)).is_file()
            for _, address in publication().launch_links(path.stem):
                assert f'href="{address}"' in lab.replace("&amp;", "&")
            assert "in your own copy" in lab
        assert html.count("tag_live-lab") == html.count("its controls need Python")
    assert labs > 0


@pytest.fixture(scope="module")
def first_load(page_opener, http_url, server):
    """Chapter 7 in a fresh profile, scrolled to its end, and what it fetched."""
    server.sent.clear()
    with page_opener() as open_page:
        page = open_page(f"{http_url}/{CHAPTER_7}")
        page.wait_for_selector(".explorer-ready")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(300)
        yield page, sorted(server.sent, key=lambda item: -item[1])


def test_the_first_load_of_chapter_7_is_light(first_load):
    _, sizes = first_load
    assert sum(size for _, size in sizes) <= FIRST_LOAD_LIMIT, sizes
    assert not any("searchindex" in path for path, _ in sizes)


def test_explorers_start(open_page, site_url):
    page = open_page(f"{site_url}/{CHAPTER_7}")
    page.wait_for_selector(".explorer-ready")
    assert page.locator(".explorer").count() == page.locator(".explorer-ready").count()
    assert page.locator(".explorer img").count() == 0
    page.watch.check()


def test_stills_are_not_fetched_while_explorers_run(first_load):
    page, sizes = first_load
    stills = page.locator(".explorer").evaluate_all(
        "all => all.map((one) => one.dataset.still)"
    )
    ends = tuple(still.removeprefix("..") for still in stills)
    assert ends
    assert [path for path, _ in sizes if path.endswith(ends)] == []


def test_a_reader_without_scripts_sees_the_stills(open_page, site_url):
    page = open_page(f"{site_url}/{CHAPTER_7}", javascript=False)
    stills = page.locator(".explorer img")
    assert stills.count() > 0
    assert stills.first.is_visible()
    assert "needs JavaScript" in page.locator(".explorer").first.inner_text()


NO_INK = "document.createElementNS = () => { throw new Error('no ink'); }"
SPOILT = {
    "its script did not load": lambda page: page.route(
        re.compile(r"/_static/explorers/.*\.js"), lambda route: route.abort()
    ),
    "no ink": lambda page: page.add_init_script(NO_INK),
}


@pytest.mark.parametrize("cause", SPOILT)
def test_an_explorer_that_does_not_start_says_why_under_its_still(
    browser, http_url, cause
):
    page = browser.new_page()
    SPOILT[cause](page)
    page.goto(f"{http_url}/{CHAPTER_7}")
    page.wait_for_selector(".explorer-failed img")
    failed = page.locator(".explorer-failed").first
    assert f"A still: the explorer did not start ({cause})." in failed.inner_text()
    still = failed.locator("img")
    still.evaluate("image => image.decode()")
    assert still.bounding_box()["width"] > 300
    page.close()


def test_the_search_box_leads_to_the_results(open_page, site_url):
    page = open_page(f"{site_url}/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("gradient")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.watch.check()


def test_the_bar_on_a_phone_shows_the_focus_and_opens_a_drawer(open_page, site):
    page = open_page(f"{site.as_uri()}/teachers.html", width=390, theme="light")
    last = page.locator("button.secondary-toggle")
    drawn = []
    for _ in range(12):
        page.keyboard.press("Tab")
        drawn.append(page.evaluate(OUTLINE))
        if has_focus(last):
            break
    assert len(drawn) > 5
    assert min(drawn) >= 2
    page.keyboard.press("Enter")
    drawer = page.locator("dialog[open]")
    paper = drawer.evaluate("one => getComputedStyle(one).backgroundColor")
    assert paper == "rgb(255, 255, 255)"  # the page's words would shine through


def test_the_theme_is_switched_and_remembered(open_page, site_url):
    page = open_page(f"{site_url}/intro.html", theme="light")
    # While two pages share what is kept, the browser does not let it go at a reload.
    other = page.context.new_page()
    other.goto(f"{site_url}/_static/mygpt.css")
    seen = set()
    for _ in range(3):
        page.locator("button.theme-switch-button").first.click()
        seen.add(page.evaluate("document.documentElement.dataset.mode"))
    assert seen == {"light", "dark", "auto"}
    while page.evaluate("document.documentElement.dataset.mode") != "dark":
        page.locator("button.theme-switch-button").first.click()
    other.wait_for_function("localStorage.getItem('mode') === 'dark'")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(20, 24, 30)"
    page.watch.check()


def beside(site, page_path):
    """Where the links to the previous and the next page lead, None at an end."""
    html = (site / page_path).read_text(encoding="utf-8")
    here = (site / page_path).as_uri()
    names = ("left-prev", "right-next")
    links = (re.search(rf'<a class="{name}"\s+href="([^"]+)"', html) for name in names)
    return [link and urljoin(here, link.group(1)) for link in links]


def test_previous_and_next_lead_through_the_whole_book(site):
    walked = [(site / "intro.html").as_uri()]
    while following := beside(site, walked[-1].removeprefix(f"{site.as_uri()}/"))[1]:
        back, _ = beside(site, following.removeprefix(f"{site.as_uri()}/"))
        assert back == walked[-1]
        walked.append(following)
    chapters = {(site / page).as_uri() for page in pages_of() if "chapters/" in page}
    assert chapters < set(walked)


def test_previous_and_next_are_followed(open_page, http_url):
    page = open_page(f"{http_url}/intro.html")
    walked = []
    for link in ("right-next", "right-next", "left-prev"):
        page.locator(f"a.{link}").click()
        page.wait_for_load_state()
        walked.append(page.url)
    assert walked[0] == walked[2] != f"{http_url}/intro.html"
    page.watch.check()


def test_code_is_copied_without_its_output(open_page, http_url):
    page = open_page(f"{http_url}/{CHAPTER_7}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.locator(".cell:not(.tag_setup) .cell_input:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_timeout(100)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert page.locator(".cell_output button.copybtn").count() == 0
    page.watch.check()


def test_a_link_to_a_folded_solution_opens_it(open_page, http_url):
    page = open_page(f"{http_url}/{CHAPTER_7}")
    fold = page.locator("details.solution").first
    assert not fold.evaluate("fold => fold.open")
    page.evaluate("id => { location.hash = id; }", fold.get_attribute("id"))
    page.wait_for_timeout(100)
    assert fold.evaluate("fold => fold.open")


def test_the_cover_shows_the_book_in_one_screen(open_page, site_url):
    page = open_page(f"{site_url}/intro.html", height=800)
    page.wait_for_selector(".explorer-ready")
    for name in (".cover-words", ".start-here a", "#fig-cover figcaption"):
        part = page.locator(name)
        assert 0 < part.bounding_box()["y"] < bottom(part) <= 800, name
    words, explorer = (
        page.locator(part).bounding_box() for part in (".cover-words", ".explorer")
    )
    assert words["x"] + words["width"] < explorer["x"]
    said = page.locator("#fig-cover .mygpt-likeliest li").first
    assert said.inner_text().startswith("paris")
    page.get_by_role("button", name="Switch off what holds").focus()
    page.keyboard.press("Enter")
    assert not said.inner_text().startswith("paris")
    page.watch.check()
    page.locator(".start-here a").click()
    page.wait_for_url("**/chapters/*.html")


def test_the_cover_on_a_phone_has_its_start_on_the_first_screen(open_page, http_url):
    page = open_page(f"{http_url}/intro.html", width=390, height=844)
    page.wait_for_selector(".explorer-ready")
    assert bottom(page.locator(".start-here a")) <= 844
    assert page.locator(".explorer").bounding_box()["width"] <= 390


def test_the_cover_in_forced_colours_and_on_paper(open_page, http_url):
    """Start here has an edge, and no card is split by a sheet."""
    page = open_page(f"{http_url}/intro.html", width=680)
    start = page.locator(".start-here a")
    edge = "one => getComputedStyle(one).borderTopWidth"
    assert start.evaluate(edge) == "0px"
    page.emulate_media(forced_colors="active")
    assert start.evaluate(edge) == "2px"
    page.emulate_media(forced_colors="none", media="print")
    breaks = "all => all.map((one) => getComputedStyle(one).breakInside)"
    cards = page.locator(".begin-here > p, .book-map dd")
    assert cards.count() > 5
    assert set(cards.evaluate_all(breaks)) == {"avoid"}


BELOW = {"", urlsplit(publication().site).path.lstrip("/")}


@pytest.mark.parametrize("below", sorted(BELOW))
def test_a_wrong_address_leads_home_from_any_depth(open_page, http_url, site, below):
    """At the root of a host, and in the folder where the site is published."""
    page = open_page(f"{http_url}/404.html")
    body = (site / "404.html").read_text(encoding="utf-8")
    wrong = f"{http_url}/{below}some/thing/that/is/not.html"
    page.route(wrong, lambda route: route.fulfill(status=404, body=body))
    page.goto(wrong)
    links = page.locator("a").evaluate_all("all => all.map((one) => one.href)")
    assert links[0] == f"{http_url}/{below}intro.html"
    assert f"{http_url}/{below}{CHAPTER_6}" in links
    icons = page.locator("main svg").bounding_box()
    assert icons["width"] == 40  # styled, though no other file can be reached


def test_the_page_for_wrong_addresses_works_from_a_file(open_page, site_url):
    page = open_page(f"{site_url}/404.html", theme="dark")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(20, 24, 30)"
    page.watch.check()
    page.get_by_role("link", name="GELU and ReLU").click()
    page.wait_for_selector("article h1")
    assert page.url == f"{site_url}/{CHAPTER_6}"


def test_the_server_answers_a_wrong_address_with_the_page(open_page, http_url):
    page = open_page(f"{http_url}/chapters/deep/nothing.html")
    page.locator("a.home").click()
    page.wait_for_url(f"{http_url}/intro.html")


CHROME_OF_THE_SITE = (
    ".bd-header-article, .bd-sidebar-primary, .bd-sidebar-secondary, "
    ".prev-next-footer, .bd-footer-content, .launch-line, .headerlink, .copybtn, "
    "#jb-print-docs-body, button:not(.explorer button)"
)


@pytest.fixture(scope="module")
def on_paper(page_opener, http_url):
    """Chapter 6 of the dark theme as it is printed, 180 mm wide."""
    with page_opener() as open_page:
        page = open_page(f"{http_url}/{CHAPTER_6}", width=680, theme="dark")
        page.wait_for_selector(".explorer-ready")
        page.emulate_media(media="print")
        page.evaluate(UNFOLD)
        yield page


def test_a_print_has_only_the_text_at_full_width(on_paper):
    seen = "all => all.filter((one) => one.checkVisibility()).length"
    assert on_paper.locator(CHROME_OF_THE_SITE).evaluate_all(seen) == 0
    assert on_paper.locator("article h1").is_visible()
    text = on_paper.locator("article > section > p:not(.launch-line)")
    box = text.first.bounding_box()
    assert box["x"] <= 1
    assert box["width"] >= 678


def test_a_print_is_light_in_either_theme(on_paper):
    colour = "(one, name) => getComputedStyle(one)[name]"
    link = on_paper.locator("article section p a").first
    assert link.evaluate(colour, "color") == "rgb(0, 103, 177)"
    text = on_paper.locator("article section p:not(.launch-line)").first
    assert text.evaluate(colour, "color") == "rgb(31, 35, 40)"
    code = on_paper.locator(".cell_input pre").first
    assert code.evaluate(colour, "backgroundColor") == "rgb(245, 247, 249)"
    light = "all => all.filter((one) => Math.max(...getComputedStyle(one).color"
    light += ".match(/\\d+/g)) > 190).map((one) => one.outerHTML)"
    assert on_paper.locator(".highlight pre span").evaluate_all(light) == []
    drawn = on_paper.locator("svg.schematic text").first.evaluate(colour, "fill")
    assert sum(map(int, re.findall(r"\d+", drawn)[:3])) < 384


def test_a_print_cuts_neither_code_nor_figures(on_paper):
    assert width_of(on_paper) <= 680
    wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert on_paper.locator(".highlight pre").evaluate_all(wide) == 0
    figures = on_paper.locator("figure")
    assert figures.count() >= 3
    for figure in figures.all():
        assert figure.evaluate("one => getComputedStyle(one).breakInside") == "avoid"
        assert figure.bounding_box()["height"] < 900  # less than a page


def test_a_chapter_prints_to_its_end(on_paper):
    paper = on_paper.pdf(format="A4", prefer_css_page_size=True)
    assert 10 < len(re.findall(rb"/Type /Page\b", paper)) < 40
