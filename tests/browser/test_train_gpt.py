"""The explorer that trains a GPT in the page, alone on its page."""

import math
import random
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn import drawn
from figures import Figure, bottom, has_focus, width_of
from judged import judge, violations

from mygpt import load_corpus
from mygpt.checkpoint import load_checkpoint, save_checkpoint
from mygpt.cli import commands
from mygpt.explorers import TrainGPT
from mygpt.explorers.train_gpt.widget import TOKENIZERS, shape_of
from mygpt.gpt import GPT
from mygpt.sampling import generate

STORIES = load_corpus("stories")
SHORT = {"text": STORIES[:12_000], "steps": 60}
ROOT = ".mygpt-train-gpt"
# The page's worker is within reach: what it tells can be made up, and it can be lost.
WORKER = """() => {
  const Own = Worker;
  window.Worker = function (address) {
    const worker = new Own(address);
    window.tell = (data) => worker.onmessage({ data });
    window.lose = () => {
      worker.terminate();
      worker.onerror({ message: "out of memory", preventDefault() {} });
    };
    return worker;
  };
}"""


@pytest.fixture
def explorer(alone):
    """An explorer with these settings on its page, opened from the disk."""

    def explorer(*, across=736, theme="light", before="", **settings):
        root = alone(TrainGPT(**SHORT | settings), width=across, theme=theme)
        if before:
            root.page.evaluate(f"({before})()")
        return root

    return explorer


def run_of(root):
    """The button that trains, trains on and stops."""
    return root.locator(".mygpt-run")


def text_of(root, name):
    """A text of the explorer, once what was done before it is drawn."""
    drawn(root.page)
    return root.locator(f".mygpt-{name}").first.inner_text()


def wait_for(root, name, pattern):
    """Wait until a text of the explorer is such, and return it."""
    part = root.locator(f".mygpt-{name}").first
    try:
        part.filter(has_text=re.compile(pattern)).wait_for(timeout=180_000)
    except Exception as error:
        raise AssertionError(f"expected {pattern}, got {part.inner_text()}") from error
    return part.inner_text()


def is_pressed(root, *names):
    return all(root.button(n).get_attribute("aria-pressed") == "true" for n in names)


def own_text(root):
    return root.get_by_role("textbox", name="Your own text")


def give_text(root, text, said):
    """Choose a text of one's own, and wait for what is said of it."""
    root.press("Your own text")
    own_text(root).fill(text)
    wait_for(root, "text-line", said)


def give(root, path):
    root.locator('input[type="file"]').first.set_input_files(path)


def train(root, until=60):
    """Press Train, and wait until so many steps are done."""
    run_of(root).click()
    wait_for(root, "driving", f"step {until:,} of {until:,}")
    wait_for(root, "run", "^Train on$")


def test_it_learns_and_its_texts_become_words(explorer):
    root = explorer(text=STORIES, steps=500)
    assert "134,015 characters, 56 different" in text_of(root, "text-line")
    train(root, 500)
    said = text_of(root, "verdict")
    loss, bigram = map(float, re.findall(r"\d\.\d\d", said))
    assert loss < bigram < math.log(56)
    root.get_by_text("All its texts").click()
    steps = root.texts(".mygpt-samples details b")
    assert steps == [f"step {one}" for one in (0, 10, 20, 50, 100, 200, 500)]
    texts = root.texts(".mygpt-samples details p")
    known, first, last = (
        re.findall(r"[a-z]+", text.lower()) for text in (STORIES, texts[0], texts[-1])
    )
    shares = [np.isin(words, known).mean() for words in (first, last)]
    assert shares[0] + 0.2 < shares[1]


def test_it_stops_and_goes_on_and_begins_again(explorer):
    root = explorer(steps=5000)
    root.press("Train")
    wait_for(root, "driving", r"step [1-9]\d* of 5,000, about .* left")
    root.press("Stop")
    wait_for(root, "run", "^Train on$")
    before = text_of(root, "driving")
    assert "left" not in before
    step = re.search(r"step ([\d,]+) of", before)[1]
    assert text_of(root, "newest").splitlines()[-3:][0] == f"step {step}"
    field = root.get_by_role("textbox", name="Your prompt")
    for prompt, said in (
        ("Mara", f"step {step}Mara"),
        ("é", "This prompt has a character that the model does not know: 'é', at"),
    ):
        field.fill(prompt)
        field.press("Enter")
        wait_for(root, "compose", re.escape(said))
    root.page.wait_for_timeout(300)
    assert text_of(root, "driving") == before
    root.press("Train on")
    root.locator(".mygpt-driving").filter(has_text="left").wait_for()
    root.press("Reset")
    assert "step 0 of 5,000" in text_of(root, "driving")
    assert root.button("Train").is_visible()
    assert "Nothing yet" in text_of(root, "samples")
    root.page.wait_for_timeout(200)
    assert "step 0 of 5,000" in text_of(root, "driving")


