import io
import json
import os
import re
import shlex
import signal
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from helpers.gpt2_checkpoints import their_model
from helpers.parameters import changed_weights, same_weights
from transformers import GPT2LMHeadModel, GPT2Tokenizer

from mygpt import checkpoint, inference
from mygpt.checkpoint import checkpoints, digest, load_checkpoint
from mygpt.cli import commands
from mygpt.gpt import GPT, GPTConfig
from mygpt.huggingface import save_gpt2
from mygpt.inside.world_models import load_world_model, train_world_model
from mygpt.modern import ModernGPT
from mygpt.sampling import generate
from mygpt.tokenizers import (
    END_OF_TEXT,
    BPETokenizer,
    CharTokenizer,
    WordTokenizer,
    load_tokenizer,
)
from mygpt.training import Run

TEXT = "she sells sea shells by the sea shore. " * 60
SHAPE = ("--layers=1", "--heads=2", "--width=16", "--length=16")
SMALL = (*SHAPE, "--steps=6", "--batch-size=3", "--save-every=2", "--quiet")


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return str(path)


@pytest.fixture
def trained(corpus, tmp_path):
    """The folder of a small run."""
    run("train", corpus, "--out", tmp_path / "run", *SMALL)
    return tmp_path / "run"


def run(*arguments):
    return commands.main([str(argument) for argument in arguments])


@pytest.fixture
def shown(capsys):
    """Run a command that succeeds, and return its output and its errors."""

    def run_it(*arguments):
        capsys.readouterr()
        assert run(*arguments) == 0
        return capsys.readouterr()

    return run_it


@pytest.fixture
def fails(capsys):
    """Run a command that fails, and return what it says of why."""

    def run_it(why, *arguments):
        capsys.readouterr()
        assert run(*arguments) == 1
        said = capsys.readouterr().err
        assert said.startswith("mygpt: ")
        assert why in said
        return said

    return run_it


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ([], [GPT, CharTokenizer]),
        (["--recipe=modern", "--tokenizer=word"], [ModernGPT, WordTokenizer]),
        (["--tokenizer=bpe", "--vocab-size=270"], [GPT, BPETokenizer]),
    ],
)
def test_a_text_is_trained_on_and_continued(corpus, tmp_path, shown, options, kinds):
    out = tmp_path / "run"
    told = shown("train", corpus, "--out", out, *SMALL, *options).out
    assert "step 6: training loss" in told
    model, tokenizer, state = load_checkpoint(out)
    assert [type(model), type(tokenizer)] == kinds
    assert state["step"] == 6
    ids = torch.tensor([tokenizer.encode("she sells")])
    expected = tokenizer.decode(generate(model, ids, 5, greedy=True)[0].tolist())
    asked = ("--prompt", "she sells", "--tokens=5", "--greedy")
    assert shown("generate", out, *asked).out == expected + "\n"


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("she sells sea shells by the sea", "1 to max_seq_len = 16 ids, got 31"),
        ("she Ω", "unknown character 'Ω' at index 4"),
        ("", "--prompt: expected a text, got an empty one"),
    ],
)
def test_a_prompt_that_the_model_cannot_read_is_refused(trained, prompt, why, fails):
    fails(why, "generate", trained, "--prompt", prompt)


def test_training_is_resumed_without_further_options(corpus, tmp_path, capsys):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run("train", corpus, "--out", whole, *SMALL)
    run("train", corpus, "--out", cut, *SMALL)
    for path in checkpoints(cut)[1:]:  # as if it had stopped at step 4
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    assert [path.name for path in checkpoints(cut)] == ["step-00000004"]
    assert run("train", corpus, "--out", cut, "--resume", "--quiet") == 0
    last = "step-00000006/model.safetensors"
    assert (cut / last).read_bytes() == (whole / last).read_bytes()


