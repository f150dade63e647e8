import json
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.refusals import refused

from mygpt import checkpoint
from mygpt.checkpoint import checkpoints, load_checkpoint, save_checkpoint
from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import save_gpt2
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer
from mygpt.training import TrainingConfig, train

TEXT = "ein Würfel, zwei Würfel, drei Würfel"
CONFIG = GPTConfig(23, 7, 15, 3, 2)
SETTINGS = TrainingConfig(2, batch_size=2, progress=False)
STATE = {
    "step": 5,
    "lr": 0.1 + 0.2,
    "names": ["a", None, True],
    "optimizers": [{"state": {"0": {"m": torch.arange(3.0)}}, "betas": [0.9, 0.99]}],
    "random": torch.arange(5, dtype=torch.uint8),
}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of step 5, in a folder of checkpoints."""
    return save_checkpoint(tmp_path, GPT(CONFIG), CharTokenizer.train(TEXT), STATE)


@pytest.mark.parametrize(
    "model",
    [
        GPT(CONFIG),
        GPT(replace(CONFIG, attention_only=(0,))),
        ModernGPT(ModernConfig(23, 7, 12, 2, 2)),
    ],
    ids=["gpt", "attention-only", "modern"],
)
def test_a_model_comes_back_to_the_bit(model, tmp_path):
    save_checkpoint(tmp_path, model)
    loaded, tokenizer, state = load_checkpoint(tmp_path)
    assert type(loaded) is type(model)
    assert loaded.config == model.config
    assert same(dict(loaded.state_dict()), dict(model.state_dict()))
    assert tokenizer is None
    assert state == {"step": 0}
    ids = torch.randint(23, (2, 7))
    assert torch.equal(loaded(ids)[0], model(ids)[0])


def test_a_state_of_numbers_text_and_tensors_comes_back_to_the_bit(saved):
    _, _, state = load_checkpoint(saved.parent)
    assert same(state, STATE)


@pytest.mark.parametrize(
    "tokenizer",
    [
        CharTokenizer.train(TEXT),
        WordTokenizer.train(TEXT),
        BPETokenizer.train(TEXT, 260),
    ],
    ids=lambda tokenizer: type(tokenizer).__name__,
)
def test_the_tokenizer_is_saved_and_loaded(tokenizer, tmp_path):
    save_checkpoint(tmp_path, GPT(replace(CONFIG, vocab_size=263)), tokenizer)
    _, loaded, _ = load_checkpoint(tmp_path)
    assert type(loaded) is type(tokenizer)
    assert loaded.encode(TEXT) == tokenizer.encode(TEXT)


def wrapped(model):
    return torch.compile(model, backend="eager")


def compiled_blocks(model):
    for block in model.blocks:
        block.compile(backend="eager")
    model.blocks[1] = wrapped(model.blocks[1])
    return model


@pytest.mark.parametrize(
    "change",
    [
        wrapped,
        compiled_blocks,
        lambda model: wrapped(compiled_blocks(model)),
        lambda model: model.bfloat16(),
        lambda model: model.double(),
        lambda model: model.requires_grad_(False),
    ],
    ids=["compiled", "blocks", "both", "half", "double", "frozen"],
)
@pytest.mark.parametrize(
    "plain",
    [
        lambda: GPT(CONFIG),
        lambda: ModernGPT(ModernConfig(23, 7, 12, 2, 2, zero_init=False)),
    ],
    ids=["gpt", "modern"],
)
@torch.compiler.set_stance("force_eager")  # which runs what is wrapped as it is
def test_a_wrapped_or_converted_model_comes_back_with_logits(plain, change, tmp_path):
    model = change(plain()).eval()
    save_checkpoint(tmp_path, model)
    loaded = load_checkpoint(tmp_path)[0].eval()
    assert type(loaded) is type(plain())
    ids = torch.randint(23, (2, 7))
    expected = model(ids)[0]
    assert loaded(ids)[0].dtype == expected.dtype
    assert torch.equal(loaded(ids)[0], expected)


class LargerGPT(GPT):
    pass


Namesake = type("GPT", (GPT,), {})


def changed_at(place, **attributes):
    """What sets attributes of a model's layer."""

    def change(model):
        layer = model.get_submodule(place)
        for name, value in attributes.items():
            setattr(layer, name, value)
        return model

    return change


def shared_block(model):
    model.blocks[1] = model.blocks[0]
    return model


def normed(model):
    torch.nn.utils.parametrizations.weight_norm(model.blocks[1].mlp.fc2)
    return model


def pruned(model):
    from torch.nn.utils import prune

    prune.l1_unstructured(model.blocks[0].mlp.fc1, "weight", 0.5)
    return model


def buffered(model):
    model.register_buffer("seen", torch.zeros(3))
    return model


