#!/usr/bin/env bash
# datasets 5.2.0, pyarrow 26.0.1, pandas 3.1.1, Python 3.11.
# Guess: in a CSV file of words and counts the words null, NA, nan and None are words,
#   at least where the column's type is given as string.
# Seen: each becomes Python's None, with the type given; keep_default_na=False keeps
#   them.
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
words = ["the", "null", "NA", "nan", "None", "007"]
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "words.csv"
    path.write_text("word,count\n" + "".join(f"{word},1\n" for word in words))
    features = datasets.Features(
        {"word": datasets.Value("string"), "count": datasets.Value("int64")}
    )

    def read(**options):
        table = datasets.load_dataset(
            "csv", data_files=str(path), features=features, cache_dir=folder, **options
        )
        return list(table["train"]["word"])

    seen, kept = read(), read(keep_default_na=False)
print(seen)
assert seen == ["the", None, None, None, None, "007"]
assert kept == words
PYTHON
