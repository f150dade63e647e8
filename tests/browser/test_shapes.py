"""The explorer of shapes alone on its page: no choice moves what is chosen from."""

import pytest
from figures import has_focus

from mygpt import explorers

PLACES = """root => [".mygpt-choice", ".mygpt-areas", ".mygpt-slider"].map((one) => {
    const { x, y, height } = root.querySelector(one).getBoundingClientRect();
    return [x, y, height];
})"""


@pytest.fixture
def opened(alone):
    """The explorer in a column of a page as wide as that."""

    def opened(width, **given):
        return alone(explorers.Shapes("xl", length=512, **given), width=width)

    return opened


@pytest.mark.parametrize("width", [712, 390, 320])
def test_no_size_and_no_part_moves_the_sizes_the_drawings_or_the_slider(opened, width):
    root = opened(width)
    before = root.evaluate(PLACES)
    sizes = root.get_by_role("toolbar", name="Sizes of GPT-2").get_by_role("button")
    chooser = root.slider("Part of the model")
    for size in sizes.all():
        size.click()
        assert root.evaluate(PLACES) == before, size.inner_text()
        chooser.press("Home")
        for _ in range(5):
            said = chooser.get_attribute("aria-valuetext")
            assert root.evaluate(PLACES) == before, said
            chooser.press("ArrowRight")


def test_the_drawings_come_first_and_the_numbers_of_a_shape_are_folded(opened):
    root = opened(390)
    field = root.field("Layers L")
    assert not field.is_visible()
    sizes, drawings = root.evaluate(PLACES)[:2]
    assert drawings[1] + drawings[2] - sizes[1] <= 400
    root.get_by_text("Own shape").click()
    root.type_in("Layers L", 12)
    assert "Your shape" in root.text(".mygpt-answer")


def test_the_focus_is_round_both_drawings(opened):
    """The part that is chosen may be in the second alone."""
    root = opened(712, part="scores and values")
    chooser = root.slider("Part of the model")
    drawings = root.locator(".mygpt-areas .mygpt-stacked")
    ring = chooser.bounding_box()
    for drawing in drawings.all():
        box = drawing.bounding_box()
        assert ring["x"] <= box["x"]
        assert ring["x"] + ring["width"] >= box["x"] + box["width"]
    drawings.nth(1).click(position={"x": 20, "y": 60})
    assert has_focus(chooser)
