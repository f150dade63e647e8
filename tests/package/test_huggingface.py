"""GPT-2 checkpoints: equal to Hugging Face's, and refused when they are damaged."""

import json
import random
import shutil
from functools import partial

import pytest
import torch
from helpers.gpt2_checkpoints import their_model, written
from helpers.parameters import count, same_weights
from helpers.refusals import refused
from transformers import AutoTokenizer, GPT2LMHeadModel
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP as TheirMLP

from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import (
    ACTIVATION_NAMES,
    DROPOUTS,
    GPT2MLP,
    load_gpt2,
    save_gpt2,
)
from mygpt.tokenizers import BPETokenizer


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return written(their_model(), tmp_path_factory.mktemp("gpt2"))


@pytest.fixture
def damaged(checkpoint, tmp_path):
    """A copy to damage: change(field=value…) edits its config.json."""
    folder = tmp_path / "damaged"
    shutil.copytree(checkpoint, folder)

    def change(**fields):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))
        return folder

    return change


def difference(ours, theirs, ids):
    """The largest difference of logits, relative to the largest logit."""
    with torch.no_grad():
        expected = theirs(ids).logits
        return ((ours(ids)[0] - expected).abs().max() / expected.abs().max()).item()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("length", [1, 17, 31])
def test_logits_equal_hugging_faces(seed, length, tmp_path):
    theirs = their_model(seed)
    ours = load_gpt2(written(theirs, tmp_path))
    assert difference(ours, theirs, torch.randint(53, (2, length))) < 1e-5


def test_other_shapes_are_read(tmp_path):
    ids = torch.randint(53, (2, 11))
    for change in ({"n_inner": 63}, {"n_layer": 3}):
        theirs = their_model(5, **change)
        ours = load_gpt2(written(theirs, tmp_path / str(change)))
        assert difference(ours, theirs, ids) < 1e-5


def broken_mask(model):
    for block in model.blocks:
        block.mha.forward = lambda x, mha=block.mha: uncausal(mha, x)


def uncausal(mha, x):
    q, k, v = map(mha._split, (mha.W_Q(x), mha.W_K(x), mha.W_V(x)))
    return mha.W_O(mha._join(torch.nn.functional.scaled_dot_product_attention(q, k, v)))


def shifted(model):
    model.position.weight.data = model.position.weight.data.roll(1, dims=0)


def erf_form(model):
    for block in model.blocks:
        block.mlp.act = torch.nn.GELU()


def untransposed(model):
    for block in model.blocks:
        block.mha.W_O.weight.data = block.mha.W_O.weight.data.T.contiguous()


@pytest.mark.parametrize("broken", [broken_mask, shifted, erf_form, untransposed])
def test_the_comparison_notices_what_is_broken(broken, checkpoint):
    theirs = their_model()
    ours = load_gpt2(checkpoint)
    ids = torch.randint(53, (2, 17))
    assert difference(ours, theirs, ids) < 1e-5
    broken(ours)
    assert difference(ours, theirs, ids) > 1e-5


def test_dropout_is_kept(tmp_path):
    model = GPT(GPTConfig(11, 5, 8, 2, 1, dropout=0.3))
    save_gpt2(model, tmp_path)
    assert load_gpt2(tmp_path).config == model.config


def test_of_several_dropout_rates_the_residuals_rate_is_taken_with_a_warning(damaged):
    folder = damaged(embd_pdrop=0.3, attn_pdrop=0.0, resid_pdrop=0.2)
    with pytest.warns(UserWarning, match=r"config\.json: .* resid_pdrop = 0\.2"):
        assert load_gpt2(folder).config.dropout == 0.2


def test_shards_and_bare_names_and_half_precision_are_read(tmp_path):
    theirs = their_model()
    ids = torch.randint(53, (2, 13))
    sharded = written(theirs, tmp_path / "sharded", max_shard_size="20KB")
    assert len(list(sharded.glob("*.safetensors"))) > 2
    assert difference(load_gpt2(sharded), theirs, ids) < 1e-5
    bare = written(theirs.transformer, tmp_path / "bare")
    assert difference(load_gpt2(bare), theirs, ids) < 1e-5
    half = written(their_model().half(), tmp_path / "half")
    ours = load_gpt2(half)
    assert ours.position.weight.dtype == torch.float32
    assert difference(ours, theirs.half().float(), ids) < 1e-5


def test_a_checkpoint_survives_the_round_trip(checkpoint, tmp_path):
    ours = load_gpt2(checkpoint)
    save_gpt2(ours, tmp_path)
    back = GPT2LMHeadModel.from_pretrained(tmp_path)
    for name, parameter in their_model().named_parameters():
        assert torch.equal(parameter, back.get_parameter(name)), name
    again = load_gpt2(tmp_path)
    assert again.config == ours.config
    assert same_weights(ours, again)


