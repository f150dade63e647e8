import sys

import pytest
from helpers.programs import run_python

from mygpt import __main__, inference, training
from mygpt.cli import commands
from mygpt.inside import world_models
from mygpt.support import available_memory

TRANSCRIPT = """\
Vocabulary: ('I', 'love', 'AI', '!')
Vocabulary size V = 4

Token ids shape:                (1, 4)
Embedded shape (B, T, C):       (1, 4, 4)
MLP output shape:               (1, 4, 4)
x + MLP(x) shape (residual):    (1, 4, 4)

hidden_dim = 4*C = 16, embed_dim = 4

TokenEmbedding parameters:        16
MLP parameters:                   148
Total parameters:                 164
"""


def test_the_command_prints_the_transcript_to_the_letter():
    done = run_python("-m", "mygpt")
    assert (done.stdout, done.stderr) == (TRANSCRIPT, "")


def test_an_unknown_command_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mygpt", "grow"])
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code == 2
    assert "invalid choice: 'grow'" in capsys.readouterr().err


# What a command imports

IMPORTED = """
import sys
from mygpt.__main__ import main
sys.argv = ["mygpt", *{arguments}]
try:
    main()
except SystemExit:
    pass
print(*sys.modules)
"""


def modules_of(*arguments):
    """The modules that are there after a command, in a process of its own."""
    code = IMPORTED.format(arguments=list(map(str, arguments)))
    return set(run_python("-W", "error", "-c", code).stdout.splitlines()[-1].split())


TASK = """\
import torch


def row_times_matrix(x, W):
    return x @ W
"""
FOR_TEXT = [["--help"], ["check", "--list"], ["check", "--list", "--chapter", "8"]]
FOR_TEXT += [[name, "--help"] for name in ("train", "generate", "doctor", "check")]


@pytest.mark.parametrize("arguments", [*FOR_TEXT, ["workbook", "new"]], ids=" ".join)
def test_a_command_that_only_prints_imports_no_pytorch(arguments, tmp_path):
    given = [tmp_path / "new" if one == "new" else one for one in arguments]
    loaded = modules_of(*given)
    assert "mygpt.cli.commands" in loaded
    assert not loaded & {"torch", "numpy", "mygpt.check", "mygpt.training"}


def test_a_check_imports_nothing_of_training(tmp_path):
    path = tmp_path / "row_times_matrix.py"
    path.write_text(TASK)
    loaded = modules_of("check", path)
    assert "mygpt.check" in loaded
    training = ("training", "checkpoint", "data", "cli.train", "inside", "distributed")
    assert not loaded & {f"mygpt.{name}" for name in training}


def test_training_imports_nothing_of_the_checker(tmp_path):
    loaded = modules_of("train", tmp_path / "none.txt", "--out", tmp_path / "run")
    assert "mygpt.training.loop" in loaded
    assert not {name for name in loaded if name.startswith("mygpt.check.")}


def test_the_commands_offer_what_the_package_has():
    assert tuple(training.RECIPES) == commands.RECIPES
    assert tuple(inference.LAYERS) == commands.LAYERS
    assert tuple(world_models.KINDS) == commands.KINDS
    assert commands.TIMEOUT == available_memory.TIMEOUT
