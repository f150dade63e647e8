"""The explorer that trains stacks: alone on its page, and its links on the site."""

import math
import re

import figures
import numpy as np
import pytest
import torch
from drawn import FITTED, OUTSIDE, PATHS, drawn
from figures import (
    LINKED,
    READY,
    Finger,
    button,
    far_below,
    press,
    significant,
    width_of,
)
from helpers.quick import slow_but
from judged import judge

from mygpt.explorers import TrainStack
from mygpt.explorers.train_stack.widget import REACH

CHAPTER = "chapters/07_residual_connections.html"
torch.set_num_threads(1)  # small matrices: a second thread only waits
SHORT = {"depth": 7, "activation": "silu"}
DEEP = {"depth": 32, "rate": 10.0, "steps": 9}  # lost at the first step
SLOW = {"depth": 40, "activation": "silu", "rate": 0.001}
SLOW |= {"beside": {"wiring": "pre-norm"}}
SAID = """root => [root.textContent, ...[...root.querySelectorAll("[aria-label]")]
    .map((one) => one.getAttribute("aria-label"))].join()"""
PAINTED = """canvas => [...canvas.getContext("2d")
    .getImageData(0, 0, canvas.width, canvas.height).data]"""
TOUCHED = "all => all.forEach((root) => root.dispatchEvent(new Event('input')))"
UNFOLDED = """root => root.querySelectorAll("details")
    .forEach((one) => { one.open = true; })"""
STOPPED = """async (least) => {  // in the page, for a fast one ends between two calls
  const step = () => +document.querySelector(".mygpt-actions b").textContent;
  const run = document.querySelector(".mygpt-run");
  if (run.textContent !== "Stop") run.click();
  while (step() < least) await new Promise(requestAnimationFrame);
  run.click();
}"""
MOVED = """async (slider, [least, moves, byPhrase]) => {
  const step = () => +document.querySelector(".mygpt-actions b").textContent;
  const frame = () => new Promise(requestAnimationFrame);
  const seen = [];
  if (byPhrase) model.set("steps", 300);
  else document.querySelector(".mygpt-run").click();
  while (step() < least) await frame();
  for (let moved = 0; moved < moves; moved++) {
    slider.stepDown();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    await frame();
    seen.push([document.querySelector(".mygpt-run").textContent, step()]);
  }
  return seen;
}"""
GRID = 44  # places along each side of the plane


@pytest.fixture
def explorer(alone):
    """An explorer with these settings on its page, opened from the disk.

    It makes no first run, except with `first`.
    """

    def explorer(
        wiring="residual", *, across=1100, link=None, below=0, first=False, **settings
    ):
        changes = {"<main>": f'<main style="margin-top: {below}px">'}
        changes |= {} if link is None else LINKED
        made = TrainStack(wiring, **settings)
        root = alone(made, changes, link or "", width=across, still=not first)
        if not first:
            untouched(root)
            drawn(root.page)
        return root

    return explorer


def shown_on(page):
    root = page.locator(".mygpt-train-stack").first
    root.wait_for(state="attached")
    return root


def untouched(root):
    """As something has been done with it: it does not train by itself any more."""
    root.page.locator(".mygpt-train-stack").evaluate_all(TOUCHED)
    root.page.emulate_media(reduced_motion="no-preference")
    return root


def unfold(root):
    """Open all folds, and wait until the explorer has taken note of it."""
    root.evaluate(UNFOLDED)
    root.page.wait_for_timeout(50)


def train(root):
    """Press Train, once the steps that were asked for before are shown."""
    run = root.locator(".mygpt-run").filter(has_text=re.compile("^Train"))
    run.wait_for()
    run.click()


def train_until(root, step):
    """Train on, and stop at this step or soon after it; the step that was reached."""
    root.locator(".mygpt-run").filter(has_text=re.compile("^Train|^Stop")).wait_for()
    root.page.evaluate(STOPPED, step)
    root.get_by_role("button", name="Train to").wait_for()
    return done(root)


def able(root):
    """Which of train, step and reset do something."""
    buttons = root.locator(".mygpt-actions button").all()[:3]
    states = [one.get_attribute("aria-disabled") == "false" for one in buttons]
    names = ("train", "step", "reset")
    return [name for name, one in zip(names, states, strict=True) if one]


def slider(root, name, stack="Stack"):
    return figures.slider(root.get_by_role("group", name=stack, exact=True), name)


def move(root, name, *keys, stack="Stack"):
    unfold(root)
    slider(root, name, stack).focus()
    for key in keys:
        root.page.keyboard.press(key)


def done(root):
    return int(root.locator(".mygpt-actions b").inner_text())


def kept(root):
    """The step that the model keeps, which a kernel and a link have."""
    return root.page.evaluate("model.get('steps')")


def numbers(root):
    """The step, and of each stack its loss and its share of new points right."""
    parts = root.locator(".mygpt-actions b, .mygpt-side:visible .mygpt-numbers b")
    return parts.all_inner_texts()


def said(root):
    return root.locator(".mygpt-said:visible").all_inner_texts()


def tells(root, text):
    """The place where a text is shown, not the one where it is spoken."""
    return root.locator(".mygpt-said").filter(has_text=text, visible=True)


def expected(*arguments, **settings):
    """What `numbers` is where these settings were trained in PyTorch."""
    made = TrainStack(*arguments, **settings)
    texts = [str(made.steps)]
    for course in made.trained():
        right = math.floor(100 * course.right + 0.5)
        texts += [significant(course.losses[-1]), f"{right} %"]
    return texts


