"""The indexes behind the glossary, as they were built: complete, and light.

`test_site.py` follows its links, with those of every page.
"""

import re
from html import unescape

import pytest

from mygpt import explorers
from mygpt.check import TASKS


@pytest.fixture(scope="module")
def html(site):
    return (site / "glossary.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def test_every_explorer_stands_there_with_a_place(html):
    listed = re.findall(
        r'<dt>.*?<span class="pre">(\w+)</span>.*?</dt>\s*<dd>(.*?)</dd>', html, re.S
    )
    assert [name for name, _ in listed] == list(explorers.__all__)
    assert [name for name, places in listed if 'href="chapters/' not in places] == []


def test_every_mistake_that_the_checker_names_stands_there(text):
    missing = [
        mistake.text
        for task in TASKS.values()
        for mistake in task.mistakes
        if " ".join(mistake.text.replace("`", "").split()) not in text
    ]
    assert missing == []


def test_every_chapter_has_its_experiments_and_slips(site, text):
    for page in sorted((site / "chapters").glob("*.html")):
        chapter = page.read_text(encoding="utf-8")
        title = unescape(re.sub(r"<[^>]*>", "", re.search(r"<h1>(.*?)<a ", chapter)[1]))
        if "stop-here" in chapter:
            slips = 'id="what-usually-goes-wrong"><h' in chapter.replace("\n", "")
            assert text.count(title) >= 1 + slips + 1, title  # and in the sidebar


def test_a_letter_leads_to_its_first_term(open_page, site):
    page = open_page(f"{site.as_uri()}/glossary.html", javascript=False)
    letters = page.locator(".letters a")
    names = letters.all_inner_texts()
    assert names == sorted(set(names))
    assert len(names) > 20
    page.get_by_role("link", name="S", exact=True).click()
    term = page.locator("dt:target")
    assert term.inner_text().startswith("s")
    row = page.locator(".letters").bounding_box()
    assert term.bounding_box()["y"] >= row["y"] + row["height"]  # not below the row


def test_the_claims_are_counted_and_chosen_without_a_script(open_page, site):
    address = f"{site.as_uri()}/chapters/claims.html"
    page = open_page(address, javascript=False)
    table = page.locator("#all-claims-at-a-glance table")
    rows = table.locator("tbody tr:not(.topic):visible")
    everything = rows.count()
    widths = [one.bounding_box()["width"] for one in table.locator("th").all()]
    assert widths[2] > 1.5 * max(widths[:2])
    shown = 0
    for name in ("true when …", "true", "false"):
        label = page.locator(".tally label", has_text=re.compile(rf"^\s*{name} \d+$"))
        label.click()
        assert rows.count() == int(label.inner_text().split()[-1])
        verdicts = rows.locator("td:nth-child(2) strong").all_inner_texts()
        assert set(verdicts) == {name.removesuffix(" …")}
        topics = rows.evaluate_all("all => new Set(all.map((r) => r.parentNode)).size")
        assert topics == table.locator("tr.topic:visible").count() > 0
        shown += rows.count()
    assert shown == everything > 25


def test_the_page_is_light(html):
    assert len(html.encode()) < 200_000
