"""The mistakes that `make mutants` makes, and how their tests are chosen and ended."""

import json
import subprocess
import sys

import pytest

from make import ROOT
from tools.mutants import of_scripts
from tools.mutants.mutant import Mutant, MutantSite, difference, drawn


def place(line, path="a.py", column=0):
    return MutantSite(path, 10, column, line, (1, 1), (("one more",),))


def test_the_same_places_are_drawn_when_other_lines_are_moved_or_indented():
    places = [place(f"x = {n}") for n in range(50)]
    moved = [place(f"    x = {n}", column=4) for n in reversed(range(50))]
    some = [one.line for one in drawn(places, 10)]
    assert len(set(some)) == 10
    assert [one.line.strip() for one in drawn(moved, 10)] == some
    assert some != [f"x = {n}" for n in range(10)]


def test_a_difference_is_what_is_left_out_and_what_comes_instead():
    assert difference("a\n  b\nc\n", "a\n  d\nc\n") == ("b", "d")
    assert difference("a\n  b\nc\n", "a\nc\n") == ("b", "")
    with pytest.raises(ValueError, match="expected two texts that differ"):
        difference("a", "a")


SCRIPT = """\
export const f = (rows, width) => {
  if (rows <= 2) return -rows;
  draw(rows, width);
  return { a: rows + width * 3, ...rest };
};
"""


def changed(places):
    """What the operators make of a script, by operator."""
    for one in places:
        for operator, start, end, instead in one.changes:
            before = SCRIPT.encode()[start:end].decode()
            yield operator, before, instead


def test_scripts_get_every_kind_of_mistake(tmp_path, monkeypatch):
    path = tmp_path / "f.mjs"
    path.write_text(SCRIPT, encoding="utf-8")
    monkeypatch.setattr(of_scripts, "ROOT", tmp_path)
    assert set(changed(of_scripts.places(path))) == {
        ("reversed", "(rows <= 2)", "(!(rows <= 2))"),
        ("border", "<=", "<"),
        ("reversed", "<=", ">"),
        ("one more", "2", "(2 + 1)"),
        ("one more", "3", "(3 + 1)"),
        ("sign left out", "-", " "),
        ("exchanged", "rows, width", "width, rows"),
        ("left out", "draw(rows, width);", ";"),
        ("sign", "+", "-"),
        ("sign", "*", "/"),
        ("term left out", "rows + width * 3", "rows"),
        ("term left out", "rows + width * 3", "width * 3"),
        ("term left out", "width * 3", "width"),
        ("term left out", "width * 3", "3"),
        ("left out", "...rest", "...{}"),
    }
    for one in of_scripts.places(path):
        mutant = of_scripts.mutant(one)
        assert mutant.text != SCRIPT
        assert isinstance(mutant, Mutant)


TESTS = """
import time

def test_passes():
    pass

def test_fails():
    assert 1 == 2

def test_hangs():
    time.sleep(1000)

def test_eats_memory():
    eaten = [bytearray(2**20) for _ in range(9000)]
    time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
def test_a_mutant_that_hangs_or_eats_memory_is_ended_and_the_limit_named(tmp_path):
    (tmp_path / "_build").mkdir()
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    script = "import sys; sys.path.insert(0, sys.argv[1])\n"
    script += "from tools.mutants import server\n"
    script += "server.LEAST, server.MEMORY = 3.0, 2**30\nserver.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, ROOT],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(name, seconds=60.0):
        test = f"test_it.py::test_{name}"
        asked = {"tests": [test], "usual": {test: 0.01}, "seconds": seconds}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    with process:
        assert (ask("passes")["status"], ask("passes")["why"]) == (0, "")
        failed = ask("fails")
        assert (failed["status"], failed["why"]) == (1, "")
        assert "FAILED test_it.py::test_fails" in failed["output"]
        hung = ask("hangs")
        assert hung["why"] == "test_it.py::test_hangs took more than 3 s"
        assert ask("eats_memory")["why"] == "took more than 1 GiB of memory"
        # Without time for its tests a mutant has not been caught.
        stopped = ask("hangs", seconds=1.0)
        assert (stopped["why"], stopped["over"]) == ("", True)
        process.stdin.close()