def becomes(read, wanted):
    """Wait until a reading is what it must be; `read` takes the root after it."""

    def check(root):
        for _ in range(100):
            if read(root) == wanted:
                break
            root.page.wait_for_timeout(50)
        assert read(root) == wanted

    return check


def reads(root, *arguments, **settings):
    becomes(numbers, expected(*arguments, **settings))(root)


def settled(root):
    """The numbers, once they no longer change."""
    before = []
    for _ in range(50):
        now = numbers(root)
        if now == before and "…" not in now:
            break
        before = now
        root.page.wait_for_timeout(200)
    assert now == before
    return now


def wait_for_step(root, step):
    root.page.wait_for_function(
        "step => document.querySelector('.mygpt-actions b').textContent >= step",
        arg=step,
    )


def stays(root):
    """The step, which is the same a while later."""
    step = done(root)
    root.page.wait_for_timeout(300)
    assert done(root) == step
    return step


def test_each_step_shows_what_the_package_computes(explorer):
    root = explorer(**SHORT, rate=0.02)
    reads(root, **SHORT, rate=0.02)
    assert said(root)[0].startswith("No step yet. Gradient of block 1: ")
    for step in range(1, 5):
        press(root, "Step")
        reads(root, **SHORT, rate=0.02, steps=step)
    unfold(root)
    press(root, "Long spirals")
    reads(root, **SHORT, rate=0.02, task="long")
    for step in range(1, 3):
        press(root, "Step")
        reads(root, **SHORT, rate=0.02, task="long", steps=step)
    press(root, "Reset")
    reads(root, **SHORT, rate=0.02, task="long")
    assert able(root) == ["train", "step"]


def test_a_training_goes_on_until_it_is_stopped(explorer):
    root = explorer(**SLOW)
    train_until(root, 5)  # late, it and PyTorch would differ by rounding
    assert able(root) == ["train", "step", "reset"]
    step = stays(root)
    assert 5 <= step < 300
    reads(root, **SLOW, steps=step)
    train(root)
    wait_for_step(root, step + 3)
    press(root, "Step")
    root.get_by_role("button", name="Train to").wait_for()
    assert step + 3 < stays(root) < 300
    train(root)
    press(root, "Reset")
    reads(root, **SLOW)
    assert stays(root) == 0


def test_a_training_ends_by_itself_at_the_next_of_three_steps(explorer):
    settings = {"depth": 2, "activation": "silu", "rate": 0.001}
    root = explorer(**settings)
    for step, text in ((300, "300"), (1500, "1,500"), (5000, "5,000")):
        press(root, f"Train to {text}")
        becomes(done, step)(root)
        assert stays(root) == step
        assert kept(root) == step
        if step == 300:
            reads(root, **settings, steps=300)
    assert able(root) == ["reset"]
    for name in ("Train to 5,000", "Step"):
        button(root, name).focus()
        root.page.keyboard.press("Enter")
    assert stays(root) == 5000


@pytest.mark.parametrize(
    "settings",
    [
        {"wiring": "pre-norm", "depth": 5, "activation": "gelu", "gain": 1.7},
        {"wiring": "post-norm", "depth": 11, "task": "long", "seed": 99},
        {"wiring": "plain", "depth": 1, "rate": 0.5},
        {"depth": 40, "beside": {"wiring": "plain", "depth": 2, "activation": "silu"}},
    ],
    ids=lambda settings: settings.get("wiring", "two"),
)
def test_what_the_package_has_trained_so_far_is_trained_in_the_page(explorer, settings):
    root = explorer(**settings, steps=17)
    reads(root, **settings, steps=17)
    assert able(root) == ["train", "step", "reset"]


def plane(root, **settings):
    """The leaning of each place, and its pixel once the plane shows it.

    The numbers come first: the plane is looked at in parts.
    """
    [course] = TrainStack(**settings).trained()
    along = torch.linspace(-REACH, REACH, 2 * GRID + 1, dtype=torch.float64)[1::2]
    y, x = torch.meshgrid(along.flip(0), along, indexing="ij")
    with torch.no_grad():
        logits = course.stack(torch.stack([x, y], -1).view(-1, 2))
    lean = (logits[:, 1] - logits[:, 0]).numpy()
    strength = 255 * 0.62 * abs(np.tanh(lean / 2))
    for _ in range(100):
        painted = root.locator("canvas:visible").evaluate(PAINTED)
        pixels = np.array(painted).reshape(-1, 4)
        if np.allclose(pixels[:, 3], strength, atol=0.51, rtol=0):
            break
        root.page.wait_for_timeout(50)
    np.testing.assert_allclose(pixels[:, 3], strength, atol=0.51)
    return lean, pixels


def test_the_plane_has_the_colours_of_what_the_stack_says(explorer):
    settings = {"depth": 5, "rate": 0.01, "steps": 30}
    lean, pixels = plane(explorer(**settings), **settings)
    assert len(set(np.sign(lean))) == 2
    sure = pixels[:, 3] > 60
    bluer = pixels[:, 2] > pixels[:, 0]
    np.testing.assert_array_equal(bluer[sure], lean[sure] < 0)


def compare(root):
    unfold(root)
    root.get_by_role("checkbox", name="Compare two").click()


