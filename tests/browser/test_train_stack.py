"""The explorer that trains stacks: alone on its page, and its links on the site."""

import math
import re

import numpy as np
import pytest
import torch
from drawn import drawn, resize
from figures import (
    LINKED,
    PAINTED,
    READY,
    Figure,
    Finger,
    bottom,
    drawn_without_holes,
    far_below,
    fits,
    reaches,
    repaints,
    significant,
    top,
)
from helpers.quick import slow_but
from judged import judge

from mygpt.explorers import TrainStack
from mygpt.explorers.train_stack.widget import REACH

CHAPTER = "chapters/07_residual_connections.html"
torch.set_num_threads(1)  # small matrices: a second thread only waits
SHORT = {"depth": 7, "activation": "silu"}
DEEP = {"depth": 32, "rate": 10.0, "steps": 9}  # lost at the first step
# At a higher rate the second stack multiplies rounding from step 80 on, and a busy
# machine may have come so far before a training stops: then PyTorch's numbers differ.
SLOW = {"depth": 40, "activation": "silu", "rate": 1e-4}
SLOW |= {"beside": {"wiring": "pre-norm"}}
TOUCHED = "all => all.forEach((root) => root.dispatchEvent(new Event('input')))"
STOPPED = """async (least) => {  // in the page, for a fast one ends between two calls
  const step = () => +document.querySelector(".mygpt-actions b").textContent;
  const run = document.querySelector(".mygpt-run");
  if (run.textContent !== "Stop") run.click();
  while (step() < least) await new Promise(requestAnimationFrame);
  if (run.textContent === "Stop") run.click();
}"""
HEIGHTS = """async (root) => {  // at each frame of a run
  const run = root.querySelector(".mygpt-run");
  const seen = [];
  run.click();
  do {
    await new Promise(requestAnimationFrame);
    seen.push(root.getBoundingClientRect().height);
  } while (run.textContent === "Stop");
  return seen;
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
        across=1100, link=None, below=0, first=False, changes=None, **settings
    ):
        changes = {"<main>": f'<main style="margin-top: {below}px">'} | (changes or {})
        changes |= {} if link is None else LINKED
        made = TrainStack(**settings)
        root = alone(made, changes, link or "", width=across, still=not first)
        root.settings = settings
        return root if first else untouched(root)

    return explorer


def shown_on(page, place=0):
    root = Figure(page.locator(".mygpt-train-stack").nth(place))
    root.wait_for(state="attached")
    return root


def untouched(root):
    """As something has been done with it: it does not train by itself any more."""
    root.page.locator(".mygpt-train-stack").evaluate_all(TOUCHED)
    root.page.emulate_media(reduced_motion="no-preference")
    drawn(root.page)
    return root


def train(root):
    """Press Train, once the steps that were asked for before are shown."""
    run = root.locator(".mygpt-run").filter(has_text=re.compile("^Train"))
    run.wait_for()
    run.click()


def train_until(root, step):
    """Train on, and stop at this step or after it; the step that was reached."""
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


def stack(root, name="Stack"):
    """What belongs to one of the stacks."""
    return Figure(root.get_by_role("group", name=name, exact=True))


LEFT, RIGHT = "Left stack", "Right stack"


def slider(root, name, of="Stack"):
    return stack(root, of).slider(name)


def move(root, name, *keys, of="Stack"):
    stack(root.unfold(), of).move(name, *keys)


def done(root):
    return int(root.text(".mygpt-actions b"))


def numbers(root):
    """The step, and of each stack its loss and its share of new points right."""
    return root.texts(".mygpt-actions b, .mygpt-side:visible .mygpt-numbers b")


def said(root):
    return root.texts(".mygpt-said:visible")


def tells(root, text):
    """The place where a text is shown, not the one where it is spoken."""
    return root.locator(".mygpt-said").filter(has_text=text, visible=True)


def expected(settings):
    """What `numbers` is where these settings were trained in PyTorch."""
    made = TrainStack(**settings)
    texts = [str(made.steps)]
    for course in made.trained():
        right = math.floor(100 * course.right + 0.5)
        texts += [significant(course.losses[-1]), f"{right} %"]
    return texts


def reads(root, **changes):
    """The figure shows what PyTorch trains with its settings, after these changes."""
    root.settings |= changes
    root.becomes(numbers, expected(root.settings))


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
    reaches(root.locator(".mygpt-actions b"), step)


def test_each_step_shows_what_the_package_computes(explorer):
    root = explorer(**SHORT, rate=0.02)
    reads(root)
    assert said(root)[0].startswith("No step yet. Gradient of block 1: ")
    for step in range(1, 5):
        root.press("Step")
        reads(root, steps=step)
    root.unfold().press("Long spirals")
    reads(root, task="long", steps=0)
    for step in range(1, 3):
        root.press("Step")
        reads(root, steps=step)
    root.press("Reset")
    reads(root, steps=0)
    assert able(root) == ["train", "step"]


def test_a_training_goes_on_until_it_is_stopped_and_then_it_is_saved_and_spoken(
    explorer,
):
    root = explorer(**SLOW)
    train_until(root, 5)
    assert able(root) == ["train", "step", "reset"]
    step = root.stays(done)
    assert 5 <= step < 300
    text = root.spoken(f"Step {step}. Left stack: ").text_content()  # for 20 s
    reads(root, steps=step)
    assert root.get("steps") == step
    _, left, left_share, right, right_share = numbers(root)
    assert f"Left stack: loss {left}, {left_share} of new points right." in text
    assert f"Right stack: loss {right}, {right_share} of new points right." in text
    train(root)
    wait_for_step(root, step + 3)
    root.press("Step")
    root.get_by_role("button", name="Train to").wait_for()
    assert step + 3 < root.stays(done) < 300
    train(root)
    root.press("Reset")
    reads(root, steps=0)
    assert root.stays(done) == 0


def test_a_training_ends_by_itself_at_the_next_of_three_steps(explorer):
    root = explorer(depth=2, activation="silu", rate=0.001)
    for step, text in ((300, "300"), (1500, "1,500"), (5000, "5,000")):
        root.press(f"Train to {text}")
        root.becomes(done, step)
        assert root.stays(done) == root.get("steps") == step
        if step == 300:
            reads(root, steps=300)
    assert able(root) == ["reset"]
    for name in ("Train to 5,000", "Step"):
        root.button(name).press("Enter")
    assert root.stays(done) == 5000


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
    reads(root)
    assert able(root) == ["train", "step", "reset"]


def plane(root):
    """The leaning of each place, and its pixel once the plane shows it.

    The numbers come first: the plane is looked at in parts.
    """
    [course] = TrainStack(**root.settings).trained()
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


def test_the_plane_has_the_colours_of_what_the_stack_says_in_both_themes_and_on_paper(
    explorer,
):
    root = explorer(depth=5, rate=0.01, steps=30)
    lean, pixels = plane(root)
    assert len(set(np.sign(lean))) == 2
    sure = pixels[:, 3] > 60
    bluer = pixels[:, 2] > pixels[:, 0]
    np.testing.assert_array_equal(bluer[sure], lean[sure] < 0)
    repaints(root.locator("canvas:visible"))
    assert not slider(root, "Blocks").is_visible()
    stack = "Residual, 5 blocks, ReLU, gain 1, learning rate 0.01, seed 0."
    assert root.sees(f"Short spirals. {stack}")


def compare(root):
    root.unfold().get_by_role("checkbox", name="Compare two").click()


def test_two_stacks_are_trained_side_by_side(explorer):
    root = explorer(**SHORT)
    both = root.get_by_role("checkbox", name="Change both at once")
    assert not both.is_visible()
    compare(root)
    assert root.sees("The two stacks differ only in wiring.")
    reads(root, beside={"wiring": "plain"})
    stack(root, RIGHT).press("Post-norm")
    move(root, "Blocks", "ArrowRight", "ArrowRight", of=RIGHT)
    beside = {"wiring": "post-norm", "depth": 9}
    assert root.sees("The two stacks differ in wiring and blocks.")
    for step in (1, 2, 3):
        root.press("Step")
        reads(root, beside=beside, steps=step)
    move(root, "Seed", "ArrowRight", of=LEFT)
    two = {"beside": beside | {"seed": 0}}
    reads(root, seed=1, steps=0, **two)
    compare(root)
    reads(root, beside=None)
    assert not root.sees("The two stacks")
    assert slider(root, "Blocks").count() == 1
    compare(root)
    reads(root, **two)


def test_a_plain_stack_is_compared_with_a_residual_one(explorer):
    root = explorer(wiring="plain", depth=3, seed=5)
    compare(root)
    reads(root, beside={"wiring": "residual"})


def test_both_stacks_are_changed_at_once_where_the_reader_asks_for_it(explorer):
    root = explorer(**SHORT, beside={"wiring": "plain"})
    both = root.unfold().get_by_role("checkbox", name="Change both at once")
    both.check()
    move(root, "Blocks", "ArrowLeft", of=RIGHT)
    reads(root, depth=6)
    stack(root.unfold(), LEFT).press("ReLU")
    reads(root, activation="relu")
    assert root.sees("The two stacks differ only in wiring.")
    both.uncheck()
    move(root, "Blocks", "ArrowLeft", of=RIGHT)
    reads(root, beside={"wiring": "plain", "depth": 5})


@pytest.mark.parametrize("across", [1100, 390])
def test_the_wiring_is_in_sight_and_the_rest_is_folded(explorer, across):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=across)
    names = ["Blocks", "Learning rate", "Gain", "Seed"]
    sliders = [slider(root, name, of) for name in names for of in (LEFT, RIGHT)]
    folded = [*sliders, root.button("Short spirals")]
    for of in (LEFT, RIGHT):
        wirings = stack(root, of).get_by_role("button").all()
        assert len({one.bounding_box()["y"] for one in wirings}) == 1, "one row"
    assert not any(one.is_visible() for one in folded)
    root.get_by_text("More settings").click()
    assert all(one.is_visible() for one in folded)
    root.becomes(lambda root: root.get("unfolded"), ["settings"])
    slider(root, "Seed", RIGHT).press("ArrowRight")
    assert slider(root, "Seed", RIGHT).is_visible(), "folded under the hand"
    root.press("Step")
    reads(root, beside={"wiring": "plain", "seed": 1}, steps=1)
    root.set(unfolded=["blocks"])
    root.get_by_text("Gradient of each block").wait_for()
    slider(root, "Gain", LEFT).wait_for(state="hidden")


def test_what_differs_is_told_in_the_titles(explorer):
    root = explorer(wiring="plain", depth=20, beside={"gain": 2.0})
    texts = root.texts(".mygpt-side .mygpt-panel-name")
    assert [one.replace("\u00a0", " ") for one in texts] == [
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
    root = explorer(depth=4, rate=0.01, beside={"wiring": "plain"})
    reads(root)
    root.evaluate(ONE_STEP)
    train(root)
    root.becomes(done, 300)
    root.stays(done)
    mixed, steps = root.page.evaluate("[mixed, steps]")
    assert mixed == []
    assert len(set(steps)) > 2, "it is drawn as it trains"
    reads(root, steps=300)


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
    # In the page: a fast machine may reach the last step between two calls.
    found = """async (root) => {
        const step = () => +root.querySelector(".mygpt-actions b").textContent;
        while (step() < 3) await new Promise(requestAnimationFrame);
        const first = root.querySelector("button, summary, input");
        first.focus();
        return first.textContent;
    }"""
    assert root.page.evaluate(found, root.element_handle()) == "Stop"
    root.page.keyboard.press("Enter")
    root.get_by_role("button", name="Train to 300").wait_for()


def test_what_a_phrase_unfolds_comes_into_view(explorer):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=390)
    resize(root, 390, 600)
    root.page.evaluate("scrollTo(0, 0)")
    root.set(unfolded=["blocks"])
    inside = """root => [...root.querySelectorAll(".mygpt-blocks svg[role=img]")]
        .every((one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight;
        })"""
    root.page.wait_for_function(inside, arg=root.element_handle())


@pytest.mark.parametrize(
    ("across", "most", "least"), [(736, 780, 210), (390, 720, 150)]
)
def test_what_is_set_and_what_comes_of_it_are_on_one_screen_with_large_planes(
    explorer, across, most, least
):
    root = explorer(
        wiring="plain", depth=8, beside={"wiring": "residual"}, across=across
    )
    planes = root.locator(".mygpt-side .mygpt-plot").all()
    ends = [bottom(one) for one in (*planes, root.locator(".mygpt-losses"))]
    assert max(ends) - top(root.locator(".mygpt-top")) <= most
    verdicts = root.locator(".mygpt-side .mygpt-said").all()
    for plane, words in zip(planes, verdicts, strict=True):
        assert plane.bounding_box()["width"] >= least
        assert top(words) < top(plane)


def test_every_setting_is_moved_by_the_keyboard(explorer):
    root = explorer(**SHORT, steps=3)
    for name, key, trait, value in (
        ("Blocks", "PageUp", "depth", None),
        ("Gain", "ArrowRight", "gain", 1.2),
        ("Learning rate", "End", "rate", 1.0),
        ("Seed", "ArrowRight", "seed", 1),
    ):
        move(root, name, key)
        shown = slider(root, name).get_attribute("aria-valuetext")
        value = value or int(shown)
        assert float(shown.removeprefix("× ")) == value
        reads(root, steps=0, **{trait: value})
    assert root.settings["depth"] > 7
    for name in ("ReLU", "Pre-norm"):
        root.button(name).press("Enter")
    reads(root, wiring="pre-norm", activation="relu")


def test_another_setting_begins_at_step_0_and_is_not_trained_by_itself(explorer):
    root = explorer(**SHORT, steps=5)
    wait_for_step(root, 5)
    move(root, "Seed", "ArrowRight")
    assert done(root) == root.stays(done) == 0
    reads(root, seed=1, steps=0)


def test_a_training_goes_on_with_another_setting_from_step_0(explorer):
    root = explorer(**SLOW)
    blocks = slider(root.unfold(), "Blocks", RIGHT)
    [[_, step]] = blocks.evaluate(MOVED, [30, 1, False])
    assert step < 30
    root.settings |= {"beside": {"wiring": "pre-norm", "depth": 39}}
    reads(root, steps=train_until(root, step + 5))


def test_a_finger_moves_a_slider(explorer):
    root = explorer(**SHORT, across=390, steps=2)
    finger = Finger(root.page)
    depth = slider(root.unfold(), "Blocks")
    depth.scroll_into_view_if_needed()
    box = depth.bounding_box()
    start = 12 + (7 - 1) / 39 * (box["width"] - 24)
    places = [start + share * (box["width"] - start) for share in (0, 0.4, 0.7, 1)]
    y = box["y"] + box["height"] / 2
    finger.follow(*((box["x"] + x, y) for x in places))
    root.becomes(lambda _: depth.get_attribute("aria-valuetext"), "40")
    reads(root, depth=40, steps=0)


def test_nothing_runs_by_itself_after_steps_that_were_asked_for(explorer):
    root = explorer(**SHORT, steps=30, first=True)
    wait_for_step(root, 30)
    assert root.stays(done) == 30
    assert root.button("Train to 300").is_visible()
    assert root.get_by_role("status").last.text_content() == ""


def walks(root):
    """Wait until the first run is under way."""
    root.button("Stop").wait_for()
    wait_for_step(root, 2)
    return root


def stands(root):
    """The step, which is the same for longer than one of the first run lasts."""
    root.button("Train to 300").wait_for()
    return root.stays(done, 600)


def test_it_trains_slowly_once_when_it_comes_into_view(explorer):
    root = explorer(**SHORT, below=3000, first=True)
    assert root.stays(done) == 0
    root.scroll_into_view_if_needed()
    assert done(walks(root)) < 50
    root.becomes(done, 50)
    assert stands(root) == 50
    reads(root, steps=50)
    assert root.get("steps") == 50
    assert root.get_by_role("status").last.text_content() == ""
    root.press("Reset")
    root.page.evaluate("scrollTo(0, 0)")
    root.page.wait_for_timeout(200)
    root.scroll_into_view_if_needed()
    assert stands(root) == 0


HANDS = {
    "stop": lambda root: root.press("Stop"),
    "stop by keyboard": lambda root: root.button("Stop").press("Enter"),
    "a fold": lambda root: root.get_by_text("More settings").click(),
    "a press on a picture": lambda root: root.locator(".mygpt-plot").first.click(),
    "paper": lambda root: root.page.emulate_media(media="print"),
    "less motion": lambda root: root.page.emulate_media(reduced_motion="reduce"),
}


@pytest.mark.parametrize("hand", HANDS)
def test_the_first_run_stops_at_once_and_for_good(explorer, hand):
    root = explorer(**SHORT, first=True)
    far_below(root.page)
    HANDS[hand](walks(root))
    root.page.wait_for_timeout(200)  # a medium changes with the next frame
    root.page.emulate_media(media="screen")
    assert 2 <= stands(root) < 50


def test_the_first_run_goes_on_when_it_comes_back_into_view(explorer):
    root = explorer(**SHORT, first=True)
    far_below(root.page)
    walks(root).page.evaluate("scrollTo(0, 4000)")
    assert 2 <= stands(root) < 50
    root.page.evaluate("scrollTo(0, 0)")
    root.becomes(done, 50)
    assert stands(root) == 50
    reads(root, steps=50)


def test_the_first_run_gives_way_to_a_setting(explorer):
    root = walks(explorer(**SHORT, first=True, unfolded=["settings"]))
    slider(root, "Blocks").press("ArrowRight")
    root.becomes(done, 300)
    reads(root, depth=8, steps=300)


def test_the_first_run_gives_way_to_the_steps_of_a_phrase(explorer):
    root = walks(explorer(**SHORT, first=True))
    root.set(left=TrainStack(**SHORT | {"depth": 3}).left, steps=90)
    root.becomes(done, 90)
    reads(root, depth=3, steps=90)


@pytest.mark.parametrize("begun", ["by a button", "by a phrase"])
def test_many_settings_in_a_row_do_not_stop_a_training(explorer, begun):
    root = explorer(**SLOW | {"depth": 12, "rate": 0.001})
    given = [20, 4, begun == "by a phrase"]
    seen = slider(root.unfold(), "Blocks", LEFT).evaluate(MOVED, given)
    assert [name for name, _ in seen] == ["Stop"] * 4
    root.becomes(done, 300)
    reads(root, depth=8, beside={"wiring": "pre-norm", "depth": 12}, steps=300)
    assert root.stays(done) == 300


def test_a_longer_training_keeps_its_end_when_a_setting_changes(explorer):
    root = explorer(depth=2, activation="silu", rate=0.001, seed=1, steps=300)
    wait_for_step(root, 300)
    [[name, _]] = slider(root.unfold(), "Seed").evaluate(MOVED, [320, 1, False])
    assert name == "Stop"
    root.becomes(done, 1500)
    assert root.stays(done) == 1500


KERNEL = {"const dark": "model.widget_manager = {};\nconst dark"}


@pytest.mark.parametrize("changes", [{}, KERNEL], ids=["for motion", "for a kernel"])
def test_nothing_moves_by_itself_where_that_is_not_wanted(alone, changes):
    """A kernel's code would find other steps than it has set."""
    root = alone(TrainStack(**SHORT), changes, still=not changes)
    root.becomes(numbers, expected(SHORT))
    assert stands(root) == 0
    root.page.emulate_media(reduced_motion="no-preference")
    assert stands(root) == 0


