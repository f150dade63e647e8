"""What a figure draws is compared, by the arrays that its plots were given."""

import copy

import pytest
from helpers.notebooks import code, notebook

from tools.execute import execute
from tools.figures import figures_differ, pictures

PLOTS = "import numpy as np, matplotlib.pyplot as plt; x = np.linspace(0, 1, 9)"
DRAWN = {
    "line": "plt.plot(x, {0} * x**2, label='loss {0}'); plt.legend();",
    "bars": "plt.bar([1, 2, 3], [1, {0}, 2]);",
    "image": "plt.imshow({0} * np.outer(x, x));",
    "points": "plt.scatter(x, {0} * x); plt.title('points');",
    "band": "plt.fill_between(x, -x, {0} * x);",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The figures of a real run by cell: as it is, and with another number."""
    cells = [
        code(text.format(number), id=f"{name}-{number:g}".replace(".", "-"))
        for number in (1.0, 1.5)
        for name, text in DRAWN.items()
    ]
    ran = notebook(code(PLOTS, id="plots"), *cells)
    execute(ran, tmp_path_factory.mktemp("run"))
    drawn = ran.metadata["figures"]
    return [{name: drawn[f"{name}-{n}"] for name in DRAWN} for n in ("1", "1-5")]


def test_each_cell_that_draws_has_its_figure(run):
    assert all(len(one) == 1 for found in run for one in found.values())
    assert run[0]["line"][0]["texts"] == ["loss 1.0"]


@pytest.mark.parametrize("name", DRAWN)
def test_other_numbers_in_a_figure_are_a_difference(run, name):
    old, new = (found[name] for found in run)
    assert figures_differ(old, old) is None
    assert figures_differ(old, new).startswith("figure 1")


PLANTED = {
    "gone": (lambda found: found.pop(), "1 figures became 0"),
    "twice": (lambda found: found.append(found[0]), "1 figures became 2"),
    "empty": (lambda found: found[0]["artists"][0].clear(), "draws other parts"),
    "a line more": (
        lambda found: found[0]["artists"][0].append(found[0]["artists"][0][0]),
        "draws other parts",
    ),
    "another title": (lambda found: found[0]["texts"].append("x"), "a text"),
    "another end": (lambda found: last(found, 1.05), "Line2D: 1 became 1.05"),
}


def last(found, value):
    found[0]["artists"][0][0][1][-1] = value


@pytest.mark.parametrize(("plant", "why"), PLANTED.values(), ids=PLANTED)
def test_a_planted_change_of_a_figure_is_named(run, plant, why):
    old = run[0]["line"]
    new = copy.deepcopy(old)
    plant(new)
    assert why in figures_differ(old, new)


def test_what_a_processor_rounds_in_a_figure_is_no_difference(run):
    new = copy.deepcopy(run[0]["line"])
    last(new, 1.01)
    assert figures_differ(run[0]["line"], new) is None


def test_a_picture_that_was_put_in_place_of_another_has_another_hash():
    def shown(data, kind="image/png"):
        output = {"output_type": "display_data", "data": {kind: data}, "metadata": {}}
        return pictures(notebook(code("x", outputs=[output], id="a")))

    assert shown("eQ==") == shown("eQ==")
    assert (
        len({str(shown(*one)) for one in (["eQ=="], ["eA=="], ["eQ==", "image/jpeg"])})
        == 3
    )
