import errno
import functools
import hashlib
import http.server
import io
import json
import math
import os
import pickle
import sys
import threading
from urllib.parse import urljoin

import numpy as np
import pytest
import torch
from helpers.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from mygpt import data
from mygpt.data import Batches, load_corpus, open_tokens, split, windows, write_tokens
from mygpt.world.corpus import World

PLAY = "FIRST CITIZEN:\nBefore we proceed any further, hear me speak.\n" * 23
PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# Corpora


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of downloads, and nothing in the environment that could help."""
    import pooch

    monkeypatch.delenv("MYGPT_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "mygpt"


@pytest.fixture
def site(tmp_path, monkeypatch, cache):
    """A server on this machine from which tinyshakespeare comes."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "input.txt").write_bytes(PLAY.encode())
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        address = f"http://127.0.0.1:{server.server_port}/input.txt"
        known = {"tinyshakespeare": (address, sha256(PLAY))}
        monkeypatch.setattr(data, "DOWNLOADS", known)
        yield asked
        server.shutdown()


@pytest.mark.parametrize("text", ["Mara", "\ufeffMara", "M\ufeffara"])
def test_only_a_byte_order_mark_at_the_start_is_no_character(text, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8-sig")
    assert load_corpus(path) == text


def test_the_world_is_a_corpus_that_needs_nothing(monkeypatch):
    monkeypatch.setattr(data, "WORLD_ROWS", 17)
    assert load_corpus("world") == World().text(17)


def test_the_stories_come_with_the_package():
    text = load_corpus("stories")
    stories = text.split("\n\n")
    assert text.isascii()
    assert len(text) == 134_015
    assert len(set(stories)) == 280
    assert all(400 <= len(story) <= 660 for story in stories)


def test_a_corpus_is_downloaded_once(site, cache):
    assert load_corpus("tinyshakespeare") == PLAY
    assert load_corpus("tinyshakespeare") == PLAY
    assert len(site) == 1
    assert (cache / "tinyshakespeare.txt").read_text() == PLAY


def test_a_download_with_another_hash_is_refused_and_not_kept(site, cache, monkeypatch):
    (address, _) = data.DOWNLOADS["tinyshakespeare"]
    expected = sha256("another text")
    monkeypatch.setitem(data.DOWNLOADS, "tinyshakespeare", (address, expected))
    with pytest.raises(ValueError, match=r"tinyshakespeare\.txt") as caught:
        load_corpus("tinyshakespeare")
    assert expected in str(caught.value)
    assert sha256(PLAY) in str(caught.value)
    assert not list(cache.iterdir())


def test_a_damaged_download_in_the_cache_is_fetched_again(site, cache):
    load_corpus("tinyshakespeare")
    (cache / "tinyshakespeare.txt").write_text(PLAY[:-1])
    assert load_corpus("tinyshakespeare") == PLAY
    assert len(site) == 2


@pytest.mark.parametrize("wrong", ["http://127.0.0.1:9/input.txt", "output.txt"])
def test_a_failed_download_says_what_to_do_instead(wrong, site, monkeypatch):
    address, expected = data.DOWNLOADS["tinyshakespeare"]
    address = urljoin(address, wrong)
    monkeypatch.setitem(data.DOWNLOADS, "tinyshakespeare", (address, expected))
    with pytest.raises(
        OSError, match=rf"download tinyshakespeare from {address}: .* path of a text"
    ):
        load_corpus("tinyshakespeare")


def test_without_pooch_the_message_says_how_to_get_it(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"tinyshakespeare needs pooch.*mygpt\[hub\]"):
        load_corpus("tinyshakespeare")


def test_a_corpus_in_the_data_folder_is_taken_from_there(site, tmp_path, monkeypatch):
    monkeypatch.setenv("MYGPT_DATA", str(tmp_path))
    assert load_corpus("tinyshakespeare") == PLAY  # not there: downloaded
    (tmp_path / "tinyshakespeare.txt").write_bytes(PLAY.encode())
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert load_corpus("tinyshakespeare") == PLAY
    (tmp_path / "tinyshakespeare.txt").write_bytes(b"To be")
    with pytest.raises(
        ValueError,
        match=rf"{tmp_path}/tinyshakespeare.txt: "
        rf"expected SHA-256 {sha256(PLAY)}, got {sha256('To be')}",
    ):
        load_corpus("tinyshakespeare")


def test_tinyshakespeare_has_its_known_address_and_hash():
    address, expected = data.DOWNLOADS["tinyshakespeare"]
    assert address.endswith("/karpathy/char-rnn/master/data/tinyshakespeare/input.txt")
    assert expected.startswith("86c4e6aa")
    assert len(expected) == 64


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_gives_the_text_of_the_file(kind, tmp_path):
    path = tmp_path / "world"
    path.write_text("zażółć 🙂\nΔ\n", encoding="utf-8")
    assert load_corpus(kind(path)) == "zażółć 🙂\nΔ\n"


def test_a_path_is_never_taken_for_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "world").write_text("a file")
    assert load_corpus("./world") == "a file"


