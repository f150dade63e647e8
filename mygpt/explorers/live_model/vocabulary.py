"""The words that a model knows, and prompts made of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from mygpt.explorers.kit.text import count

STOP = "."
BLANK = "{}"  # of a template, where its subject stands


class Vocabulary:
    """A model's words, the full stop among them, and prompts of at most `most`."""

    def __init__(self, words: Iterable[Any], size: int, most: int):
        self.words, self.most = check_words(words, size), most
        self.places = {word: place for place, word in enumerate(self.words)}

    def ids(self, prompt: str) -> list[int]:
        """The full stop and the prompt's words."""
        words = prompt.split()
        if words[:1] != [STOP]:
            words.insert(0, STOP)
        return [self.places[word] for word in words]

    def with_ids(
        self, edit: Mapping[str, Any], templates: Mapping[str, Iterable[str]]
    ) -> dict[str, Any]:
        """An edit with its word's id for the word, and with the ids of its prompt.

        Written facts have the ids of all their prompts, and of their answers.
        """
        if edit["kind"] == "write":
            prompts = [
                [self.ids(one.replace(BLANK, subject)) for one in templates[relation]]
                for subject, relation, _ in edit["facts"]
            ]
            words = [self.places[answer] for *_, answer in edit["facts"]]
            return {"kind": "write", "prompts": prompts, "words": words}
        word = {"word": self.places[edit["word"]]} if "word" in edit else {}
        ids = {"ids": self.ids(edit["prompt"])} if "prompt" in edit else {}
        return {**edit, **word, **ids}

    def check_prompt(self, name: str, prompt: Any) -> str:
        """Return a prompt with one space between its words, all of which are known."""
        if not isinstance(prompt, str):
            raise ValueError(f"{name} must be a string, got {prompt!r}")
        words = split(prompt)
        for word in words:
            self.check_word(name, word)
        if len(words) > self.most:
            raise ValueError(
                f"{name} must have at most {count(self.most, 'word')}, got {len(words)}"
            )
        return " ".join(words)

    def check_word(self, name: str, word: Any) -> str:
        if not isinstance(word, str) or word not in self.places:
            raise ValueError(
                f"{name} must be of the {count(len(self.words), 'word')} that the "
                f"model knows, got {word!r}"
            )
        return word


def split(prompt: str) -> list[str]:
    """The words of a prompt, in lower case; a full stop is a word of its own."""
    return prompt.lower().replace(STOP, f" {STOP} ").split()


def check_words(words: Iterable[Any], size: int) -> list[str]:
    """Return `size` different words in lower case, the full stop among them."""
    given = [words] if isinstance(words, str) else list(words)
    if len(given) != size:
        raise ValueError(f"words must be {count(size, 'word')}, got {len(given)}")
    for word in given:
        if not isinstance(word, str) or split(word) != [word]:
            raise ValueError(
                "words must be lower-case strings without spaces or full stops, "
                f"got {word!r}"
            )
    if len(set(given)) != size or STOP not in given:
        raise ValueError("words must be different, and the full stop one of them")
    return given


def check_templates(
    templates: Mapping[str, Iterable[str]] | None, vocabulary: Vocabulary
) -> dict[str, list[str]]:
    """Return for each relation its prompts, each with one blank for the subject."""
    checked = {relation: list(some) for relation, some in (templates or {}).items()}
    if not all(checked.values()) or not checked:
        raise ValueError(f"templates must be one or more a relation, got {templates}")
    for relation, prompts in checked.items():
        for one in prompts:
            if one.split().count(BLANK) != 1:
                raise ValueError(
                    f"templates[{relation!r}] must have one {BLANK} each, got {one!r}"
                )
            vocabulary.check_prompt("templates", one.replace(BLANK, STOP))
    return checked