def test_two_stacks_are_trained_side_by_side(explorer):
    root = explorer(**SHORT)
    both = root.get_by_role("checkbox", name="Change both at once")
    assert not both.is_visible()
    compare(root)
    assert root.get_by_text("The two stacks differ only in wiring.").is_visible()
    reads(root, **SHORT, beside={"wiring": "plain"})
    right = root.get_by_role("group", name="Right stack", exact=True)
    right.get_by_role("button", name="Post-norm").click()
    move(root, "Blocks", "ArrowRight", "ArrowRight", stack="Right stack")
    beside = {"wiring": "post-norm", "depth": 9}
    text = "The two stacks differ in wiring and blocks."
    assert root.get_by_text(text).is_visible()
    for step in (1, 2, 3):
        press(root, "Step")
        reads(root, **SHORT, beside=beside, steps=step)
    move(root, "Seed", "ArrowRight", stack="Left stack")
    reads(root, **SHORT, seed=1, beside=beside | {"seed": 0})
    compare(root)
    reads(root, **SHORT, seed=1)
    assert not root.get_by_text("The two stacks").is_visible()
    assert slider(root, "Blocks").count() == 1
    compare(root)
    reads(root, **SHORT, seed=1, beside=beside | {"seed": 0})


def test_a_plain_stack_is_compared_with_a_residual_one(explorer):
    root = explorer("plain", depth=3, seed=5)
    compare(root)
    reads(root, "plain", depth=3, seed=5, beside={"wiring": "residual"})


def test_both_stacks_are_changed_at_once_where_the_reader_asks_for_it(explorer):
    root = explorer(**SHORT, beside={"wiring": "plain"})
    unfold(root)
    both = root.get_by_role("checkbox", name="Change both at once")
    both.check()
    move(root, "Blocks", "ArrowLeft", stack="Right stack")
    changed = {"depth": 6, "activation": "silu", "beside": {"wiring": "plain"}}
    reads(root, **changed)
    left = root.get_by_role("group", name="Left stack", exact=True)
    unfold(root)
    left.get_by_role("button", name="ReLU").click()
    changed |= {"activation": "relu"}
    reads(root, **changed)
    assert root.get_by_text("The two stacks differ only in wiring.").is_visible()
    both.uncheck()
    move(root, "Blocks", "ArrowLeft", stack="Right stack")
    reads(root, **changed | {"beside": {"wiring": "plain", "depth": 5}})


@pytest.mark.parametrize("across", [1100, 390])
def test_the_wiring_is_in_sight_and_the_rest_is_folded(explorer, across):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=across)
    parts = ["Blocks", "Learning rate", "Gain", "Seed"]
    pairs = [(name, one) for name in parts for one in ("Left stack", "Right stack")]
    for stack in ("Left stack", "Right stack"):
        group = root.get_by_role("group", name=stack, exact=True)
        tops = {one.bounding_box()["y"] for one in group.get_by_role("button").all()}
        assert len(tops) == 1, "one row of wirings"
    assert not any(slider(root, *pair).is_visible() for pair in pairs)
    assert not button(root, "Short spirals").is_visible()
    root.get_by_text("More settings").click()
    assert all(slider(root, *pair).is_visible() for pair in pairs)
    assert button(root, "Short spirals").is_visible()
    becomes(folds, ["settings"])(root)
    slider(root, "Seed", "Right stack").press("ArrowRight")
    assert slider(root, "Seed", "Right stack").is_visible(), "folded under the hand"
    press(root, "Step")
    reads(root, **SHORT, beside={"wiring": "plain", "seed": 1}, steps=1)
    root.page.evaluate("model.set('unfolded', ['blocks'])")
    root.get_by_text("Gradient of each block").wait_for()
    slider(root, "Gain", "Left stack").wait_for(state="hidden")


def folds(root):
    return root.page.evaluate("model.get('unfolded')")


def test_what_differs_is_told_in_the_titles(explorer):
    root = explorer("plain", depth=20, beside={"gain": 2.0})
    titles = root.locator(".mygpt-side .mygpt-panel-name")
    texts = [one.replace("\u00a0", " ") for one in titles.all_inner_texts()]
    assert texts == [
        "Left: Plain, 20 blocks, gain × 1",
        "Right: Plain, 20 blocks, gain × 2",
    ]


ONE_STEP = """root => {
    window.mixed = [];
    window.steps = [];
    const text = (name, one = root) => one.querySelector(name).textContent;
    const check = () => {
        const step = Number(text(".mygpt-actions b"));
        const label = root.querySelector(".mygpt-losses svg").ariaLabel;
        steps.push(step);
        if (!label.includes(`each of ${step} steps`)) mixed.push([step, label]);
        root.querySelectorAll(".mygpt-side").forEach((side, i) => {
            const [loss, right] = [...side.querySelectorAll("b")]
                .map((one) => one.textContent);
            const said = text(".mygpt-said", side);
            const seen = side.querySelector("svg[role=img]").ariaLabel;
            const fits = label.includes(`to ${loss}.`)
                && seen.includes(`${right} of new points`)
                && (step < 20
                    ? said === "" || said.startsWith("No step")
                    : said !== "" || parseInt(right) < 60);
            if (!fits) mixed.push([step, loss, right, said, label]);
        });
    };
    const watched = { subtree: true, childList: true, attributes: true };
    new MutationObserver(check).observe(root, watched);
}"""


def test_map_verdict_share_and_loss_are_of_one_step_while_it_trains(explorer):
    """A stack that learns at once is soon told to have learned."""
    settings = {"depth": 4, "rate": 0.01}
    root = explorer(**settings, beside={"wiring": "plain"})
    reads(root, **settings, beside={"wiring": "plain"})
    root.evaluate(ONE_STEP)
    train(root)
    becomes(done, 300)(root)
    stays(root)
    mixed, steps = root.page.evaluate("[mixed, steps]")
    assert mixed == []
    assert len(set(steps)) > 2, "it is drawn as it trains"
    reads(root, **settings, beside={"wiring": "plain"}, steps=300)