def test_a_missing_file_is_named(tmp_path):
    known = r"no file .*\(stories, world, tinyshakespeare\)"
    with pytest.raises(FileNotFoundError, match=known):
        load_corpus(tmp_path / "plays.txt")


def load_file(content, *, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    load_corpus(tmp_path / "a.txt")


test_bad_utf8_and_a_file_without_text_are_refused = refused(
    load_file,
    *((b"a" * at + b"\xe9t\xe9", f"UTF-8: .* byte {at}") for at in (0, 7, 100_003)),
    *((content, "holds no text") for content in (b"", b" \n\n", b"\xef\xbb\xbf")),
    naming=r"/a\.txt ",
)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=rf"{tmp_path} is a folder; expected a text"):
        load_corpus(tmp_path)


# Splits and files of ids


def stored(ids, path):
    """The ids as they come back from a file."""
    write_tokens(ids, path)
    return open_tokens(path)


def test_a_split_cuts_once_and_keeps_every_id():
    for ids in (list(range(101)), np.arange(101), torch.arange(101)):
        train, val = split(ids)
        assert (len(train), len(val)) == (90, 11)
        assert [*train, *val] == list(range(101))
    assert [len(part) for part in split(range(7), val_fraction=0.0)] == [7, 0]


test_a_split_needs_a_fraction = refused(
    functools.partial(split, PRIMES),
    *((one, f"at least 0 and below 1, got {one}") for one in (-0.1, 1.0, math.nan)),
)


@pytest.mark.parametrize(
    "kind", [list, tuple, iter, np.array, torch.tensor, lambda ids: np.array(ids, "u1")]
)
def test_ids_of_any_kind_come_back_from_their_file(kind, tmp_path):
    ids = stored(kind(PRIMES), tmp_path / "ids")
    assert isinstance(ids, np.memmap)
    assert ids.tolist() == PRIMES
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]


@pytest.mark.parametrize(("largest", "width"), [(2**16 - 1, 2), (2**16, 4)])
def test_a_file_takes_two_bytes_for_an_id_where_they_suffice(largest, width, tmp_path):
    ids = stored([3, largest, 0], tmp_path / "ids.npy")
    assert (ids.itemsize, ids.tolist()) == (width, [3, largest, 0])
    assert np.load(tmp_path / "ids.npy").tolist() == [3, largest, 0]


test_only_a_sequence_of_ids_is_written = refused(
    lambda ids, *, left_empty: write_tokens(ids, left_empty / "ids"),
    ([], "at least 1 ids, got 0"),
    ([3, -1], r"from 0 to 2\^32 - 1, got -1 to 3"),
    ([3, 2**32], "got 3 to 4294967296"),
    (np.array([1.5]), "whole numbers as ids, got float64"),
    (np.array([True]), "whole numbers as ids, got bool"),
    (np.ones((2, 3), int), r"a sequence of ids, got shape \(2, 3\)"),
)


