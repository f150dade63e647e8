"""Damaged and foreign checkpoints are refused by the page, in a sentence."""

import base64
import json
import struct
import zipfile
from hashlib import sha256

from helpers.page_models import (
    SHAPE,
    TEXT,
    files_of,
    in_base64,
    in_js,
    made,
    without,
    zip_of,
)

from mygpt.checkpoint import digest, save_checkpoint
from mygpt.gpt import GPT, GPTConfig
from mygpt.modern import ModernConfig, ModernGPT
from mygpt.tokenizers import BPETokenizer, CharTokenizer

DAMAGED = "this file is damaged: "
NO_CHECKPOINT = "this is no checkpoint: expected the folder of one"


def assert_refused(cases, tmp_path):
    """The page refuses files or folders, each with its sentence."""
    given = [files for files, _ in cases]
    said = in_js("await Promise.all(given.map(tried))", given, tmp_path)
    for found, (_, wanted) in zip(said, cases, strict=True):
        assert wanted in found
        assert len(found) < 250


def damaged_zips(files):
    """Zips that cannot be read, and what is said of each."""
    whole = zip_of(files)
    flipped = bytearray(whole)
    place = whole.index(b"model.safetensors") + 1000
    flipped[place] ^= 1
    stored = bytearray(zip_of(files, zipfile.ZIP_STORED))
    stored[stored.index(b"chars.json") + 20] ^= 1
    locked = bytearray(whole)
    for at in (i for i in range(len(whole)) if whole.startswith(b"PK\x01\x02", i)):
        locked[at + 8] |= 1
    lying = bytearray(whole)
    row = whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 1)
    lying[row + 24 : row + 28] = struct.pack("<I", 5)
    large = bytearray(whole)
    large[row + 24 : row + 28] = struct.pack("<I", 2**31)
    return [
        (whole[:-400], f"{DAMAGED}expected a whole .zip, got one that ends too early"),
        (whole[4:20] + whole, NO_CHECKPOINT),
        (whole[:50] + whole[90:], f"{DAMAGED}expected a whole .zip, got one whose"),
        (flipped, f"{DAMAGED}run/model.safetensors: expected the "),
        (stored, f"{DAMAGED}run/chars.json: expected the "),
        (locked, "got an encrypted one"),
        (lying, "expected the 5 bytes that were packed, got others"),
        (large, "expected a .zip of at most 536870912 bytes, got 21"),
        (zip_of(files, zipfile.ZIP_BZIP2), "got compression 12"),
        (zip_of({"a.txt": ""}), "got run/a.txt"),
    ]


def test_a_damaged_zip_is_refused(tmp_path):
    model, tokenizer = made()
    zips = damaged_zips(files_of(save_checkpoint(tmp_path, model, tokenizer)))
    cases = [({"a.zip": in_base64(bytes(one))}, wanted) for one, wanted in zips]
    assert_refused(cases, tmp_path)


def changed(files, name, change):
    """The files with one of them changed, and the index made right for it."""
    contents = {key: base64.b64decode(one) for key, one in files.items()}
    index = json.loads(contents["checkpoint.json"])["content"]
    if name is None:
        change(index)
    else:
        contents[name] = change(contents[name])
        index["files"][name] = sha256(contents[name]).hexdigest()
    stored = {"sha256": digest(index), "content": index}
    contents["checkpoint.json"] = json.dumps(stored).encode()
    return {key: in_base64(one) for key, one in contents.items()}


def header_changed(change):
    """A change of the header of a safetensors file."""

    def change_file(content):
        (size,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + size])
        header = change(header) or header
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + content[8 + size :]

    return change_file


def set_to(*path, to):
    """A change of one value in nested dicts."""

    def change(content):
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = to

    return change


