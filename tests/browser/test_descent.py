"""The explorer of descent alone on its page: steps, runs, and what ends them."""

import re
from functools import partial

import numpy as np
import pytest
from drawn import resize
from figures import (
    bottom,
    drag,
    drawn_without_holes,
    far_below,
    fixed,
    middle,
    reaches,
    top,
)
from helpers.quick import slow_but
from judged import judge

from mygpt.explorers import Descent

NETWORK = {"rule": "adam", "rate": 0.03, "width": 32, "activation": "gelu"}
# As the page writes a number between a thousandth and a thousand, or 0.
shown = partial(fixed, decimals=4)
# The milliseconds of script in each frame.
TIMED = """() => {
    window.spent = [];
    const later = window.requestAnimationFrame;
    window.requestAnimationFrame = (call) => later((time) => {
        const before = performance.now();
        call(time);
        window.spent.push(performance.now() - before);
    });
}"""


@pytest.fixture
def explorer(alone):
    """An explorer with these settings on its page, opened from the disk."""

    def explorer(view="one", *, across=1100, still=False, **settings):
        root = alone(Descent(view, **settings), width=across, still=still)
        root.twin = Descent(view, **settings)
        return root

    return explorer


def numbers(root):
    return root.texts(".mygpt-numbers b")


def done(root):
    return int(numbers(root)[0])


def said(root):
    return root.text(".mygpt-said")


def wait_for_step(root, step):
    reaches(root.locator(".mygpt-numbers b").first, step)


def reads(root, **changes):
    """Of one weight or two, all numbers are the package's after these changes."""
    for trait, value in changes.items():
        setattr(root.twin, trait, value)
    *weights, loss = map(shown, [*root.twin.weights(), root.twin.losses()[-1]])
    found = numbers(root)[: len(weights) + 2]
    assert found == [str(root.twin.steps), *weights, loss]


def test_each_step_leads_where_the_package_does(explorer):
    root = explorer(rate=0.2)
    for step in range(1, 6):
        root.press("Step")
        reads(root, steps=step)
    assert "overshot the minimum, but landed lower" in said(root)
    root.press("Momentum")
    reads(root, rule="momentum")  # the same steps by another rule
    root.press("Reset")
    assert numbers(root)[:2] == ["0", "0.0000"]


def test_the_start_follows_the_keyboard_and_the_path_follows_the_start(explorer):
    root = explorer("two", rate=0.25, steps=5)
    for label, key in (("Start w₁", "ArrowRight"), ("Start w₂", "PageDown")):
        root.move(label, key)
    reads(root, start=[0.05, 3.5])


def test_the_start_is_dragged_where_it_is_and_set_by_a_click(explorer):
    root = explorer("two")
    x, y = middle(root.locator(".mygpt-ring"))
    drag(root.page, (x, y), (x + 90, y + 60))
    moved = numbers(root)
    assert moved[1] != "0.0000"
    assert moved[2] != "4.0000"
    box = root.locator(".mygpt-picture:visible").first.bounding_box()
    root.page.mouse.click(box["x"] + 300, box["y"] + 200)
    clicked = numbers(root)
    assert len({moved[1], clicked[1], "0.0000"}) == 3
    twice = [float(one.replace("−", "-")) / 0.05 for one in clicked[1:3]]
    assert twice == pytest.approx([round(one) for one in twice])


def test_a_run_goes_on_until_it_is_paused(explorer):
    root = explorer("two", rate=0.05)
    root.press("Run")
    wait_for_step(root, 5)
    root.press("Pause")
    step = root.stays(done)
    reads(root, steps=step)
    root.press("Run")
    wait_for_step(root, step + 3)
    root.press("Reset")
    assert root.stays(done) == 0


def test_nothing_runs_before_the_reader_says_so(explorer):
    root = explorer("network", steps=30, **NETWORK)
    wait_for_step(root, 30)
    assert root.stays(done) == 30
    assert root.button("Run").is_visible()


def test_a_run_pauses_when_it_is_no_longer_seen(explorer):
    root = explorer("two", rate=0.01)
    far_below(root.page)
    root.press("Run")
    wait_for_step(root, 3)
    root.page.evaluate("scrollTo(0, 3000)")
    run = root.locator(".mygpt-run")
    run.filter(has_text=re.compile("^Run$")).wait_for()
    step = done(root)
    root.page.evaluate("scrollTo(0, 0)")
    assert root.stays(done) == step


def test_where_motion_is_not_wanted_a_run_is_one_leap(explorer):
    root = explorer("one", rate=0.01, still=True)
    root.press("Step")
    root.press("Run 20")
    assert done(root) == root.stays(done) == 21
    root.page.emulate_media(reduced_motion="no-preference")
    root.button("Run").wait_for()
    root.page.emulate_media(reduced_motion="reduce")
    root.press("Two weights")
    root.press("Run 100")
    assert done(root) == 100


