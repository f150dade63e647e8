import copy
from functools import partial

import numpy as np
import pytest
import torch
from anywidget import AnyWidget
from helpers.arrays import changed
from helpers.live_models import (
    FACTS,
    HEADS,
    LENGTH,
    NEURONS,
    PROMPT,
    WIDTH,
    WORDS,
    arrays,
    live,
    moment,
    triggers,
)
from helpers.node import in_node
from helpers.page_models import without
from helpers.refusals import refused_settings, refuses

from mygpt.explorers.live_model.vocabulary import split
from mygpt.gpt import GPT, GPTConfig
from mygpt.inside.editing import ENOUGH, MOST_STEPS, STEP
from mygpt.inside.hooks import memory_layers
from mygpt.inside.memory import promotion, values

OFF = {"kind": "scale", "layer": 1, "neuron": 7, "factor": 0.0}
MANY = {"kind": "scale", "layer": 1, "neuron": [3, 22], "factor": 2.0}
VALUE = {"kind": "value", "layer": 1, "neuron": 5, "word": "kiki"}
REWRITE = {"kind": "rewrite", "prompt": "fun", "word": "ban"}
WRITE = {"kind": "write", "facts": [["fun", "has", "lemn"], ["dofu", "is", "kiki"]]}
HEADS_OFF = {"kind": "part", "layer": 0, "part": "heads", "factor": 0.0}
NETWORK_OFF = {"kind": "part", "layer": 1, "part": "network", "factor": 0.0}
PARTS = (
    [HEADS_OFF],
    [NETWORK_OFF],
    [HEADS_OFF | {"layer": 1}, VALUE, REWRITE],
    [NETWORK_OFF, HEADS_OFF, NETWORK_OFF | {"factor": 1.0}, REWRITE],
)
SINGLE = [OFF], [VALUE], [REWRITE]
WRITING = [OFF, WRITE], [WRITE, REWRITE, VALUE, WRITE], [WRITE, NETWORK_OFF]
SEQUENCES = (
    [],
    *PARTS,
    *SINGLE,
    [MANY, OFF],
    [OFF, REWRITE, VALUE, MANY],
    *WRITING,
)


STATE = "const state = liveState({ get: (name) => given[name] }, () => {});\n"
ANSWER = STATE + "const { shares } = state.answer(given.prompt, given.edits);"
SHARES = "descending(shares).map((i) => [given.words[i], fixed(shares[i], 3)])"
WHY = "try { state.compiled(given.edits); } catch (error) { why = error.message; }"


def in_page(explorer, tmp_path, script=SHARES, first=ANSWER):
    """The page's own predictions, as it writes them: all words and shares."""
    own = explorer.traits().keys() - AnyWidget.class_traits().keys()
    state = {name: getattr(explorer, name) for name in own}
    imports = {"{ descending, fixed }": "kit/geometry"}
    imports |= {"{ liveState }": "live_model/state"}
    return in_node(script, state, tmp_path, imports, first)


@pytest.mark.parametrize("sequence", range(len(SEQUENCES)))
def test_the_page_predicts_what_python_predicts(sequence, tmp_path):
    explorer = live(edits=SEQUENCES[sequence])
    for prompt in (PROMPT, "", "kiki. dolem ban", "kin fun"):
        explorer.prompt = prompt
        page = in_page(explorer, tmp_path)
        mine = explorer.predictions(len(WORDS))
        assert page == [[word, f"{share:.3f}"] for word, share in mine]
        assert sum(share for _, share in mine) == pytest.approx(1, abs=0.02)


def test_predictions_are_pytorchs_of_the_rounded_weights():
    state = {
        name: torch.tensor(array).half().float()
        for name, array in arrays(neurons=3 * WIDTH).items()
    }
    shape = (len(WORDS), LENGTH, WIDTH, HEADS, 2)
    model = GPT(GPTConfig(*shape, attention_only=(0,), expansion=3))
    model.load_state_dict(state)
    explorer = live(model.state_dict(), triggers=None, second_moment=None)
    ids = [[WORDS.index(word) for word in (".", *PROMPT.split())]]
    with torch.no_grad():
        shares = torch.softmax(model.eval()(torch.tensor(ids))[0][0, -1], -1)
    top = shares.topk(8)
    found = explorer.predictions()
    assert [word for word, _ in found] == [WORDS[i] for i in top.indices]
    shown = [share for _, share in found]
    np.testing.assert_allclose(shown, top.values, rtol=0, atol=6e-4)
    assert found[0][1] > 2 / len(WORDS)


