"""The explorer of descent alone on its page: steps, runs, and what ends them."""

import re
from functools import partial

import numpy as np
import pytest
from drawn import FITTED, PATHS
from figures import button, far_below, fixed, press
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
        return alone(Descent(view, **settings), width=across, still=still)

    return explorer


def numbers(root):
    return root.locator(".mygpt-numbers b").all_inner_texts()


def done(root):
    return int(numbers(root)[0])


def said(root):
    return root.locator(".mygpt-said").inner_text()


def wait_for_step(root, step):
    root.page.wait_for_function(
        "step => document.querySelector('.mygpt-numbers b').textContent >= step",
        arg=step,
    )


def test_each_step_leads_where_the_package_does(explorer):
    root = explorer(rate=0.2)
    twin = Descent(rate=0.2)
    for step in range(1, 6):
        press(root, "Step")
        twin.steps = step
        expected = [str(step), shown(twin.weights()[0]), shown(twin.losses()[-1])]
        assert numbers(root)[:3] == expected
    assert "overshot the minimum, but landed lower" in said(root)
    press(root, "Momentum")
    twin.rule = "momentum"
    assert numbers(root)[1] == shown(twin.weights()[0]), (
        "the same steps by another rule"
    )
    press(root, "Reset")
    assert numbers(root)[:2] == ["0", "0.0000"]


def test_the_start_follows_the_keyboard_and_the_path_follows_the_start(explorer):
    root = explorer("two", rate=0.25, steps=5)
    for label, key in (("Start w₁", "ArrowRight"), ("Start w₂", "PageDown")):
        root.get_by_role("slider", name=label).focus()
        root.page.keyboard.press(key)
    twin = Descent("two", rate=0.25, steps=5, start=(0.05, 3.5))
    weights = [shown(weight) for weight in twin.weights()]
    assert numbers(root) == ["5", *weights, shown(twin.losses()[-1])]


def test_the_start_is_dragged_where_it_is_and_set_by_a_click(explorer):
    root = explorer("two")
    ring = root.locator(".mygpt-ring").bounding_box()
    x, y = ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2
    mouse = root.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 90, y + 60)
    mouse.up()
    moved = numbers(root)
    assert moved[1] != "0.0000"
    assert moved[2] != "4.0000"
    box = root.locator(".mygpt-picture:visible").first.bounding_box()
    mouse.click(box["x"] + 300, box["y"] + 200)
    clicked = numbers(root)
    assert len({moved[1], clicked[1], "0.0000"}) == 3
    twice = [float(one.replace("−", "-")) / 0.05 for one in clicked[1:3]]
    assert twice == pytest.approx([round(one) for one in twice])


def test_a_run_goes_on_until_it_is_paused(explorer):
    root = explorer("two", rate=0.05)
    press(root, "Run")
    wait_for_step(root, 5)
    press(root, "Pause")
    step = done(root)
    root.page.wait_for_timeout(300)
    assert done(root) == step
    twin = Descent("two", rate=0.05, steps=step)
    assert numbers(root)[3] == shown(twin.losses()[-1])
    press(root, "Run")
    wait_for_step(root, step + 3)
    press(root, "Reset")
    root.page.wait_for_timeout(200)
    assert done(root) == 0


def test_nothing_runs_before_the_reader_says_so(explorer):
    root = explorer("network", steps=30, **NETWORK)
    wait_for_step(root, 30)
    root.page.wait_for_timeout(300)
    assert done(root) == 30
    assert button(root, "Run").is_visible()


def test_a_run_pauses_when_it_is_no_longer_seen(explorer):
    root = explorer("two", rate=0.01)
    far_below(root.page)
    press(root, "Run")
    wait_for_step(root, 3)
    root.page.evaluate("scrollTo(0, 3000)")
    run = root.locator(".mygpt-run")
    run.filter(has_text=re.compile("^Run$")).wait_for()
    step = done(root)
    root.page.evaluate("scrollTo(0, 0)")
    root.page.wait_for_timeout(300)
    assert done(root) == step


def test_where_motion_is_not_wanted_a_run_is_one_leap(explorer):
    root = explorer("one", rate=0.01, still=True)
    press(root, "Step")
    press(root, "Run 20")
    assert done(root) == 21
    root.page.wait_for_timeout(200)
    assert done(root) == 21
    root.page.emulate_media(reduced_motion="no-preference")
    button(root, "Run").wait_for()
    root.page.emulate_media(reduced_motion="reduce")
    press(root, "Two weights")
    press(root, "Run 100")
    assert done(root) == 100


@pytest.mark.parametrize("view", ["one", "two", "network"])
def test_a_divergence_is_said_and_the_page_goes_on(explorer, view):
    root = explorer(view, rate=5.0, steps=500, width=32)
    root.get_by_text("Diverged at step").wait_for()
    for name in ("Step", "Run"):
        assert button(root, name).get_attribute("aria-disabled") == "true"
    drawn = root.evaluate(PATHS)
    assert "NaN" not in drawn
    assert "Infinity" not in drawn
    assert max(map(float, re.findall(r"[\d.]+(?:e\+?\d+)?", drawn))) < 20_000
    press(root, "Reset")
    assert done(root) == 0
    root.get_by_role("slider", name="Learning rate").focus()
    root.page.keyboard.press("Home")
    press(root, "Step")
    assert done(root) == 1
    assert "Diverged" not in said(root)


