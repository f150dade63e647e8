#!/usr/bin/env bash
# sentencepiece 0.2.3, Python 3.11.
# Guess: with normalization_rule_name="identity" and remove_extra_whitespaces=False a
#   text of two lines survives encoding and decoding.
# Seen: the newline is unknown and comes back as the sign U+2047; under the usual rule
#   it comes back as a space. A model keeps it when it is a symbol of its own
#   (user_defined_symbols). Otherwise the line breaks of a play are lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet sentencepiece==0.2.3
"$folder/environment/bin/python" - <<'PYTHON'
import io

import sentencepiece

lines = ["to be or not to be", "that is the question", "whether tis nobler"] * 50
plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
text = "to be\nor not"


def back(**options):
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=file,
        model_type="bpe",
        vocab_size=40,
        minloglevel=2,
        **options,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    return model.decode(model.encode(text))


usual, identity = back(), back(**plain)
symbol = back(**plain, user_defined_symbols=["\n"])
print(ascii([usual, identity, symbol]))
assert usual == "to be or not"
assert "\n" not in identity and "\u2047" in identity
assert symbol == text
PYTHON