@pytest.mark.parametrize("view", ["one", "two", "network"])
def test_a_divergence_is_said_and_the_page_goes_on(explorer, view):
    root = explorer(view, rate=5.0, steps=500, width=32)
    root.get_by_text("Diverged at step").wait_for()
    for name in ("Step", "Run"):
        assert root.button(name).get_attribute("aria-disabled") == "true"
    drawn_without_holes(root)
    root.press("Reset")
    assert done(root) == 0
    root.move("Learning rate", "Home")
    root.press("Step")
    assert done(root) == 1
    assert "Diverged" not in said(root)


def test_the_network_trains_in_the_page_as_in_the_package(explorer):
    root = explorer("network", **NETWORK)
    root.press("Step")
    wait_for_step(root, 1)
    root.press("Run")
    wait_for_step(root, 60)
    root.press("Pause")
    root.twin.steps = done(root)
    losses = root.twin.losses()
    loss = numbers(root)[1]
    value = float(loss.replace(" × 10⁻⁴", "e-4").replace(" × 10⁻³", "e-3"))
    assert value == pytest.approx(losses[-1], abs=6e-5)
    label = root.locator(".mygpt-picture:visible").nth(1).get_attribute("aria-label")
    assert f"from {shown(losses[0])} to {loss}" in label


def test_another_seed_or_width_is_trained_as_far(explorer):
    root = explorer("network", steps=40, rule="adam", rate=0.03, width=4)
    for label, trait, value in (("Seed", "seed", 1), ("Width", "width", 5)):
        root.move(label, "ArrowRight")
        setattr(root.twin, trait, value)
        root.get_by_text(shown(root.twin.losses()[-1]), exact=True).wait_for()
        assert done(root) == 40


def test_another_view_begins_at_its_start(explorer):
    root = explorer("one", steps=9)
    root.press("Network")
    assert done(root) == 0
    assert root.slider("Width").is_visible()
    root.press("One weight")
    assert numbers(root)[:2] == ["0", "0.0000"]
    assert not root.slider("Width").is_visible()


def test_a_frame_of_training_takes_few_milliseconds(explorer):
    root = explorer("network", **NETWORK)
    root.page.evaluate(TIMED)
    root.press("Run")
    wait_for_step(root, 100)
    root.press("Pause")
    spent = root.page.evaluate("spent")
    assert np.median(spent) <= 8


STATES = {
    "start": ("one", {}),
    "a path": ("one", {"rate": 0.2, "steps": 5, "rule": "momentum"}),
    "valley": ("two", {"rate": 0.25, "steps": 30}),
    "diverged": ("two", {"rate": 0.3, "steps": 500}),
    "trained": ("network", {"steps": 200, **NETWORK}),
    "lost network": ("network", {"rate": 1.0, "steps": 50, "width": 32}),
}


@pytest.mark.parametrize("state", slow_but(["diverged", "trained"], STATES))
def test_axe_finds_nothing_in_any_state(explorer, state):
    view, settings = STATES[state]
    root = explorer(view, across=1100, **settings)
    judge(root.page)
    root.page.emulate_media(color_scheme="dark")
    resize(root, 390)
    judge(root.page)
    if "steps" in settings:
        root.press("Reset")
    root.press("Run")
    judge(root.page)


def test_a_rate_that_moves_nothing_is_said(alone):
    """As a link to a control of one's own may set it; Python refuses it."""
    root = alone(Descent(), {'"rate": 0.1': '"rate": 0'})
    root.get_by_text("A learning rate of 0 moves no weight down.").wait_for()
    assert root.button("Step").get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize("view", ["one", "two", "network"])
def test_a_phone_shows_the_picture_first_and_run_and_verdict_under_it(explorer, view):
    root = explorer(across=390, rate=0.2)
    if view != "one":
        root.press({"two": "Two weights", "network": "Network"}[view])
    root.press("Step")
    picture = root.locator(".mygpt-picture:visible").first
    run, verdict = root.locator(".mygpt-run"), root.locator(".mygpt-said")

    def is_first():
        return min(top(run), top(verdict)) >= bottom(picture)

    assert is_first()
    assert top(picture) - top(root) <= 230
    assert bottom(run) - top(picture) <= 400
    controls = root.locator(".mygpt-controls:visible").all()
    assert bottom(verdict) - min(map(top, controls)) <= 660
    resize(root, 736)
    assert not is_first()


@pytest.mark.parametrize("across", [390, 736])
def test_what_is_beyond_the_picture_is_told_within_it(explorer, across):
    root = explorer("two", across=across, rate=1.0, steps=6)
    name = root.locator(".mygpt-out-name")
    assert "10" in name.text_content()
    window = root.locator(".mygpt-picture:visible svg").first.bounding_box()
    box = name.bounding_box()
    for start, size in (("x", "width"), ("y", "height")):
        assert window[start] <= box[start]
        assert box[start] + box[size] <= window[start] + window[size]
