"""A model trained in the page, saved there, and read here; and the other way."""

import base64
import io
import json
import random
import zipfile
import zlib
from hashlib import sha256

import pytest
import torch
from helpers import node
from helpers.page_models import (
    FILES,
    IMPORTS,
    KINDS,
    TEXT,
    VARIANTS,
    files_of,
    in_base64,
    in_js,
    in_page,
    made,
    weights_of,
    without,
    write,
    zip_of,
)

from mygpt.checkpoint import load_checkpoint, save_checkpoint
from mygpt.cli.commands import main
from mygpt.data import split
from mygpt.sampling import generate
from mygpt.training import TrainingConfig, train


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_python_loads_what_the_page_saves(kind, changes, tmp_path, capsys):
    model, tokenizer = made(kind, **changes)
    given = in_page(model, kind, tokenizer)
    files = in_js("inBase64(saved(given))", given, tmp_path)
    run = tmp_path / "run"
    write(files, run)
    loaded, its_tokenizer, state = load_checkpoint(run)
    assert (loaded.config, state) == (model.config, {"step": 7})
    assert type(its_tokenizer) is type(tokenizer)
    assert its_tokenizer.tokens == tokenizer.tokens
    for name, weight in weights_of(model).items():
        assert torch.equal(weights_of(loaded)[name], weight)
    own = save_checkpoint(tmp_path / "own", model, tokenizer, {"step": 7})
    same = (own / "model.safetensors").read_bytes()
    assert (run / "step-00000007" / "model.safetensors").read_bytes() == same
    main(["generate", str(run), "--prompt", "Mara", "--tokens", "9", "--greedy"])
    ids = torch.tensor([tokenizer.encode("Mara")])
    wanted = generate(model, ids, 9, greedy=True)[0].tolist()
    assert capsys.readouterr().out == tokenizer.decode(wanted) + "\n"


def trained(folder, kind="characters", **changes):
    """A run that Python began: its model, and the folder."""
    model, tokenizer = made(kind, **changes)
    config = TrainingConfig(3, 2, save_every=1, eval_every=1, progress=False)
    ids, held = split(torch.tensor(tokenizer.encode(TEXT)))
    train(model, ids, config, val_data=held, out=folder, tokenizer=tokenizer)
    return model.eval(), tokenizer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_the_page_reads_what_python_trained(kind, changes, tmp_path):
    """The newest step of the run's folder, with a state full of numbers."""
    model, tokenizer = trained(tmp_path / "run", kind, **changes)
    given = files_of(tmp_path / "run", "run/")
    read = in_js("await read(given)", given, tmp_path)
    assert read == in_page(model, kind, tokenizer, step=3)


def test_both_write_the_same_text(tmp_path):
    """Python's greedy text, by the engine from the file that Python saved."""
    model, tokenizer = trained(tmp_path / "run")
    start = tokenizer.encode("Mara asked")
    first = """
    const { config, tensors, tokenizer } = await readCheckpoint(named(given.files));
    const network = makeNetwork(config, 1, config.positions);
    for (const [name, numbers] of tensors) numbersOf(network, name).set(numbers);
    const ids = given.start;
    let window = [...ids];
    for (let i = 0; i < 40; i += 1) {
      const scores = logitsOf(network, window).at(-1);
      ids.push(scores.indexOf(Math.max(...scores)));
      const full = window.length === config.positions;
      window = [...window.slice(full ? config.positions / 2 : 0), ids.at(-1)];
    }"""
    given = {"files": files_of(tmp_path / "run"), "start": start}
    imports = IMPORTS | {
        "{ logitsOf, makeNetwork, numbersOf }": "engine/network",
        "{ readCheckpoint }": "train_gpt/checkpoint",
    }
    text = node.in_node("tokenizer.decode(ids)", given, tmp_path, imports, first)
    ids = generate(model, torch.tensor([start]), 40, greedy=True)[0].tolist()
    assert text == tokenizer.decode(ids)


def test_a_zip_of_the_page_opens_here_and_there(tmp_path):
    model, tokenizer = made()
    zipped = "base64Of(zipped(saved(given), new Date(2031, 4, 6, 7, 8, 10)))"
    script = f"{{ zip: {zipped}, again: await read({{ 'a.zip': {zipped} }}) }}"
    given = in_page(model, "characters", tokenizer)
    out = in_js(script, given, tmp_path)
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(out["zip"]))) as file:
        assert file.testzip() is None
        for one in file.infolist():
            assert one.flag_bits & 0x800  # a name in UTF-8
            assert one.date_time == (2031, 5, 6, 7, 8, 10)
        file.extractall(tmp_path / "run")
    assert load_checkpoint(tmp_path / "run")[2] == {"step": 7}
    assert out["again"] == given


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_page_reads_a_zip_of_a_file_manager(compression, tmp_path):
    model, tokenizer = made()
    save_checkpoint(tmp_path / "run", model, tokenizer)
    content = zip_of(files_of(tmp_path / "run"), compression)
    given = {"run.zip": in_base64(content)}
    read = in_js("await read(given)", given, tmp_path)
    assert read == in_page(model, "characters", tokenizer, step=0)