def test_the_same_settings_train_the_same_model(explorer):
    root = explorer()
    train(root)
    first = text_of(root, "verdict"), text_of(root, "newest")
    root.press("Reset")
    train(root)
    assert (text_of(root, "verdict"), text_of(root, "newest")) == first
    root.press("Reset")
    root.unfold()
    root.slider("Seed").press("ArrowRight")
    train(root)
    assert text_of(root, "newest") != first[1]


def test_what_is_settled_stays_until_reset(explorer):
    root = explorer()
    train(root)
    root.press("Words")
    told = "Press Reset first. Undo then brings this model back."
    assert text_of(root, "note") == told
    assert is_pressed(root, "Characters")
    root.press("Reset")
    root.press("Words")
    assert is_pressed(root, "Words")
    assert re.search(r"[\d,]+ words, [\d,]+ different", text_of(root, "text-line"))
    train(root)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("too short", "Expected a text of at least 2,000 characters, got 9."),
        ("a" * 3000, "Expected at least two different characters, got 'a' alone."),
        (" " * 3000, "Expected a text, got white space alone."),
    ],
)
def test_a_text_that_cannot_be_learnt_from_is_refused(explorer, text, said):
    root = explorer()
    root.press("Your own text")
    assert root.button("Train").get_attribute("aria-disabled") == "true"
    give_text(root, text, re.escape(said))
    assert root.button("Train").get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize("script", ["שלום עולם, ", "été 🎈🐈 naïve ", "数学と物理、"])
def test_a_text_in_any_script_is_learnt(explorer, script):
    draw = random.Random(0)
    pieces = script.split() if " " in script.strip() else list(script)
    text = " ".join(draw.choice(pieces) for _ in range(900))
    root = explorer()
    give_text(root, f"{text} {text}", "different")
    train(root)
    assert "Held-out loss" in text_of(root, "verdict")


def test_a_file_is_read_and_a_long_one_cut(explorer, tmp_path):
    root = explorer()
    root.press("Your own text")
    path = tmp_path / "long.txt"
    path.write_text("one line of a long text, one of many\n" * 280_000)  # 10 MB
    give(root, path)
    said = wait_for(root, "text-line", "different")
    assert "10.4 MB; its first 2.00 MB are used" in said
    path.write_bytes(b"")
    give(root, path)
    wait_for(root, "text-line", "at least 2,000 characters, got 0")
    path.write_bytes(random.Random(0).randbytes(9000))
    give(root, path)
    wait_for(root, "text-line", "Expected text in UTF-8, got")


def test_a_rate_that_is_too_high_is_named(explorer):
    root = explorer(rate=10.0, steps=40)
    run_of(root).click()
    said = wait_for(root, "driving", "too high")
    assert re.search(r"step \d+", said)
    root.page.wait_for_timeout(200)
    root.press("Reset")
    assert "step 0 of 40" in text_of(root, "driving")


def test_a_worker_that_is_lost_loses_nothing_that_was_kept(explorer):
    root = explorer(before=WORKER)
    train(root)
    loss = text_of(root, "verdict")
    root.button("Train on").evaluate("run => { run.click(); window.lose(); }")
    said = wait_for(root, "note", "has stopped")
    assert "out of memory" in said
    assert "It trains on from step 60" in said
    train(root, 120)
    assert text_of(root, "verdict") != loss


LEAVES = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"


def test_python_reads_what_the_page_saves(explorer, tmp_path, monkeypatch, capsys):
    """Until it is saved, leaving the page is asked about."""
    root = explorer()
    assert root.button("Save").get_attribute("aria-disabled") == "true"
    told = "After a training, the model can be taken apart and saved."
    assert text_of(root, "filed") == told
    assert not root.page.evaluate(LEAVES)
    train(root)
    assert text_of(root, "filed") == ""
    assert root.page.evaluate(LEAVES)
    with root.page.expect_download() as download:
        root.press("Save")
    said = text_of(root, "filed")
    assert not root.page.evaluate(LEAVES)
    command = root.text(".mygpt-filed code")
    name = download.value.suggested_filename
    assert said == f"Saved as {name}. Unpack it; {command} runs it."
    monkeypatch.chdir(tmp_path)
    download.value.save_as(name)
    with zipfile.ZipFile(name) as file:
        file.extractall()
    program, *words = command.replace("TEXT", SHORT["text"][0]).split()
    assert program == "mygpt"
    assert commands.main([*words, "--tokens", "3"]) in (None, 0)
    assert capsys.readouterr().out.startswith(SHORT["text"][0])
    model, tokenizer, state = load_checkpoint(tmp_path / words[1])
    assert state == {"step": 60}
    assert tokenizer.tokens == TOKENIZERS["characters"].train(SHORT["text"]).tokens
    ids = torch.tensor([tokenizer.encode(SHORT["text"])])
    held = ids[:, int(ids.shape[1] * 0.9) :]
    pieces = held[:, :1153].unfold(1, 65, 64)[0]
    with torch.no_grad():
        loss = model(pieces[:, :-1], pieces[:, 1:])[1].item()
    said = float(re.findall(r"\d\.\d\d", text_of(root, "verdict"))[0])
    assert said == pytest.approx(loss, abs=0.011)