def test_a_training_stops_when_it_is_no_longer_seen(explorer):
    root = explorer(**SLOW)
    far_below(root.page)
    train(root)
    wait_for_step(root, 3)
    root.page.evaluate("scrollTo(0, 4000)")
    root.button("Train to 300").wait_for()
    step = done(root)
    assert step < 300
    root.page.evaluate("scrollTo(0, 0)")
    assert root.stays(done) == step


def test_what_is_asked_for_is_trained_where_no_one_looks_yet(explorer):
    """An explorer further down the page is not left at the first of its steps."""
    root = explorer(depth=40, activation="silu", rate=1e-3, steps=150, below=3000)
    root.page.wait_for_timeout(300)
    root.scroll_into_view_if_needed()
    root.becomes(done, 150)
    assert root.get("steps") == 150


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
    root.press("Train to 300")
    root.becomes(done, 300)
    assert root.stays(done) == 300
    assert set(root.page.evaluate("steps")) <= {3, 300}


@pytest.mark.parametrize("across", [336, 390, 680, 720])
def test_an_explorer_keeps_its_height_while_it_trains(explorer, across):
    root = explorer(**SHORT, beside={"wiring": "plain"}, across=across)
    height = root.bounding_box()["height"]
    root.press("Step")
    assert root.bounding_box()["height"] == pytest.approx(height, abs=1)
    root.button("Train to 300").wait_for()
    seen = root.evaluate(HEIGHTS)
    assert done(root) == 300
    assert seen == pytest.approx([height] * len(seen), abs=1)