def test_a_picture_has_its_text_before_its_stack_is_made(alone):
    now = "main.replaceChildren(el);"
    noted = f"""{now}
    window.labels = [...el.querySelectorAll(".mygpt-side svg[role=img]")]
        .map((one) => one.ariaLabel);"""
    root = alone(TrainStack(**SLOW), {now: noted}, still=True)
    label = "The plane of a stack that is being made."
    assert root.page.evaluate("labels") == [label] * 2


def test_stop_comes_before_the_settings_on_the_keyboard_s_way(explorer):
    root = explorer(**SLOW)
    train(root)
    wait_for_step(root, 3)
    root.evaluate("root => root.querySelectorAll('button, summary, input')[0].focus()")
    focused = "document.activeElement.textContent"
    assert root.page.evaluate(focused) == "Stop"
    root.page.keyboard.press("Enter")
    root.get_by_role("button", name="Train to 300").wait_for()


def test_what_a_phrase_unfolds_comes_into_view(explorer):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=390)
    root.page.set_viewport_size({"width": 390, "height": 600})
    root.page.evaluate("scrollTo(0, 0)")
    root.page.evaluate("model.set('unfolded', ['blocks'])")
    inside = """root => [...root.querySelectorAll(".mygpt-blocks svg[role=img]")]
        .every((one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight;
        })"""
    root.page.wait_for_function(inside, arg=root.element_handle())


REACH_OF_HAND = """root => {
    const box = (name) => root.querySelector(name).getBoundingClientRect();
    const ends = (name) => [...root.querySelectorAll(name)]
        .map((one) => one.getBoundingClientRect().bottom);
    return Math.max(...ends(".mygpt-losses, .mygpt-side .mygpt-plot"))
        - box(".mygpt-top").top;
}"""


@pytest.mark.parametrize(("across", "most"), [(736, 780), (390, 720)])
def test_what_is_set_and_what_comes_of_it_are_on_one_screen(explorer, across, most):
    root = explorer("plain", depth=8, beside={"wiring": "residual"}, across=across)
    assert root.evaluate(REACH_OF_HAND) <= most


def test_every_setting_is_moved_by_the_keyboard(explorer):
    root = explorer(**SHORT, steps=3)
    changes = {
        "Blocks": ("PageUp", "depth", None),
        "Gain": ("ArrowRight", "gain", 1.2),
        "Learning rate": ("End", "rate", 1.0),
        "Seed": ("ArrowRight", "seed", 1),
    }
    settings = dict(SHORT)
    unfold(root)
    for name, (key, trait, value) in changes.items():
        move(root, name, key)
        shown = slider(root, name).get_attribute("aria-valuetext")
        settings[trait] = value or int(shown)
        assert float(shown.removeprefix("× ")) == settings[trait]
        reads(root, **settings)
    assert settings["depth"] > 7
    for name in ("ReLU", "Pre-norm"):
        button(root, name).focus()
        root.page.keyboard.press("Enter")
    reads(root, "pre-norm", **settings | {"activation": "relu"})


def test_another_setting_begins_at_step_0_and_is_not_trained_by_itself(explorer):
    root = explorer(**SHORT, steps=5)
    wait_for_step(root, 5)
    move(root, "Seed", "ArrowRight")
    assert done(root) == stays(root) == 0
    reads(root, **SHORT, seed=1)


def test_a_training_goes_on_with_another_setting_from_step_0(explorer):
    root = explorer(**SLOW)
    unfold(root)
    moved = slider(root, "Blocks", "Right stack").evaluate(MOVED, [30, 1, False])
    step = moved[0][1]
    assert step < 30
    changed = SLOW | {"beside": {"wiring": "pre-norm", "depth": 39}}
    reads(root, **changed, steps=train_until(root, step + 5))


def test_a_finger_moves_a_slider(explorer):
    root = explorer(**SHORT, across=390, steps=2)
    finger = Finger(root.page)
    unfold(root)
    depth = slider(root, "Blocks")
    depth.scroll_into_view_if_needed()
    box = depth.bounding_box()
    start = 12 + (7 - 1) / 39 * (box["width"] - 24)
    places = [start + share * (box["width"] - start) for share in (0, 0.4, 0.7, 1)]
    y = box["y"] + box["height"] / 2
    finger.follow(*((box["x"] + x, y) for x in places))
    becomes(lambda _: depth.get_attribute("aria-valuetext"), "40")(root)
    reads(root, depth=40, activation="silu")


def test_nothing_runs_by_itself_after_steps_that_were_asked_for(explorer):
    root = explorer(**SHORT, steps=30, first=True)
    wait_for_step(root, 30)
    assert stays(root) == 30
    assert button(root, "Train to 300").is_visible()
    assert root.get_by_role("status").last.text_content() == ""


def walks(root):
    """Wait until the first run is under way."""
    button(root, "Stop").wait_for()
    wait_for_step(root, 2)


def stands(root):
    """The step, which is the same for longer than one of the first run lasts."""
    button(root, "Train to 300").wait_for()
    step = done(root)
    root.page.wait_for_timeout(600)
    assert done(root) == step
    return step