def refused(files):
    """Folders that cannot be read, and what is said of each."""
    model, tokens, index = "model.safetensors", "chars.json", "checkpoint.json"
    raw = base64.b64decode(files[model])
    flipped = in_base64(raw[:-1] + bytes([raw[-1] ^ 1]))
    edited = base64.b64decode(files[index]).replace(b'"step": 0', b'"step": 1')
    norm, empty = "ln_f.weight", {"shape": [0], "data_offsets": [0, 0]}

    def in_index(*path, to):
        return changed(files, None, set_to(*path, to=to))

    def with_header(change):
        return changed(files, model, header_changed(change))

    def in_header(*path, to):
        return with_header(set_to(*path, to=to))

    def in_tokens(text):
        return changed(files, tokens, lambda _: text)

    tokens_of = json.loads(base64.b64decode(files[tokens]))["tokens"]
    return [
        ({}, f"{NO_CHECKPOINT}, with checkpoint.json in it, got no"),
        (without(files, index), f"in it, got {tokens}, {model}"),
        (without(files, model), f"expected a file {model} beside {index}, got none"),
        (without(files, tokens), f"expected a file {tokens} beside {index}, got none"),
        (files | {model: flipped}, f"{DAMAGED}{model}: changed or cut short (expected"),
        (
            files | {index: in_base64(edited)},
            f"{DAMAGED}{index}: changed or cut short (expected the checksum",
        ),
        (files | {index: in_base64(b"{")}, f"{DAMAGED}{index}: expected JSON, got"),
        (files | {index: in_base64(b"[]")}, f"{index}: expected a JSON object, got []"),
        (files | {index: in_base64(b"{}")}, f"{index}: expected a content, got none"),
        (in_index("state", to=3), f"{index}: expected state, got 3"),
        (in_index("state", "step", to=1.5), "expected a step, got 1.5"),
        (in_index("format", to=1), "of format 2, got one of format 1"),
        (in_index("model", to="ModernGPT"), "expected a model of the kind GPT, got M"),
        (in_index("tokenizer", to=False), "expected a tokenizer beside the model"),
        (in_index("files", to={"../a": "0"}), 'expected plain file names, got "../a"'),
        (in_index("files", to={}), "got a run of many processes"),
        (in_index("config", "heads", to=2), 'the fields of a GPTConfig, got "heads"'),
        (in_index("config", "num_layers", to=0), "num_layers must be a whole number"),
        (in_index("config", "num_heads", to=3), "divisible by num_heads, got [16,3]"),
        (in_index("config", "num_heads", to=4), "expected heads of 8, 16, … channels"),
        (in_index("config", "dropout", to=1), "dropout must be at least 0 and below 1"),
        (in_index("config", "activation", to="tanh"), "activation must be one of gelu"),
        (in_index("config", "bias", to=1), "bias must be true or false, got 1"),
        (in_index("config", "attention_only", to=[1, 0]), "attention_only must be inc"),
        (in_index("config", "attention_only", to=[2]), "attention_only must be incr"),
        (in_index("config", "num_layers", to=10**9), "num_layers = 1000000000 blocks,"),
        (in_index("config", "max_seq_len", to=9), "position.weight of shape (9, 16),"),
        (in_index("config", "vocab_size", to=9), "the model's vocab_size = 9 tokens"),
        (changed(files, model, lambda one: one[:-4]), f"{model}: expected a safetens"),
        (changed(files, model, lambda one: one[:500]), "too few for its header"),
        (changed(files, model, lambda one: one[:5]), "got 5 bytes, too few"),
        (changed(files, model, lambda one: one + b"    "), "expected a safetensors fi"),
        (with_header(lambda _: [1]), "is not a JSON object"),
        (in_header(norm, "dtype", to="F16"), f"{norm} in float32 (F32), got F16"),
        (in_header(norm, "shape", to=[15]), f"expected {norm} of shape (15) in bytes"),
        (in_header(norm, "shape", to=[-1]), f"a shape and two offsets of {norm}"),
        (in_header(norm, "data_offsets", to=[0, 64]), "of shape (16) in bytes"),
        (in_header(norm, "shape", to=[4, 4]), f"{norm} of shape (16), got (4, 4)"),
        (
            with_header(lambda h: h.update({"ln_g.weight": h.pop(norm)})),
            f"expected {norm} of shape (16), got none",
        ),
        (
            with_header(lambda h: h.update(more={**h[norm], **empty})),
            "expected the parameters of a GPT, got more",
        ),
        (in_tokens(b"{}"), f"{tokens}: expected tokens, a list of characters"),
        (in_tokens(b'{"tokens": ["ab"]}'), "expected tokens, a list of characters"),
        (in_tokens(b'{"tokens": ["a", "a"]}'), "got one of them twice"),
        (
            in_tokens(json.dumps({"tokens": tokens_of[1:]}).encode()),
            f"vocab_size = {len(tokens_of)} tokens, got {len(tokens_of) - 1}",
        ),
    ]


def test_a_damaged_or_foreign_checkpoint_is_refused_in_a_sentence(tmp_path):
    model, tokenizer = made()
    files = files_of(save_checkpoint(tmp_path, model, tokenizer))
    assert_refused(refused(files), tmp_path)


def test_what_only_python_reads_is_refused(tmp_path):
    bytes_pairs = BPETokenizer.train(TEXT, 260)
    chars = CharTokenizer.train(TEXT)
    modern = ModernGPT(ModernConfig(chars.vocab_size, **SHAPE))
    cases = {
        "byte pairs, which only Python reads": (
            GPT(GPTConfig(bytes_pairs.vocab_size, **SHAPE)),
            bytes_pairs,
        ),
        "got ModernGPT, which runs in Python alone": (modern, chars),
        "expected a tokenizer beside the model": (made()[0], None),
    }
    saved = [
        (files_of(save_checkpoint(tmp_path / str(i), *one)), wanted)
        for i, (wanted, one) in enumerate(cases.items())
    ]
    assert_refused(saved, tmp_path)
