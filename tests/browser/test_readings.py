"""The two readings and the glossary in a browser."""

import re
from urllib.parse import quote

import pytest

CHAPTER = "chapters/02_embeddings.html"
FOLDS = "details.further"
SHOWN = """name => {
    const target = document.getElementById(name);
    const fold = target.closest("details");
    const box = (fold ?? target).getBoundingClientRect();
    return (!fold || fold.open) && box.top < innerHeight && box.bottom > 0;
}"""


@pytest.fixture
def chapter(open_page, http_url):
    return open_page(f"{http_url}/{CHAPTER}")


def test_the_second_reading_is_closed_and_the_first_is_not(chapter):
    assert chapter.locator(FOLDS).count() >= 2
    assert chapter.locator(f"{FOLDS}[open]").count() == 0
    assert chapter.locator(f"{FOLDS} #exercises").count() == 0


def test_every_link_of_the_contents_shows_its_section(chapter):
    chapter.emulate_media(reduced_motion="reduce")  # at once, not smoothly
    links = chapter.locator("#pst-page-toc-nav a, .stop-here a[href^='#']")
    for place in range(links.count()):
        link = links.nth(place)
        name = link.get_attribute("href").removeprefix("#")
        chapter.evaluate("name => { location.hash = name; }", name)
        chapter.wait_for_function(SHOWN, arg=name, timeout=5000)
    assert chapter.locator(f"{FOLDS}:not([open])").count() == 0


def test_a_link_to_a_sentence_opens_its_section(open_page, http_url):
    page = open_page(f"{http_url}/{CHAPTER}")
    words = page.locator(f"{FOLDS} p").first.text_content().split()[:6]
    page = open_page(f"{http_url}/{CHAPTER}#:~:text={quote(' '.join(words))}")
    page.wait_for_timeout(300)
    assert page.locator(FOLDS).first.evaluate("fold => fold.open")


def test_a_section_opens_without_scripts(open_page, http_url):
    page = open_page(f"{http_url}/{CHAPTER}", javascript=False)
    fold = page.locator(FOLDS).first
    fold.locator("summary").click()
    assert fold.locator("p").first.is_visible()


def test_a_term_says_what_it_means(chapter):
    link = chapter.locator("a.term[data-meaning]").first
    meaning = link.get_attribute("data-meaning")
    assert meaning
    link.scroll_into_view_if_needed()
    link.hover()
    tip = chapter.locator("[role=tooltip]")
    assert tip.text_content() == meaning
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    chapter.keyboard.press("Escape")
    assert tip.count() == 0
    link.focus()
    chapter.keyboard.press("Tab")
    chapter.keyboard.press("Shift+Tab")
    assert tip.text_content() == meaning
    assert link.get_attribute("aria-describedby") == tip.get_attribute("id")
    chapter.watch.check()


def test_every_term_leads_to_its_entry(site):
    glossary = (site / "glossary.html").read_text(encoding="utf-8")
    found = 0
    for page in (site / "chapters").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for piece in text.split('class="reference internal term" href="')[1:]:
            address, _, rest = piece.partition('"')
            assert f'id="{address.partition("#")[2]}"' in glossary
            assert 'data-meaning=""' not in rest[:40]
            found += 1
    assert found > 20


def test_the_contents_hold_the_second_reading_under_one_entry(chapter):
    entry = chapter.locator("#pst-page-toc-nav li", has_text="Second reading").last
    folded = chapter.locator(f"{FOLDS} > .further-anchor")
    assert entry.locator("ul a").count() == folded.count()
    assert not entry.locator("ul").is_visible()
    entry.locator("a").first.focus()
    assert entry.locator("ul").is_visible()
    nested = chapter.locator("#pst-page-toc-nav > ul > li > a").all_inner_texts()
    assert chapter.locator(f"{FOLDS} h2").first.inner_text() not in nested


def test_every_fold_of_code_says_what_it_holds(site):
    for page in (site / "chapters").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "Show code cell" not in text, page.name
        names = re.findall(r'<p class="collapsed[^"]*">(.*?)</p>', text)
        assert [name for name in names if name == "Code"] == [], page.name
        figures = [name for name in names if name.startswith("Code of Figure")]
        assert len(set(figures)) == len(figures), page.name


def test_a_fold_is_called_by_its_name(chapter):
    assert chapter.locator("summary:has(.collapsed)").count() > 0
    assert chapter.locator("summary[aria-label]").count() == 0


def test_a_button_that_copies_keeps_the_focus(chapter):
    button = chapter.locator(".copybtn:visible").first
    button.focus()
    chapter.keyboard.press("Enter")
    chapter.wait_for_timeout(100)
    assert chapter.evaluate("document.activeElement.className").startswith("copybtn")


def test_the_first_reading_is_printed_alone_and_all_of_it_on_request(chapter):
    first = len(re.findall(rb"/Type /Page\b", chapter.pdf(format="A4")))
    chapter.evaluate("window.print = () => { window.printed = true; }")
    chapter.get_by_role("button", name="print all of it").click()
    assert chapter.evaluate("window.printed")
    assert chapter.locator("details:not([open])").count() == 0
    whole = len(re.findall(rb"/Type /Page\b", chapter.pdf(format="A4")))
    chapter.evaluate("dispatchEvent(new Event('afterprint'))")
    assert chapter.locator(f"{FOLDS}[open]").count() == 0
    assert first < 0.7 * whole
