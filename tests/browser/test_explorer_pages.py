"""Each explorer on the page that `write_html` makes: its numbers are the package's."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from drawn import OUTSIDE, resize
from figures import (
    SAID,
    Figure,
    Finger,
    bottom,
    brightness,
    fits,
    fixed,
    has_focus,
    middle,
    top,
    width_of,
)
from helpers import examples
from helpers.quick import slow_but

from mygpt import TransformerBlock, explorers, set_seed
from mygpt.distributed import cost
from mygpt.distributed.published_runs import PUBLISHED
from mygpt.gpt import GPTConfig
from mygpt.inside.hooks import stages
from mygpt.sampling import next_token_probabilities
from mygpt.sizes import flops_per_token, memory, parameters_by_part
from mygpt.tokenizers import BPETokenizer

WORDS = ["the", "cat", "שלום", "<b>sat", "down", "again", "."]
draw = np.random.default_rng(3)
SCORES = draw.normal(0, 2, (2, 7, 7))
LOGITS = draw.normal(0, 2, 7)
HIDDEN = draw.normal(0, 1, (7, 11))
VECTORS = draw.normal(0, 1, (7, 5))
VECTOR = [0.5, -0.3, 1.2, 2.0]


def pairs(neuron):
    return [(f"word {neuron}-{i}", 3.0 - i) for i in range(3)]


def block_walk():
    set_seed(0)
    with torch.no_grad():
        way = stages(TransformerBlock(12, 3), torch.randn(1, 7, 12))
    return explorers.BlockWalk({name: batch[0] for name, batch in way.items()}, WORDS)


def depth():
    axes = {"kinds": ("plain", "residual", "pre-norm", "post-norm")}
    axes |= {"gains": (0.5, 1.0), "widths": (16, 64), "depths": (5, 20)}
    logs = draw.uniform(-9, 1, (4, 2, 2, 2, 2, 21))
    return explorers.Depth(logs, logs, **axes)


def bpe():
    return BPETokenizer.train("low lower lowest slow slower slowest " * 5, 280)


MAKE = {
    "attention": lambda: explorers.Attention(SCORES, WORDS),
    "sampling": lambda: explorers.Sampling(LOGITS, WORDS, prompt="and"),
    "memory": lambda: explorers.Memory(
        HIDDEN,
        WORDS,
        triggers=[pairs(i) for i in range(11)],
        promoted=[pairs(-i) for i in range(11)],
    ),
    "tokens": lambda: explorers.Tokens(bpe(), "slow and slower"),
    "layer-norm": lambda: explorers.LayerNorm(VECTOR),
    "block-walk": block_walk,
    "activations": examples.activations,
    "depth": depth,
    "descent": lambda: explorers.Descent("two", rate=0.25, steps=5),
    "train-stack": lambda: explorers.TrainStack(depth=7, unfolded=["settings"]),
    "shapes": lambda: explorers.Shapes("xl", num_layers=999, max_seq_len=2_000_000),
    "scale": lambda: explorers.Scale("Llama 3 405B", "laptop core", spread="copies"),
}


@pytest.fixture
def explorer(alone):
    """The explorer of that name, or the given one, alone on its page."""
    return lambda made, **settings: alone(
        MAKE[made]() if isinstance(made, str) else made, **settings
    )


def test_attention_shows_the_softmax_of_the_masked_scores(explorer):
    root = explorer("attention")
    root.press("1")
    root.move("Reading position", "Home", *["ArrowRight"] * 4)
    root.move("Temperature", "ArrowRight")
    temperature = root.value("Temperature")
    assert float(temperature) != 1
    shown = root.texts(".mygpt-weight")
    scaled = torch.tensor(SCORES[1, 4]) / float(temperature)
    seen = torch.softmax(scaled[:5], dim=-1).tolist()
    assert [text for text in shown if text] == [*map(fixed, seen), *["masked"] * 2]
    root.get_by_role("checkbox", name="Causal mask").uncheck()
    every = torch.softmax(scaled, dim=-1).tolist()
    assert root.texts(".mygpt-weight") == [*map(fixed, every)]
    best = int(np.argmax(every))
    told = f"“{WORDS[best]}” at {best}, {fixed(every[best])}"
    assert told in root.label(".mygpt-heat")


def test_sampling_shows_the_probabilities_that_generate_draws_from(explorer):
    root = explorer("sampling")
    root.move("Temperature", *["ArrowRight"] * 3)
    root.move("Top-k", "Home", *["ArrowRight"] * 4)
    root.move("Top-p", "Home", *["ArrowRight"] * 79)
    values = map(root.value, ("Temperature", "Top-k", "Top-p"))
    assert [*values] == ["1.3", "5", "0.80"]
    cut = {"temperature": 1.3, "top_k": 5, "top_p": 0.8}
    (kept,) = next_token_probabilities(torch.tensor(LOGITS)[None], **cut).tolist()
    order = np.argsort(-LOGITS)
    expected = [fixed(kept[i]) if kept[i] else "cut" for i in order]
    assert "cut" in expected
    assert root.texts(".mygpt-now") == expected
    entropy = -sum(p * math.log2(p) for p in kept if p)
    assert f"Entropy {entropy:.2f} bits" in root.inner_text()
    assert f"{sum(p > 0 for p in kept)} of 7 tokens kept" in root.inner_text()


def test_memory_lists_the_strongest_neurons_of_a_token(explorer):
    root = explorer("memory")
    root.get_by_role("group", name="Token").get_by_role("button").nth(2).click()
    strongest = np.argsort(-abs(HIDDEN[2]), kind="stable")
    heads = root.texts(".mygpt-neuron-heads > span")
    assert heads == [str(neuron) for neuron in strongest]
    row = root.texts(".mygpt-cells > span")[22:33]
    limit = abs(HIDDEN[2]).max()
    seen = (fixed(x, 1) if abs(x) >= 0.3 * limit else "" for x in HIDDEN[2, strongest])
    assert row == [*seen]
    root.move("Neuron", "Home", *["ArrowRight"] * 3)
    chosen = strongest[3]
    assert root.text(".mygpt-sentence") == (
        f"Neuron {chosen} fires {fixed(HIDDEN[2, chosen], 2)} at “{WORDS[2]}”: "
        "number 4 of 11 by size."
    )
    root.get_by_text("More neurons").click()
    root.type_in("Neuron", 3)
    root.get_by_text("Where it fires most").click()
    told = [f"{text}\t{fixed(number)}" for text, number in pairs(3) + pairs(-3)]
    assert root.texts(".mygpt-pairs tbody tr") == told


def test_tokens_are_those_of_the_tokenizer_whose_vocabulary_is_told(explorer, subtests):
    root = explorer("tokens")
    sizes = "Vocabulary of 269 (GPT-2’s: 50,257)."
    told = f"{sizes} · is a space. Choose a piece to see its merges."
    assert root.text(".mygpt-hint") == told
    for text in ("slowest ever", "שלום 日本 é🙂", "<script>low</script>\n\tx", ""):
        with subtests.test(text=text):
            root.get_by_role("textbox").fill(text)
            ids = root.texts(".mygpt-chip-id")
            assert [*map(int, ids)] == bpe().encode(text)
            counts = f"{len(text)} characters, {len(text.encode())} bytes"
            assert counts in root.inner_text()
    assert root.locator("script").count() == 0


@pytest.mark.parametrize("width", [712, 390])
def test_the_merges_of_a_piece_are_stepped_from_its_bytes(explorer, width):
    root = explorer("tokens", width=width)
    slider = root.slider("Merges done")
    joined = root.locator(".mygpt-joined")
    root.locator(".mygpt-word").nth(2).click()  # slower
    height = root.bounding_box()["height"]
    last = int(slider.get_attribute("max"))
    assert last > 1
    for done in range(last + 1):
        assert root.value("Merges done") == f"{done} of {last}"
        seen = [one.is_visible() for one in joined.all()]
        assert seen == [number < done for number in range(last)]
        slider.press("ArrowRight")
    assert root.bounding_box()["height"] == height
    root.page.emulate_media(media="print")  # where there is no slider
    root.set(merges_done=0)
    assert all(one.is_visible() for one in joined.all())


def test_a_typed_text_shows_a_piece_that_has_merges_to_step(explorer):
    root = explorer("tokens")
    slider = root.slider("Merges done")
    root.get_by_role("textbox").fill("z slower")
    chosen = root.get_by_role("radio", checked=True)
    assert chosen.get_attribute("aria-label")[1:8] == "slower:"
    assert slider.is_visible()
    root.locator(".mygpt-word").first.click()  # z, without any
    assert not slider.is_visible()
    root.get_by_role("textbox").fill("z slowest")
    assert root.get_by_role("radio").first.is_checked()  # as was chosen
    assert root.texts("th") == ["After 0 merges"]


def test_layer_norm_shows_mean_variance_and_result(explorer):
    root = explorer("layer-norm")
    vector = torch.tensor(VECTOR, dtype=torch.float64)
    result = torch.nn.functional.layer_norm(vector, (4,))
    assert fixed(vector.mean().item(), 4) in root.inner_text()
    assert not root.locator("tbody").is_visible()
    root.page.emulate_media(media="print")
    assert root.locator("tbody").is_visible()
    root.page.emulate_media(media="screen")
    root.unfold()
    shown = root.locator("tbody tr td:last-child")
    assert shown.all_inner_texts() == [fixed(y, 4) for y in result.tolist()]
    assert fixed(vector.var(correction=0).item(), 4) in root.inner_text()
    root.press("All equal")
    assert set(shown.all_inner_texts()) == {"0.0000"}


def test_layer_norm_says_below_the_bars_what_was_done(explorer):
    root = explorer("layer-norm")
    answer = root.locator(".mygpt-answer")
    assert answer.inner_text().startswith("Move a bar")
    for _ in range(12):
        root.press("Add 1")
    told = "The result has not changed: the norm forgets the mean."
    assert answer.inner_text() == told
    grip = root.slider("Channel 3")
    assert grip.get_attribute("aria-valuenow") == "14"
    assert grip.get_attribute("aria-valuemax") == "20"
    root.move("Channel 3", "End", "ArrowUp")
    assert grip.get_attribute("aria-valuenow") == "20.1"
    assert answer.inner_text().startswith("Channel ")
    below = root.slider("γ scales all").bounding_box()["y"]
    assert below > answer.bounding_box()["y"] > grip.bounding_box()["y"]


def test_attention_writes_the_numbers_of_a_row_and_of_the_cell_under_the_mouse(
    explorer,
):
    root = explorer("attention")
    weights = torch.softmax(torch.tensor(SCORES[0, 6]), dim=-1)
    cells = root.texts(".mygpt-cell-numbers > span")
    assert cells[:42] == [""] * 42
    assert cells[42:] == [fixed(one, 2) for one in weights.tolist()]
    largest = root.texts(".mygpt-cell-numbers .mygpt-largest")
    assert largest == [fixed(weights.max().item(), 2)]
    lines = root.locator(".mygpt-lines path").all()
    widths = [float(line.get_attribute("stroke-width")) for line in lines]
    assert int(np.argmax(widths)) == int(weights.argmax())
    assert root.locator(".mygpt-masked-shade i").bounding_box()["width"] >= 20
    box = root.locator(".mygpt-heat").bounding_box()
    row, column = 5, 2
    x, y = ((place + 0.5) / 7 for place in (column, row))
    root.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    weight = torch.softmax(torch.tensor(SCORES[0, 5, :6]), dim=-1)[2].item()
    hint = root.text(".mygpt-tooltip")
    assert hint.split("\n")[-1].endswith(fixed(weight))
    assert root.slider("Reading position").input_value() == "6"
    assert all(WORDS[at] in hint for at in (row, column))
    few = explorers.Attention(SCORES[:, :4, :4], WORDS[:4])
    cells = explorer(few).texts(".mygpt-cell-numbers > span")
    assert sum(text != "" for text in cells) == 10


def test_the_heads_of_attention_are_small_maps_that_choose(explorer):
    root = explorer("attention")
    heads = root.get_by_role("toolbar", name="Head").get_by_role("button")
    pixels = """one => String(one.getContext("2d").getImageData(0, 0, 7, 7).data)"""
    for head in (1, 0):
        heads.nth(head).click()
        whole = root.locator(".mygpt-heat").evaluate(pixels)
        assert heads.nth(head).locator("canvas").evaluate(pixels) == whole
        assert heads.nth(1 - head).locator("canvas").evaluate(pixels) != whole


def test_the_walk_shows_the_norm_mean_and_std_of_every_stage(explorer):
    made = block_walk()
    root = explorer(made)
    set_seed(0)
    with torch.no_grad():
        way = stages(TransformerBlock(12, 3), torch.randn(1, 7, 12))
    root.get_by_role("button", name=WORDS[3]).click()
    stage = root.get_by_role("radiogroup", name="Stage").get_by_role("radio")
    stage.first.focus()
    for number, vector in enumerate(batch[0, 3] for batch in way.values()):
        if number:
            root.keys("ArrowRight")
        assert stage.nth(number).is_checked()
        said = root.text(".mygpt-stage-name")
        numbers = vector.norm(), vector.mean(), vector.std(correction=0)
        norm, mean, std = (fixed(one.item()) for one in numbers)
        assert f"length {norm}, mean {mean}, std {std}" in said
        shown = root.text(".mygpt-stage.mygpt-now")
        assert shown.split("\n") == [list(way)[number], norm]


@pytest.mark.parametrize(("width", "most"), [(712, 780), (374, 720)])
def test_the_drawn_block_and_the_chosen_vector_are_on_one_screen(explorer, width, most):
    root = explorer("block-walk", width=width)
    stages = root.locator(".mygpt-stage")
    height = root.bounding_box()["height"]
    for number in range(9):
        stages.nth(number).click()
        block, plot = root.locator(".mygpt-block"), root.locator(".mygpt-plot")
        assert bottom(plot) - top(block) <= most
        assert root.text(".mygpt-stage-name b")[0] == str(number + 1)
        assert root.bounding_box()["height"] == height
    parts = [one.bounding_box() for one in stages.all()]
    assert all(part["height"] >= 18 for part in parts)


def test_stages_that_make_no_block_are_chosen_in_a_line(explorer):
    made = explorers.BlockWalk({f"at {i}": VECTORS * i for i in range(16)}, WORDS)
    root = explorer(made, width=374)
    for number in (15, 3, 4):
        root.get_by_role("radio", name=f"at {number}, ").check(force=True)
        name = root.text(".mygpt-stage-name b")
        assert name == f"{number + 1}. at {number}"
    assert root.evaluate(OUTSIDE) == []


def shown_counts(root):
    """The wholes of the shape's bars, of the table and of its memory, as numbers."""
    bars = root.texts(".mygpt-bars > div:nth-child(2) b")
    last = root.locator("tbody tr:last-child").first.inner_text().split("\t")
    assert [last[1], last[3]] == bars
    memory = root.texts(".mygpt-bytes td:nth-child(2)")
    return [int(text.replace(",", "")) for text in [*bars, *memory]]