@pytest.mark.parametrize("across", slow_but([390], [1100, 390]))
def test_a_divergence_is_said_and_the_page_goes_on(explorer, across):
    root = explorer(**DEEP, across=across)
    diverged = tells(root, "Diverged at step 1: the loss is too large.")
    diverged.wait_for()
    reads(root, steps=1)
    assert able(root) == ["reset"]
    assert root.get("steps") == 1
    drawn_without_holes(root)
    root.press("Reset")
    reads(root, steps=0)
    assert "Diverged" not in "".join(said(root))
    train(root)
    diverged.wait_for()
    assert able(root) == ["reset"]
    move(root, "Learning rate", "Home")
    reads(root, rate=1e-4)
    root.press("Step")
    reads(root, steps=1)
    assert "Diverged" not in "".join(said(root))


def test_two_quick_presses_are_two_steps(explorer):
    root = explorer(depth=32, rate=0.001)
    root.button("Step").evaluate("one => { one.click(); one.click(); }")
    wait_for_step(root, 2)
    reads(root, steps=2)


def test_a_stack_too_large_before_its_first_step_is_said(explorer):
    root = explorer(depth=40, gain=4.0)
    told = "The loss is too large before the first step. Try a smaller gain."
    root.becomes(said, [told])
    assert able(root) == []
    drawn_without_holes(root)
    move(root, "Gain", "Home")
    root.press("Step")
    reads(root, gain=0.5, steps=1)