def test_a_model_of_our_own_is_read_by_hugging_face(tmp_path):
    torch.manual_seed(0)
    ours = GPT(GPTConfig(53, 31, 21, 3, 2, activation="relu", expansion=2)).eval()
    save_gpt2(ours, tmp_path)
    theirs = GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    assert difference(ours, theirs, torch.randint(53, (2, 13))) < 1e-5


def test_a_name_is_looked_up_in_the_hubs_cache(checkpoint, tmp_path, monkeypatch):
    cache = tmp_path / "models--someone--tiny"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("0123456789abcdef")
    snapshot = cache / "snapshots" / "0123456789abcdef"
    shutil.copytree(checkpoint, snapshot)
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = load_gpt2("someone/tiny")
    assert model.config.embed_dim == 21
    with pytest.raises(ValueError, match="the hub gave no checkpoint of that name"):
        load_gpt2("someone/other")


def test_the_feed_forward_network_keeps_the_checkpoints_names():
    theirs = their_model().transformer.h[1].mlp
    config = GPTConfig(53, 31, 21, 3, 2)
    ours = GPT2MLP(84, config)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 5, 21)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-6, rtol=1e-5)
    assert isinstance(theirs, TheirMLP)
    with pytest.raises(ValueError, match=r"embed_dim = 21, got shape \(2, 20\)"):
        ours(torch.randn(2, 20))
    with pytest.raises(ValueError, match=r"intermediate_size must be .* got 0"):
        GPT2MLP(0, config)


def test_gpt2_smalls_feed_forward_network_has_its_parameters():
    with torch.device("meta"):
        mlp = GPT2MLP(3072, GPTConfig.gpt2("small"))
    assert count(mlp) == 4_722_432
    assert mlp.c_fc.weight.shape == (768, 3072)


test_a_contradictory_config_is_refused = refused(
    lambda change, *, damaged: load_gpt2(damaged(**change)),
    ({"n_embd": 24}, r"wte\.weight of shape \[53, 24\], got \[53, 21\]"),
    ({"n_embd": None}, "n_embd to be a whole number of at least 1, got None"),
    ({"n_layer": "2"}, "n_layer to be a whole number of at least 1, got '2'"),
    ({"n_layer": 3}, "expected n_layer = 3 blocks, got 2"),
    ({"n_layer": 1}, "expected n_layer = 1 blocks, got 2"),
    ({"n_head": 2}, "divisible by num_heads, got 21 and 2"),
    ({"vocab_size": 54}, r"wte\.weight of shape \[54, 21\], got \[53, 21\]"),
    ({"n_positions": 32}, r"wpe\.weight of shape \[32, 21\], got \[31, 21\]"),
    ({"n_inner": 85}, "n_inner to be a multiple of n_embd = 21, got 85"),
    ({"model_type": "llama"}, "model_type = 'gpt2', got 'llama'"),
    ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon = 1e-05, got 1e-06"),
    ({"activation_function": "tanh"}, "activation_function .* got 'tanh'"),
    ({"activation_function": ["relu"]}, r"activation_function .* got \['relu'\]"),
    ({"scale_attn_by_inverse_layer_idx": True}, "inverse_layer_idx = False"),
    ({"tie_word_embeddings": False}, r"embeddings = False, and no lm_head\.weight"),
    (dict.fromkeys(DROPOUTS, "x"), "embd_pdrop must be .* got 'x'"),
    naming=r"damaged.(config\.json|model\.safetensors)",
)