def test_layers_without_a_network_and_missing_biases_are_accepted():
    explorer = live(
        arrays(alone=(0, 2), layers=4, bias=False),
        triggers=triggers(3) | triggers(1),
        second_moment=None,
    )
    assert memory_layers(explorer.model) == [1, 3]
    assert explorer.trigger_layers == [1, 3]
    assert explorer.layer == 3
    assert not [name for name, _ in explorer.shapes if "mha.W_Q.bias" in name]
    small = live(arrays(alone=(), layers=1), triggers=None, second_moment=None)
    assert small.layer == 0


def test_every_weight_is_sent_once_in_the_order_of_its_shape():
    explorer = live()
    numbers = np.frombuffer(explorer.weights, "<f2")
    start = 0
    for name, shape in explorer.shapes:
        array = arrays()[name]
        assert array.shape == tuple(shape)
        part = numbers[start : start + array.size].reshape(shape)
        np.testing.assert_array_equal(part, array.astype("<f2"))
        start += array.size
    assert start == numbers.size
    assert {name for name, _ in explorer.shapes} == set(arrays())


def test_only_half_of_the_second_moment_is_sent():
    lower = np.frombuffer(live().moment_data, "<f4")
    assert len(lower) == NEURONS * (NEURONS + 1) / 2
    assert lower[3] == np.float32(moment()[2, 0])
    assert live(second_moment=None).moment_data == b""


def test_it_opens_on_the_last_token_and_the_neuron_that_adds_most():
    explorer = live()
    assert (explorer.layer, explorer.token) == (1, 3)
    # Without the neuron the likeliest word's score falls most.
    best = WORDS.index(explorer.predictions(1)[0][0])

    def logit(edits):
        return explorer._read(PROMPT, edits)[0][best]

    def centred_score(neuron):
        coefficient = explorer._read(PROMPT, [])[1][1][-1, neuron]
        value = values(explorer.model, 1)[neuron]
        return coefficient * promotion(explorer.model, value)[best]

    assert explorer.neuron == max(range(NEURONS), key=centred_score)
    assert logit([OFF | {"neuron": explorer.neuron}]) < logit([])
    told = live(neuron=4, token=0)
    assert (told.neuron, told.token) == (4, 0)


def test_a_rewritten_fact_is_answered_and_neurons_switched_off_are_silent():
    explorer = live(prompt="fun", edits=[REWRITE])
    assert explorer.predictions(1)[0][0] == "ban"
    assert explorer.predictions(1)[0][1] >= 0.9
    explorer.edits = []
    assert explorer.predictions(1)[0][0] != "ban"
    hidden = [explorer._read(PROMPT, edits)[1][1] for edits in ([], [OFF], [MANY])]
    assert hidden[0][:, 7].all()
    assert not hidden[1][:, 7].any()
    np.testing.assert_allclose(hidden[2][:, 22], 2 * hidden[0][:, 22])


def test_written_facts_are_answered_in_all_their_prompts():
    explorer = live(edits=[WRITE])
    for prompt, answer in (("kin fun", "lemn"), ("fun don", "lemn"), ("dofu", "kiki")):
        explorer.prompt, explorer.edits = prompt, []
        before = explorer.predictions(1)[0][0]
        explorer.edits = [WRITE]
        assert explorer.predictions(1)[0][0] == answer != before


def test_facts_that_the_network_cannot_tell_apart_are_not_written(tmp_path):
    explorer = live(templates={"has": ["{} kin"], "is": ["{} kin"]})
    facts = [["fun", "has", "ban"], ["fun", "is", "ban"]]
    explorer.edits = [{"kind": "write", "facts": facts}]
    with pytest.raises(ValueError, match="that the network can tell apart"):
        explorer.predictions(1)
    why = in_page(explorer, tmp_path, "why", f'{STATE}let why = "";\n{WHY}')
    assert "cannot tell “fun has” and “fun is” apart" in why


def test_a_part_that_is_off_brings_nothing():
    explorer = live()
    ids = torch.tensor([[WORDS.index(word) for word in (".", *PROMPT.split())]])
    found = {}
    parts = {"heads": [HEADS_OFF], "network": [NETWORK_OFF], "all": []}
    for name, edits in parts.items():
        found[name] = explorer._read(PROMPT, edits)[0]
    by_hand = copy.deepcopy(explorer.model)
    by_hand.blocks[1].mlp.fc2.weight *= 0
    by_hand.blocks[1].mlp.fc2.bias *= 0
    torch.testing.assert_close(found["network"], by_hand(ids)[0][0, -1])
    by_hand = copy.deepcopy(explorer.model)
    by_hand.blocks[0].mha.W_O.weight *= 0  # its bias, which reads nothing, stays
    torch.testing.assert_close(found["heads"], by_hand(ids)[0][0, -1])
    assert not torch.allclose(found["heads"], found["all"])
    again = explorer._read(PROMPT, [NETWORK_OFF, NETWORK_OFF | {"factor": 1.0}])[0]
    torch.testing.assert_close(again, found["all"])


