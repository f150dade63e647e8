"""The explorer of sampling alone on its page: a cut, its line, and draws in view."""

import numpy as np
import pytest
from figures import bottom, drag, middle, width_of
from judged import judge

from mygpt import explorers

WORDS = ["paris", "london", "berlin", "nairobi", "rome", "tokyo", "cairo", "madrid"]
WORDS += ["oslo", "lima", "the", "of", "french", "america", "europe", "africa"]
WORDS += ["asia", ".", "is", "in"]
LOGITS = [6.5, 2.9, 1.9, 1.8, *np.linspace(1.2, -0.3, 16)]


SETTING = {"prompt": "the capital of france is", "temperature": 1.5, "top_k": 8}


@pytest.fixture
def explorer(alone):
    def explorer(logits=LOGITS, setting=SETTING, width=736, **look):
        made = explorers.Sampling(logits, WORDS, **setting)
        return alone(made, width=width, **look)

    return explorer


@pytest.fixture
def root(explorer):
    return explorer()


def names(root):
    return root.texts(".mygpt-last-kept th")


def test_exactly_two_can_be_left_and_the_line_is_under_the_second(root):
    top_p = root.slider("Top-p")
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
    assert "of what top-k keeps" in root.text(".mygpt-outcome")


def thumb(root):
    return middle(root.locator(".mygpt-thumb"))


def kept(root):
    return int(root.locator(".mygpt-outcome b").first.inner_text())


def test_the_cut_is_dragged_to_any_number_of_tokens(root):
    """By a mouse: top-k is what cuts, and so what moves."""
    for count in (2, 1, 5, 12):
        x, y = thumb(root)
        down = 26 * (count - kept(root))
        drag(root.page, (x, y), (x, y + down / 2), (x, y + down))
        assert kept(root) == count
        assert root.value("Top-k") == str(count)
    x, y = thumb(root)
    drag(root.page, (x, y), (x, y + 200))
    assert (kept(root), root.value("Top-k")) == (20, "off")


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
    lost = root.locator(".mygpt-shares .mygpt-lost").all()
    lengths = [float(one.get_attribute("width")) for one in lost]
    assert lengths[0] == 0 < lengths[8]


def test_a_longer_bar_is_always_a_larger_share(explorer):
    root = explorer(0.4 * np.array(LOGITS), {})
    bar, now = root.locator(".mygpt-bar").first, root.locator(".mygpt-now").first
    lengths = []
    for name, keys in (("Temperature", ["End", "Home"]), ("Top-k", ["Home"])):
        for key in keys:
            root.slider(name).press(key)
            lengths.append(float(bar.get_attribute("width")) / float(now.inner_text()))
    assert lengths == pytest.approx([lengths[0]] * 3, rel=0.01)
    assert root.text(".mygpt-last") == "none drawn"


@pytest.mark.parametrize("top_k", [1, 2, 20])
def test_what_is_kept_is_said_where_no_bar_is(root, top_k):
    slider = root.slider("Top-k")
    slider.press("Home")
    for _ in range(top_k - 1):
        slider.press("ArrowRight")
    if top_k == 20:
        assert root.locator(".mygpt-cut-text").text_content() == ""
        return
    text = root.locator(".mygpt-cut-text").bounding_box()
    for bar in root.locator(".mygpt-shares .mygpt-bar").all():
        box = bar.bounding_box()
        below = text["y"] + 3 >= bottom(bar)
        assert below or box["x"] + box["width"] <= text["x"] or not box["width"]


def test_there_is_no_line_where_nothing_is_cut(root):
    root.slider("Top-k").press("End")
    assert names(root) == []
    assert root.locator(".mygpt-shares .mygpt-cut-line").get_attribute("d") == ""
    assert "none is cut" in root.text(".mygpt-outcome")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [736, 390, 320])
def test_draws_and_what_comes_of_them_are_in_view_together(explorer, theme, width):
    root = explorer(width=width, theme=theme)
    draw = root.get_by_role("button", name="Draw 100")
    draw.click()
    likeliest = root.text(".mygpt-last").split()[-2]
    top = root.get_by_role("slider").first.bounding_box()["y"]
    outcome = root.locator(".mygpt-outcome").bounding_box()["y"]
    table = bottom(root.locator(".mygpt-shares"))
    assert table <= outcome < draw.bounding_box()["y"]
    assert bottom(draw) - top <= (720 if width > 320 else 780)
    assert width_of(root.page) <= width
    root.get_by_text("Every number").click()
    cells = root.locator(".mygpt-readings tbody td:last-child")
    cells.first.filter(has_text=likeliest).wait_for()  # the fold fills once it is open
    drawn = cells.all_inner_texts()
    assert sum(map(int, drawn)) == 100
    assert drawn[0] == likeliest
    root.press("Reset")
    draw.click()
    assert cells.all_inner_texts() == drawn
    judge(root.page)
