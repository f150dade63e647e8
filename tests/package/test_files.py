import json

import pytest

from mygpt.support import files


def test_a_files_bytes_and_then_its_name_are_on_the_disk(tmp_path, monkeypatch):
    """The bytes before the name is given, the folder after it."""
    log, replace, sync = [], type(tmp_path).replace, files.sync

    def noted(what, call):
        def run(path, *args):
            log.append((what, path.name))
            return call(path, *args)

        return run

    monkeypatch.setattr(type(tmp_path), "replace", noted("replace", replace))
    monkeypatch.setattr(files, "sync", noted("sync", sync))
    files.write_json(tmp_path / "a.json", {"b": 1})
    temporary = log[0][1]
    assert log == [("sync", temporary), ("replace", temporary), ("sync", tmp_path.name)]
    assert json.loads((tmp_path / "a.json").read_text()) == {"b": 1}


def test_a_failed_write_leaves_the_earlier_file_and_no_other(tmp_path):
    files.write_json(tmp_path / "a.json", {"b": 1})
    with pytest.raises(OSError, match=r"a\.json: writing failed: .*No space"):
        files.write_atomically(tmp_path / "a.json", full)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert files.read_json(tmp_path / "a.json") == {"b": 1}


def full(path):
    path.write_bytes(b"half of")
    raise OSError(28, "No space left on device")
