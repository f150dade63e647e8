#!/usr/bin/env bash
# sentencepiece 0.2.3, Python 3.11.
# Guess: text for training that comes as one line of 6,000 bytes is used whole.
# Seen: a line above 4,192 bytes is left out: letters that occur in it alone are
#   unknown. It is said in the log only, which minloglevel=2 hides. A text without line
#   breaks needs max_sentence_length.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet sentencepiece==0.2.3
"$folder/environment/bin/python" - <<'PYTHON'
import io

import sentencepiece


def unknown(line, **options):
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["to be or not"] * 20 + [line]),
        model_writer=file,
        model_type="bpe",
        vocab_size=18,
        minloglevel=2,
        **options,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    return model.unk_id() in model.encode("xyz")


short, long = "xyz " * 1000, "xyz " * 1500
seen = unknown(short), unknown(long), unknown(long, max_sentence_length=10_000)
print("unknown after 4,000 bytes, 6,000, and 6,000 allowed:", *seen)
assert seen == (False, True, False)
PYTHON
