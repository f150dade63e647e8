import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from helpers.parameters import lively
from torch import nn

from mygpt import GPT, GPTConfig, generate, inference, save_checkpoint
from mygpt.inference import INT8_ROWS, Int8Head, Int8Linear, PackedLinear
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.training import TrainingConfig, train

V, T = 101, 48
SHAPES = {
    "GPT": lambda: GPT(GPTConfig(V, T, 64, 4, 3)),
    "GPT without biases": lambda: GPT(GPTConfig(V, T, 64, 4, 3, bias=False)),
    "ModernGPT": lambda: ModernGPT(ModernConfig(V, T, 96, 4, 3)),
    "tied ModernGPT": lambda: ModernGPT(ModernConfig(V, T, 96, 4, 3, tied=True)),
}


@pytest.fixture(params=SHAPES)
def model(request):
    """A model whose choices depend on everything that it sees."""
    torch.manual_seed(1)
    return lively(SHAPES[request.param]().eval(), 0.1)


@pytest.fixture
def no_warning():
    """Forms that this machine lacks would be tested as plain ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def ids(batch=2, length=7):
    return torch.randint(V, (batch, length), generator=torch.Generator().manual_seed(0))


@pytest.mark.usefixtures("no_warning")
def test_packed_weights_give_the_same_tokens(model):
    packed = model.for_inference("packed")
    for batch in (1, 3):
        expected = generate(model, ids(batch), 90, greedy=True)
        assert torch.equal(generate(packed, ids(batch), 90, greedy=True), expected)


@pytest.mark.usefixtures("no_warning")
@pytest.mark.parametrize(("form", "off"), [("packed", 1e-5), ("int8", 0.05)])
def test_logits_stay_close_with_a_cache_and_without(model, form, off):
    converted = model.for_inference(form)
    expected = model(ids())[0]
    cache = converted.new_cache(2)
    steps = [converted(one, cache=cache)[0] for one in ids().split(1, dim=1)]
    for got in (converted(ids())[0], torch.cat(steps, dim=1)):
        assert (got - expected).norm() < off * expected.norm()


@pytest.mark.usefixtures("no_warning")
def test_every_large_weight_is_in_the_form(model):
    for form in ("packed", "int8"):
        converted = model.for_inference(form)
        assert not [m for m in converted.modules() if isinstance(m, nn.Linear)]
        many = sum(isinstance(m, nn.Linear) for m in model.modules())
        found = [
            m for m in converted.modules() if isinstance(m, inference.InferenceLinear)
        ]
        assert len(found) == many + model.tied


@pytest.mark.usefixtures("no_warning")
def test_the_copy_is_independent(model):
    before = {name: p.clone() for name, p in model.named_parameters()}
    copy = model.for_inference("int8")
    expected = copy(ids())[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert torch.equal(copy(ids())[0], expected)
    assert not [p for p in copy.parameters() if p.requires_grad]
    model.load_state_dict(before, strict=False)
    assert all(p.requires_grad for p in model.parameters())
    assert isinstance(model.blocks[0].mlp.fc1, nn.Linear)


@pytest.mark.parametrize("outputs", [1, 2, 7, 33, 257])
@pytest.mark.parametrize("rows", [1, 2, INT8_ROWS, INT8_ROWS + 1, 31])
def test_int8_rounds_each_weight_to_the_nearest_level(outputs, rows):
    torch.manual_seed(rows)
    weight, x = torch.randn(outputs, 96), torch.randn(rows, 96)
    weight *= torch.logspace(-3, 3, outputs)[:, None]
    layer = Int8Linear(weight, bias := torch.randn(outputs))
    restored = layer.levels * layer.scale.float()[:, None]
    assert ((restored - weight).abs() <= 0.5001 * layer.scale.float()[:, None]).all()
    largest = weight.abs().amax(dim=1)
    assert (layer.scale.float() <= 1.01 * largest / 127).all()
    expected = F.linear(x, restored, bias)
    size = restored.norm(dim=1) * x.norm(dim=1, keepdim=True) + bias.abs()
    most = 0.01 if rows <= INT8_ROWS else 1e-5  # in bfloat16, or in float32
    assert ((layer(x) - expected).abs() < most * size).all()


@pytest.mark.parametrize("layer", [PackedLinear, Int8Linear, Int8Head])
def test_a_layer_keeps_the_leading_axes(layer):
    torch.manual_seed(0)
    weight = torch.randn(5, 64)
    for shape in [(64,), (3, 64), (1, 1, 64), (2, 9, 64)]:
        x = torch.randn(shape)
        got, expected = layer(weight)(x), F.linear(x, weight)
        assert got.shape == expected.shape
        assert (got - expected).norm() < 0.03 * expected.norm()


def test_what_all_logits_share_costs_them_no_digits():
    """Trained models have logits near -100 that differ by little."""
    torch.manual_seed(0)
    weight, x = 0.1 * torch.randn(300, 64), torch.randn(1, 64)
    weight -= 100 * x / x.square().sum()
    expected = F.linear(x, weight)
    assert expected.mean() < -99
    assert (Int8Head(weight)(x) - expected).abs().max() < 0.05
    assert (Int8Linear(weight)(x) - expected).abs().max() > 0.1


def test_one_large_activation_hides_no_other():
    torch.manual_seed(0)
    weight, x = torch.randn(64, 96), torch.randn(1, 96)
    weight[:, 5] = 0
    x[0, 5] = 1000  # rounded to 8 bits with this, most of the others would be 0
    expected = F.linear(x, weight)
    assert (Int8Linear(weight)(x) - expected).norm() < 0.02 * expected.norm()


def test_a_row_of_zeros_stays_zero():
    weight = torch.randn(3, 32)
    weight[1] = 0
    assert Int8Linear(weight)(torch.randn(1, 32))[0, 1] == 0


@pytest.mark.parametrize("form", ["packed", "int8"])
def test_what_cannot_be_converted_is_named(model, form):
    with pytest.raises(ValueError, match=r"evaluation mode, so call eval\(\) first"):
        model.train().for_inference(form)
    with pytest.raises(ValueError, match="must be one of packed, int8; got 'int4'"):
        model.eval().for_inference("int4")
    with pytest.raises(ValueError, match="this one is for inference"):
        model.for_inference(form).for_inference(form)
    with pytest.raises(ValueError, match=r"float32 on the CPU; .* is torch\.float64"):
        model.double().for_inference(form)
    with pytest.raises(ValueError, match=r"float32 on the CPU; .* on meta"):
        model.float().to("meta").for_inference(form)


def test_a_width_that_int8_cannot_take_is_named():
    model = GPT(GPTConfig(V, T, 40, 4, 1)).eval()
    with pytest.raises(ValueError, match=r"by 32; blocks\.0\.mha\.W_Q reads 40"):
        model.for_inference("int8")
    assert torch.equal(
        generate(model.for_inference("packed"), ids(), 5, greedy=True),
        generate(model, ids(), 5, greedy=True),
    )


@pytest.mark.parametrize("form", ["packed", "int8"])
def test_the_copy_cannot_be_trained_saved_or_moved(form, tmp_path):
    model = GPT(GPTConfig(V, T, 64, 4, 1)).eval().for_inference(form)
    with pytest.raises(ValueError, match="expected a model to train, got one"):
        train(model, list(range(V)), TrainingConfig(steps=1, progress=False))
    with pytest.raises(ValueError, match="save the model that it was made from"):
        save_checkpoint(tmp_path, model)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="train the model that it was made from"):
        model.train()
    with pytest.raises(ValueError, match="move the model that it was made from"):
        model.to(torch.float64)
    with pytest.raises(ValueError, match="cannot be copied"):
        copy.deepcopy(model)


@pytest.mark.parametrize("form", ["packed", "int8"])
@pytest.mark.parametrize("trouble", ["missing", "wrong"])
def test_an_operator_that_fails_a_trial_means_plain_weights(monkeypatch, form, trouble):
    def layer(weight, bias=None):
        if trouble == "missing":
            raise AttributeError("'_OpNamespace' 'mkldnn' has no attribute\nand more")
        return lambda x: 1.1 * F.linear(x, weight, bias)

    inference.fault.cache_clear()
    monkeypatch.setitem(inference.LAYERS, form, layer)
    model = GPT(GPTConfig(V, T, 64, 4, 1)).eval()
    with pytest.warns(UserWarning, match=f"no {form} weights here, plain ones") as said:
        plain = model.for_inference(form)
    inference.fault.cache_clear()
    assert len(said) == 1
    assert "\n" not in str(said[0].message)
    assert ("has no attribute" in str(said[0].message)) == (trouble == "missing")
    assert torch.equal(plain(ids())[0], model(ids())[0])