def made(pieces="characters", size="small", **shape):
    """An untrained model of the page's shape, or nearly so, and its tokenizer."""
    torch.manual_seed(1)
    config = replace(shape_of(SHORT["text"], pieces, size), **shape)
    return GPT(config), TOKENIZERS[pieces].train(SHORT["text"])


def opened(root, tmp_path, *kind, said="Opened a model of step 7", **shape):
    """Open a checkpoint of step 7 that Python wrote; what is told of it."""
    folder = save_checkpoint(tmp_path / "run", *made(*kind, **shape), {"step": 7})
    files_of(root).set_input_files(sorted(folder.iterdir()))
    return wait_for(root, "filed", said)


def files_of(root):
    return root.locator('.mygpt-files input[type="file"]')


def test_the_page_trains_on_from_a_checkpoint_made_in_python(explorer, tmp_path):
    root = explorer()
    opened(root, tmp_path)
    train(root, 67)
    files_of(root).set_input_files(__file__)
    wait_for(root, "filed", "This is no checkpoint: expected the folder of one, with")


def test_a_model_of_python_is_where_training_begins(explorer):
    model, tokenizer = made()
    root = explorer(model=model, steps=1)
    train(root, 1)
    start = root.locator(".mygpt-newest p").first.inner_text()[:10]
    assert set(tokenizer.encode(start)) <= set(range(tokenizer.vocab_size))
    generate(model, torch.tensor([tokenizer.encode(start)]), 3)


def seen(root):
    """What is told of a training: its verdict, its texts and its curves."""
    curves = root.locator(".mygpt-losses .mygpt-curve").evaluate_all(
        "all => all.map((one) => one.getAttribute('d'))"
    )
    return text_of(root, "verdict"), text_of(root, "newest"), curves


def test_what_was_trained_comes_back_after_reset(explorer):
    root = explorer()
    assert not root.button("Undo").is_visible()
    train(root)
    trained = seen(root)
    root.press("Reset")
    assert text_of(root, "note") == "Undo brings back the model of step 60."
    assert text_of(root, "verdict") == ""
    root.press("Words")
    run_of(root).click()
    wait_for(root, "driving", "step [1-9]")
    root.press("Undo")
    assert seen(root) == trained
    assert is_pressed(root, "Characters")
    assert "step 60 of 60" in text_of(root, "driving")
    assert text_of(root, "note") == "The model of step 60 is back."
    root.press("Take it apart")
    wait_for(root, "apart-title", "The model of step 60, taken apart")
    train(root, 120)
    driving = Figure(root.locator(".mygpt-driving"))
    driving.button("Redo").wait_for()  # also past the step of what it brings


def test_a_model_is_not_lost_when_another_is_trained_past_it(explorer):
    root = explorer()
    train(root)
    trained = seen(root)
    root.press("Reset")
    train(root)
    train(root, 120)
    root.press("Undo")
    assert seen(root) == trained


def test_a_model_that_undo_takes_away_comes_back(explorer):
    root = explorer()
    train(root)
    root.press("Reset")
    root.press("Words")
    train(root)
    words = seen(root)
    root.press("Undo")
    assert seen(root) != words
    root.press("Redo")
    assert seen(root) == words
    assert is_pressed(root, "Words")
    assert root.button("Undo").is_visible()


def test_a_text_of_the_reader_s_own_comes_back(explorer):
    root = explorer()
    give_text(root, STORIES[:3000], "different")
    train(root)
    trained, line = seen(root), text_of(root, "text-line")
    root.press("Reset")
    give_text(root, "too short", "Expected")
    none = "Nothing yet. It needs a text to learn from."
    assert text_of(root, "newest") == none
    root.press("Undo")
    assert seen(root) == trained
    assert text_of(root, "text-line") == line
    assert own_text(root).input_value() == STORIES[:3000]