def test_it_trains_slowly_once_when_it_comes_into_view(explorer):
    root = explorer(**SHORT, below=3000, first=True)
    assert stays(root) == 0
    root.scroll_into_view_if_needed()
    walks(root)
    assert done(root) < 50
    becomes(done, 50)(root)
    assert stands(root) == 50
    reads(root, **SHORT, steps=50)
    assert kept(root) == 50
    assert root.get_by_role("status").last.text_content() == ""
    press(root, "Reset")
    root.page.evaluate("scrollTo(0, 0)")
    root.page.wait_for_timeout(200)
    root.scroll_into_view_if_needed()
    assert stands(root) == 0


HANDS = {
    "stop": lambda root: press(root, "Stop"),
    "stop by keyboard": lambda root: button(root, "Stop").press("Enter"),
    "a fold": lambda root: root.get_by_text("More settings").click(),
    "a press on a picture": lambda root: root.locator(".mygpt-plot").first.click(),
    "paper": lambda root: root.page.emulate_media(media="print"),
    "less motion": lambda root: root.page.emulate_media(reduced_motion="reduce"),
}


@pytest.mark.parametrize("hand", HANDS)
def test_the_first_run_stops_at_once_and_for_good(explorer, hand):
    root = explorer(**SHORT, first=True)
    far_below(root.page)
    walks(root)
    HANDS[hand](root)
    root.page.wait_for_timeout(200)  # a medium changes with the next frame
    root.page.emulate_media(media="screen")
    assert 2 <= stands(root) < 50


def test_the_first_run_goes_on_when_it_comes_back_into_view(explorer):
    root = explorer(**SHORT, first=True)
    far_below(root.page)
    walks(root)
    root.page.evaluate("scrollTo(0, 4000)")
    assert 2 <= stands(root) < 50
    root.page.evaluate("scrollTo(0, 0)")
    becomes(done, 50)(root)
    assert stands(root) == 50
    reads(root, **SHORT, steps=50)


def test_the_first_run_gives_way_to_a_setting(explorer):
    root = explorer(**SHORT, first=True, unfolded=["settings"])
    walks(root)
    slider(root, "Blocks").press("ArrowRight")
    becomes(done, 300)(root)
    reads(root, **SHORT | {"depth": 8}, steps=300)


def test_the_first_run_gives_way_to_the_steps_of_a_phrase(explorer):
    root = explorer(**SHORT, first=True)
    walks(root)
    state = {"left": TrainStack(**SHORT | {"depth": 3}).left, "steps": 90}
    root.page.evaluate("state => model.set(state)", state)
    becomes(done, 90)(root)
    reads(root, **SHORT | {"depth": 3}, steps=90)


@pytest.mark.parametrize("begun", ["by a button", "by a phrase"])
def test_many_settings_in_a_row_do_not_stop_a_training(explorer, begun):
    root = explorer(**SLOW | {"depth": 12}, steps=0)
    unfold(root)
    given = [20, 4, begun == "by a phrase"]
    seen = slider(root, "Blocks", "Left stack").evaluate(MOVED, given)
    assert [name for name, _ in seen] == ["Stop"] * 4
    becomes(done, 300)(root)
    settings = SLOW | {"depth": 8, "beside": {"wiring": "pre-norm", "depth": 12}}
    reads(root, **settings, steps=300)
    assert stays(root) == 300


def test_a_longer_training_keeps_its_end_when_a_setting_changes(explorer):
    settings = {"depth": 2, "activation": "silu", "rate": 0.001}
    root = explorer(**settings, steps=300)
    wait_for_step(root, 300)
    unfold(root)
    changed_at = slider(root, "Seed", "Stack").evaluate(
        """async (seed) => {  // in the page, for a fast one ends before a key comes
          const step = () => +document.querySelector(".mygpt-actions b").textContent;
          document.querySelector(".mygpt-run").click();
          while (step() < 320) await new Promise(requestAnimationFrame);
          const changed = step();
          seed.stepUp();
          seed.dispatchEvent(new Event("input", { bubbles: true }));
          return changed;
        }"""
    )
    assert changed_at < 1500
    becomes(done, 1500)(root)
    assert stays(root) == 1500


@pytest.mark.parametrize(("across", "least"), [(736, 210), (390, 150)])
def test_the_planes_of_two_stacks_are_large_and_under_their_verdicts(
    explorer, across, least
):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=across)
    for side in root.locator(".mygpt-side").all():
        plane = side.locator(".mygpt-plot").bounding_box()
        words = side.locator(".mygpt-said").bounding_box()
        assert plane["width"] >= least
        assert words["y"] < plane["y"]


def test_nothing_moves_by_itself_where_motion_is_not_wanted(alone):
    root = alone(TrainStack(**SHORT), still=True)
    reads(root, **SHORT)
    assert stands(root) == 0
    root.page.emulate_media(reduced_motion="no-preference")
    assert stands(root) == 0


def test_nothing_moves_by_itself_where_there_is_a_kernel(alone):
    """Its code would find other steps than it has set."""
    kernel = {"const dark": "model.widget_manager = {};\nconst dark"}
    root = alone(TrainStack(**SHORT), kernel)
    reads(root, **SHORT)
    assert stands(root) == 0


def test_a_training_stops_when_it_is_no_longer_seen(explorer):
    root = explorer(**SLOW)
    far_below(root.page)
    train(root)
    wait_for_step(root, 3)
    root.page.evaluate("scrollTo(0, 4000)")
    button(root, "Train to 300").wait_for()
    step = done(root)
    assert step < 300
    root.page.evaluate("scrollTo(0, 0)")
    assert stays(root) == step


