import math
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import count
from helpers.refusals import refused
from torch import nn

from mygpt.gpt import GPT, GPTConfig

SMALL = GPTConfig(vocab_size=13, max_seq_len=7, embed_dim=15, num_heads=3, num_layers=2)


def ids_for(config, batch=2, length=5):
    return torch.randint(config.vocab_size, (batch, length))


def test_it_is_embeddings_blocks_a_norm_and_the_embeddings_again():
    model, ids = GPT(SMALL), ids_for(SMALL)
    x = model.token.embedding.weight[ids] + model.position.weight[:5]
    for block in model.blocks:
        x = block(x)
    expected = F.linear(model.ln_f(x), model.token.embedding.weight)
    logits, loss = model(ids)
    torch.testing.assert_close(logits, expected)
    assert loss is None


def test_the_loss_is_the_mean_cross_entropy_without_ignored_targets():
    model, ids = GPT(SMALL), ids_for(SMALL)
    targets = ids_for(SMALL)
    targets[1, 2] = -100
    logits, loss = model(ids, targets)
    log_p = torch.log_softmax(logits, dim=-1)
    kept = [(b, t) for b in range(2) for t in range(5) if (b, t) != (1, 2)]
    by_hand = -sum(log_p[b, t, targets[b, t]] for b, t in kept) / len(kept)
    torch.testing.assert_close(loss, by_hand)


def test_without_bias_only_the_norms_have_one():
    model = GPT(replace(SMALL, bias=False))
    biased = {name for name, _ in model.named_parameters() if name.endswith(".bias")}
    norms = {f"blocks.{i}.ln{n}.bias" for i in range(2) for n in (1, 2)}
    assert biased == norms | {"ln_f.bias"}


def test_weights_start_as_gpt2s_do():
    torch.manual_seed(0)
    config = GPTConfig(1009, 67, 96, 4, 3)
    for name, parameter in GPT(config).named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif ".ln" in name or "ln_f" in name:
            assert (parameter == 1).all(), name
        else:
            writes = name.endswith(("W_O.weight", "fc2.weight"))
            std = 0.02 / math.sqrt(6) if writes else 0.02
            assert parameter.std().item() == pytest.approx(std, rel=0.03), name


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_loss_is_near_that_of_a_uniform_guess(seed):
    torch.manual_seed(seed)
    config = GPTConfig(5003, 127, 256, 4, 3)
    ids = ids_for(config, 3, 127)
    with torch.no_grad():
        _, loss = GPT(config)(ids[:, :-1], ids[:, 1:])
    expected = math.log(config.vocab_size) + config.embed_dim * 0.02**2 / 2
    assert abs(loss.item() - expected) < 0.06


def test_a_block_may_have_attention_only():
    whole, part = GPT(SMALL), GPT(replace(SMALL, attention_only=(0,)))
    assert count(whole) - count(part) == count(whole.blocks[0].mlp) + 2 * 15
    part.load_state_dict(whole.state_dict(), strict=False)
    nn.init.zeros_(whole.blocks[0].mlp.fc2.weight)
    ids = ids_for(SMALL)
    torch.testing.assert_close(part(ids)[0], whole(ids)[0])
    cache = part.new_cache(batch=2)
    pieces = [part(one, cache=cache)[0] for one in ids.split(2, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), part(ids)[0])


def test_dropout_acts_only_in_training():
    model, ids = GPT(replace(SMALL, dropout=0.5)), ids_for(SMALL)
    assert not torch.equal(model(ids)[0], model(ids)[0])
    model.eval()
    assert torch.equal(model(ids)[0], model(ids)[0])


def test_a_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        SMALL.embed_dim = 5


test_a_shape_that_cannot_be_built_is_refused = refused(
    lambda change: replace(SMALL, **change),
    ({"vocab_size": 0}, "vocab_size must be .* at least 1, got 0"),
    ({"max_seq_len": -1}, "max_seq_len must be .* at least 1, got -1"),
    ({"num_layers": 0}, "num_layers must be .* got 0"),
    ({"num_heads": 0}, "num_heads must be .* got 0"),
    ({"num_heads": 2}, "divisible by num_heads, got 15 and 2"),
    ({"expansion": 0}, "expansion must be .* got 0"),
    ({"dropout": 1.0}, r"dropout must be .* got 1\.0"),
    ({"attention_only": (2,)}, r"increasing block numbers from 0 to 1; got \(2,\)"),
    ({"attention_only": (1, 0)}, r"block numbers from 0 to 1; got \(1, 0\)"),
    ({"activation": "sin"}, "activation must be one of gelu, .* got 'sin'"),
)

test_an_unknown_size_is_refused = refused(
    GPTConfig.gpt2, ("huge", "small, medium, large, xl; got 'huge'")
)


def test_wrong_inputs_are_refused():
    model = GPT(SMALL)
    with pytest.raises(ValueError, match="at most max_seq_len = 7 positions, got 8"):
        model(ids_for(SMALL, 1, 8))
    with pytest.raises(ValueError, match="ids from 0 to 12, got 0 to 13"):
        model(torch.tensor([[0, 13]]))
    with pytest.raises(ValueError, match=r"targets of shape \(1, 3\), got \(1, 2\)"):
        model(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2]]))
    cache = model.new_cache(batch=1)
    model(ids_for(SMALL, 1, 5), cache=cache)
    with pytest.raises(ValueError, match="at most max_seq_len = 7 positions, got 8"):
        model(ids_for(SMALL, 1, 3), cache=cache)
    with pytest.raises(ValueError, match=r"batch must be .* got 0"):
        model.new_cache(0)