def test_a_shorter_prompt_keeps_the_token_within_it():
    explorer = live()
    explorer.prompt = "  Fun "
    assert (explorer.prompt, explorer.token) == ("fun", 1)
    explorer.prompt = PROMPT
    assert explorer.token == 1
    refuses(explorer, "token must be 0 to 3, got 4", token=4)


def test_prompts_are_split_around_full_stops():
    assert split(" Ba.do  ki. ") == ["ba", ".", "do", "ki", "."]
    assert live(prompt="fun.").prompt == "fun ."
    assert live(prompt=". fun").token == live(prompt="fun").token == 1


@pytest.mark.parametrize("neuron", [[], True, [True], [3, False]])
def test_an_edit_of_no_neuron_is_refused(neuron):
    with pytest.raises(ValueError, match=r"edits\[0\]: neuron must"):
        live(edits=[OFF | {"neuron": neuron}])


def test_the_constants_of_rewriting_are_those_of_the_package():
    assert live().rewriting == {"step": STEP, "enough": ENOUGH, "steps": MOST_STEPS}


ARRAYS = arrays()
lacking = partial(without, ARRAYS)


FC1 = "blocks.1.mlp.fc1.weight"
POSITIONS = {"position.weight": np.zeros((60000, WIDTH))}
LARGER = changed(moment(), 1.01 * moment()[2, 3], 2, 3)
BAD = [
    ({"state": {}}, "state_dict must hold the matrices"),
    ({"state": lacking("position.weight")}, r"matrices token\..* and position\.w"),
    ({"state": arrays(alone=(0, 1))}, "a feed-forward network of blocks"),
    ({"state": lacking("ln_f.bias")}, "state_dict lacks ln_f.bias"),
    ({"state": lacking("blocks.0.mha.W_K.weight")}, r"lacks blocks\.0\.mha\.W_K\.w"),
    ({"state": ARRAYS | {"lm_head.weight": np.zeros(3)}}, "got 'lm_head.w"),
    ({"state": ARRAYS | {FC1: np.zeros((23, 7))}}, r"fc1.* \(23, 20\), got \(23, 7\)"),
    (
        {"state": ARRAYS | {FC1: changed(ARRAYS[FC1], np.nan, 2, 3)}},
        r"fc1\.weight must hold finite numbers, got nan at index 2, 3",
    ),
    (
        {"state": ARRAYS | {FC1: changed(ARRAYS[FC1], -7e4, 2, 3)}},
        r"fc1\.weight must be within ±65504, float16's reach, got -70000",
    ),
    ({"state": ARRAYS | POSITIONS}, "at most 1000000 weights, got 120"),
    ({"num_heads": 3}, "num_heads must divide the 20 channels, got 3"),
    ({"num_heads": 0}, "num_heads must divide the 20 channels, got 0"),
    ({"activation": "tanh"}, "activation must be one of.*got 'tanh'"),
    ({"unfolded": ["grid"]}, "unfolded must be one of.*got 'grid'"),
    ({"words": WORDS[1:]}, "words must be 31 words, got 30"),
    ({"words": [*WORDS[:-1], "baba"]}, "words must be different"),
    ({"words": ["x", *WORDS[1:]]}, "the full stop one of them"),
    ({"words": [*WORDS[:-1], "a b"]}, "lower-case strings.*got 'a b'"),
    ({"words": [*WORDS[:-1], "Ba"]}, "lower-case strings.*got 'Ba'"),
    ({"words": [*WORDS[:-1], 3]}, "lower-case strings.*got 3"),
    ({"prompt": "baba paris"}, "of the 31 words that the model knows, got 'paris'"),
    ({"edits": [REWRITE | {"prompt": None}]}, r"edits\[0\] must be a string, got None"),
    ({"edits": [OFF | {"layer": "1"}]}, "layer must be.*got '1'"),
    ({"prompt": "fun " * 12}, "prompt must have at most 11 words"),
    ({"facts": [("fun", "don"), ("a", "don")]}, r"facts\[1\].*got 'a'"),
    ({"facts": [("fun", "x")]}, r"facts\[0\] must be of.*got 'x'"),
    ({"facts": ["fun"]}, r"facts\[0\] must be a pair.*got 'fun'"),
    ({"facts": FACTS * 3}, "facts must be at most 10, got 12"),
    ({"triggers": triggers(0)}, r"triggers must be one that has .*among \[1\]; got 0"),
    ({"triggers": triggers(neurons=5)}, r"triggers\[1\] .* each of 23 neurons, got 5"),
    ({"second_moment": {0: moment()}}, r"of the last layer alone.*: 1; got \[0\]"),
    ({"second_moment": {1: moment(5)}}, r"moment\[1\] .*\(23, 23\), got \(5, 5\)"),
    ({"second_moment": {1: changed(moment(), 9.0, 2, 3)}}, r"\[1\] must be symmetric"),
    ({"second_moment": {1: LARGER}}, r"second_moment\[1\] must be symmetric"),
    *(
        ({"second_moment": {1: matrix}}, "must be positive definite; add a small mult")
        for matrix in (np.ones((23, 23)), np.diag([1e-12] * 22 + [1.0]))
    ),
    ({"layer": 0}, r"layer must be one that has .*among \[1\]; got 0"),
    ({"neuron": 23}, "neuron must be 0 to 22, got 23"),
    ({"token": 4}, "token must be 0 to 3, got 4"),
    ({"edits": [OFF] * 65}, "edits must be at most 64, got 65"),
    ({"edits": [OFF | {"kind": "x"}]}, r"edits\[0\] must have the keys"),
    ({"edits": [VALUE, OFF | {"word": "x"}]}, r"edits\[1\] must have the keys"),
    ({"edits": ["off"]}, r"edits\[0\] must have the keys.*got 'off'"),
    ({"edits": [OFF | {"layer": 0}]}, r"edits\[0\]: layer must be"),
    ({"edits": [MANY | {"neuron": [1, 23]}]}, "0 to 22, got 23"),
    ({"edits": [OFF | {"neuron": 0.5}]}, "neuron must be a whole.*got 0.5"),
    ({"edits": [VALUE | {"neuron": [1]}]}, r"a whole number, got \[1\]"),
    ({"edits": [OFF | {"factor": 3}]}, "factor must be one of.*got 3"),
    ({"edits": [VALUE | {"word": "x"}]}, r"edits\[0\] must be of"),
    ({"edits": [REWRITE | {"prompt": "x"}]}, r"edits\[0\] must be"),
    ({"edits": [HEADS_OFF | {"part": "norm"}]}, r"part must be.*'heads', 'network'\]"),
    ({"edits": [HEADS_OFF | {"layer": 2}]}, r"layer must be among \[0, 1\], got 2"),
    ({"edits": [NETWORK_OFF | {"layer": 0}]}, r"layer must be one that.*\[1\]; got 0"),
    ({"edits": [HEADS_OFF | {"factor": 2.0}]}, r"factor must .*\[0.0, 1.0\], got"),
    ({"edits": [NETWORK_OFF, OFF, REWRITE]}, r"\[2\] rewrites .* layer 1, .* is off"),
    ({"edits": [REWRITE], "second_moment": None}, r"\[0\] rewrites .* needs a second"),
    ({"edits": [NETWORK_OFF, WRITE]}, r"\[1\] writes facts .* layer 1, .* is off"),
    (
        {"edits": [WRITE], "centre": None, "new_facts": ()},
        r"\[0\] writes facts: that needs a centre",
    ),
    ({"edits": [WRITE | {"facts": []}]}, "facts must be 1 to 40, got 0"),
    ({"new_facts": [["fun", "has", "x"]]}, "new_facts must be of .* got 'x'"),
    ({"new_facts": [["fun", "had", "ban"]]}, "relation must be one of .* got 'had'"),
    ({"new_facts": ["fun"]}, r"\(subject, relation, answer\), got 'fun'"),
    ({"new_facts": [["fun", "has", "ban"]] * 2}, "new_facts has fun has twice"),
    ({"new_facts": [["fun", "has", "ban"]] * 41}, "facts must be 0 to 40, got 41"),
    ({"centre": np.zeros(3)}, r"centre .*\(20,\), got \(3,\)"),
    ({"activation": "silu"}, "centre needs a network with GELU or ReLU, got SiLU"),
    ({"templates": {}}, "templates must be one or more a relation"),
    ({"templates": {"has": ["fun"]}}, r"templates\['has'\] must have one .* each"),
]


test_an_error_says_what_was_expected_and_what_came = refused_settings(live, *BAD)


def test_later_settings_are_checked_too():
    explorer = live(edits=[OFF])
    wrong = {"prompt": "paris", "layer": 0, "neuron": -1, "token": 9}
    for trait, value in {**wrong, "edits": [OFF | {"factor": 0.5}]}.items():
        refuses(explorer, trait, **{trait: value})
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        explorer.predictions(0)


def test_prompt_and_token_may_change_together():
    explorer = live(prompt="fun")
    with explorer.hold_trait_notifications():
        explorer.token, explorer.prompt = 3, PROMPT
    assert (explorer.prompt, explorer.token) == (PROMPT, 3)