def test_one_stack_is_lost_and_the_other_goes_on(explorer):
    root = explorer(**SLOW | {"beside": {"rate": 10.0, "wiring": "plain"}})
    train(root)
    tells(root, "Diverged at step 1:").wait_for()
    step = train_until(root, 10)
    left, right = TrainStack(**root.settings, steps=step).trained()
    losses = [significant(one.losses[-1]) for one in (left, right)]
    assert numbers(root)[1::2] == losses
    assert len(right.losses) == 2
    drawn_without_holes(root)
    root.press("Step")
    root.becomes(done, step + 1)


def test_the_pictures_say_what_they_show(explorer):
    root = explorer(depth=5, beside={"wiring": "plain"}, steps=6)
    reads(root)
    left, right = TrainStack(**root.settings).trained()
    pictures = root.unfold().locator(".mygpt-picture:visible").all()
    *planes, losses, signal, gradient = (
        one.get_attribute("aria-label") for one in pictures
    )
    for label, share in zip(planes, numbers(root)[2::2], strict=True):
        assert label.startswith("128 points on two spirals")
        assert label.endswith(f"{share} of new points are right.")
    assert "each of 6 steps; guessing has 0.69." in losses
    for name, course in (("Left", left), ("Right", right)):
        first, last = (significant(course.losses[at]) for at in (0, -1))
        assert f"{name} stack: from {first} to {last}." in losses
        for label, sizes, block in (
            (signal, course.signal, 0),
            (gradient, course.gradient, 1),
        ):
            first, last = (significant(sizes[at]) for at in (0, -1))
            text = f"{name} stack: {first} at block {block}, {last} at the last."
            assert text in label