def rewritten(folder, edit):
    """Edit the tensors of a checkpoint, and return its folder."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path, {"format": "pt"})
    return folder


BIAS = "transformer.h.0.mlp.c_fc.bias"
EXTRA = {f"x{i}": torch.ones(1) for i in range(6)}
HEAD = {"lm_head.weight": torch.ones(53, 21)}


test_wrong_tensors_are_refused = refused(
    lambda edit, *, damaged: load_gpt2(rewritten(damaged(), edit)),
    (lambda t: t.pop(BIAS), rf"no tensor {BIAS}"),
    (lambda t: t.update(extra=torch.ones(2)), "unexpected tensors extra"),
    (lambda t: t.update(EXTRA), "unexpected tensors x0, x1, x2, x3, x4$"),
    (lambda t: t.update({BIAS: torch.ones(83)}), r"of shape \[84\], got \[83\]"),
    (lambda t: t[BIAS].fill_(float("nan")), f"finite numbers in {BIAS}"),
    (lambda t: t.update({BIAS: torch.ones(84).int()}), f"finite numbers in {BIAS}"),
    (lambda t: t.update(HEAD), r"lm_head\.weight equal to transformer\.wte\.weight"),
    naming=r"model\.safetensors",
)


def test_a_tied_head_and_old_masks_are_ignored(damaged):
    def edit(tensors):
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()
        tensors["transformer.h.0.attn.bias"] = torch.ones(1, 1, 31, 31)
        tensors["transformer.h.1.attn.masked_bias"] = torch.tensor(-1e4)

    ours = load_gpt2(rewritten(damaged(), edit))
    assert difference(ours, their_model(), torch.randint(53, (1, 5))) < 1e-5


def test_a_head_of_its_own_with_equal_numbers_and_a_head_alone_are_read(damaged):
    def head(tensors, take):
        tensors["lm_head.weight"] = take(tensors)("transformer.wte.weight").clone()

    ids = torch.randint(53, (1, 5))
    for take in (lambda t: t.get, lambda t: t.pop):
        folder = rewritten(damaged(tie_word_embeddings=False), partial(head, take=take))
        assert difference(load_gpt2(folder), their_model(), ids) < 1e-5


@pytest.mark.parametrize("name", ACTIVATION_NAMES)
def test_every_name_of_an_activation_is_the_librarys_function(name, tmp_path):
    theirs = their_model(activation_function=name)
    ours = load_gpt2(written(theirs, tmp_path))
    assert difference(ours, theirs, torch.randint(53, (2, 13))) < 1e-5


@pytest.mark.parametrize("vocab_size", [262, 300])
def test_transformers_finds_our_ids_and_no_more_in_an_exported_folder(
    vocab_size, tmp_path
):
    tokenizer = BPETokenizer.train("the ferry and the other ferry " * 9, vocab_size)
    size = tokenizer.vocab_size
    save_gpt2(GPT(GPTConfig(size, 16, 8, 2, 1)), tmp_path)
    tokenizer.save(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    theirs.pad_token = theirs.convert_ids_to_tokens(0)
    texts = ["the ferry", "the"]
    batch = theirs(texts, padding=True, return_tensors="pt")
    first, second = map(tokenizer.encode, texts)
    assert len(theirs) == size
    assert theirs.eos_token is None
    assert batch.input_ids.tolist() == [first, second + [0] * len(first[len(second) :])]
    model = GPT2LMHeadModel.from_pretrained(tmp_path)
    assert model(**batch).logits.shape == (2, len(first), size)


def test_a_file_cut_anywhere_is_refused(damaged):
    folder = damaged()
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little")
    ends = [0, 1, 7, 8, 9, 8 + header // 2, 7 + header, 8 + header, 9 + header]
    ends += [8 + header + 4 * 53 * 21, len(whole) // 2, len(whole) - 4, len(whole) - 1]
    for damaged_file in [*(whole[:end] for end in ends), whole + b"\0"]:
        path.write_bytes(damaged_file)
        with pytest.raises(ValueError, match=r"model\.safetensors: expected a whole"):
            load_gpt2(folder)


def test_a_flipped_byte_in_the_header_never_passes_for_another_model(damaged):
    """Either it is refused, or it touched nothing that is read (a note, a space)."""
    folder = damaged()
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little")
    expected = load_gpt2(folder).state_dict()
    draw = random.Random(0)
    refused = 0
    for place in [*range(8), *draw.sample(range(8, 8 + header), 60)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        try:
            found = load_gpt2(folder).state_dict()
        except ValueError as error:
            refused += "model.safetensors" in str(error)
        else:
            assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert refused > 60


def test_a_pickle_is_named(damaged):
    folder = damaged()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is a pickle"):
        load_gpt2(folder)


def test_missing_and_unreadable_files_are_named(damaged, tmp_path):
    with pytest.raises(ValueError, match="expected a checkpoint folder"):
        load_gpt2(tmp_path / "nowhere")
    folder = damaged()
    for text, message in (("{", "expected JSON"), ("[]", "expected a JSON object")):
        (folder / "config.json").write_text(text)
        with pytest.raises(ValueError, match=rf"config\.json: {message}"):
            load_gpt2(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ValueError, match=r"a file .*config\.json, found none"):
        load_gpt2(folder)


def test_broken_shards_are_named(tmp_path):
    folder = written(their_model(), tmp_path, max_shard_size="20KB")
    index = folder / "model.safetensors.index.json"
    stored = json.loads(index.read_text())
    shard = stored["weight_map"][BIAS]
    index.write_text(json.dumps(stored | {"weight_map": 3}))
    with pytest.raises(ValueError, match=r"index\.json: expected an object weight_map"):
        load_gpt2(folder)
    name = next(name for name, other in stored["weight_map"].items() if other != shard)
    index.write_text(json.dumps({"weight_map": stored["weight_map"] | {name: shard}}))
    with pytest.raises(ValueError, match=f"{shard}: no tensor {name}"):
        load_gpt2(folder)
    index.write_text(json.dumps(stored))
    (folder / shard).unlink()
    with pytest.raises(ValueError, match=rf"a file .*{shard}, found none"):
        load_gpt2(folder)


@pytest.mark.parametrize("change", [{"bias": False}, {"attention_only": (0,)}])
def test_what_gpt2_cannot_hold_is_not_saved(change, left_empty):
    model = GPT(GPTConfig(53, 31, 21, 3, 2, **change))
    with pytest.raises(ValueError, match="expected a GPT with biases and whole blocks"):
        save_gpt2(model, left_empty)
