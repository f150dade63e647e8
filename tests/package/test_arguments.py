"""Numbers of NumPy and PyTorch are numbers, and are stored as Python's own."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from mygpt import BPETokenizer, set_seed
from mygpt.block import TransformerBlock
from mygpt.data import Batches, split, windows
from mygpt.distributed.cost import Model
from mygpt.gpt import GPT, GPTConfig
from mygpt.modern import ModernConfig
from mygpt.sampling import generate
from mygpt.training import TrainingConfig, train

WHOLE = [np.int64, np.int32, np.uint8, np.array, torch.tensor]
REAL = [np.float32, np.float64, np.float16, np.array, torch.tensor]


@pytest.mark.parametrize("whole", WHOLE)
def test_whole_numbers_of_numpy_and_pytorch_are_stored_as_pythons(whole):
    shape = [whole(n) for n in (23, 7, 15, 3, 2)]
    plain = [23, 7, 15, 3, 2]
    assert GPTConfig(*shape) == GPTConfig(*plain)
    assert ModernConfig(*shape[:2], whole(12), *shape[3:], num_kv_heads=whole(1)) == (
        ModernConfig(23, 7, 12, 3, 2, num_kv_heads=1)
    )
    layers = GPTConfig(*shape, attention_only=[whole(0), whole(1)])
    settings = TrainingConfig(whole(11), seed=whole(5), save_every=whole(3))
    costs = Model(*shape)
    stored = [layers.attention_only, settings.seed, costs.length]
    assert stored == [(0, 1), 5, 2]
    assert [type(one) for one in stored] == [tuple, int, int]
    json.dumps([asdict(config) for config in (layers, settings, costs)])


@pytest.mark.parametrize("real", REAL)
def test_real_numbers_of_numpy_and_pytorch_are_stored_as_pythons(real):
    assert GPTConfig(23, 7, 15, 3, 2, dropout=real(0.25)).dropout == 0.25
    assert ModernConfig(23, 7, 12, 2, 2, logit_cap=real(8.0)).logit_cap == 8
    settings = TrainingConfig(3, learning_rate=real(0.5), betas=(real(0.5), 0.75))
    assert settings == TrainingConfig(3, learning_rate=0.5, betas=(0.5, 0.75))
    assert TrainingConfig(3, clip=real(0.5), weight_decay=real(0)).clip == 0.5
    json.dumps(asdict(settings))
    TransformerBlock(8, 2, dropout=real(0.25))(torch.ones(1, 3, 8))


@pytest.mark.parametrize("flag", [np.bool_, np.array, torch.tensor])
def test_truth_values_of_numpy_and_pytorch_are_stored_as_pythons(flag):
    assert GPTConfig(23, 7, 15, 3, 2, bias=flag(False)).bias is False
    assert TrainingConfig(3, autocast=flag(True)).autocast is True
    with pytest.raises(ValueError, match="vocab_size must be a whole number"):
        GPTConfig(flag(True), 7, 15, 3, 2)
    with pytest.raises(ValueError, match="bias must be True or False"):
        GPTConfig(23, 7, 15, 3, 2, bias=np.int64(1))


@pytest.mark.parametrize("whole", WHOLE)
def test_the_functions_take_them_too(whole):
    model, ids = GPT(GPTConfig(23, 7, 15, 3, 1)).eval(), torch.tensor([[3, 5]])
    plain = {"temperature": 0.5, "top_p": 0.75, "repetition_penalty": 1.5}
    real = {name: np.float32(value) for name, value in plain.items()}
    expected = generate(model, ids, 3, seed=11, top_k=5, stop=[2], pad_id=2, **plain)
    real |= {"seed": whole(11), "top_k": whole(5), "stop": [whole(2)]}
    found = generate(model, ids, whole(3), pad_id=whole(2), **real)
    assert torch.equal(found, expected)
    assert BPETokenizer.train("abab ab", 257, whole(2)).vocab_size == 257
    data = list(range(23))
    first = next(Batches(data, whole(2), whole(3), seed=whole(5)))[0]
    assert torch.equal(first, next(Batches(data, 2, 3, seed=5))[0])
    assert len(list(windows(data, whole(3), whole(2)))) == 5
    assert len(split(data, np.float32(0.5))[0]) == 11
    set_seed(whole(5))
    drawn = torch.rand(1)
    set_seed(5)
    assert drawn == torch.rand(1)


@pytest.mark.parametrize(
    "value", [np.array([3]), torch.tensor([3]), np.float64(3), np.complex64(3)]
)
def test_other_values_are_no_whole_numbers(value):
    with pytest.raises(ValueError, match="vocab_size must be a whole number"):
        GPTConfig(value, 7, 15, 3, 2)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.uint16])
def test_ids_of_every_whole_type_are_continued(kind):
    model, ids = GPT(GPTConfig(23, 7, 15, 3, 1)), torch.tensor([[3, 5], [2, 7]])
    found = generate(model, ids.to(kind), 9, greedy=True, stop=[3], pad_id=4)
    assert torch.equal(found, generate(model, ids, 9, greedy=True, stop=[3], pad_id=4))


def test_a_stop_that_is_no_whole_number_is_refused():
    model, ids = GPT(GPTConfig(23, 7, 15, 3, 1)), torch.tensor([[3, 5]])
    with pytest.raises(ValueError, match="stop must be an id from 0 to 22"):
        generate(model, ids, 3, stop=[np.float64(2.5)])


def test_a_run_with_numpys_numbers_is_saved(tmp_path):
    config = TrainingConfig(np.int64(2), batch_size=np.int64(2), progress=False)
    model = GPT(GPTConfig(np.array([0, 3, 2, 5]).max() + 1, 3, 8, 2, 1))
    train(model, np.arange(23) % 6, config, out=tmp_path)
    assert (tmp_path / "step-00000002").is_dir()
