#!/usr/bin/env bash
# tokenizers 0.23.3, Python 3.11.
# Guess: an added token of a tokenizer.json keeps the id that the file gives it, or the
#   file is refused: the id picks the row of the embedding table.
# Seen: in a vocabulary of 3 tokens, a token that the file gives id 10 is loaded without
#   an error as id 3, the next free one, and saved as 3.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet tokenizers==0.23.3
"$folder/environment/bin/python" - <<'PYTHON'
import json

from tokenizers import Tokenizer

plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
stored = {
    "version": "1.0",
    "added_tokens": [{"id": 10, "content": "<far>", **plain}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
}
loaded = Tokenizer.from_str(json.dumps(stored))
saved = json.loads(loaded.to_str())["added_tokens"][0]["id"]
print("id in the file 10, loaded", loaded.token_to_id("<far>"), "saved", saved)
assert loaded.token_to_id("<far>") == saved == 3
PYTHON
