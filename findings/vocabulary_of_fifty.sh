#!/usr/bin/env bash
# tokenizers 0.23.3, Python 3.11.
# Guess: BpeTrainer(vocab_size=50) with the 256 bytes as its first alphabet raises an
#   error, or makes 50 tokens.
# Seen: it makes 256 tokens and no merge, in silence: the size bounds the merges, not
#   the alphabet. A table of 50 rows made from the number that was asked for is too
#   small. Without initial_alphabet it likewise keeps each character that it meets;
#   limit_alphabet bounds them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/environment"
"$folder/environment/bin/pip" install --quiet tokenizers==0.23.3
"$folder/environment/bin/python" - <<'PYTHON'
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

text = ["to be or not to be that is the question"] * 3


def size(**options):
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(text, BpeTrainer(show_progress=False, **options))
    return tokenizer.get_vocab_size()


sizes = (
    size(vocab_size=50, initial_alphabet=ByteLevel.alphabet()),
    size(vocab_size=5),
    size(vocab_size=5, limit_alphabet=5),
)
print("asked for 50, 5 and 5; made", *sizes)
assert sizes == (256, len(set(text[0])), 5)
PYTHON