def expected_counts(config, length):
    held = sum(parameters_by_part(config).values())
    work = sum(flops_per_token(config, length).values())
    four, two = (memory(config, length, each) for each in (4, 2))
    caches = [one["key-value cache"] for one in (four, two)]
    return [held, work, 4 * held, 2 * held, 16 * held, *caches]


def test_shapes_shows_what_the_package_counts_for_what_is_typed(explorer):
    root = explorer(explorers.Shapes("small")).unfold()
    assert shown_counts(root) == expected_counts(GPTConfig.gpt2("small"), 1024)
    root.press("XL")
    assert shown_counts(root) == expected_counts(GPTConfig.gpt2("xl"), 1024)
    assert "GPT-2 XL: 1.56 billion parameters" in root.inner_text()
    assert "Parameters: 1,557,611,200" in root.inner_text()
    typed = {"Vocabulary V": 1009, "Channels C": 100, "Heads H": 4, "Layers L": 7}
    for name, number in typed.items():
        root.type_in(name, number)
    config = GPTConfig(1009, 1024, 100, 4, 7)
    assert shown_counts(root) == expected_counts(config, 1024)
    assert root.get("shape").items() >= {"embed_dim": 100, "num_layers": 7}.items()
    root.move("Text length", "ArrowLeft")
    assert shown_counts(root) == expected_counts(config, 768)
    parts = root.locator("tbody").first.locator("td:nth-child(2)").all_inner_texts()
    held = [f"{number:,}" for number in parameters_by_part(config).values()]
    assert [one for one in parts if one != "–"][:-1] == held