def test_a_failed_write_leaves_the_earlier_file(tmp_path, monkeypatch):
    write_tokens(PRIMES, tmp_path / "ids")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_tokens([0, 1], tmp_path / "ids")
    assert open_tokens(tmp_path / "ids").tolist() == PRIMES
    assert [path.name for path in tmp_path.iterdir()] == ["ids"]


def test_a_reader_of_the_earlier_file_is_not_disturbed(tmp_path):
    before = stored(PRIMES, tmp_path / "ids")
    assert stored([0, 1], tmp_path / "ids").tolist() == [0, 1]
    assert before.tolist() == PRIMES


def other_files():
    """Files of another format, and one of many arrays."""
    archive = io.BytesIO()
    np.savez(archive, ids=np.arange(7))
    return [b"To be", pickle.dumps(PRIMES), archive.getvalue()]


def of_another_shape(whole):
    """A file of ids whose header promises another number of ids."""
    length = f"({len(PRIMES)},)".encode()
    for shape in (b"(%d,)" % 10**30, b"(2,%d)" % 10**24, b"(-3,)", b"('a',)"):
        padding = b" " * (len(shape) - len(length))
        damaged = whole.replace(length, shape, 1)
        yield damaged.replace(padding + b"\n", b"\n", 1)


def test_a_file_cut_anywhere_or_of_another_shape_or_format_is_refused(tmp_path):
    path = tmp_path / "ids"
    write_tokens(PRIMES, path)
    whole = path.read_bytes()
    cut = [*(whole[:n] for n in range(len(whole))), whole + b"\0"]
    for content in [*cut, *of_another_shape(whole), *other_files()]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="ids is not a complete file of token ids"):
            open_tokens(path)
    with pytest.raises(FileNotFoundError, match="ids"):
        open_tokens(tmp_path / "no" / "ids")


def test_a_flipped_bit_of_the_header_is_refused_or_harmless(tmp_path):
    path = tmp_path / "ids"
    write_tokens(PRIMES, path)
    whole = path.read_bytes()
    refused = []
    for i in range(len(whole) - 2 * len(PRIMES)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1 << i % 7]) + whole[i + 1 :])
        try:
            assert open_tokens(path).tolist() == PRIMES
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert all(str(path) in message for message in refused)


@pytest.mark.parametrize(
    "content", [np.arange(7.0), np.ones((2, 3), "u2"), np.arange(7), np.array(["a"])]
)
def test_an_array_of_something_else_is_refused(content, tmp_path):
    np.save(tmp_path / "ids.npy", content)
    with pytest.raises(ValueError, match=rf"ids.npy is not .*: {content.dtype} of"):
        open_tokens(tmp_path / "ids.npy")


# Batches


def test_targets_are_the_inputs_one_step_on():
    inputs, targets = next(Batches(PRIMES, batch_size=3, length=5, seed=2))
    assert inputs.dtype == targets.dtype == torch.int64
    assert inputs.shape == targets.shape == (3, 5)
    for row, following in zip(inputs.tolist(), targets.tolist(), strict=True):
        start = PRIMES.index(row[0])
        assert row == PRIMES[start : start + 5]
        assert following == PRIMES[start + 1 : start + 6]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 13), st.integers(1, 7), st.integers(0, 5), st.integers(0, 2**63))
def test_a_batch_never_crosses_the_end(length, batch_size, spare, seed):
    ids = np.arange(length + 1 + spare)
    batches = Batches(ids, batch_size, length, seed)
    for _ in range(3):
        inputs, targets = next(batches)
        assert torch.equal(inputs, inputs[:, :1] + torch.arange(length))
        assert torch.equal(targets, inputs + 1)
        assert targets.max() < len(ids)


