"""A first use of an installed package: its explorer, its commands and its checker.

    python trial.py FOLDER VERSION

Run in a fresh environment, from a copy in FOLDER that has softmax.py beside it.
"""

import subprocess
import sys
from pathlib import Path

import mygpt
from mygpt import explorers, load_world_model

FOLDER, VERSION = Path(sys.argv[1]).resolve(), sys.argv[2]
SMALL = ("--layers=1", "--heads=2", "--width=16", "--length=16", "--steps=3", "--quiet")
PATIENT = "--limit=120"  # seconds: the machine may be busy
WRONG = "def softmax(scores):\n    return scores.softmax(0)\n"


def command(*arguments: object, status: int = 0) -> str:
    """What `mygpt …` prints; another exit status than expected ends the trial."""
    line = [sys.executable, "-m", "mygpt", *map(str, arguments)]
    done = subprocess.run(line, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"Error: {' '.join(line[2:])}: {done.returncode}\n{done.stderr}")
    return done.stdout


def expect(what: str, held: object) -> None:
    if not held:
        sys.exit(f"Error: {what}")
    print(what, flush=True)


def main() -> None:
    place = Path(mygpt.__file__)
    expect(f"mygpt {VERSION} is installed", mygpt.__version__ == VERSION)
    expect("it is not the repository's", "site-packages" in place.parts)
    page = FOLDER / "live.html"
    small = load_world_model()
    live = explorers.LiveModel(small.model.state_dict(), small.words, num_heads=4)
    live.write_html(page)
    expect("an explorer is a page", "<script" in page.read_text("utf-8"))
    expect("the running example counts", "164" in command())
    command("train", "stories", *SMALL, "--out", FOLDER / "run")
    said = command("generate", FOLDER / "run", "--prompt", "the", "--tokens", 3)
    expect("a model trains and writes", said.strip())
    command("workbook", FOLDER / "mine")
    expect("the workbook is written", len(list((FOLDER / "mine").glob("*.py"))) > 20)
    check = ("check", "softmax", PATIENT)
    expect("a check passes", "right" in command(*check, FOLDER / "softmax.py"))
    (FOLDER / "wrong.py").write_text(WRONG, encoding="utf-8")
    said = command(*check, FOLDER / "wrong.py", status=1)
    expect("a check names a mistake", "comes out when" in said)


if __name__ == "__main__":
    main()