def test_what_is_asked_for_is_trained_where_no_one_looks_yet(explorer):
    """An explorer further down the page is not left at the first of its steps."""
    settings = {"depth": 40, "activation": "silu", "rate": 1e-3, "steps": 150}
    root = explorer(**settings, below=3000)
    root.page.wait_for_timeout(300)
    root.scroll_into_view_if_needed()
    becomes(done, 150)(root)
    assert kept(root) == 150


def test_where_motion_is_not_wanted_a_training_is_drawn_at_its_end(explorer):
    root = explorer(depth=20, steps=3)
    wait_for_step(root, 3)
    root.page.emulate_media(reduced_motion="reduce")
    root.page.evaluate("""() => {
        window.steps = [];
        const step = document.querySelector(".mygpt-actions b");
        const note = () => steps.push(Number(step.textContent));
        new MutationObserver(note).observe(step, { childList: true });
    }""")
    press(root, "Train to 300")
    becomes(done, 300)(root)
    assert stays(root) == 300
    assert set(root.page.evaluate("steps")) <= {3, 300}


def drawn_without_holes(root):
    drawn, text = root.evaluate(PATHS), root.evaluate(SAID)
    for word in ("NaN", "Infinity", "undefined"):
        assert word not in drawn
        assert word not in text
    assert max(map(float, re.findall(r"[\d.]+(?:e\+?\d+)?", drawn))) < 20_000


@pytest.mark.parametrize("across", [336, 390, 680, 720])
def test_an_explorer_keeps_its_height_while_it_trains(explorer, across):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=across)
    height = root.bounding_box()["height"]
    press(root, "Step")
    assert root.bounding_box()["height"] == pytest.approx(height, abs=1)
    button(root, "Train to 300").wait_for()
    assert 100 <= train_until(root, 100) < 300
    assert root.bounding_box()["height"] == pytest.approx(height, abs=1)


@pytest.mark.parametrize("across", slow_but([390], [1100, 390]))
def test_a_divergence_is_said_and_the_page_goes_on(explorer, across):
    root = explorer(**DEEP, across=across)
    diverged = tells(root, "Diverged at step 1: the loss is too large.")
    diverged.wait_for()
    reads(root, **DEEP | {"steps": 1})
    assert able(root) == ["reset"]
    assert kept(root) == 1
    drawn_without_holes(root)
    press(root, "Reset")
    reads(root, **DEEP | {"steps": 0})
    assert "Diverged" not in "".join(said(root))
    train(root)
    diverged.wait_for()
    assert able(root) == ["reset"]
    move(root, "Learning rate", "Home")
    reads(root, depth=32, rate=1e-4)
    press(root, "Step")
    reads(root, depth=32, rate=1e-4, steps=1)
    assert "Diverged" not in "".join(said(root))


def test_two_quick_presses_are_two_steps(explorer):
    root = explorer(**DEEP | {"rate": 0.001, "steps": 0})
    button(root, "Step").evaluate("one => { one.click(); one.click(); }")
    wait_for_step(root, 2)
    reads(root, **DEEP | {"rate": 0.001, "steps": 2})


def test_a_stack_too_large_before_its_first_step_is_said(explorer):
    root = explorer(depth=40, gain=4.0)
    root.get_by_text("The loss is too large before the first step.").first.wait_for()
    told = "The loss is too large before the first step. Try a smaller gain."
    assert said(root) == [told]
    assert able(root) == []
    drawn_without_holes(root)
    move(root, "Gain", "Home")
    press(root, "Step")
    reads(root, depth=40, gain=0.5, steps=1)


def test_one_stack_is_lost_and_the_other_goes_on(explorer):
    settings = SLOW | {"beside": {"rate": 10.0, "wiring": "plain"}}
    root = explorer(**settings)
    train(root)
    tells(root, "Diverged at step 1:").wait_for()
    step = train_until(root, 10)
    left, right = TrainStack(**settings, steps=step).trained()
    losses = [significant(one.losses[-1]) for one in (left, right)]
    assert numbers(root)[1::2] == losses
    assert len(right.losses) == 2
    drawn_without_holes(root)
    press(root, "Step")
    becomes(done, step + 1)(root)


def test_the_pictures_say_what_they_show(explorer):
    settings = {"depth": 5, "beside": {"wiring": "plain"}, "steps": 6}
    root = explorer(**settings)
    reads(root, **settings)
    unfold(root)
    left, right = TrainStack(**settings).trained()
    pictures = root.locator(".mygpt-picture:visible")
    labels = [one.get_attribute("aria-label") for one in pictures.all()]
    shares = numbers(root)[2::2]
    [*planes, _, _, _] = labels
    for label, share in zip(planes, shares, strict=True):
        assert label.startswith("128 points on two spirals")
        assert label.endswith(f"{share} of new points are right.")
    assert "each of 6 steps; guessing has 0.69." in labels[2]
    for name, course in (("Left", left), ("Right", right)):
        first, last = (significant(course.losses[at]) for at in (0, -1))
        assert f"{name} stack: from {first} to {last}." in labels[2]
        for label, sizes, block in ((3, course.signal, 0), (4, course.gradient, 1)):
            first, last = (significant(sizes[at]) for at in (0, -1))
            text = f"{name} stack: {first} at block {block}, {last} at the last."
            assert text in labels[label]


