"""Drawings as PNG, light in both themes, the same on every machine."""

import re
from pathlib import Path

import matplotlib
import resvg_py

FONTS = Path(matplotlib.get_data_path(), "fonts", "ttf")  # no font of this machine's
FILES = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSerif-Italic")
SCALE = 1.25  # pixels for a unit of the drawing
NARROWER = 0.9  # DejaVu's letters are wider than those that the drawings are set for
VARIABLES = re.compile(r"--([\w-]+):\s*([^;}]+)")
ROOT = re.compile(r":root\s*\{([^}]*)\}")
SIZE = re.compile(r"font-size:\s*([\d.]+)px")


def png(path: Path) -> bytes:
    """A drawing in its light colours on white."""
    svg = path.read_text("utf-8")
    colours = dict(VARIABLES.findall(ROOT.search(svg)[1])) if ROOT.search(svg) else {}
    svg = re.sub(r"@media[^{]*\{\s*:root\s*\{[^}]*\}\s*\}", "", svg)
    svg = ROOT.sub("", svg)
    svg = re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], svg)
    svg = SIZE.sub(lambda size: f"font-size:{NARROWER * float(size[1]):g}px", svg)
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            background="white",
            zoom=SCALE,
            skip_system_fonts=True,
            font_files=[str(FONTS / f"{name}.ttf") for name in FILES],
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            serif_family="DejaVu Serif",
        )
    )
