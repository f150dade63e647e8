"""The package's door: what is found at the top, and what has moved."""

import subprocess
import sys

import pytest

import mygpt

PROMISED = [
    *("GPT", "GPTConfig", "generate", "train", "TrainingConfig", "load_gpt2"),
    *("BPETokenizer", "CharTokenizer", "WordTokenizer", "load_checkpoint"),
    *("load_corpus", "load_world_model"),
]


def test_the_package_exports_what_people_look_for():
    assert set(PROMISED) <= set(mygpt.__all__)
    for name in mygpt.__all__:
        assert getattr(mygpt, name) is not None
    code = f"from mygpt import {', '.join(PROMISED)}"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


MOVED = [
    ("mygpt.gpt2", "mygpt.huggingface", "load_gpt2"),
    ("mygpt.checks", "mygpt.arguments", "check_positive"),
    ("mygpt.modern", "mygpt.muon", "Muon"),
    ("mygpt.modern", "mygpt.muon", "orthogonalise"),
    ("mygpt.modern", "mygpt.muon", "is_hidden_matrix"),
    ("mygpt.block", "mygpt.probes", "stages"),
]


def test_a_moved_name_is_found_in_its_old_place_with_a_warning():
    """In a process of its own, where nothing was imported from the old places yet."""
    code = "import warnings\n" + "".join(
        f"""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from {old} import {name} as old
from {new} import {name} as new
assert old is new
print(*(f"{{w.category.__name__}} {{w.filename}} {{w.message}}" for w in caught))
"""
        for old, new, name in MOVED
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    for line, (old, new, name) in zip(done.stdout.splitlines(), MOVED, strict=True):
        expected = f"DeprecationWarning <string> {old}.{name} is now {new}.{name}"
        assert line.startswith(expected)


def test_an_unknown_name_of_a_moved_module_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        mygpt.block.nothing  # noqa: B018
