"""A table of errors: what their text matches, and what is then said."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mygpt.check.crashes.place import Place
from mygpt.check.task import Task


@dataclass(frozen=True)
class Crash:
    """An error where it arose.

    text: the error's, after its type; match: what a rule's pattern found in it.
    """

    text: str
    place: Place
    task: Task
    match: re.Match[str] | None = None

    def group(self, number: int = 1) -> str:
        return (self.match and self.match[number]) or ""


Sentence = Callable[[Crash], str | None]


@dataclass(frozen=True)
class Rule:
    """An error's pattern, and what tests it and says why; None where that fails."""

    pattern: re.Pattern[str]
    sentence: Sentence


def rule(*patterns: str) -> Callable[[Sentence], Rule]:
    return lambda sentence: Rule(re.compile("|".join(patterns)), sentence)


def always(pattern: str, sentence: str) -> Rule:
    """A rule for an error whose text alone shows that the sentence is true."""
    return rule(pattern)(partial(filled, sentence))


def by_text(rule: Rule) -> bool:
    """Whether a rule goes by the error's text, wherever it arose."""
    return isinstance(rule.sentence, partial)


def filled(sentence: str, crash: Crash) -> str:
    assert crash.match is not None
    return sentence.format(*crash.match.groups())