def test_traits_that_change_from_elsewhere_move_the_figure(explorer):
    """As a kernel changes them, also while the page trains as far as it said before."""
    root = explorer(**SHORT)

    def set_traits(**traits):
        for pair in traits.items():
            root.page.evaluate("pair => model.set(...pair)", pair)

    set_traits(steps=12)
    reads(root, **SHORT, steps=12)
    set_traits(steps=4)
    reads(root, **SHORT, steps=4)
    other = TrainStack("plain", depth=3, gain=1.7, task="long")
    set_traits(task="long", left=other.left)
    reads(root, "plain", depth=3, gain=1.7, task="long", steps=4)
    set_traits(right=other.left | {"wiring": "residual"}, steps=6)
    settings = {"depth": 3, "gain": 1.7, "task": "long"}
    reads(root, "plain", **settings, beside={"wiring": "residual"}, steps=6)
    set_traits(steps=5000)
    set_traits(steps=5)
    reads(root, "plain", **settings, beside={"wiring": "residual"}, steps=5)
    assert kept(root) == 5


TWICE = """const again = document.createElement("div");
  explorer.render({ model, el: again });
  main.replaceChildren(el, again);"""


def test_an_explorer_that_is_displayed_twice_agrees_with_itself(alone):
    """Under each other, as in a notebook: the second view follows the first."""
    twice = {"main.replaceChildren(el);": TWICE}
    first = untouched(alone(TrainStack(**SLOW), twice, still=True))
    second = first.page.locator(".mygpt-train-stack").nth(1)
    step = train_until(first, 30)
    for one in (first, second):
        reads(one, **SLOW, steps=step)
    assert stays(first) == step
    assert kept(first) == step
    press(first, "Reset")
    becomes(done, 0)(second)
    move(first, "Seed", "ArrowRight", stack="Left stack")
    reads(second, **SLOW | {"beside": {"wiring": "pre-norm", "seed": 0}}, seed=1)


def test_a_training_is_saved_and_spoken_when_it_rests(explorer):
    root = explorer(**SLOW)
    step = train_until(root, 10)
    assert kept(root) == step
    status = root.get_by_role("status").filter(has_text=f"Step {step}. Left stack: ")
    status.wait_for(state="attached")
    text = status.text_content()
    for name, loss, share in zip(
        ("Left", "Right"), numbers(root)[1::2], numbers(root)[2::2], strict=True
    ):
        assert f"{name} stack: loss {loss}, {share} of new points right." in text


def test_the_plane_is_repainted_in_another_theme_and_on_paper(explorer):
    settings = {**SHORT, "rate": 0.01, "steps": 20}
    root = explorer(**settings)
    _, pixels = plane(root, **settings)
    canvas = root.locator("canvas:visible")
    light = pixels.ravel().tolist()
    assert any(light)
    changed = f"([canvas, old]) => String(({PAINTED})(canvas)) !== old"
    same = f"([canvas, old]) => String(({PAINTED})(canvas)) === old"
    given = [canvas.element_handle(), ",".join(map(str, light))]
    root.page.emulate_media(color_scheme="dark")
    root.page.wait_for_function(changed, arg=given)
    root.page.emulate_media(color_scheme="light")
    root.page.wait_for_function(same, arg=given)
    root.page.emulate_media(color_scheme="dark")
    root.page.wait_for_function(changed, arg=given)
    root.page.emulate_media(color_scheme="dark", media="print")
    root.page.wait_for_function(same, arg=given)
    assert not slider(root, "Blocks").is_visible()
    text = (
        "Short spirals. Residual, 7 blocks, SiLU, gain 1, learning rate 0.01, seed 0."
    )
    assert root.get_by_text(text).is_visible()


STATES = {
    "start": {},
    "one": {**SHORT, "steps": 7},
    "two": {**SHORT, "beside": {"wiring": "plain", "depth": 40}, "steps": 7},
    "trained": {"depth": 5, "rate": 0.01, "steps": 300, "task": "long"},
    "diverged": {**DEEP, "beside": {"rate": 0.003}},
    "too large": {"depth": 40, "gain": 10.0},
    "running": SLOW,
}


@pytest.mark.parametrize(
    "state", slow_but(["start", "two", "diverged", "running"], STATES)
)
def test_axe_finds_nothing_in_any_state(explorer, state):
    root = explorer(**STATES[state])
    wait_for_step(root, STATES[state].get("steps", 0))
    if state == "running":
        train(root)
        button(root, "Stop").wait_for()
    for theme, across in (("light", 1100), ("dark", 390)):
        root.page.emulate_media(color_scheme=theme)
        root.page.set_viewport_size({"width": across, "height": 900})
        root.page.wait_for_function(FITTED, arg=root.element_handle())
        judge(root.page)


@pytest.mark.parametrize(
    "state", slow_but(["two"], ["one", "two", "diverged", "too large"])
)
def test_nothing_overflows_a_narrow_frame(explorer, state):
    root = explorer(across=390, **STATES[state], link="#stack=short;")
    root.get_by_text("The link was not used:").wait_for()
    root.evaluate(UNFOLDED)
    for width in (390, 320):
        root.page.set_viewport_size({"width": width, "height": 900})
        root.page.wait_for_function(FITTED, arg=root.element_handle())
        assert root.bounding_box()["width"] <= width - 24
        assert root.evaluate(OUTSIDE) == []
        assert width_of(root.page) <= width


GIVEN = "#stack=short;residual,32,relu,1,0.01,0;pre-norm,32,relu,1,0.01,0"
BAD = "#stack=short;foo,32,relu,1,0.01,0"
CAUSE = "its wiring must be one of plain, residual, pre-norm, post-norm, not “foo”"


def opened_by_the_link(root):
    root.evaluate(UNFOLDED)
    assert slider(root, "Blocks", "Left stack").get_attribute("aria-valuetext") == "32"
    rate = slider(root, "Learning rate", "Right stack")
    assert rate.get_attribute("aria-valuetext") == "0.01"
    assert root.get_by_text("The two stacks differ only in wiring.").is_visible()
    reads(root, depth=32, rate=0.01, beside={"wiring": "pre-norm"})
    assert not root.get_by_text("The link").is_visible()


