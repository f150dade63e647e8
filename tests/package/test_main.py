import subprocess
import sys

import pytest

from mygpt import __main__

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
    command = [sys.executable, "-m", "mygpt"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (TRANSCRIPT, "")


def test_an_unknown_command_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mygpt", "grow"])
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code == 2
    assert "invalid choice: 'grow'" in capsys.readouterr().err
