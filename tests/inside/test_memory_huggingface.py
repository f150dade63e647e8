"""The analyses on a GPT-2 of Hugging Face: the same numbers as from inside theirs."""

import pytest
import torch
from helpers.gpt2_checkpoints import their_model, written
from transformers import GPT2LMHeadModel

from mygpt.huggingface import load_gpt2, save_gpt2
from mygpt.inside.editing import ablations, rewrite, second_moment
from mygpt.inside.hooks import final_logits, log_odds, make_prompts, memory_layers
from mygpt.inside.memory import (
    agreement,
    coefficients,
    contributions,
    keys,
    logit_lens,
    patterns,
    promoted,
    triggers,
    values,
)


@pytest.fixture(scope="module")
def theirs():
    return their_model(n_layer=3)


@pytest.fixture(scope="module")
def ours(theirs, tmp_path_factory):
    return load_gpt2(written(theirs, tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="module")
def rows():
    return torch.randint(53, (40, 31), generator=torch.Generator().manual_seed(0))


def test_keys_values_and_coefficients_are_those_of_their_mlp(ours, theirs, prompts):
    inside = {}
    for number, block in enumerate(theirs.transformer.h):
        block.mlp.act.register_forward_hook(
            lambda _, __, out, number=number: inside.setdefault(number, out)
        )
        assert torch.equal(keys(ours, number), block.mlp.c_fc.weight.T)
        assert torch.equal(values(ours, number), block.mlp.c_proj.weight)
    with torch.no_grad():
        theirs(prompts.ids)
    found = coefficients(ours, prompts.ids)
    assert list(found) == memory_layers(ours) == [0, 1, 2]
    for number, theirs_here in inside.items():
        torch.testing.assert_close(found[number], theirs_here, atol=1e-4, rtol=1e-4)


def test_the_logit_lens_reads_their_hidden_states_and_logits(ours, theirs, prompts):
    found = logit_lens(ours, prompts)
    with torch.no_grad():
        out = theirs(prompts.ids, output_hidden_states=True)
        at = torch.arange(4), prompts.last
        read = theirs.lm_head(theirs.transformer.ln_f(out.hidden_states[1]))
    assert list(found)[-1] == "feed-forward 2"
    close = {"atol": 1e-4, "rtol": 1e-4}
    torch.testing.assert_close(found["feed-forward 2"], out.logits[at], **close)
    torch.testing.assert_close(found["feed-forward 0"], read[at], **close)


def test_triggers_and_promoted_tokens_of_every_layer(ours, rows):
    for layer in memory_layers(ours):
        found = triggers(ours, rows, layer, count=5)
        assert found.strength.shape == (84, 5)
        assert (patterns(found, rows).share >= 0.2).all()
        assert 0 <= agreement(ours, rows, layer, found) <= 1
        assert promoted(ours, layer, count=3)[1].shape == (84, 3)


def test_parts_and_falls_agree_on_the_neurons_that_matter(ours, prompts):
    layer = 2
    alone = ablations(ours, prompts, layer)
    direct = contributions(ours, prompts, layer)
    both = torch.stack([alone.flatten(), direct.flatten()])
    assert torch.corrcoef(both)[0, 1] > 0.2


def test_a_rewritten_gpt2_says_the_new_word_in_their_code_too(ours, rows, tmp_path):
    prompt = make_prompts([[5, 6, 7, 8]], [9])
    moment = second_moment(ours, rows, 2)
    before = log_odds(final_logits(ours, prompt), prompt.answers)
    edited = rewrite(ours, prompt, 2, moment)
    assert log_odds(final_logits(edited, prompt), prompt.answers) > before + 1
    save_gpt2(edited, tmp_path)
    back = GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        logits = back(prompt.ids).logits[:, -1]
    assert logits.argmax() == 9
    expected = final_logits(edited, prompt)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_a_lower_layer_is_rewritten_through_the_layers_above(ours, rows):
    prompt = make_prompts([[5, 6, 7, 8]], [9])
    before = log_odds(final_logits(ours, prompt), prompt.answers)
    edited = rewrite(ours, prompt, 0, second_moment(ours, rows, 0))
    assert log_odds(final_logits(edited, prompt), prompt.answers) > before + 1