def test_the_page_takes_the_newest_step_and_never_half_of_one(tmp_path):
    model, tokenizer = made()
    for step in (9, 10, 100):
        save_checkpoint(tmp_path / f"{step}", model, tokenizer, {"step": step})
    files = {}
    for step, name in ((9, "9"), (10, "10"), (100, "99.old"), (9, "99")):
        found = files_of(tmp_path / f"{step}" / f"step-{step:08d}")
        below = f"run/step-{name:0>8}/" if name.isdigit() else f"run/step-000000{name}/"
        files |= {below + key: one for key, one in found.items()}
    hidden = {"run/.step-00000200.tmp/checkpoint.json": in_base64(b"{")}
    others = without(files, *(name for name in files if "/step-00000099/" in name))
    given = [files, files | hidden, others]
    script = "(await Promise.all(given.map(read))).map(({ step }) => step)"
    steps = in_js(script, given, tmp_path)
    assert steps == [9, 9, 100]


def test_python_trains_on_from_a_model_of_the_page(tmp_path, capsys):
    """`train` takes it up; `--resume` needs the optimizer's state, and says so."""
    model, tokenizer = made()
    given = in_page(model, "characters", tokenizer)
    files = in_js("inBase64(saved(given))", given, tmp_path)
    write(files, tmp_path / "mine")
    model, tokenizer, _ = load_checkpoint(tmp_path / "mine")
    ids = torch.tensor(tokenizer.encode(TEXT))
    config = TrainingConfig(80, learning_rate=0.01, warmup_steps=5, progress=False)
    history = train(model, ids, config, out=tmp_path / "more", tokenizer=tokenizer)
    assert history.loss[-1] < 0.7 * history.loss[0]
    assert load_checkpoint(tmp_path / "more")[2]["step"] == 80
    (tmp_path / "mine.txt").write_text(TEXT, encoding="utf-8")
    command = ["train", str(tmp_path / "mine.txt"), "--out", str(tmp_path / "mine")]
    assert main([*command, "--resume"]) == 1
    assert "mine: not a checkpoint of `mygpt train`" in capsys.readouterr().err
    assert main(command) == 1
    assert "mine holds another run" in capsys.readouterr().err


def test_checksums_are_those_of_hashlib_and_zlib(tmp_path):
    draw = random.Random(1)
    parts = [draw.randbytes(n) for n in (*range(200), 5000, 100_003)]
    script = "given.map(bytesOf).map((one) => [sha256(one), crc32(one)])"
    imports = {
        "{ bytesOf }": FILES,
        "{ crc32 }": "train_gpt/zip",
        "{ sha256 }": "train_gpt/sha256",
    }
    given = [in_base64(one) for one in parts]
    found = node.in_node(script, given, tmp_path, imports)
    assert found == [[sha256(one).hexdigest(), zlib.crc32(one)] for one in parts]


def test_json_gets_the_canonical_form_of_python(tmp_path):
    content = {
        "z": [1, 1.0, -0.0, 1e-05, 1e16, 1.5e300, 123456789012345678901, 0.1 + 0.2],
        "\U0001f600": {"\ufffd": 1, "\U0001f600": 2, "é": '\x7f\x1f\n"\\/ 1.50 \ud800'},
        "": [[], {}, None, True, False, "1.0", 'a"1.0\\', "n1", "s1", "-5"],
        "1": 1,
        "0": {"b": {"a": 1.25, "a-1": 2}},
    }
    texts = [
        json.dumps({"content": content, "sha256": "1.0"}, **how)
        for how in ({}, {"indent": 2}, {"ensure_ascii": False, "indent": 2})
    ]
    script = "given.map((one) => canonical(one, 'content'))"
    given = [text.replace("\ud800", "\\ud800") for text in texts]
    imports = {"{ canonical }": "train_gpt/canonical"}
    found = node.in_node(script, given, tmp_path, imports)
    assert set(found) == {json.dumps(content, sort_keys=True)}