def test_the_network_trains_in_the_page_as_in_the_package(explorer):
    root = explorer("network", **NETWORK)
    press(root, "Step")
    wait_for_step(root, 1)
    press(root, "Run")
    wait_for_step(root, 60)
    press(root, "Pause")
    losses = Descent("network", steps=done(root), **NETWORK).losses()
    loss = numbers(root)[1]
    value = float(loss.replace(" × 10⁻⁴", "e-4").replace(" × 10⁻³", "e-3"))
    assert value == pytest.approx(losses[-1], abs=6e-5)
    label = root.locator(".mygpt-picture:visible").nth(1).get_attribute("aria-label")
    assert f"from {shown(losses[0])} to {loss}" in label


def test_another_seed_or_width_is_trained_as_far(explorer):
    root = explorer("network", steps=40, rule="adam", rate=0.03, width=4)
    for label, trait, value in (("Seed", "seed", 1), ("Width", "width", 5)):
        root.get_by_role("slider", name=label).focus()
        root.page.keyboard.press("ArrowRight")
        settings = {"seed": 1, "width": 4} | {trait: value}
        twin = Descent("network", steps=40, rule="adam", rate=0.03, **settings)
        root.get_by_text(shown(twin.losses()[-1]), exact=True).wait_for()
        assert done(root) == 40


def test_another_view_begins_at_its_start(explorer):
    root = explorer("one", steps=9)
    press(root, "Network")
    assert done(root) == 0
    assert root.get_by_role("slider", name="Width").is_visible()
    press(root, "One weight")
    assert numbers(root)[:2] == ["0", "0.0000"]
    assert not root.get_by_role("slider", name="Width").is_visible()


def test_a_frame_of_training_takes_few_milliseconds(explorer):
    root = explorer("network", **NETWORK)
    root.page.evaluate(TIMED)
    press(root, "Run")
    wait_for_step(root, 100)
    press(root, "Pause")
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
    root.page.set_viewport_size({"width": 390, "height": 900})
    root.page.wait_for_function(FITTED, arg=root.element_handle())
    judge(root.page)
    if "steps" in settings:
        press(root, "Reset")
    press(root, "Run")
    judge(root.page)


def test_a_rate_that_moves_nothing_is_said(alone):
    """As a link to a control of one's own may set it; Python refuses it."""
    root = alone(Descent(), {'"rate": 0.1': '"rate": 0'})
    root.get_by_text("A learning rate of 0 moves no weight down.").wait_for()
    step = button(root, "Step")
    assert step.get_attribute("aria-disabled") == "true"


SCREEN = """root => {
    const seen = (name) => [...root.querySelectorAll(name)]
        .filter((one) => one.offsetParent ?? one.getClientRects().length)
        .map((one) => one.getBoundingClientRect());
    const tops = (name) => Math.min(...seen(name).map(({ top }) => top));
    const ends = (name) => Math.max(...seen(name).map(({ bottom }) => bottom));
    const first = seen(".mygpt-picture")[0];
    return {
        first: first.top - root.getBoundingClientRect().top,
        acts: ends(".mygpt-run") - first.top,
        said: ends(".mygpt-said") - tops(".mygpt-controls"),
        under: Math.min(tops(".mygpt-run"), tops(".mygpt-said")) >= first.bottom,
    };
}"""


@pytest.mark.parametrize("view", ["one", "two", "network"])
def test_a_phone_shows_the_picture_first_and_run_and_verdict_under_it(explorer, view):
    root = explorer(across=390, rate=0.2)
    if view != "one":
        press(root, {"two": "Two weights", "network": "Network"}[view])
    press(root, "Step")
    found = root.evaluate(SCREEN)
    assert found["under"]
    assert found["first"] <= 230
    assert found["acts"] <= 400
    assert found["said"] <= 660
    root.page.set_viewport_size({"width": 736, "height": 900})
    root.page.wait_for_function(FITTED, arg=root.element_handle())
    assert not root.evaluate(SCREEN)["under"]


@pytest.mark.parametrize("across", [390, 736])
def test_what_is_beyond_the_picture_is_told_within_it(explorer, across):
    root = explorer("two", across=across, rate=1.0, steps=6)
    name = root.locator(".mygpt-out-name")
    assert "10" in name.text_content()
    window = root.locator(".mygpt-picture:visible svg").first.bounding_box()
    box = name.bounding_box()
    assert window["x"] <= box["x"]
    assert box["x"] + box["width"] <= window["x"] + window["width"]
    assert window["y"] <= box["y"]
    assert box["y"] + box["height"] <= window["y"] + window["height"]