def test_typing_another_length_of_texts_keeps_the_one_that_was_chosen(explorer):
    root = explorer(explorers.Shapes("small", length=512)).unfold()
    for number in (2, 20, 204, 2048):
        root.type_in("Positions T", number)
    config = GPTConfig.gpt2("small", max_seq_len=2048)
    assert shown_counts(root) == expected_counts(config, 512)
    root.type_in("Positions T", 100)
    config = GPTConfig.gpt2("small", max_seq_len=100)
    assert shown_counts(root) == expected_counts(config, 100)


NO_SHAPE = [
    ["Layers L", "", "Layers L: expected a whole number from 1 to 1,000."],
    ["Layers L", "0", "Layers L: expected a whole number from 1 to 1,000."],
    ["Layers L", "1.5", "Layers L: expected a whole number from 1 to 1,000."],
    ["Layers L", "e", "Layers L: expected a whole number from 1 to 1,000."],
    ["Channels C", "9999999", "Channels C: expected a whole number from 1 to 100,"],
    ["Heads H", "13", "C: expected a multiple of the 13 heads, such as 767 or 780"],
]


def refused(root, name, typed, message, shown):
    """Type what is told to be wrong; the field and its note. The last figures stay."""
    before, height = shown(root), root.bounding_box()["height"]
    field = root.field(name)
    field.fill("")  # nothing is good on the way
    root.page.keyboard.insert_text(typed)
    field.press("Enter")
    note = root.locator(f"[id='{field.get_attribute('aria-describedby')}']")
    assert message in note.inner_text()
    root.spoken(message)
    assert shown(root) == before
    faint = "all => Math.max(...all.map((one) => getComputedStyle(one).opacity))"
    assert root.locator(".mygpt-result").evaluate_all(faint) < 0.6
    assert root.bounding_box()["height"] == height
    resize(root, 750)
    assert message in note.inner_text()
    return field, note