def test_an_opened_model_is_given_its_text_without_reset(explorer, tmp_path):
    root = explorer(text="0123456789 " * 300)
    said = opened(root, tmp_path)
    assert said.endswith("To train on, give it its text: Your own text.")
    assert text_of(root, "text-line") == "Train needs a text."
    root.locator(".mygpt-newest b", has_text="step 7").wait_for()  # it writes at once
    assert run_of(root).get_attribute("aria-disabled") == "true"
    assert is_pressed(root, "Your own text")
    assert text_of(root, "note") == ""
    own_text(root).fill(STORIES[:3000])
    wait_for(root, "text-line", "3,000 characters")
    assert "step 7 of 67" in text_of(root, "driving")
    assert "give it" not in text_of(root, "filed")
    train(root, 67)
    own_text(root).fill(STORIES[3000:6000])
    wait_for(root, "note", "Undo brings back its curves on the last text.")
    assert "step 67 of 127 (this run: 60)" in text_of(root, "driving")
    root.press("Undo")
    assert own_text(root).input_value() == STORIES[:3000]
    root.press("Redo")
    assert own_text(root).input_value() == STORIES[3000:6000]


def test_a_text_pasted_after_reset_stays_when_the_opened_model_comes_back(
    explorer, tmp_path
):
    root = explorer(text="0123456789 " * 300)
    opened(root, tmp_path)
    root.press("Reset")
    give_text(root, STORIES[:3000], "3,000 characters")
    root.press("Undo")
    assert own_text(root).input_value() == STORIES[:3000]
    train(root, 67)


def test_a_press_as_the_run_ends_does_not_train_on(explorer):
    root = explorer(steps=5000, before=WORKER)
    run_of(root).click()
    wait_for(root, "driving", "step [1-9]")
    said = run_of(root).evaluate(
        """async (one) => {
          tell({ kind: "ended" });
          one.click();  // it still reads Stop
          await new Promise((resolve) => setTimeout(resolve, 200));
          const said = [one.textContent, one.getAttribute("aria-disabled")];
          one.click();
          await new Promise((resolve) => setTimeout(resolve, 50));
          return [...said, one.textContent];
        }"""
    )
    assert said == ["Train on", "true", "Train on"]
    root.page.wait_for_timeout(600)
    assert run_of(root).get_attribute("aria-disabled") == "false"


def test_a_loss_above_the_chart_has_an_arrow_at_its_border(explorer):
    root = explorer(rate=10.0, steps=40, before=WORKER)
    run_of(root).click()
    wait_for(root, "driving", "step [1-9]")
    marks = root.locator(".mygpt-losses .mygpt-marker.mygpt-curve-1")
    shapes = marks.get_attribute("d").count("h-9Z")
    root.page.evaluate(
        "tell({ kind: 'progress', step: 39, losses: [], took: 1, held: 99 })"
    )
    root.page.wait_for_timeout(200)
    assert marks.get_attribute("d").count("h-9Z") > shapes


def test_a_run_that_diverges_leads_back_to_the_model_before_it(explorer, tmp_path):
    root = explorer(rate=10.0, steps=40, before=WORKER)
    opened(root, tmp_path)
    assert text_of(root, "note") == "A learning rate of 10 is far too high: try 0.006."
    run_of(root).click()
    wait_for(root, "run", "^Train on$")
    root.page.evaluate("tell({ kind: 'diverged', step: 47 })")
    back = root.button("Back to the model of step 7")
    said = "The loss is no longer a number after step 47. The learning rate is too "
    assert text_of(root, "note") == f"{said}high: go back, and choose a lower one."
    back.click()
    said = text_of(root, "driving")
    assert "step 7 of 47 (this run: 40)" in said
    assert "Back at the model of step 7." in said
    assert not back.is_visible()


def test_a_model_that_a_high_rate_spoils_is_brought_back(explorer):
    root = explorer()
    train(root)
    trained = text_of(root, "verdict")
    root.unfold()
    tall = root.bounding_box()["height"]
    root.slider("Learning rate").press("End")
    assert text_of(root, "note") == "A learning rate of 1 is far too high: try 0.006."
    assert root.bounding_box()["height"] == tall  # the slider stays under the finger
    run_of(root).click()
    wait_for(root, "driving", "Back to the model of step 60")
    root.press("Back to the model of step 60")
    assert text_of(root, "verdict") == trained
    assert "step 60 of 120 (this run: 60)" in text_of(root, "driving")