def test_traits_that_change_from_elsewhere_move_the_figure(explorer):
    """As a kernel changes them, also while the page trains as far as it said before."""
    root = explorer(**SHORT)
    for steps in (12, 4):
        root.set(steps=steps)
        reads(root, steps=steps)
    settings = {"wiring": "plain", "depth": 3, "gain": 1.7, "task": "long"}
    other = TrainStack(**settings)
    root.set(task="long", left=other.left)
    reads(root, **settings, activation="relu")
    root.set(right=other.left | {"wiring": "residual"}, steps=6)
    reads(root, beside={"wiring": "residual"}, steps=6)
    root.set(steps=5000)
    root.set(steps=5)
    reads(root, steps=5)
    assert root.get("steps") == 5


TWICE = """const again = document.createElement("div");
  explorer.render({ model, el: again });
  main.replaceChildren(el, again);"""


def test_an_explorer_that_is_displayed_twice_agrees_with_itself(explorer):
    """Under each other, as in a notebook: the second view follows the first."""
    root = explorer(**SLOW, changes={"main.replaceChildren(el);": TWICE})
    second = shown_on(root.page, 1)
    second.settings = root.settings
    step = train_until(root, 30)
    for one in (root, second):
        reads(one, steps=step)
    assert root.stays(done) == root.get("steps") == step
    root.press("Reset")
    second.becomes(done, 0)
    move(root, "Seed", "ArrowRight", of=LEFT)
    reads(second, seed=1, steps=0, beside={"wiring": "pre-norm", "seed": 0})


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
        root.button("Stop").wait_for()
    for theme, across in (("light", 1100), ("dark", 390)):
        root.page.emulate_media(color_scheme=theme)
        resize(root, across)
        judge(root.page)