def stop_at(step, monkeypatch):
    """Press Ctrl-C when a run has taken so many steps."""
    gradients = Run.gradients

    def interrupted(run):
        if run.step == step:
            signal.raise_signal(signal.SIGINT)
        return gradients(run)

    monkeypatch.setattr(Run, "gradients", interrupted)


def test_ctrl_c_saves_and_says_how_to_go_on(corpus, tmp_path, capsys, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut one"
    long = (*SMALL, "--save-every=100")
    run("train", corpus, "--out", whole, *long)
    with monkeypatch.context() as patch:
        stop_at(0, patch)
        assert run("train", corpus, "--out", cut, *long) == 130
        assert "before the first step: nothing is saved" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        stop_at(5, patch)
        assert run("train", corpus, "--out", cut, *long) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    stopped, told = said.split("; to go on: mygpt ")
    assert stopped == "mygpt: stopped after step 5, which is saved"
    assert commands.main(shlex.split(told)) == 0
    last = "step-00000006/model.safetensors"
    assert (cut / last).read_bytes() == (whole / last).read_bytes()


def test_a_run_that_goes_on_follows_what_it_can(corpus, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(4, patch)
        run("train", corpus, "--out", tmp_path, *SMALL, "--save-every=50")
    monkeypatch.setattr("mygpt.checkpoint.remove_earlier", lambda *_: None)
    again = ("--resume", "--quiet", "--save-every=1", "--device=cpu")
    assert run("train", corpus, "--out", tmp_path, *again) == 0
    assert [path.name[-1] for path in checkpoints(tmp_path)] == ["4", "5", "6"]
    assert load_checkpoint(tmp_path)[2]["config"]["save_every"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[::-1], "expected the ids that the run was begun with"),
        (lambda text: text[1:] + text[0], "expected the ids that the run was begun"),
        (lambda text: text[:-1] + "x", "unknown character 'x' at index 2339"),
        (lambda text: text[:-2] + " .", "its last tenth is another"),
        (lambda text: text * 2, "num_ids = 2106, but here it is 4212"),
    ],
)
def test_another_text_is_not_continued_with(change, message, tmp_path, fails):
    path = tmp_path / "text"
    path.write_text(TEXT)
    assert run("train", path, "--out", tmp_path / "run", *SMALL) == 0
    path.write_text(change(TEXT))
    again = ("train", path, "--out", tmp_path / "run", "--resume", "--quiet")
    said = fails(message, *again)
    assert said.startswith(f"mygpt: {path}: expected the text that {tmp_path / 'run'} ")


def test_a_vocabulary_that_a_text_cannot_fill_is_the_runs(corpus, tmp_path, fails):
    begun = ("train", corpus, "--out", tmp_path, *SMALL, "--tokenizer=bpe")
    assert run(*begun, "--vocab-size=900") == 0
    assert run(*begun, "--vocab-size=900", "--resume") == 0
    why = "--vocab-size 270: the run was started with"
    fails(why, *begun, "--vocab-size=270", "--resume")


def test_a_vocabulary_size_that_no_tokenizer_takes_is_refused(corpus, tmp_path, fails):
    train = ("train", corpus, "--out", tmp_path, *SMALL)
    fails("--vocab-size is for --tokenizer bpe", *train, "--vocab-size=1000")


@pytest.mark.parametrize(
    ("text", "told", "val"),
    [
        ("one two three four five six seven eight nine ten", "part: 1 token,", 0),
        ("one two three four five six seven", "validation part: 1 token,", 0),
        ("one two three four five six seven eight nine ten " * 2, "97 characters,", 1),
    ],
)
def test_a_short_text_is_trained_on_with_a_warning(text, told, val, tmp_path, shown):
    (tmp_path / "text").write_text(text.strip())
    options = ("--tokenizer=word", *SMALL, "--length=4")
    out, said = shown("train", tmp_path / "text", "--out", tmp_path / "run", *options)
    assert ("validation loss" in out) == bool(val)
    assert told in said
    assert "2,000 or more" in said


