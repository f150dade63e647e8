#!/usr/bin/env bash
# datasets 5.2.0, pyarrow 26.0.1, pandas 3.1.1, Python 3.11.
# Guess: Dataset.from_generator called again after the text file that the generator
#   opens has changed gives the new text.
# Seen: it gives the old text: the cache knows the generator's code and arguments, not
#   what the code reads. load_dataset("text",...) of the changed file does give the new
#   text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet datasets==5.2.0 pyarrow==26.0.1 pandas==3.1.1
HF_HOME="$folder/home" HF_HUB_OFFLINE=1 "$folder/environment/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import datasets

datasets.disable_progress_bars()
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "text.txt"

    def lines():
        for line in path.read_text().splitlines():
            yield {"text": line}

    def both():
        made = datasets.Dataset.from_generator(lines, cache_dir=folder)
        read = datasets.load_dataset("text", data_files=str(path), cache_dir=folder)
        return made[0]["text"], read["train"][0]["text"]

    path.write_text("old\n")
    assert both() == ("old", "old")
    path.write_text("new text\n")
    made, read = both()
print("from_generator:", made, "- load_dataset:", read)
assert (made, read) == ("old", "new text")
PYTHON
