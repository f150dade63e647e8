"""Tables of errors: the patterns of their texts, and the sentences for the reader."""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mygpt.check.crashes.error_site import ErrorSite

Sentence = Callable[[ErrorSite, re.Match[str]], str | None]


@dataclass(frozen=True)
class Rule:
    """The pattern of an error's text, and what the reader is told of such an error.

    sentence: a text with the groups of the pattern in braces, or a function that tests
        the site of the error and returns None where the sentence would not be true.
    at: the kind of expression that such a function needs at the site.
    """

    pattern: re.Pattern[str]
    sentence: Sentence | str
    at: type[ast.AST] = ast.AST

    def told(self, site: ErrorSite) -> str | None:
        """Return the sentence for the error of a site; None if the rule has none."""
        match = self.pattern.search(site.message)
        if match and isinstance(self.sentence, str):
            return self.sentence.format(*match.groups())
        tested = match and site.entered and isinstance(site.node, self.at)
        return self.sentence(site, match) if tested else None


class Rules(list[Rule]):
    """Rules in order: the first that has a sentence is told."""

    def tested(
        self, *patterns: str, at: type[ast.AST] = ast.AST
    ) -> Callable[[Sentence], Sentence]:
        """Add a function that tests the site of an error."""

        def add(sentence: Sentence) -> Sentence:
            self.append(Rule(re.compile("|".join(patterns)), sentence, at))
            return sentence

        return add

    def by_text(self, table: Mapping[str, str]) -> None:
        """Add patterns of texts that alone show that their sentences are true."""
        self += (Rule(re.compile(pattern), table[pattern]) for pattern in table)