def test_a_folder_that_holds_another_run_is_left_alone(corpus, trained, fails):
    before = {path: path.read_bytes() for path in trained.rglob("*.*")}
    why = f"mygpt: {trained} holds another run: continue it (--resume) "
    other = ("train", corpus, "--out", trained, *SMALL, "--steps=3", "--seed=7")
    assert fails(why, *other) == f"{why}or name another folder\n"
    assert before == {path: path.read_bytes() for path in trained.rglob("*.*")}


def test_the_folder_that_is_printed_is_there(corpus, tmp_path, shown):
    told = shown("train", corpus, "--out", tmp_path / "run", *SMALL).out
    printed = Path(told.split("saved in ")[1].strip())
    assert load_checkpoint(printed)[2]["step"] == 6


def test_a_run_continues_on_its_device_or_says_that_it_cannot(corpus, trained, fails):
    index = trained / "step-00000006" / "checkpoint.json"
    content = json.loads(index.read_text())["content"]
    assert content["state"]["device"] == "cpu"
    content["state"]["device"] = "cuda:99"
    index.write_text(json.dumps({"sha256": digest(content), "content": content}))
    again = ("train", corpus, "--out", trained, "--resume", "--quiet")
    fails("no device 'cuda:99' on this machine", *again)
    assert run(*again, "--device=cpu") == 0


def test_a_mistyped_folder_is_named_when_the_hub_is_not_installed(monkeypatch, fails):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = fails("no folder 'runs-worl' here", "generate", "runs-worl", "--prompt=a")
    assert "pip install 'mygpt[hub]'" in said


def test_the_world_needs_no_file(tmp_path, shown, monkeypatch):
    monkeypatch.setattr("mygpt.data.WORLD_ROWS", 500)
    assert run("train", "world", "--out", tmp_path, *SMALL, "--steps=1") == 0
    assert isinstance(load_checkpoint(tmp_path)[1], WordTokenizer)
    told = shown("generate", tmp_path, "--prompt", "the capital of", "--seed=1").out
    assert "the capital of " in told


