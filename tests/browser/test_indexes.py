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


def test_the_page_is_light(html):
    assert len(html.encode()) < 200_000