def test_every_window_is_drawn_equally_often():
    inputs, _ = next(Batches(range(11), batch_size=7000, length=4))
    counts = inputs[:, 0].bincount()
    assert len(counts) == 7
    assert (counts - 1000).abs().max() < 150


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor, "file"])
def test_all_kinds_of_ids_give_the_same_batches(kind, tmp_path):
    ids = stored(PRIMES, tmp_path / "ids") if kind == "file" else kind(PRIMES)
    ours, theirs = Batches(ids, 3, 5), Batches(torch.tensor(PRIMES).int(), 3, 5)
    for _ in range(4):
        for one, other in zip(next(ours), next(theirs), strict=True):
            assert torch.equal(one, other)


def test_a_file_of_ids_is_not_read_into_memory(tmp_path):
    ids = stored(PRIMES, tmp_path / "ids")
    assert np.shares_memory(Batches(ids, 3, 5).ids, ids)


def test_batches_neither_change_nor_use_the_global_random_state():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    one = next(Batches(PRIMES, 17, 2, seed=3))[0]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(next(Batches(PRIMES, 17, 2, seed=3))[0], one)
    assert not torch.equal(next(Batches(PRIMES, 17, 2, seed=4))[0], one)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_saved_position_continues_with_the_same_bits(steps):
    batches = Batches(PRIMES, 7, 3, seed=5)
    for _ in range(steps):
        next(batches)
    state = batches.state_dict()
    expected = [next(batches) for _ in range(3)]
    generator = state.pop("generator")
    assert generator.dtype == torch.uint8
    again = Batches(PRIMES, 7, 3, seed=99)
    again.load_state_dict(json.loads(json.dumps(state)) | {"generator": generator})
    for one, other in zip(expected, [next(again) for _ in range(3)], strict=True):
        assert torch.equal(one[0], other[0])


test_a_position_saved_in_other_batches_is_refused = refused(
    lambda *other: Batches(*other).load_state_dict(Batches(PRIMES, 7, 3).state_dict()),
    (PRIMES[1:], 7, 3, "num_ids = 11, but here it is 10"),
    (PRIMES, 5, 3, "batch_size = 7, but here it is 5"),
    (PRIMES, 7, 2, "length = 3, but here it is 2"),
)


STATE = Batches(PRIMES, 7, 3).state_dict()
test_a_damaged_position_is_refused_and_its_field_named = refused(
    Batches(PRIMES, 7, 3).load_state_dict,
    *(({k: STATE[k] for k in STATE.keys() - {f}}, f) for f in ("num_ids", "generator")),
    (STATE | {"generator": torch.zeros(3).byte()}, "generator"),
)


test_batches_of_anything_but_a_window_of_ids_are_refused = refused(
    Batches,
    *((PRIMES[:count], 3, 5, f"at least 6 ids, got {count}") for count in (0, 1, 5)),
    (torch.zeros(2, 7, dtype=torch.long), 3, 5, r"of ids, got shape \(2, 7\)"),
    (torch.zeros(7), 3, 5, "whole numbers as ids, got float32"),
    (PRIMES, 0, 5, "batch_size must be a whole number"),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(1, 13), st.integers(1, 5))
def test_windows_count_each_target_once(num_ids, length, batch_size):
    seen = []
    for inputs, targets in windows(range(num_ids), length, batch_size):
        assert inputs.shape == targets.shape
        assert len(inputs) <= batch_size
        assert torch.equal(targets, inputs + 1)
        seen += targets.flatten().tolist()
    assert seen == list(range(1, num_ids))


def test_windows_end_with_a_smaller_batch_and_a_shorter_window():
    def shapes(num_ids):
        return [tuple(x.shape) for x, _ in windows(range(num_ids), 5, 3)]

    assert shapes(30) == [(3, 5), (2, 5), (1, 4)]
    assert shapes(31) == [(3, 5), (3, 5)]


test_windows_need_a_length_and_something_to_predict = refused(
    windows,
    (PRIMES, 0, 3, "length must be a whole number"),
    ([3], 5, 7, "at least 2 ids, got 1"),
)


def test_batches_go_to_the_device():
    assert next(Batches(PRIMES, 3, 5, device="meta"))[0].device.type == "meta"
    assert next(windows(PRIMES, 3, 5, device="meta"))[1].device.type == "meta"