@pytest.mark.parametrize(
    "state", slow_but(["two"], ["one", "two", "diverged", "too large"])
)
def test_nothing_overflows_a_narrow_frame(explorer, state):
    root = explorer(across=390, **STATES[state], link="#stack=short;")
    root.get_by_text("The link was not used:").wait_for()
    fits(root.unfold(), 390, 320)


GIVEN = "#stack=short;residual,32,relu,1,0.01,0;pre-norm,32,relu,1,0.01,0"
LINKED_TO = {"depth": 32, "activation": "relu", "rate": 0.01}
LINKED_TO |= {"beside": {"wiring": "pre-norm"}, "steps": 0}
BAD = "#stack=short;foo,32,relu,1,0.01,0"
CAUSE = "its wiring must be one of plain, residual, pre-norm, post-norm, not “foo”"


def go_to(root, link):
    root.page.evaluate("hash => { location.hash = hash; }", link)


def opened_by_the_link(root):
    root.unfold()
    assert stack(root, LEFT).value("Blocks") == "32"
    assert stack(root, RIGHT).value("Learning rate") == "0.01"
    assert root.sees("The two stacks differ only in wiring.")
    reads(root, **LINKED_TO)
    assert not root.sees("The link")


def test_a_link_opens_its_settings_and_another_one_in_their_place(explorer):
    root = explorer(**SHORT, steps=9, link=GIVEN)
    opened_by_the_link(root)
    assert root.stays(done) == 0
    go_to(root, "#stack=long;plain,3,gelu,1.7,1e-7,99")
    other = {"depth": 3, "activation": "gelu", "gain": 1.7, "rate": 1e-7, "seed": 99}
    reads(root, wiring="plain", **other, task="long", beside=None)
    root.press("Step")
    reads(root, steps=1)
    go_to(root, "#section")
    assert root.stays(done) == 1