def test_a_checkpoint_becomes_a_gpt2_folder_and_comes_back(corpus, tmp_path, shown):
    out, theirs, back = tmp_path / "run", tmp_path / "hf", tmp_path / "back"
    run("train", corpus, "--out", out, *SMALL, "--tokenizer=bpe", "--vocab-size=270")
    assert "a GPT-2 folder" in shown("convert", out, theirs).out
    assert run("convert", theirs, back) == 0
    model, tokenizer, _ = load_checkpoint(out)
    again, tokenizer_again, _ = load_checkpoint(back)
    assert same_weights(model, again)
    assert tokenizer_again.encode(TEXT) == tokenizer.encode(TEXT)
    ids = torch.tensor([tokenizer.encode("sea shells")[:16]])
    with torch.no_grad():
        expected = GPT2LMHeadModel.from_pretrained(theirs).eval()(ids).logits
        torch.testing.assert_close(again(ids)[0], expected, atol=1e-5, rtol=1e-4)
    assert run("generate", theirs, "--prompt", "sea", "--tokens=2", "--greedy") == 0


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A folder as transformers 5 saves it, its model and its tokenizer."""
    files, folder = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("hf5")
    bpe = BPETokenizer.train(TEXT + "Mara asked for more tea", 299)
    bpe = BPETokenizer({**bpe.vocab, END_OF_TEXT: bpe.vocab_size}, bpe.merges)
    bpe.save(files)
    tokenizer = GPT2Tokenizer.from_pretrained(files)
    tokenizer.add_tokens(["harbour", "<name>"])
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    tokenizer.save_pretrained(folder)
    model = their_model(vocab_size=len(tokenizer) + 17).eval()
    model.save_pretrained(folder)
    return folder, model, tokenizer


def test_a_folder_of_transformers_goes_in_and_comes_out(theirs, tmp_path, shown):
    folder, model, tokenizer = theirs
    assert not (folder / "vocab.json").exists()
    inside, out = tmp_path / "inside", tmp_path / "out"
    out_text, said = shown("convert", folder, inside)
    assert "a checkpoint: " in out_text
    left = "generation_config.json, tokenizer_config.json"
    assert said == f"mygpt: not converted: {left}\n"
    assert shown("convert", inside, out).err == ""
    text = "Mara asked <name> for the harbour's tea <|pad|"
    ids = tokenizer(text)["input_ids"]
    ours, own, _ = load_checkpoint(inside)
    assert own.encode(text) == ids
    assert GPT2Tokenizer.from_pretrained(out)(text)["input_ids"] == ids
    batch = torch.tensor([ids])
    with torch.no_grad():
        expected = model(batch).logits
        back = GPT2LMHeadModel.from_pretrained(out).eval()(batch).logits
        assert torch.equal(back, expected)
        found = ours.eval()(batch)[0]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_rows_without_a_token_are_never_drawn(theirs, tmp_path, shown):
    """Beside 17 such rows, which a hot draw would often take, the text is the same."""
    folder, model, tokenizer = theirs
    asked = ["--prompt", "Mara asked", "--tokens=60", "--temperature=90", "--seed=2"]
    text, said = shown("generate", folder, *asked)
    assert text.startswith("Mara asked")
    assert said == ""
    assert run("convert", folder, tmp_path / "in") == 0
    assert shown("generate", tmp_path / "in", *asked).out == text
    assert run("generate", folder, *asked, "--inference=packed") == 0
    without = tmp_path / "without"
    cut = deepcopy(model)
    cut.resize_token_embeddings(len(tokenizer))
    cut.save_pretrained(without)
    tokenizer.save_pretrained(without)
    assert shown("generate", without, *asked).out == text


@pytest.mark.parametrize("command", ["generate", "convert"])
@pytest.mark.parametrize("kind", ["gpt2", "checkpoint"])
def test_fewer_rows_than_tokens_are_one_sentence_at_the_start(
    theirs, tmp_path, capsys, command, kind
):
    folder = tmp_path / "small"
    tokenizer = load_tokenizer(theirs[0])
    rows = tokenizer.vocab_size - 2
    model = GPT(GPTConfig(rows, 8, 4, 1, 1))
    if kind == "gpt2":
        save_gpt2(model, folder)
        tokenizer.save(folder)
    else:  # saved before sizes were compared
        folder = folder / "step-00000000"
        folder.mkdir(parents=True)
        checkpoint._write(folder, model, tokenizer, {"step": 0})
    target = {"generate": ["--prompt=M"], "convert": [tmp_path / "target"]}[command]
    assert run(command, folder, *target) == 1
    said = f"{rows + 2} tokens, but vocab_size = {rows}\n"
    told = f"mygpt: the tokenizer does not fit the model: {said}"
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize("kind", ["char", "word"])
def test_a_tokenizer_that_hugging_face_lacks_is_named(corpus, tmp_path, shown, kind):
    run("train", corpus, "--out", tmp_path / "run", *SMALL, f"--tokenizer={kind}")
    name = {"char": "character", "word": "word"}[kind]
    said = f"the {name} tokenizer, which has no Hugging Face form"
    told = shown("convert", tmp_path / "run", tmp_path / "hf").err
    assert told == f"mygpt: not converted: {said}\n"


def test_what_lies_beside_a_model_is_named(tmp_path, shown, fails):
    folder = tmp_path / "hf"
    save_gpt2(GPT(GPTConfig(53, 8, 4, 1, 1)), folder)
    path = folder / "config.json"
    ends = {"eos_token_id": 3, "task_specific_params": {"x": {}}, "pad_token_id": None}
    path.write_text(json.dumps(json.loads(path.read_text()) | ends))
    for name in ("spiece.model", "generation_config.json"):
        (folder / name).write_text("{}")
    assert shown("convert", folder, tmp_path / "in").err == (
        "mygpt: not converted: eos_token_id of config.json, task_specific_params of "
        "config.json, generation_config.json, spiece.model\n"
    )
    why = "tokenizer.json, or vocab.json and merges.txt"
    fails(why, "generate", folder, "--prompt=a")


def test_weights_for_inference_continue_a_text(corpus, tmp_path, shown):
    out = tmp_path / "run"
    run("train", corpus, "--out", out, *SMALL, "--width=32")
    asked = ("generate", out, "--prompt", "sea", "--tokens=9", "--greedy")
    plain = shown(*asked).out
    assert shown(*asked, "--inference=packed") == (plain, "")
    text, said = shown(*asked, "--inference=int8")
    assert text.startswith("sea")
    assert len(text) == len(plain)
    assert said == ""


def test_weights_that_this_machine_lacks_are_one_line(
    trained, shown, fails, monkeypatch
):
    asked = ("generate", trained, "--prompt", "sea", "--tokens=9", "--greedy")
    fails("mygpt: int8 weights need widths", *asked, "--inference=int8")
    plain = shown(*asked).out
    monkeypatch.setattr(inference, "fault", lambda form: "no such operator")
    line = "mygpt: no packed weights here, plain ones instead: no such operator\n"
    assert shown(*asked, "--inference=packed") == (plain, line)


def test_half_a_character_waits_for_the_other_half(tmp_path, shown):
    """A model that says the first byte of é, over and over."""
    tokenizer = BPETokenizer.train("", 256)
    model = GPT(GPTConfig(256, 8, 4, 1, 1))
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    with torch.no_grad():
        model.token.embedding.weight[tokenizer.encode("é")[0], 0] = 1
        model.ln_f.bias[0] = 1
    save_gpt2(model, tmp_path)
    tokenizer.save(tmp_path)
    asked = ("generate", tmp_path, "--prompt", "x", "--tokens=3", "--greedy")
    assert shown(*asked).out == "x" + 3 * "\N{REPLACEMENT CHARACTER}" + "\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nothing.txt", "--out=run"], "no file nothing.txt, and no corpus"),
        (["generate", "nowhere", "--prompt=a"], "no folder 'nowhere' here"),
        (["convert", "nowhere", "target"], "no folder 'nowhere' here"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, fails, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fails(message, *arguments).count("\n") == 1


def test_a_text_shorter_than_the_context_is_refused(tmp_path, fails):
    (tmp_path / "short.txt").write_text("hello")
    why = "short.txt is too short: expected at least 17 tokens"
    fails(why, "train", tmp_path / "short.txt", "--out", tmp_path / "run", *SMALL)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_empty_is_not_overwritten(trained, tmp_path, fails):
    fails("to be empty or not to exist", "convert", trained, tmp_path)


def test_a_damaged_checkpoint_is_named(trained, fails):
    last = checkpoints(trained)[-1] / "checkpoint.json"
    content = json.loads(last.read_text())
    content["content"]["state"]["step"] = 5
    last.write_text(json.dumps(content))
    fails(f"{last}: the checksum is wrong", "generate", trained, "--prompt", "she")


def test_training_without_options_is_small_and_repeatable():
    options = commands.build_parser().parse_args(["train", "stories", "--out", "run"])
    sizes = [options.layers, options.heads, options.width, options.length]
    assert sizes == [4, 4, 128, 64]
    assert [options.steps, options.batch_size, options.save_every] == [2000, 12, 250]
    assert [options.recipe, options.vocab_size, options.seed] == ["gpt2", 1000, 0]
    assert [options.machines, options.timeout] == [1, 120]


@pytest.fixture
def encoded(monkeypatch):
    """Give standard output an encoding; what it took is what the call returns."""

    def give(encoding):
        taken = io.BytesIO()
        stream = io.TextIOWrapper(taken, encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        return taken

    return give


ENCODINGS = ["ascii", "cp1252", "cp437", "shift_jis"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_is_shown_in_any_encoding(encoding, encoded, tmp_path):
    text = "\N{SNOWMAN} é Ω 時 " * 300
    (tmp_path / "text").write_text(text, encoding="utf-8")
    out = tmp_path / "wörld Ω"
    taken = encoded(encoding)
    assert run("train", tmp_path / "text", "--out", out, *SMALL) == 0
    assert run("generate", out, "--prompt", "\N{SNOWMAN} é", "--tokens=9") == 0
    shown = taken.getvalue().decode(encoding)
    assert "saved in " in shown
    assert "\\u2603" in shown


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_help_of_every_command_is_shown_in_any_encoding(encoding, encoded):
    taken = encoded(encoding)
    for command in ("train", "generate", "convert", "world-model", "workbook", "check"):
        with pytest.raises(SystemExit) as caught:
            run(command, "--help")
        assert caught.value.code == 0
    assert b"usage: mygpt check" in taken.getvalue()


def test_a_pipe_that_closes_is_no_error_of_the_users(trained, monkeypatch, capsys):
    generating = ("generate", trained, "--prompt=she", "--tokens=9")
    for arguments in (("check", "--list"), generating):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w") as closed, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", closed)
            assert run(*arguments) == 141
        assert capsys.readouterr().err == ""


def test_an_empty_prompt_begins_from_the_token_between_texts(tmp_path, shown):
    """The model repeats its last token's successor: the id after <|endoftext|>."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(257, 8, 4, 1, 1))
    save_gpt2(model, tmp_path)
    BPETokenizer.train("", 256).save(tmp_path)
    vocab = tmp_path / "vocab.json"
    added = json.loads(vocab.read_text("utf-8")) | {"<|endoftext|>": 256}
    vocab.write_text(json.dumps(added), "utf-8")
    expected = generate(model, torch.tensor([[256]]), 3, greedy=True)[0, 1:].tolist()
    assert 256 not in expected
    asked = ("generate", tmp_path, "--prompt", "", "--tokens=3", "--greedy")
    text = BPETokenizer.load(tmp_path).decode(expected)
    assert shown(*asked).out == text + "\n"