def test_a_link_opens_its_settings_and_another_one_in_their_place(explorer):
    root = explorer(**SHORT, steps=9, link=GIVEN)
    opened_by_the_link(root)
    assert stays(root) == 0
    root.page.evaluate("location.hash = '#stack=long;plain,3,gelu,1.7,1e-7,99'")
    other = {"depth": 3, "activation": "gelu", "gain": 1.7, "rate": 1e-7, "seed": 99}
    reads(root, "plain", **other, task="long")
    press(root, "Step")
    reads(root, "plain", **other, task="long", steps=1)
    root.page.evaluate("location.hash = '#section'")
    assert stays(root) == 1


def test_a_bad_link_is_not_used_and_it_is_said_why(explorer):
    root = explorer(**SHORT, steps=2, link=BAD)
    assert root.get_by_text(f"The link was not used: {CAUSE}.").is_visible()
    reads(root, **SHORT, steps=2)
    root.page.evaluate("hash => { location.hash = hash; }", GIVEN)
    opened_by_the_link(root)


def test_a_copied_link_opens_the_same(explorer, open_page):
    beside = {"wiring": "post-norm", "gain": 2.0}
    root = explorer(**SHORT, task="long", seed=7, beside=beside, steps=3, link="")
    root.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    move(root, "Learning rate", "ArrowRight", stack="Right stack")
    press(root, "Copy link")
    root.get_by_text("The link is copied.").wait_for()
    link = root.page.evaluate("navigator.clipboard.readText()")
    assert root.page.url == link
    assert link.split("#")[1].startswith("stack=long;residual,7,silu,1,0.003,7;")
    other = shown_on(open_page(link, still=True))
    beside |= {"rate": 0.005}
    for one in (root, other):
        reads(one, **SHORT, task="long", seed=7, beside=beside)


SECOND = """window.other = makeModel(structuredClone(saved));
  const below = document.createElement("div");
  explorer.render({ model: other, el: below });
  main.replaceChildren(el, below);"""


def test_of_two_explorers_on_a_page_the_first_takes_the_link(alone):
    two = LINKED | {"main.replaceChildren(el);": SECOND}
    for link in (GIVEN, BAD):
        root = alone(TrainStack(**SHORT, steps=1), two, link, still=True)
        second = root.page.locator(".mygpt-train-stack").nth(1)
        if link == GIVEN:
            opened_by_the_link(root)
        state = "visible" if link == BAD else "hidden"
        root.get_by_text("not used").wait_for(state=state)
        assert not second.get_by_text("not used").is_visible()
        other = root.page.evaluate("['steps', 'right'].map((name) => other.get(name))")
        assert other == [1, {}]


def test_another_hash_and_a_page_without_the_host_say_nothing_of_links(explorer):
    root = explorer(**SHORT, link="#section", unfolded=["settings"])
    assert "ink was" not in root.inner_text()
    assert button(root, "Copy link").is_visible()
    root = explorer(**SHORT)
    assert button(root, "Copy link").count() == 0
    root.page.evaluate("hash => { location.hash = hash; }", GIVEN)
    root.page.wait_for_timeout(100)
    reads(root, **SHORT)
    assert "ink was" not in root.inner_text()


@pytest.fixture
def chapter(open_page):
    """The first of the explorers in the chapter on the site, as a link opens it."""

    def chapter(site, link=""):
        page = open_page(f"{site}/{CHAPTER}{link}", still=True)
        page.wait_for_function(READY)
        return shown_on(page)

    return chapter


def test_a_link_on_the_site_opens_its_settings_in_view(chapter, http_url):
    root = chapter(http_url, GIVEN)
    opened_by_the_link(root)
    inside = """root => {
        const { top, bottom } = root.getBoundingClientRect();
        return top < innerHeight && bottom > 0;
    }"""
    root.page.wait_for_function(inside, arg=root.element_handle())
    press(root, "Step")
    becomes(done, 1)(root)
    root.page.watch.check()


def setting(root):
    return root.locator(".mygpt-setting").text_content()


def test_a_bad_link_on_the_site_leaves_the_chapter_s_own_setting(chapter, file_url):
    before = chapter(file_url)
    before.scroll_into_view_if_needed()
    assert "ink was" not in before.inner_text()
    root = chapter(file_url, BAD)
    lines = root.locator(".mygpt-refusal").all_inner_texts()
    assert lines == [f"The link was not used: {CAUSE}."]
    assert setting(root) == setting(before)
    assert settled(root) == settled(before)
    root.page.watch.check()


def test_a_link_copied_on_the_site_opens_the_same_there(chapter, open_page, site_url):
    root = chapter(site_url)
    root.scroll_into_view_if_needed()
    root.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    unfold(root)
    root.get_by_role("button", name="Long spirals").click()
    first = root.get_by_role("group", name="Left stack", exact=True)
    first.get_by_role("button", name="GELU").click()
    press(root, "Copy link")
    root.get_by_text("The link is copied.").wait_for()
    link = root.page.evaluate("navigator.clipboard.readText()")
    assert link == root.page.url
    assert f"{CHAPTER}#stack=long;" in link
    other = shown_on(open_page(link, still=True))
    assert "Long spirals." in setting(root)
    assert "GELU" in setting(root)
    becomes(setting, setting(root))(other)
    assert settled(other) == settled(root)
    root.page.watch.check()