def test_a_bad_link_is_not_used_and_it_is_said_why(explorer):
    root = explorer(**SHORT, steps=2, link=BAD)
    assert root.sees(f"The link was not used: {CAUSE}.")
    reads(root)
    go_to(root, GIVEN)
    opened_by_the_link(root)


def test_a_copied_link_opens_the_same(explorer, open_page):
    beside = {"wiring": "post-norm", "gain": 2.0}
    root = explorer(**SHORT, task="long", seed=7, beside=beside, steps=3, link="")
    move(root, "Learning rate", "ArrowRight", of=RIGHT)
    link = root.copied_link()
    assert link.split("#")[1].startswith("stack=long;residual,7,silu,1,0.003,7;")
    other = shown_on(open_page(link, still=True))
    other.settings = root.settings
    for one in (root, other):
        reads(one, beside=beside | {"rate": 0.005}, steps=0)


SECOND = """window.other = makeModel(structuredClone(saved));
  const below = document.createElement("div");
  explorer.render({ model: other, el: below });
  main.replaceChildren(el, below);"""


@pytest.mark.parametrize("link", [GIVEN, BAD])
def test_of_two_explorers_on_a_page_the_first_takes_the_link(explorer, link):
    two = {"main.replaceChildren(el);": SECOND}
    root = explorer(**SHORT, steps=1, link=link, changes=two)
    if link == GIVEN:
        opened_by_the_link(root)
    state = "visible" if link == BAD else "hidden"
    root.get_by_text("not used").wait_for(state=state)
    assert not shown_on(root.page, 1).sees("not used")
    other = root.page.evaluate("['steps', 'right'].map((name) => other.get(name))")
    assert other == [1, {}]


