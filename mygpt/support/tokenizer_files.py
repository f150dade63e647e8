"""The files of a byte-level BPE tokenizer, as Hugging Face writes them.

`tokenizer.json` holds a whole tokenizer. Without it, `vocab.json` and `merges.txt` hold
what was trained, and `tokenizer_config.json` or `added_tokens.json` what was added.
"""

from pathlib import Path
from typing import Any

from mygpt.support.files import existing, read_json, write_json

WHOLE, VOCAB, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
CONFIG, ADDED = "tokenizer_config.json", "added_tokens.json"
CONTENTS = (WHOLE, VOCAB, MERGES, ADDED)  # CONFIG also says which token ends a text
ALL = (*CONTENTS, CONFIG)
PLAIN = {  # an added token's settings, as the library has them
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": True,
    "special": False,
}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
ONLY_TEXT = [{"Sequence": {"id": "A", "type_id": 0}}]  # nothing before or after it
CHANGING = ("add_prefix_space", "add_bos_token", "add_eos_token")
Contents = tuple[dict[str, Any], list[tuple[str, str]], list[dict]]


def are_in(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (WHOLE, VOCAB, MERGES))


def names(folder: Path) -> tuple[Path, Path]:
    """The files that hold the vocabulary and the merges."""
    if (folder / WHOLE).is_file():
        return folder / WHOLE, folder / WHOLE
    return folder / VOCAB, folder / MERGES


def read(folder: Path) -> Contents:
    """The vocabulary, the merges and the added tokens of the tokenizer in a folder.

    A setting that would give other ids than `BPETokenizer` is a ValueError that names
    the file and the field.
    """
    config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    for field in CHANGING:
        expect(folder / CONFIG, field, config.get(field) or False, False)
    listed = part(folder / CONFIG, config, "added_tokens_decoder")
    added = read_added(folder / CONFIG, [{"id": i, **t} for i, t in listed.items()])
    if (folder / ADDED).is_file():
        also = read_json(folder / ADDED).items()
        also = [{"content": text, "id": i} for text, i in also]
        added = read_added(folder / ADDED, also) | added
    if not (folder / WHOLE).is_file():
        vocab, merges = read_json(folder / VOCAB), read_merges(folder / MERGES)
    else:
        stored = read_json(folder / WHOLE)
        check_settings(folder / WHOLE, stored)
        added |= read_added(folder / WHOLE, stored.get("added_tokens") or [])
        vocab = part(folder / WHOLE, stored["model"], "vocab")
        merges = split_merges(folder / WHOLE, stored["model"].get("merges"))
        check_agreement(folder, vocab | {t: a["id"] for t, a in added.items()}, merges)
    return vocab, merges, list(added.values())


def read_added(path: Path, tokens: list[dict]) -> dict[str, dict]:
    """The added tokens that a file lists, by their text, with all their settings."""
    try:
        return {t["content"]: {**PLAIN, **t, "id": int(t["id"])} for t in tokens}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: expected added tokens, got {error}") from None


def check_settings(path: Path, stored: dict) -> None:
    """Raise a ValueError unless a tokenizer.json cuts and merges as GPT-2's does."""
    for field in ("normalizer", "truncation", "padding"):
        expect(path, field, stored.get(field), None)
    model, cut = part(path, stored, "model"), part(path, stored, "pre_tokenizer")
    expect(path, "model.type", model.get("type", "BPE"), "BPE")
    for field in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        expect(path, f"model.{field}", model.get(field) or None, None)
    for field in ("byte_fallback", "ignore_merges"):
        expect(path, f"model.{field}", model.get(field, False), False)
    for field, expected in BYTES.items():
        default = None if field == "type" else True
        expect(path, f"pre_tokenizer.{field}", cut.get(field, default), expected)
    decoder = part(path, stored, "decoder").get("type")
    expect(path, "decoder.type", decoder, "ByteLevel")
    after = part(path, stored, "post_processor")
    if after.get("type", "ByteLevel") != "ByteLevel":
        expect(path, "post_processor.single", after.get("single"), ONLY_TEXT)


def expect(path: Path, field: str, got: object, expected: object) -> None:
    if got != expected:
        raise ValueError(f"{path}: expected {field} = {expected!r}, got {got!r:.80}")


def part(path: Path, stored: dict, field: str) -> dict[str, Any]:
    """An object inside a file's; empty where there is none."""
    found = stored.get(field)
    if not isinstance(found, dict | None):
        raise ValueError(f"{path}: expected an object {field}, got {found!r:.60}")
    return found or {}


def check_agreement(folder: Path, vocab: dict, merges: list) -> None:
    """Raise a ValueError if vocab.json or merges.txt is of another tokenizer."""
    wrong = None
    if (folder / VOCAB).is_file() and read_json(folder / VOCAB).items() - vocab.items():
        wrong = VOCAB
    if (folder / MERGES).is_file() and read_merges(folder / MERGES) != merges:
        wrong = MERGES
    if wrong:
        raise ValueError(
            f"{folder / WHOLE} and {wrong} beside it are of different tokenizers: "
            "remove the one that does not belong to the model"
        )


def read_merges(path: Path) -> list[tuple[str, str]]:
    """The pairs of a merges.txt, in order."""
    try:
        text = existing(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, got {error}") from None
    lines = text.removesuffix("\n").split("\n")
    first = lines[0].startswith("#version") or lines == [""]
    return split_merges(path, lines[first:], 1 + first)


def split_merges(path: Path, merges: Any, start: int = 1) -> list[tuple[str, str]]:
    """The pairs of a list of merges, each a pair or a text with a space."""
    if not isinstance(merges, list):
        raise ValueError(f"{path}: expected a list of merges, got {merges!r:.60}")
    pairs = []
    for number, merge in enumerate(merges, start):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        whole = isinstance(pair, list) and all(isinstance(t, str) and t for t in pair)
        if not whole or len(pair) != 2:
            place = f"line {number}" if path.name == MERGES else f"merge {number}"
            raise ValueError(f"{path}, {place}: expected two tokens, got {merge!r:.60}")
        pairs.append((pair[0], pair[1]))
    return pairs


def write_whole(path: Path, vocab: dict, merges: list, added: list[dict]) -> None:
    """Write a tokenizer.json."""
    cut = BYTES | {"trim_offsets": True}
    content = {
        "version": "1.0",
        "added_tokens": sorted(added, key=lambda token: token["id"]),
        "pre_tokenizer": cut,
        "decoder": cut,
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }
    write_json(path, content)