def tied_by_hand(model):
    model = ModernGPT(ModernConfig(23, 7, 12, 2, 2))
    model.head.weight = model.token.embedding.weight
    return model


def second_type(model):
    model.blocks[1].to(torch.float16)
    return model


UNLIKE_ITS_CONFIG = [
    (lambda m: torch.nn.DataParallel(m), "got DataParallel"),
    (lambda m: LargerGPT(CONFIG), "got LargerGPT"),
    (lambda m: Namesake(CONFIG), "got GPT"),
    (lambda m: torch.nn.Linear(3, 3), "got Linear"),
    (changed_at("", head=torch.nn.Linear(15, 23)), "head.* absent"),
    (changed_at("", bias=torch.nn.Parameter(torch.zeros(3))), "bias absent"),
    (changed_at("", config=replace(CONFIG, embed_dim=18)), r"embedding.*= 18, got"),
    (changed_at("", config=replace(CONFIG, num_layers=1)), r"blocks\.1.* absent"),
    (changed_at("", config=dict(vars(CONFIG))), "got GPT"),
    (changed_at("blocks.0.mlp", act=torch.nn.ReLU()), "of GELU, got of ReLU"),
    (changed_at("blocks.0.mlp", act=torch.nn.GELU()), "'tanh', got = 'none'"),
    (changed_at("ln_f", eps=1e-3), r"ln_f\.eps = 1e-05, got = 0\.001"),
    (shared_block, r"blocks\.1"),
    (normed, r"blocks\.1\.mlp\.fc2"),
    (pruned, r"blocks\.0\.mlp\.fc1"),
    (buffered, "expected seen absent"),
    (tied_by_hand, r"head\.weight of shape \(23, 12\), got none of its own"),
    (second_type, r"one type, got torch\.float16 .*, torch\.float32 "),
    (lambda m: m.to("meta"), "got no numbers"),
]


