"""The site that is published by accident: counted, and held to a committed count."""

import json

import pytest

from make import ROOT
from publish import site_size

PAGE = (
    "<nav>menu</nav><article><p>ten <b>letters</b></p><script>no()</script></article>"
)


@pytest.fixture
def site(tmp_path):
    """A function that builds a site of some pages and compares it."""
    folder, counts = tmp_path / "html", tmp_path / "counts.json"

    def compare(pages, text="", *options):
        for old in folder.glob("*.html"):
            old.unlink()
        folder.mkdir(exist_ok=True)
        for number in range(pages):
            page = PAGE.replace("ten", f"ten {text}")
            (folder / f"{number}.html").write_text(page)
        return site_size.main([f"--site={folder}", f"--counts={counts}", *options])

    compare(5, "a" * 90, "--store=first")
    return compare


def test_only_the_text_of_articles_counts(tmp_path):
    (tmp_path / "a.html").write_text(PAGE)
    assert site_size.size_of(tmp_path) == {"pages": 1, "letters": len("tenletters")}


def test_a_site_that_is_as_large_or_larger_may_be_published(site):
    assert site(5, "a" * 90) == 0
    assert site(5, "a" * 71) == 0
    assert site(6, "a" * 90) == 0


def test_a_page_too_few_fails_whatever_the_text(site, capsys):
    assert site(4, "a" * 500) == 1
    assert "4 pages where there were 5" in capsys.readouterr().err


def test_a_fifth_of_the_text_lost_fails(site, capsys):
    assert site(5, "a" * 69) == 1
    assert "79% of the text" in capsys.readouterr().err


def test_a_site_may_shrink_on_purpose_with_its_reason(site):
    assert site(2, "", "--store=two pages are one now") == 0
    assert site(2) == 0


def test_the_committed_counts_say_why_they_are_so():
    stored = json.loads((ROOT / "publish" / "site_size.json").read_text("utf-8"))
    assert stored["pages"] > 30
    assert stored["reason"]
