import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from mygpt import plots
from mygpt.inside import depth


@pytest.fixture
def ax():
    with mpl.rc_context():
        plots.use_style()
        yield Figure().subplots()


def test_curves_are_the_arrays_told_apart_by_colour_and_dashes(ax):
    x = np.arange(5)
    ys = {name: x * (i + 1.0) for i, name in enumerate(["a", "b", "c", "d"])}
    assert plots.curves(ax, x, ys, log=True, xlabel="layer") is ax
    for line, (name, y) in zip(ax.lines, ys.items(), strict=True):
        assert line.get_label() == name
        np.testing.assert_array_equal(line.get_ydata(), y)
    assert len({(ln.get_color(), ln.get_linestyle()) for ln in ax.lines}) == 4
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "layer"


def test_bars_have_the_heights_given(ax):
    assert plots.bars(ax, ["x", "y", "z"], np.array([1.0, -2.0, 0.5])) is ax
    assert [bar.get_height() for bar in ax.patches] == [1.0, -2.0, 0.5]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y", "z"]


def test_a_heatmap_is_centred_on_zero_and_writes_its_numbers(ax):
    matrix = np.array([[1.0, -3.0, 0.25], [0.0, 2.0, 0.5]])
    assert plots.heatmap(ax, matrix, rows=["p", "q"], digits=2) is ax
    assert ax.images[0].get_clim() == (-3.0, 3.0)
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["1.00", "-3.00", "0.25", "0.00", "2.00", "0.50"]


def test_a_heatmap_of_zeros_is_drawn(ax):
    plots.heatmap(ax, np.zeros((2, 3)))
    assert ax.images[0].get_clim() == (-1.0, 1.0)


def test_figures_have_no_background_of_their_own(ax):
    assert ax.figure.get_facecolor()[3] == 0
    assert ax.get_facecolor()[3] == 0


def luminance(colour):
    channels = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("paper", ["#ffffff", "#14181e"])
@pytest.mark.parametrize("name", plots.PALETTE)
def test_every_colour_stands_out_on_a_light_and_on_a_dark_page(name, paper):
    dark, light = sorted([luminance(plots.PALETTE[name]), luminance(paper)])
    assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize(
    "names",
    [
        ["plain", "residual", "pre-norm", "post-norm"],
        ["post-norm", "pre-norm"],
        ["a baseline", "pre-norm", "plain"],
    ],
)
def test_a_wiring_keeps_its_look_whatever_else_is_drawn(ax, names):
    plots.curves(ax, np.arange(3), {name: np.arange(3.0) for name in names})
    looks = {
        line.get_label(): (line.get_color(), line.get_linestyle()) for line in ax.lines
    }
    for name in set(names) & set(plots.WIRINGS):
        i = plots.WIRINGS.index(name)
        assert looks[name][0] == plots.SERIES[i]
    assert len(set(looks.values())) == len(names)


def test_the_wirings_are_those_of_the_depth_explorer_in_its_order():
    assert depth.KINDS == plots.WIRINGS


@pytest.mark.parametrize("value", np.linspace(-1, 1, 21))
def test_a_heatmap_neither_glares_on_a_dark_page_nor_hides_its_numbers(value):
    cell = luminance(plots.DIVERGING((value + 1) / 2))
    assert cell < 0.6
    assert (cell + 0.05) / (luminance("#1f2328") + 0.05) >= 4
