"""The book's colours, read from the style sheet that sets them."""

import re
from pathlib import Path

SHEET = Path(__file__).parent / "static" / "mygpt.css"
BLOCKS = {"light": "html {", "dark": 'html[data-theme="dark"] {'}
COLOUR = re.compile(r"--mygpt-(\w+):\s*(#[0-9a-f]{6})")


def palette(theme: str) -> dict[str, str]:
    """The colours of a theme, `light` or `dark`, by name."""
    styles = SHEET.read_text(encoding="utf-8")
    block = styles.partition(BLOCKS[theme])[2].partition("}")[0]
    return dict(COLOUR.findall(block))


def as_variables(theme: str) -> str:
    """The colours as CSS declarations."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette(theme).items())