def test_the_choices_become_those_of_a_checkpoint_that_is_opened(explorer, tmp_path):
    root = explorer()
    train(root)
    said = opened(root, tmp_path, "words", "large")
    assert re.search(r"4 blocks × 128, [\d,]+ words\.", said)
    assert is_pressed(root, "Words", "4 blocks × 128")
    assert "step 7 of 67 (this run: 60)" in text_of(root, "driving")
    wait_for(root, "newest", "^step 7")  # which it writes by itself
    root.press("Undo")
    assert "step 60 of 60" in text_of(root, "driving")
    assert is_pressed(root, "Characters", "2 blocks × 64")


def test_a_model_of_another_size_presses_no_size(explorer, tmp_path):
    root = explorer()
    opened(root, tmp_path, said="step 7: 3 blocks × 64, ", num_layers=3)
    sizes = root.get_by_role("toolbar", name="Model")
    assert sizes.locator('[aria-pressed="true"]').count() == 0


def test_stop_answers_at_once_and_a_second_press_does_not_begin_again(explorer):
    root = explorer(steps=5000)
    run = run_of(root)
    run.click()
    wait_for(root, "driving", "left")
    said = run.evaluate(
        """async (one) => {
          one.click();
          const said = [one.textContent, one.getAttribute("aria-disabled")];
          one.click();
          said.push(one.textContent);
          await new Promise((resolve) => setTimeout(resolve, 250));
          one.click();
          return said;
        }"""
    )
    assert said == ["Stopping …", "true", "Stopping …"]
    wait_for(root, "run", "^Train on$")
    before = text_of(root, "driving")
    root.page.wait_for_timeout(700)
    assert text_of(root, "driving") == before


def test_a_text_learnt_by_heart_is_named_and_the_best_model_offered(explorer):
    root = explorer(rate=0.02, steps=400)
    give_text(root, STORIES[:2100], "different")
    train(root, 400)
    lowest = r"rising since step (\d+), where it was (\d\.\d\d); the loss in training"
    said = text_of(root, "verdict")
    step, loss = re.search(lowest, said).groups()
    assert said.endswith("by heart: go back, or take a longer text.")
    assert 0 < int(step) < 400
    root.press(f"Back to the model of step {step}")
    assert text_of(root, "verdict").startswith(f"Held-out loss {loss}")
    root.press("Undo")
    assert text_of(root, "verdict") == said


def test_names_of_settings_fit_on_a_phone(explorer):
    root = explorer(across=390)
    root.unfold()
    for slider in root.get_by_role("slider").all():
        for key in ("Home", "End"):
            slider.press(key)
            assert root.cut(".mygpt-slider-head > span") == []


def test_the_name_of_a_file_stands_apart_from_its_button(explorer, tmp_path):
    root = explorer()
    root.press("Your own text")
    path = tmp_path / "a long name of a text of my own.txt"
    path.write_text(STORIES[:3000])
    give(root, path)
    name = root.locator(".mygpt-file-name")
    name.filter(has_text="as it begins").wait_for()
    beside = root.button("Choose a file").bounding_box()
    assert name.bounding_box()["x"] - beside["x"] - beside["width"] >= 8


@pytest.mark.parametrize("across", [736, 390])
def test_the_views_come_into_sight_and_lead_back(explorer, across):
    root = explorer(across=across)
    train(root)
    apart = root.button("Take it apart")
    apart.focus()
    root.keys("Enter")
    root.locator(".mygpt-live-model").wait_for()
    heading = root.get_by_role("heading", name="The model of step 60, taken apart.")
    top = "one => one.getBoundingClientRect().top"
    assert 0 <= heading.evaluate(top) < 60
    assert has_focus(heading)
    root.keys("Tab")
    root.keys("Enter")
    run = run_of(root)
    assert has_focus(run)
    tall = root.page.viewport_size["height"]
    for one in (run, root.locator(".mygpt-losses")):
        assert 0 <= one.bounding_box()["y"] < bottom(one) <= tall + 1
    assert root.locator(".mygpt-live-model").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("across", [736, 390])
def test_axe_finds_nothing_before_a_training_and_in_the_model_taken_apart(
    explorer, across, theme
):
    root = explorer(across=across, theme=theme, steps=20)
    assert violations(root.page, include=ROOT) == []
    train(root, 20)
    root.press("Take it apart")
    live = root.locator(".mygpt-live-model")
    live.wait_for()
    judge(root.page, ROOT)
    assert width_of(root.page) <= across
    wait_for(root, "apart-title", "The model of step 20, taken apart")
    shares = live.locator(".mygpt-likeliest .mygpt-number").all_inner_texts()
    assert sum(map(float, shares)) <= 1.01
    root.press("Put it together")
    assert live.count() == 0
