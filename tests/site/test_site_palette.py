"""One palette: the site, explorers, schematics and matplotlib show the same colours."""

import colorsys
import re
from itertools import combinations

import numpy as np
import pytest

from make import ROOT
from mygpt import plots
from website.palette import palette

SERIES = ("blue", "orange", "green", "purple")
THEMES = {name: palette(name) for name in ("light", "dark")}
TONES = {**THEMES, "matplotlib": plots.PALETTE}
EXPLORER = (ROOT / "mygpt" / "explorers" / "kit" / "explorer.css").read_text(
    encoding="utf-8"
)
# How colours look without one kind of cone (Machado, Oliveira and Fernandes, 2009).
WITHOUT = {
    "red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def light_of(colour):
    """Linear light, the scale in which colours add up."""
    value = rgb(colour)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(light):
    """Lightness and two axes of colour, in which a distance of 2 can just be seen."""
    white = TO_XYZ.sum(1)
    f = np.cbrt(TO_XYZ @ light.clip(0.01, 1) / white)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    low, high = sorted(float(TO_XYZ[1] @ light_of(c)) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_both_themes_have_every_colour(theme):
    papers = {"paper", "line", "shade", "wash"}
    assert set(THEMES[theme]) == {"ink", "muted", *SERIES} | papers


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SERIES)
def test_a_colour_has_one_hue_on_the_site_and_in_matplotlib(theme, name):
    here, there = (
        colorsys.rgb_to_hsv(*rgb(tones[name]))[0]
        for tones in (THEMES[theme], plots.PALETTE)
    )
    assert abs(here - there) * 360 <= 8


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("paper", ["paper", "shade", "wash"])
@pytest.mark.parametrize("name", ["ink", "muted", *SERIES])
def test_words_can_be_read_in_every_colour(theme, paper, name):
    assert contrast(THEMES[theme][name], THEMES[theme][paper]) >= 4.5


@pytest.mark.parametrize("tones", TONES)
@pytest.mark.parametrize("cone", WITHOUT)
def test_series_differ_for_colour_blind_readers(tones, cone):
    """By more than five steps that can just be seen; dashes tell them apart as well."""
    seen = [
        lab(np.array(WITHOUT[cone]) @ light_of(TONES[tones][name])) for name in SERIES
    ]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 10


def test_an_explorer_outside_the_site_has_the_colours_of_the_site():
    """Its own colours, in the order of the rules: light, dark, paper."""
    fallbacks = re.findall(r"--curve-\d: var\(--mygpt-(\w+), (#\w+)\)", EXPLORER)
    assert fallbacks == [(n, THEMES[t][n]) for t in THEMES for n in SERIES]
    printed = EXPLORER[EXPLORER.index("@media print") :]
    plain = dict(re.findall(r"--([\w-]+): (#\w+);", printed))
    names = {f"curve-{i}": name for i, name in enumerate(SERIES)}
    names |= {name: name for name in ("ink", "muted", "line", "paper")}
    heat = {key: plain.pop(f"heat-{key}") for key in ("zero", "high", "low")}
    assert plain == {key: THEMES["light"][name] for key, name in names.items()}
    light = EXPLORER[: EXPLORER.index("}")]
    assert heat == dict(re.findall(r"--heat-(\w+): (#\w+);", light))


@pytest.mark.parametrize(
    "path",
    sorted(ROOT.glob("chapters/schematics/*.svg")),
    ids=lambda path: path.stem,
)
def test_a_schematic_opened_alone_has_the_colours_of_the_site(path):
    own = re.findall(r":root\s*\{([^}]*)\}", path.read_text(encoding="utf-8"))
    assert len(own) == 2
    for block, theme in zip(own, THEMES.values(), strict=True):
        colours = dict(re.findall(r"--mygpt-(\w+):\s*(#\w+)", block))
        assert colours.items() <= theme.items()
        assert "ink" in colours


def test_the_ink_of_a_plot_can_be_read_in_both_themes():
    sheet = (ROOT / "website" / "static" / "mygpt.css").read_text(encoding="utf-8")
    lighter = float(re.search(r"filter: brightness\(([\d.]+)\)", sheet).group(1))
    for theme, factor in (("light", 1), ("dark", lighter)):
        ink = np.minimum(rgb(plots.PALETTE["ink"]) * factor * 255, 255).round()
        ink = "#" + "".join(f"{int(part):02x}" for part in ink)
        assert contrast(ink, THEMES[theme]["paper"]) >= 4.5, theme