def test_another_hash_and_a_page_without_the_host_say_nothing_of_links(explorer):
    root = explorer(**SHORT, link="#section", unfolded=["settings"])
    assert "ink was" not in root.inner_text()
    assert root.button("Copy link").is_visible()
    root = explorer(**SHORT)
    assert root.button("Copy link").count() == 0
    go_to(root, GIVEN)
    root.page.wait_for_timeout(100)
    reads(root)
    assert "ink was" not in root.inner_text()


@pytest.fixture
def chapter(open_page):
    """The first of the explorers in the chapter on the site, as a link opens it."""

    def chapter(site, link=""):
        page = open_page(f"{site}/{CHAPTER}{link}", still=True)
        page.wait_for_function(READY)
        root = shown_on(page)
        root.settings = {}
        return root

    return chapter


def test_a_link_on_the_site_opens_its_settings_in_view(chapter, http_url):
    root = chapter(http_url, GIVEN)
    opened_by_the_link(root)
    inside = """root => {
        const { top, bottom } = root.getBoundingClientRect();
        return top < innerHeight && bottom > 0;
    }"""
    root.page.wait_for_function(inside, arg=root.element_handle())
    root.press("Step")
    root.becomes(done, 1)
    root.page.watch.check()


def setting(root):
    return root.locator(".mygpt-setting").text_content()


def test_a_bad_link_on_the_site_leaves_the_chapter_s_own_setting(chapter, file_url):
    before = chapter(file_url)
    before.scroll_into_view_if_needed()
    assert "ink was" not in before.inner_text()
    root = chapter(file_url, BAD)
    assert root.texts(".mygpt-refusal") == [f"The link was not used: {CAUSE}."]
    assert setting(root) == setting(before)
    assert settled(root) == settled(before)
    root.page.watch.check()


def test_a_link_copied_on_the_site_opens_the_same_there(chapter, open_page, site_url):
    root = chapter(site_url)
    root.scroll_into_view_if_needed()
    root.unfold().press("Long spirals")
    stack(root, LEFT).press("GELU")
    link = root.copied_link()
    assert f"{CHAPTER}#stack=long;" in link
    other = shown_on(open_page(link, still=True))
    assert "Long spirals." in setting(root)
    assert "GELU" in setting(root)
    other.becomes(setting, setting(root))
    assert settled(other) == settled(root)
    root.page.watch.check()
