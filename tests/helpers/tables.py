"""Tables that are written as text."""

import re


def rows_of(text: str) -> list[list[str]]:
    """The cells of each row, between bars; an indented line continues the row above."""
    lines = re.sub(r"\n +", " ", text.strip()).split("\n")
    return [line.split(" | ") for line in lines]