@pytest.mark.parametrize("command", ["train", "generate", "world-model"])
def test_help_gives_the_default_of_every_number_and_choice(command):
    (commands_of,) = commands.build_parser()._subparsers._group_actions
    parser = commands_of.choices[command]
    for action in parser._actions:
        if not action.required and (action.type or action.choices):
            said = parser._get_formatter()._expand_help(action)
            assert re.search(r"default: \S", said), action.option_strings


@pytest.mark.parametrize("command", ["train", "generate", "convert", "world-model"])
def test_help_says_what_goes_in_and_what_comes_out(command, capsys):
    with pytest.raises(SystemExit) as caught:
        run(command, "--help")
    assert caught.value.code == 0
    said = capsys.readouterr().out
    assert f"usage: mygpt {command}" in said
    assert "checkpoint" in said or "mygpt train" in said or "KIND is" in said


def test_a_world_model_is_trained_and_saved(tmp_path, shown, fails, monkeypatch):
    monkeypatch.setattr("mygpt.cli.world_model.train_world_model", short_training)
    out = tmp_path / "world-ordinary.safetensors"
    told = shown("world-model", "ordinary", "--seed", 5, "--out", out, "--quiet").out
    assert "stories 0" in told
    monkeypatch.setattr("mygpt.inside.world_models.FOLDER", tmp_path)
    made = short_training("ordinary", 5)
    back = load_world_model("ordinary")
    assert changed_weights(made.model, back.model) == set()
    nowhere = tmp_path / "no" / "file"
    again = ("world-model", "ordinary", "--quiet", "--out")
    fails("is not a folder", *again, nowhere)
    fails("--out: expected a file to write, got the folder", *again, tmp_path)


def short_training(kind: str, seed: int, progress: bool = False):
    return train_world_model(kind, seed, steps=1, num_rows=50, progress=progress)