@pytest.mark.parametrize("wrong", slow_but([NO_SHAPE[0], NO_SHAPE[-1]], NO_SHAPE))
def test_a_shape_that_is_none_is_told_and_the_last_figures_stay(explorer, wrong):
    root = explorer(explorers.Shapes("small")).unfold()
    field, note = refused(root, *wrong, shown_counts)
    assert field.get_attribute("aria-invalid") == "true"
    assert "Still" in root.text(".mygpt-answer")
    root.move("Text length", "ArrowLeft")
    assert wrong[-1] in note.inner_text()  # nothing else changes what is typed
    root.press("Small")
    assert shown_counts(root)[0] == 124_439_808
    assert note.inner_text().startswith("Each head is D = C / H = 64 wide")
    assert root.locator("[aria-invalid=true]").count() == 0


def three_digits(number):
    """As the page has them: 81.9 GB of 8.19e10 bytes."""
    rounded = float(f"{number:.2e}")
    power = min(int(math.log10(rounded)) // 3, 5)
    digits = 2 - (int(math.log10(rounded)) - 3 * power)
    return f"{rounded / 1000**power:.{digits}f} {'BkMGTP'[power]}{'B' if power else ''}"


DEVICES = "Number of devices"


def choose(root, name, value):
    root.get_by_role("combobox", name=name, exact=True).select_option(value)


def shown_memory(root):
    return root.texts(".mygpt-memory-of-one td:nth-child(2)")


def expected_memory(run):
    parts = cost.memory_per_device(run).values()
    return [three_digits(one) if one else "0 B" for one in parts]


def test_scale_shows_what_the_package_counts_for_what_is_chosen_and_typed(explorer):
    root = explorer(explorers.Scale()).unfold()
    own = explorers.Scale().run
    assert shown_memory(root) == expected_memory(own)
    root.type_in("Devices n", 100)
    own = replace(own, devices=100)
    assert shown_memory(root) == expected_memory(own)
    for spread in ("copies", "optimizer"):
        choose(root, "What every device holds", spread)
        own = replace(own, spread=spread)
        assert shown_memory(root) == expected_memory(own)
        assert root.get("devices", "spread") == [100, spread]
    fields = Figure(root.locator("details").first)
    typed = {"Parameters, billions N": "7", "Layers L": "31", "Channels C": "4000"}
    typed |= {"Sequences at once": "3", "Memory, GB": "0.5"}
    typed |= {"Tokens in a batch": "99999"}
    for name, number in typed.items():
        fields.type_in(name, number)
    fields.press("All but scores")
    model = replace(own.model, parameters=7_000_000_000, num_layers=31, embed_dim=4000)
    device = replace(own.device, memory=5e8)
    numbers = {"batch_tokens": 99_999, "at_once": 3, "kept": "no scores", "devices": 48}
    own = replace(own, model=model, device=device, **numbers)
    assert shown_memory(root) == expected_memory(own)
    assert root.value(DEVICES) == "48"  # the batch has no more
    fields.type_in("Tokens in a batch", 2_048_000)
    assert root.value(DEVICES) == "100"  # as was wanted


def test_a_button_sets_the_calculator_to_a_published_run(explorer):
    root = explorer(explorers.Scale("GPT-2 small")).unfold()
    for one in PUBLISHED:
        root.button(one.name).last.click()
        assert shown_memory(root) == expected_memory(one.run)
    figures = root.texts(".mygpt-figures dd")
    time = cost.training_time(PUBLISHED[-1].run)
    least, most = (one / 86_400 for one in (time.overlapped, time.sequential))
    assert figures[0] == f"{least:.0f} to {most:.0f} days"


NO_RUN = [
    ["Devices n", "", "Devices: expected a whole number from 1 to 100,000."],
    ["Devices n", "0", "Devices: expected a whole number from 1 to 100,000."],
    ["Devices n", "1.5", "Devices: expected a whole number from 1 to 100,000."],
    ["Devices n", "9999", "A batch of 1,536 sequences cannot be split over 9,999 d"],
    ["Layers L", "e", "Layers: expected a whole number from 1 to 10,000."],
    ["Memory, GB", "-80", "Memory: expected a number above 0, up to"],
    ["Reached of the peak, %", "400", "expected a share above 0 and up to 100 %."],
    ["Tokens in a batch", "7", "A batch of 7 tokens has no whole sequence of 2,048."],
]


def shown_run(root):
    return shown_memory(root), root.text(".mygpt-figures")


@pytest.mark.parametrize("wrong", slow_but([NO_RUN[3], NO_RUN[-1]], NO_RUN))
def test_a_run_that_is_none_is_told_and_the_last_figures_stay(explorer, wrong):
    root = explorer(explorers.Scale()).unfold()
    field, note = refused(root, *wrong, shown_run)
    assert root.sees("The answer is still for")
    choose(root, "Model", "GPT-2 XL")
    assert wrong[-1] not in note.inner_text()
    assert not root.sees("The answer is still for")
    assert root.locator("[aria-invalid=true]").count() == 0
    assert field.input_value() != wrong[1]


def test_a_number_is_not_computed_while_it_is_typed(explorer):
    root = explorer(explorers.Scale())
    root.field("Devices n").fill("10")
    assert root.sees("The answer is still for 512 devices")
    assert root.value(DEVICES) == "512"
    root.becomes(lambda root: root.value(DEVICES), "10")
    assert not root.sees("The answer is still")


def test_a_run_from_elsewhere_that_is_none_is_refused_and_the_drawing_stays(explorer):
    root = explorer(explorers.Scale())
    choose(root, "Model", "GPT-2 small")
    assert not root.get_by_role("alert").is_visible()
    picture = root.locator(".mygpt-times")
    before = picture.inner_html()
    root.set(devices=1000)
    refusal = root.get_by_role("alert")
    assert "A batch of 512 sequences cannot be split over 1,000" in refusal.inner_text()
    assert picture.inner_html() == before
    assert root.get("devices") == 512
    root.set(model="GPT-3 175B", training="GPT-3 175B", devices=1000)
    assert not refusal.is_visible()
    assert root.value(DEVICES) == "1,000"
    knob = root.locator(".mygpt-knob").bounding_box()
    box = root.bounding_box()
    assert knob["x"] + knob["width"] < box["x"] + box["width"]
    assert root.get_by_role("combobox", name="Model").input_value() == "GPT-3 175B"


def test_a_model_with_a_smaller_batch_says_what_it_does_to_the_devices(explorer):
    root = explorer(explorers.Scale(devices=1536))
    choose(root, "Model", "GPT-2 small")
    assert root.sees("512 devices, not 1,536: a batch has no more sequences.")
    choose(root, "Model", "GPT-3 175B")
    assert root.sees("1,536 devices again.")


def test_it_is_said_over_which_network_a_run_would_be_limited_by_it(explorer):
    root = explorer(explorers.Scale())
    sentence = root.locator(".mygpt-sentence")
    first = first_limited_by_the_network(1)
    told = f"The network never does; at 10 Gbit/s, from {first} devices on."
    arithmetic = "The arithmetic limits this run"
    assert sentence.inner_text().endswith(f"{arithmetic}.")
    folded = root.locator("details .mygpt-aside").first
    root.get_by_text("Figures, formulas and published runs").click()
    assert folded.inner_text().endswith(told)
    sizes = root.locator(".mygpt-parts b")
    assert not any(one.is_visible() for one in sizes.all())
    root.page.emulate_media(media="print")  # where nothing can be unfolded
    assert f"{arithmetic}: twice the devices take" in sentence.inner_text()
    assert sentence.inner_text().endswith(told)
    assert all(one.is_visible() for one in sizes.all())
    root.page.emulate_media(media="screen")
    choose(root, "Network between machines", "office")
    assert "never" not in folded.inner_text()
    choose(root, "Network between machines", "home")
    assert "The network limits this run" in sentence.inner_text()


CHOICES = """root => [".mygpt-sentence-of-choices select", ".mygpt-field input"]
    .flatMap((one) => [...root.querySelectorAll(one)].slice(0, 4))
    .map((one) => { const { x, y } = one.getBoundingClientRect(); return [x, y]; })"""


@pytest.mark.parametrize("width", [712, 390, 320])
def test_no_choice_moves_another(explorer, width):
    root = explorer(explorers.Scale(), width=width)
    before = root.evaluate(CHOICES)[:5]
    for name in ("Model", "Device", "What every device holds", "Network between"):
        select = root.locator(f"select[aria-label^='{name}']")
        values = "all => all.map((one) => one.value)"
        for value in select.locator("option:not([hidden])").evaluate_all(values):
            select.select_option(value)
            assert root.evaluate(CHOICES)[:5] == before, (name, value)
    assert width_of(root.page) <= width


def test_the_picture_has_units_and_limits_and_moves_the_devices(explorer):
    root = explorer(explorers.Scale())
    picture = root.locator(".mygpt-times svg.mygpt-picture")
    ticks = picture.locator(".mygpt-grid text").all_text_contents()
    assert {"1 min", "10 min", "1 h"} <= {*ticks}
    assert root.sees("Time of a step")
    limits = ["memory", "arithmetic from 42", "batch from 769"]
    assert picture.locator("text[class^=mygpt-limit]").all_text_contents() == limits
    parts = root.text(".mygpt-parts")
    for name in ("weights", "gradients", "optimizer", "one layer", "activations"):
        assert name in parts
    root.slider(DEVICES).press("ArrowRight")
    assert root.value(DEVICES) == "576"  # in small steps
    box = picture.bounding_box()
    root.page.mouse.click(box["x"] + 55, box["y"] + 60)
    assert root.value(DEVICES) == "1"
    root.keys("ArrowRight")
    assert root.value(DEVICES) == "2"
    assert root.get_by_text("It does not fit.").first.is_visible()
    root.keys("End")
    assert root.value(DEVICES) == "1,536"
    assert root.sees("The batch limits this run")
    choose(root, "Network between machines", "office")
    first = first_limited_by_the_network(42)
    assert f"network from {first}" in picture.text_content()


def first_limited_by_the_network(least):
    """How many devices over the office's network, of so many or more."""
    run = explorers.Scale().run
    slow = replace(run, device=replace(run.device, between=1.25e9))
    runs = (replace(slow, devices=n) for n in range(least, 1537))
    return next(one.devices for one in runs if cost.limit(one) == "network")


def test_a_part_of_the_drawing_is_chosen_by_mouse_and_keyboard(explorer):
    root = explorer(explorers.Shapes("small"))
    sentence = root.locator(".mygpt-sentence")
    told = "56,669,184 parameters: 45.5 % of the model and two thirds (66.6 %) of each"
    assert told in sentence.inner_text()
    drawing = root.locator(".mygpt-areas svg").first
    box = drawing.bounding_box()
    root.page.mouse.click(box["x"] + 0.45 * box["width"], box["y"] + 40)
    told = "28,348,416 parameters: 22.8 % of the model and a third (33.3 %) of each"
    assert told in sentence.inner_text()
    assert root.get("part") == "attention"
    chooser = root.slider("Part of the model")
    assert has_focus(chooser)
    root.keys("Home")
    assert "38,597,376 parameters: 31.0 % of the model" in sentence.inner_text()
    assert sentence.inner_text().startswith("The token embedding has")
    root.keys("End")
    assert sentence.inner_text().startswith("The norms have")
    root.set(part="feed-forward")
    assert root.value("Part of the model") == sentence.inner_text()


def test_a_size_is_stepped_to_the_next_that_makes_a_shape(explorer):
    root = explorer(explorers.Shapes("small")).unfold()
    root.press("Heads: more")
    assert root.field("Heads H").input_value() == "16"
    field = root.field("Channels C")
    field.focus()
    root.keys("ArrowUp")
    assert field.input_value() == "1024"
    assert root.locator("[aria-invalid=true]").count() == 0
    root.set(shape={**explorers.Shapes("small").shape, "num_heads": 13})
    told = "expected a multiple of the 13 heads"
    assert told in root.get_by_role("alert").inner_text()
    assert field.input_value() == "1024"


def test_another_size_is_shown_beside_the_shape(explorer):
    root = explorer(explorers.Shapes("small")).unfold()
    assert root.sees("the same: choose another")
    root.get_by_label("Beside it").select_option("xl")
    second = root.locator(".mygpt-second").first
    assert "GPT-2 XL" in second.inner_text()
    heights = root.locator(".mygpt-second rect").count()
    assert heights > 0


@pytest.mark.parametrize("kind", [explorers.Scale, explorers.Shapes])
def test_a_finger_has_44_pixels_for_each_control(explorer, kind):
    root = explorer(kind(), width=390)
    Finger(root.page)
    root.unfold()
    for control in root.locator("input, button, select, summary").all():
        assert control.bounding_box()["height"] >= 44


def test_the_layers_are_one_screen_of_a_phone_with_the_handle_apart(explorer):
    """What has died is said over the picture; no number stands under the handle."""
    root = explorer("depth", width=390)
    assert root.bounding_box()["height"] <= 720
    said = root.locator(".mygpt-said")
    assert re.match(
        r"Signal: (\w[\w-]* (lives|dies|explodes|only)[^;]*[;.] ?)+", said.inner_text()
    )
    root.press("Length of gradient")
    assert said.inner_text().startswith("Gradient: ")
    root.slider("Layer").press("Home")
    _, level = middle(root.locator(".mygpt-handle"))
    for name in root.locator(".mygpt-grid text").all():
        box = name.bounding_box()
        assert box["y"] > level + 10 or bottom(name) < level - 10


DRAGS = {  # where a finger goes, as shares of the part's width and height
    "attention": (".mygpt-heat", (0.1, 0.2), (0.9, 0.4)),
    "memory": (".mygpt-cell-box", (0.1, 0.1), (0.9, 0.1)),
    "sampling": ("input[type=range]", (0.3, 0.5), (0.9, 0.5)),
    "layer-norm": (".mygpt-grip", (0.5, 0.2), (0.5, 0.2)),  # a tap
    "block-walk": (".mygpt-stage >> nth=4", (0.5, 0.5), (0.5, 0.5)),
    "descent": (".mygpt-ring", (0.5, 0.5), (3.5, 2.5)),
    "train-stack": ("input[type=range]", (0.2, 0.5), (0.9, 0.5)),
    "shapes": ("input[type=range]", (0.9, 0.5), (0.3, 0.5)),
    "scale": ("input[type=range]", (0.9, 0.5), (0.3, 0.5)),
}


@pytest.mark.parametrize("name", DRAGS)
def test_a_touch_moves_the_explorer(explorer, name):
    root = explorer(name, width=390)
    finger = Finger(root.page)
    selector, start, end = DRAGS[name]
    part = root.locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    said = root.evaluate(SAID)

    def at(share):
        x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    finger.follow(*map(at, (0, 0.25, 0.5, 0.75, 1)))
    assert root.evaluate(SAID) != said


@pytest.fixture(scope="module", params=MAKE)
def narrow(request, page_opener, tmp_path_factory):
    """Each explorer alone on its page in a narrow frame, opened once."""
    path = tmp_path_factory.mktemp(request.param) / "page.html"
    MAKE[request.param]().write_html(path)
    with page_opener() as open_page:
        page = open_page(path.as_uri(), width=320)
        root = Figure(page.locator(f".mygpt-{request.param}"))
        root.wait_for()
        yield root


def test_nothing_overflows_a_narrow_frame(narrow):
    fits(narrow, 320, 360)


def test_nothing_moves_by_itself(narrow):
    """With `prefers-reduced-motion` or without it."""
    narrow.locator("input, button, select, textarea").first.focus()
    for key in ("ArrowRight", "Enter"):
        narrow.keys(key)
        assert narrow.page.evaluate("document.getAnimations().length") == 0


def test_the_difference_has_the_width_of_its_column(explorer):
    root = explorer("activations")
    for width in (625, 640, 645, 784):
        resize(root, width, 800)


def press_often(root, name, times):
    part = root.button(name)
    part.focus()
    root.keys(*["Enter"] * times)
    assert has_focus(part)
    assert part.get_attribute("aria-disabled") == "true"
    return part


def test_a_button_with_nothing_left_to_do_keeps_the_focus(explorer):
    root = explorer("block-walk")
    following = press_often(root, "Next", 10)
    assert root.text(".mygpt-stage-name b") == "9. x + fc2"
    assert following.get_attribute("title") == "This is the last stage"
    root = explorer("layer-norm")
    double = press_often(root, "Double", 9)
    channels = root.locator("tbody td:nth-child(2)").all_text_contents()
    assert channels == ["128.0", "−76.8", "307.2", "512.0"]
    assert double.get_attribute("title").startswith("Double would pass ±1000")


def test_the_moved_value_is_announced_first(explorer):
    root = explorer("layer-norm")
    root.move("Channel 1", "ArrowUp")
    root.spoken("Channel 1 is −0.2. Channel 0 of the result changed most")
    root.press("Add 1")
    told = "4 channels moved. The result has not changed: the norm forgets the mean."
    root.spoken(told)
    root = explorer("sampling")
    root.press("Draw")
    said = root.spoken("draw 1 of seed 0")
    last = root.text(".mygpt-last bdi")
    assert said.inner_text() == f"“{last}” is draw 1 of seed 0."
    root = explorer("activations")
    root.press("Slope")
    root.spoken("The slopes are drawn.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_follows_the_system_theme(explorer, theme):
    root = explorer("layer-norm", theme=theme)
    assert (brightness(root) > 128) == (theme == "dark")


def test_an_explorer_that_fails_to_start_leaves_its_still(open_page, tmp_path):
    class Broken(explorers.LayerNorm):
        _esm = "export default { render() { throw new Error('no ink'); } };"

    path = tmp_path / "page.html"
    Broken(VECTOR).write_html(path)
    page = open_page(path.as_uri())
    page.get_by_text("A still: the explorer did not start (no ink).").wait_for()
    assert page.locator("main > img").is_visible()


FRAME = """<iframe src="page.html" width="100%" height="640" style="border: 0"></iframe>
<script>
  addEventListener("message", ({ data, source }) => {
    for (const frame of document.querySelectorAll("iframe"))
      if (frame.contentWindow === source && data.explorerHeight)
        frame.height = data.explorerHeight;
  });
</script>"""


@pytest.mark.parametrize("width", [374, 1264])
def test_a_frame_is_as_high_as_its_figure_with_the_lines_for_teachers(
    open_page, tmp_path, width
):
    explorers.LayerNorm([3.0, 3.0, 3.0, 7.0]).write_html(tmp_path / "page.html")
    (tmp_path / "frame.html").write_text(FRAME, encoding="utf-8")
    page = open_page((tmp_path / "frame.html").as_uri(), width=width)
    frame = page.frame_locator("iframe").locator("html")
    page.wait_for_function("document.querySelector('iframe').height !== '640'")
    page.wait_for_timeout(200)
    hidden = frame.evaluate("one => one.scrollHeight - one.clientHeight")
    assert abs(hidden) <= 1
    written = (Path(__file__).parents[2] / "pages" / "teachers.md").read_text(
        encoding="utf-8"
    )
    assert "frame.contentWindow === source && data.explorerHeight" in written


def test_the_axes_of_the_activations_have_names(explorer):
    root = explorer("activations")
    texts = root.locator(".mygpt-picture text").all_text_contents()
    assert {"x", "value"} <= set(texts)
    assert any(text.startswith("difference × 10") for text in texts)
    root.press("Slope")
    assert "slope" in root.locator(".mygpt-picture text").all_text_contents()
