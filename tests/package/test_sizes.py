"""Parameters, FLOPs and bytes from a config, held against models that are built."""

from dataclasses import replace

import pytest
import torch
from helpers.parameters import count
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from mygpt.gpt import GPT, GPTConfig
from mygpt.sizes import flops_per_token, memory, parameters_by_part

PRIME = GPTConfig(13, max_seq_len=11, embed_dim=21, num_heads=7, num_layers=5)
CHANGES = {
    "plain": {},
    "no biases": {"bias": False},
    "wider networks": {"expansion": 3},
    "two blocks of attention alone": {"attention_only": (0, 3)},
    "all of it": {"bias": False, "expansion": 5, "attention_only": (1, 2, 4)},
}
GPT2 = {
    "small": 124_439_808,
    "medium": 354_823_168,
    "large": 774_030_080,
    "xl": 1_557_611_200,
}
PARTS = {  # the parameters of each part, by what their names hold
    "token embedding": ("token.",),
    "positions": ("position.",),
    "attention": (".mha.",),
    "feed-forward": (".mlp.",),
    "norms": ("ln1.", "ln2.", "ln_f."),
}


def empty(config):
    with torch.device("meta"):
        return GPT(config).eval()


@pytest.mark.parametrize("case", CHANGES)
def test_every_part_has_the_parameters_of_the_model_that_is_built(case):
    config = replace(PRIME, **CHANGES[case])
    model = empty(config)
    counted = {
        part: sum(
            parameter.numel()
            for name, parameter in model.named_parameters()
            if any(one in name for one in names)
        )
        for part, names in PARTS.items()
    }
    assert parameters_by_part(config) == counted
    assert sum(counted.values()) == count(model)


@pytest.mark.parametrize("size", GPT2)
def test_gpt2_has_its_published_numbers(size):
    parts = parameters_by_part(GPTConfig.gpt2(size))
    assert sum(parts.values()) == count(empty(GPTConfig.gpt2(size))) == GPT2[size]
    if size == "small":
        assert parts["token embedding"] == 50257 * 768 == 38_597_376


def counted_flops(run):
    """What PyTorch counts in `run`, with attention written out in two products."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


@pytest.mark.parametrize("length", [1, 2, 7, 11])
@pytest.mark.parametrize("case", CHANGES)
def test_a_token_costs_what_pytorch_counts_with_the_others_in_the_cache(case, length):
    config = replace(PRIME, **CHANGES[case])
    model = GPT(config).eval()
    cache = model.new_cache()
    ids = torch.arange(length)[None] % config.vocab_size
    with torch.no_grad():
        if length > 1:
            model(ids[:, :-1], cache=cache)
        counted = counted_flops(lambda: model(ids[:, -1:], cache=cache))
    assert sum(flops_per_token(config, length).values()) == counted


@pytest.mark.parametrize("length", [1, 7, 11])
def test_training_costs_three_forward_passes_for_each_token(length):
    model = GPT(PRIME)
    ids = torch.zeros(3, length, dtype=torch.long)
    counted = counted_flops(lambda: model(ids, ids)[1].backward())
    each = sum(flops_per_token(PRIME, length).values())
    assert counted == 3 * each * ids.numel()


def test_every_part_costs_what_it_does_by_hand():
    assert flops_per_token(PRIME, 7) == {
        "attention's matrices": 5 * 4 * 2 * 21 * 21,
        "scores and values": 5 * 2 * 2 * 21 * 7,
        "feed-forward": 5 * 2 * 2 * 21 * 84,
        "head": 2 * 13 * 21,
    }
    short, long = (flops_per_token(PRIME, n) for n in (1, 11))
    assert [one for one in short if short[one] != long[one]] == ["scores and values"]


def test_scores_overtake_the_matrices_of_the_blocks_beyond_six_times_the_width():
    config = replace(PRIME, max_seq_len=1000)
    at, beyond = (flops_per_token(config, n) for n in (6 * 21, 6 * 21 + 1))
    matrices = at["attention's matrices"] + at["feed-forward"]
    assert at["scores and values"] == matrices < beyond["scores and values"]


def size_of(tensors):
    return sum(one.numel() * one.element_size() for one in tensors)


@pytest.mark.parametrize("bytes_each", [2, 4])
def test_memory_is_that_of_the_tensors_of_a_model_and_its_optimizer(bytes_each):
    model = GPT(PRIME)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.zeros(1, 7, dtype=torch.long)
    model(ids, ids)[1].backward()
    optimizer.step()
    gradients = size_of(parameter.grad for parameter in model.parameters())
    averages = size_of(
        state[name]
        for state in optimizer.state.values()
        for name in ("exp_avg", "exp_avg_sq")
    )
    model.to({2: torch.bfloat16, 4: torch.float32}[bytes_each])
    cache = model.new_cache()
    with torch.no_grad():
        model(ids, cache=cache)
    assert memory(PRIME, 7, bytes_each) == {
        "weights": size_of(model.parameters()),
        "gradients": gradients,
        "AdamW's averages": averages,
        "key-value cache": size_of(
            one[:, :, : layer.length]
            for layer in cache
            for one in (layer.keys, layer.values)
        ),
    }


def test_training_in_float32_takes_16_bytes_for_each_parameter():
    sizes = memory(GPTConfig.gpt2("xl"), 1024)
    assert sum(sizes.values()) - sizes["key-value cache"] == 16 * GPT2["xl"]


@pytest.mark.parametrize("count", [flops_per_token, memory])
@pytest.mark.parametrize(
    ("length", "message"),
    [
        (0, "length must be a whole number of at least 1, got 0"),
        (True, "length must be a whole number of at least 1, got True"),
        (12, "expected at most max_seq_len = 11 positions, got 12"),
    ],
)
def test_a_length_that_no_text_has_is_refused(count, length, message):
    with pytest.raises(ValueError, match=message):
        count(PRIME, length)


@pytest.mark.parametrize("bytes_each", [0, 3, 8])
def test_a_number_has_two_bytes_or_four(bytes_each):
    with pytest.raises(ValueError, match="bytes_each must be 2 or 4, got"):
        memory(PRIME, 7, bytes_each)