@pytest.mark.parametrize(("change", "message"), UNLIKE_ITS_CONFIG)
def test_a_model_unlike_its_config_is_refused_before_a_step(
    change, message, left_empty
):
    model = change(GPT(CONFIG))
    for save in (
        lambda: save_checkpoint(left_empty, model),
        lambda: train(model, torch.arange(23), SETTINGS, out=left_empty),
        lambda: save_gpt2(model, left_empty),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            save()
        assert "\n" not in str(caught.value)


class OtherTokenizer(CharTokenizer):
    pass


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (OtherTokenizer(["a"]), "got OtherTokenizer"),
        (BPETokenizer.train(TEXT, 260), "260 tokens, but vocab_size = 23"),
        (CharTokenizer(map(chr, range(65, 89))), "24 tokens, but vocab_size = 23"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused_before_the_first_step(
    tokenizer, message, left_empty
):
    model = GPT(CONFIG)
    with pytest.raises(ValueError, match=message):
        save_checkpoint(left_empty, model, tokenizer)
    with pytest.raises(ValueError, match=message):
        train(model, range(23), SETTINGS, out=left_empty, tokenizer=tokenizer)


def save_with(state, *, left_empty):
    save_checkpoint(left_empty, GPT(CONFIG), None, {"step": 3} | state)


test_a_state_that_a_file_cannot_hold_leaves_nothing = refused(
    save_with,
    ({"numbers": {1, 2}}, "state/numbers: expected a number, .* got set"),
    ({"array": torch.zeros(3).numpy()}, "state/array: .* got ndarray"),
    ({"loss": float("nan")}, "not JSON compliant"),
    ({"text": "\ud800"}, "surrogates not allowed"),
    ({"sizes": [[0, print]]}, r"state/sizes/0/1: .* got builtin"),
    ({"of": {"a/b": 1}}, "state/of: expected keys of text without / .* got 'a/b'"),
    ({"of": {"tensor": 1}}, "state/of: expected keys .* got 'tensor'"),
    ({"of": {0: 1}}, "state/of: expected keys .* got 0"),
)


def test_numbers_of_numpy_in_a_state_come_back_as_pythons(tmp_path):
    state = {"step": np.int64(3), "loss": np.float32(0.5), "best": np.bool_(True)}
    save_checkpoint(tmp_path, GPT(CONFIG), None, state)
    assert load_checkpoint(tmp_path)[2] == {"step": 3, "loss": 0.5, "best": True}


@torch.compiler.set_stance("force_eager")
def test_a_compiled_models_run_goes_on_to_a_plain_ones_bits(tmp_path):
    """Muon, too, finds the matrices in its blocks."""
    found = []
    for wrap in (lambda m: m, lambda m: wrapped(compiled_blocks(m))):
        for resume in (False, True):
            torch.manual_seed(3)
            model = wrap(GPT(CONFIG))
            config = replace(SETTINGS, optimizer="muon", save_every=1)
            out = tmp_path / str(len(found) // 2)
            train(model, range(23), config, out=out, resume=resume)
            found.append(dict(load_checkpoint(out)[0].state_dict()))
            shutil.rmtree(out / "step-00000002")
    for weights in found[1:]:
        assert same(weights, found[0])


def test_nothing_in_it_is_pickled(saved):
    names = {path.name for path in saved.iterdir()}
    assert names == {
        "checkpoint.json",
        "chars.json",
        "model.safetensors",
        "training.safetensors",
    }
    for path in saved.glob("*.json"):
        json.loads(path.read_text())


def test_the_last_two_are_kept_and_the_newest_is_loaded(tmp_path):
    for step in (1, 20, 300):
        save_checkpoint(tmp_path, GPT(CONFIG), state={"step": step})
    assert [path.name[-3:] for path in checkpoints(tmp_path)] == ["020", "300"]
    assert load_checkpoint(tmp_path)[2] == {"step": 300}
    assert load_checkpoint(tmp_path / "step-00000020")[2] == {"step": 20}


def test_the_same_step_is_saved_again(tmp_path):
    save_checkpoint(tmp_path, GPT(CONFIG))
    model = GPT(CONFIG)
    save_checkpoint(tmp_path, model)
    loaded, _, _ = load_checkpoint(tmp_path)
    assert same(dict(loaded.state_dict()), dict(model.state_dict()))


def test_a_checkpoint_just_written_is_never_the_one_removed(tmp_path):
    for step in (20, 40, 10):
        assert save_checkpoint(tmp_path, GPT(CONFIG), state={"step": step}).is_dir()
    assert [checkpoint.step_of(path) for path in checkpoints(tmp_path)] == [10, 20, 40]


@pytest.fixture
def before_each(saved, monkeypatch):
    """Have a function called with the name and the path of each call on files."""

    def watch(see, *names):
        owners = {"rename": type(saved), "rmtree": shutil}
        for name in names:
            owner = owners.get(name, checkpoint)
            call = getattr(owner, name)

            def seen(path, *args, name=name, call=call, **options):
                see(name, path)
                return call(path, *args, **options)

            monkeypatch.setattr(owner, name, seen)

    return watch


class Killed(BaseException):
    """The machine loses power."""


def test_a_kill_while_a_step_is_saved_again_leaves_one_of_the_two(
    saved, before_each, monkeypatch
):
    """After every renaming and every removal, one of the two is found and loads."""
    again = STATE | {"lr": 2.0}
    for stop in range(1, 20):
        calls = iter(range(stop))

        def kill(*_, calls=calls):
            if next(calls, None) is None:
                raise Killed

        before_each(kill, "rename", "rmtree")
        try:
            save_checkpoint(saved.parent, GPT(CONFIG), None, again)
        except Killed:
            pass
        else:
            break
        finally:
            monkeypatch.undo()
        state = load_checkpoint(saved.parent)[2]
        assert state["step"] == 5
        assert state["lr"] in (STATE["lr"], 2.0)
    assert 4 <= stop < 19
    assert load_checkpoint(saved.parent)[2]["lr"] == 2.0
    assert checkpoints(saved.parent) == [saved]
    assert [p for p in saved.parent.iterdir() if not p.name.startswith(".")] == [saved]


def test_a_step_that_cannot_be_saved_again_keeps_its_name(
    saved, before_each, monkeypatch
):
    renamed = []

    def second_fails(_, path):
        renamed.append(path)
        if len(renamed) == 2:
            raise OSError(28, "No space left on device")

    before_each(second_fails, "rename")
    with pytest.raises(OSError, match="step-00000005: saving the checkpoint failed"):
        save_checkpoint(saved.parent, GPT(CONFIG), None, STATE | {"lr": 2.0})
    monkeypatch.undo()
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert same(load_checkpoint(saved.parent)[2], STATE)


def test_the_folders_names_are_on_the_disk_before_a_removal(saved, before_each):
    log = []
    noted = lambda name, path: log.append((name, path.name))  # noqa: E731
    before_each(noted, "rename", "sync", "rmtree")
    save_checkpoint(saved.parent, GPT(CONFIG), state=STATE)
    placed = log.index(("rename", ".step-00000005.tmp"))
    assert log[placed + 1] == ("sync", saved.parent.name)
    assert ("rmtree", ".step-00000005.old.removed") in log[placed + 2 :]


def test_every_file_is_on_the_disk_before_its_index(saved, before_each):
    log = []
    before_each(lambda _, path: log.append(path.name), "sync", "write_json")
    folder = save_checkpoint(saved.parent, GPT(CONFIG), state=STATE)
    files = {path.name for path in folder.iterdir()} - {checkpoint.INDEX}
    assert len(files) >= 2
    assert set(log[: log.index(checkpoint.INDEX)]) == files


def test_the_plain_name_wins_where_an_earlier_save_of_the_step_was_left(saved):
    shutil.copytree(saved, saved.with_name(f"{saved.name}.old"))
    assert checkpoint.checkpoints(saved.parent) == [saved]
    assert checkpoint.newest(saved.parent) == saved


def test_what_an_interrupted_save_leaves_is_not_a_checkpoint(saved):
    shutil.copytree(saved, saved.with_name(".step-00000009.tmp"))
    assert checkpoints(saved.parent) == [saved]
    assert load_checkpoint(saved.parent)[2]["step"] == 5


@pytest.mark.parametrize("place", ["model", "training", "index", "rename"])
def test_a_full_disk_leaves_the_earlier_checkpoint(
    saved, before_each, monkeypatch, place
):
    """However a save fails, the earlier checkpoint still loads."""

    def full(*args):
        raise OSError(28, "No space left on device")

    real = checkpoint.save_file

    def save_file(tensors, path):
        if path.stem == place:
            path.write_bytes(b"half of")
            full()
        real(tensors, path)

    if place in ("model", "training"):
        monkeypatch.setattr(checkpoint, "save_file", save_file)
    else:
        before_each(full, {"index": "write_json"}.get(place, place))
    with pytest.raises(OSError, match=r"step-00000009: .* No space left on device"):
        save_checkpoint(saved.parent, GPT(CONFIG), None, STATE | {"step": 9})
    monkeypatch.undo()
    assert sorted(path.name for path in saved.parent.iterdir()) == [saved.name]
    assert same(load_checkpoint(saved.parent)[2], STATE)


def test_a_file_cut_or_changed_anywhere_is_refused(saved):
    draw = random.Random(0)
    for path in sorted(saved.iterdir()):
        whole = path.read_bytes()
        header = int.from_bytes(whole[:8], "little")
        inside = header if path.suffix == ".safetensors" else len(whole) // 3
        ends = {0, 1, 7, 8, 9, 8 + inside // 2, 8 + inside, 9 + inside, len(whole) - 2}
        for end in sorted(end for end in ends if end < len(whole)):
            path.write_bytes(whole[:end])
            with pytest.raises(ValueError, match=rf"{path.name}: (the check|expected)"):
                load_checkpoint(saved)
        for _ in range(25):
            flipped = bytearray(whole)
            flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            try:
                load_checkpoint(saved)
            except ValueError as error:
                said = str(error)
            else:
                said = "nothing"
                assert json.loads(flipped) == json.loads(whole)  # a space, a line end
            assert said == "nothing" or path.name in said
        path.write_bytes(whole)
    load_checkpoint(saved)


def test_a_missing_file_is_named(saved):
    for path in sorted(saved.iterdir()):
        kept = path.read_bytes()
        path.unlink()
        with pytest.raises(ValueError, match="found none"):
            load_checkpoint(saved)
        path.write_bytes(kept)


def changed(folder, **fields):
    """Rewrite checkpoint.json with other content and the right checksum."""
    index = folder / checkpoint.INDEX
    content = checkpoint.read_index(index) | fields
    stored = {"content": content, "sha256": checkpoint.digest(content)}
    checkpoint.write_json(index, stored)


WIDER, LOWER = vars(GPTConfig(23, 7, 16, 4, 2)), vars(GPTConfig(23, 7, 15, 3, 1))


def load_changed(fields, *, saved):
    changed(saved, **fields)
    load_checkpoint(saved)


test_a_config_that_contradicts_the_tensors_is_refused = refused(
    load_changed,
    ({"model": "Sphinx"}, "expected a model among GPT, ModernGPT; got Sphinx"),
    ({"config": {"vocab_size": 23}}, r"checkpoint\.json: config: .*max_seq_len"),
    ({"config": WIDER}, r"model\.safetensors: .*token\.embedding\.weight"),
    ({"config": LOWER}, r"model\.safetensors: expected num_layers = 1 blocks, got 2"),
    ({"config": vars(CONFIG) | {"num_heads": 4}}, r"\.json: config: .*divisible"),
    (
        {"config": vars(CONFIG) | {"max_seq_len": 8}},
        r"position\.weight of shape \(8, 15\), got \(7, 15\)",
    ),
)


@pytest.mark.parametrize("found", [1, 3])
def test_a_checkpoint_of_another_format_is_refused(saved, found):
    changed(saved, format=found)
    with pytest.raises(ValueError, match="expected a checkpoint") as caught:
        load_checkpoint(saved.parent)
    assert str(caught.value) == (
        f"{saved}: expected a checkpoint of format 2, got one of format {found}; "
        "train again, or load it with the version of mygpt that saved it"
    )


def test_an_empty_folder_is_not_a_checkpoint(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ValueError, match=r"a checkpoint in .*, found none"):
            load_checkpoint(folder)
