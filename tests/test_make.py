"""The two commands: what stops them is their last line, and a good site stays."""

import errno
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def make(tmp_path, monkeypatch):
    """make.py, working in a folder of its own and running no command."""
    spec = importlib.util.spec_from_file_location("make", ROOT / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("BUILD", "SITE", "STAGING"):
        moved = tmp_path / getattr(module, name).relative_to(ROOT)
        monkeypatch.setattr(module, name, moved)
    monkeypatch.setattr(module, "run", lambda what, command, aside: None)
    return module


def write_page(folder, text):
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(text)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["OSError: [Errno 28] No space left on device", "done"], "the disk is full"),
        (
            ["WARNING: Retrying: Failed to establish a new connection", "ERROR: no"],
            "the package index cannot be reached (no network?)",
        ),
        (["Error: ensurepip is not available"], "ensurepip is missing: install"),
        (["ok", "page.md:3: WARNING: no such label", "finished"], "page.md:3: WARNING"),
        (["FAILED tests/test_a.py::test_b", "1 failed"], "FAILED tests/test_a.py"),
        (["neither", "this"], "this"),
        ([], "it printed nothing"),
    ],
)
def test_the_cause_is_found_in_the_output(make, lines, expected):
    assert make.cause(lines).startswith(expected)


def test_a_whole_site_takes_the_old_ones_place(make):
    write_page(make.SITE, "old")
    write_page(make.STAGING / "_build" / "html", "new")
    make.build_site()
    assert (make.SITE / "index.html").read_text() == "new"
    assert not list(make.BUILD.glob("html.*"))


def test_a_site_that_cannot_be_copied_leaves_the_old_one(make, monkeypatch):
    write_page(make.SITE, "old")

    def half_copy(source, target):
        write_page(target, "half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", half_copy)
    with pytest.raises(OSError, match="No space left"):
        make.build_site()
    assert (make.SITE / "index.html").read_text() == "old"
    assert not list(make.BUILD.glob("html.*"))


def test_a_build_that_fails_leaves_the_old_site(make, monkeypatch):
    write_page(make.SITE, "old")

    def fail(what, command, aside):
        raise make.Stop(f"{what} failed")

    monkeypatch.setattr(make, "run", fail)
    with pytest.raises(make.Stop):
        make.build_site()
    assert (make.SITE / "index.html").read_text() == "old"


@pytest.mark.skipif(not shutil.which("make"), reason="make is not on the PATH")
@pytest.mark.parametrize(
    ("version", "cause"),
    [(None, "is on the PATH"), ("3.9.1", "is 3.9.1")],
    ids=["missing", "old"],
)
def test_a_missing_or_old_python_is_the_last_line(tmp_path, version, cause):
    python = tmp_path / "python3"
    if version:
        python.write_text(f"#!/bin/sh\necho {version}\n")
        python.chmod(0o755)
    command = ["make", f"PYTHON={python}", "book"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "mygpt needs Python 3.11 or newer" in last
    assert cause in last
