"""The explorer of sampling alone on its page: a cut, its line, and draws in view."""

import numpy as np
import pytest
from figures import press, width_of
from judged import judge

from mygpt import explorers

WORDS = ["paris", "london", "berlin", "nairobi", "rome", "tokyo", "cairo", "madrid"]
WORDS += ["oslo", "lima", "the", "of", "french", "america", "europe", "africa"]
WORDS += ["asia", ".", "is", "in"]
LOGITS = [6.5, 2.9, 1.9, 1.8, *np.linspace(1.2, -0.3, 16)]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sampling") / "page.html"
    made = explorers.Sampling(
        LOGITS, WORDS, prompt="the capital of france is", temperature=1.5, top_k=8
    )
    made.write_html(path)
    return path


@pytest.fixture
def root(open_page, page_file):
    page = open_page(page_file.as_uri(), width=736)
    root = page.locator(".mygpt-sampling")
    root.wait_for()
    return root


def names(root):
    return root.locator(".mygpt-last-kept th").all_inner_texts()


def test_exactly_two_can_be_left_and_the_line_is_under_the_second(root):
    top_p = root.get_by_role("slider", name="Top-p")
    for _ in range(30):
        if root.locator(".mygpt-outcome b").first.inner_text() == "2":
            break
        top_p.press("ArrowLeft")
    assert names(root) == ["london"]
    line = root.locator(".mygpt-shares .mygpt-cut-line").bounding_box()
    row = root.locator(".mygpt-last-kept th").bounding_box()
    assert line["y"] == pytest.approx(row["y"] + row["height"], abs=2)
    share = root.locator(".mygpt-outcome b").nth(1).inner_text()
    assert root.locator(".mygpt-cut-text").text_content() == f"{share} kept"
    root.get_by_text("Every number").click()
    second = root.locator(".mygpt-readings tbody tr").nth(1).locator("td")
    assert second.nth(2).inner_text() == share  # one quantity, one number
    assert "of what top-k keeps" in root.locator(".mygpt-outcome").inner_text()
    root.page.watch.check()


def thumb(root):
    box = root.locator(".mygpt-thumb").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def kept(root):
    return int(root.locator(".mygpt-outcome b").first.inner_text())


def valuetext(root, name):
    return root.get_by_role("slider", name=name).get_attribute("aria-valuetext")


def test_the_cut_is_dragged_to_any_number_of_tokens(root):
    """By a mouse: top-k is what cuts, and so what moves."""
    page = root.page
    for count in (2, 1, 5, 12):
        x, y = thumb(root)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 26 * (count - kept(root)), steps=3)
        page.mouse.up()
        assert kept(root) == count
        assert valuetext(root, "Top-k") == str(count)
    x, y = thumb(root)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 200)
    page.mouse.up()
    assert (kept(root), valuetext(root, "Top-k")) == (20, "off")
    page.watch.check()


def test_only_the_words_their_bars_and_what_they_have_now_are_in_view(root):
    cells = root.locator(".mygpt-shares tbody tr").nth(1).locator("th, td")
    assert cells.all_inner_texts() == ["london", "0.070"]
    assert not root.locator(".mygpt-readings").is_visible()


def test_the_cut_is_one_line_to_its_thumb_and_named_once(root):
    line = root.locator(".mygpt-cut-line").bounding_box()
    first = root.locator(".mygpt-last-kept th").bounding_box()
    x, y = thumb(root)
    assert line["x"] == pytest.approx(first["x"], abs=2)
    assert line["x"] + line["width"] == pytest.approx(x, abs=2)
    assert line["y"] == pytest.approx(y, abs=2)
    cut = root.locator(".mygpt-is-cut .mygpt-now")
    assert {*cut.all_inner_texts()} == {"cut"}  # heard of every row
    hidden = cut.locator(".mygpt-unseen")
    assert hidden.count() == cut.count() - 1  # seen at one
    lengths = [
        float(one.get_attribute("width"))
        for one in root.locator(".mygpt-shares .mygpt-lost").all()
    ]
    assert lengths[0] == 0 < lengths[8]


def test_a_longer_bar_is_always_a_larger_share(open_page, tmp_path):
    path = tmp_path / "page.html"
    explorers.Sampling(0.4 * np.array(LOGITS), WORDS).write_html(path)
    page = open_page(path.as_uri(), width=736)
    bar, now = page.locator(".mygpt-bar").first, page.locator(".mygpt-now").first
    lengths = []
    for name, keys in (("Temperature", ["End", "Home"]), ("Top-k", ["Home"])):
        for key in keys:
            page.get_by_role("slider", name=name).press(key)
            lengths.append(float(bar.get_attribute("width")) / float(now.inner_text()))
    assert lengths == pytest.approx([lengths[0]] * 3, rel=0.01)
    assert page.locator(".mygpt-last").inner_text() == "none drawn"


@pytest.mark.parametrize("top_k", [1, 2, 20])
def test_what_is_kept_is_said_where_no_bar_is(root, top_k):
    slider = root.get_by_role("slider", name="Top-k")
    slider.press("Home")
    for _ in range(top_k - 1):
        slider.press("ArrowRight")
    if top_k == 20:
        assert root.locator(".mygpt-cut-text").text_content() == ""
        return
    text = root.locator(".mygpt-cut-text").bounding_box()
    for bar in root.locator(".mygpt-shares .mygpt-bar").all():
        box = bar.bounding_box()
        below = text["y"] + 3 >= box["y"] + box["height"]
        assert below or box["x"] + box["width"] <= text["x"] or not box["width"]


def test_there_is_no_line_where_nothing_is_cut(root):
    root.get_by_role("slider", name="Top-k").press("End")
    assert names(root) == []
    assert root.locator(".mygpt-shares .mygpt-cut-line").get_attribute("d") == ""
    assert "none is cut" in root.locator(".mygpt-outcome").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390, 320])
def test_draws_and_what_comes_of_them_are_in_view_together(
    open_page, page_file, theme, width
):
    page = open_page(page_file.as_uri(), width=width, theme=theme)
    root = page.locator(".mygpt-sampling")
    root.wait_for()
    draw = root.get_by_role("button", name="Draw 100")
    draw.click()
    likeliest = root.locator(".mygpt-last").inner_text().split()[-2]
    top = root.get_by_role("slider").first.bounding_box()["y"]
    table = root.locator(".mygpt-shares").bounding_box()
    outcome, pressed = (
        root.locator(".mygpt-outcome").bounding_box(),
        draw.bounding_box(),
    )
    assert table["y"] + table["height"] <= outcome["y"] < pressed["y"]
    assert pressed["y"] + pressed["height"] - top <= (720 if width > 320 else 780)
    assert width_of(page) <= width
    root.get_by_text("Every number").click()
    cells = root.locator(".mygpt-readings tbody td:last-child")
    cells.first.filter(has_text=likeliest).wait_for()  # the fold fills once it is open
    drawn = cells.all_inner_texts()
    assert sum(map(int, drawn)) == 100
    assert drawn[0] == likeliest
    press(root, "Reset")
    draw.click()
    assert cells.all_inner_texts() == drawn
    judge(page, ".mygpt-sampling")
