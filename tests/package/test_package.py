"""The package's door: what is found at the top."""

import ast
from pathlib import Path

import pytest
from helpers.programs import run_python

import mygpt

PROMISED = [
    *("GPT", "GPTConfig", "generate", "train", "TrainingConfig", "load_gpt2"),
    *("BPETokenizer", "CharTokenizer", "WordTokenizer", "load_checkpoint"),
    *("load_corpus", "load_world_model"),
]
MODULES = ["by_hand", "bare", "distributed", "gpt", "training", "sampling"]
MODULES += ["tokenizers", "explorers", "check"]


def test_the_package_exports_what_people_look_for():
    assert set(PROMISED) <= set(mygpt.__all__)
    for name in mygpt.__all__:
        assert getattr(mygpt, name) is not None
    names = ", ".join([*PROMISED, *MODULES])
    code = f"from mygpt import {names}"
    run_python("-W", "error", "-c", code)


UNTOUCHED = """
import pickle, rlcompleter, sys
import mygpt
assert not hasattr(mygpt, "GTP")
assert "torch" not in sys.modules
"""
FIRST_USES = {
    "dir": "assert {*mygpt.__all__, 'norm', 'training', 'world'} <= set(dir(mygpt))\n"
    "done = rlcompleter.Completer({'mygpt': mygpt}).attr_matches('mygpt.GPTC')\n"
    "assert done[0].startswith('mygpt.GPTConfig')",
    "star": "from mygpt import *; assert {*mygpt.__all__} <= {*globals()}",
    "submodule": "assert mygpt.training.TrainingConfig is mygpt.TrainingConfig\n"
    "assert pickle.loads(pickle.dumps(mygpt.GPT)) is mygpt.GPT",
}


@pytest.mark.parametrize("use", FIRST_USES.values(), ids=FIRST_USES)
def test_what_is_imported_late_is_found_in_every_way(use):
    run_python("-W", "error", "-c", UNTOUCHED + use)


def test_the_names_of_the_type_checkers_are_those_of_the_package():
    """And no other: a checker that took any name would find no misspelt one."""
    tree = ast.parse(Path(mygpt.__file__).read_text("utf-8"))
    typed = next(one.body for one in tree.body if "TYPE_CHECKING" in ast.dump(one))
    names = [alias.name for one in typed for alias in one.names]
    assert sorted(names) == sorted(mygpt.__all__)
