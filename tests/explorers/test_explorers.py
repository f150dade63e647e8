import base64
import io
import json
import re
import sys
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest
import torch
import traitlets
from anywidget import AnyWidget
from helpers import examples
from helpers.arrays import changed
from helpers.examples import AXES, STEMS, activations, curves, depth, stacks
from helpers.live_models import FACTS, live
from helpers.node import FOLDER, in_node
from helpers.refusals import refused_settings

from mygpt import explorers
from mygpt.distributed.cost import DEVICES, MODELS
from mygpt.explorers.kit import base
from mygpt.inside.depth import DepthSweep, sweep

COMMA = r",(?![^()]*(?:\([^()]*\)[^()]*)*\))"  # outside brackets, also nested ones
MAKE = vars(examples)


@pytest.fixture(scope="module", params=STEMS)
def make(request):
    """What makes each of the explorers."""
    return MAKE[request.param]


@pytest.fixture(scope="module")
def explorer(make):
    """Each of the explorers, made once."""
    return make()


def numbers(data):
    return np.frombuffer(data, "<f4").astype(float)


def test_the_page_has_the_activations_to_the_digits_that_it_shows():
    explorer = activations()
    x, values, slopes = curves()
    rows = numbers(explorer.data).reshape(11, 401)
    difference = 1e4 * (values["GELU (erf)"] - values["GELU (tanh)"])
    phi = torch.special.ndtr(x)
    expected = [x, *values.values(), *slopes.values(), phi, difference]
    decimals = [2] + 9 * [4] + [2]
    for row, curve, places in zip(rows, expected, decimals, strict=True):
        shown = [f"{number:.{places}f}" for number in row]
        printed = [f"{number:.{places}f}" for number in curve.tolist()]
        assert [float(one) for one in shown] == [float(one) for one in printed]


@pytest.mark.parametrize(
    ("size", "exponent", "shown"),
    [
        (0.0, 0, "0.0000"),
        (0.25, 0, "0.2500"),
        (0.1, 0, "0.1000"),
        (0.09996, 0, "0.1000"),
        (0.0517, -2, "5.17"),
        (4.73e-4, -4, "4.73"),
        (1.6e-11, -11, "1.60"),
    ],
)
def test_the_unit_of_the_difference_is_that_of_its_largest(size, exponent, shown):
    x = np.linspace(-1, 1, 5)
    zero = np.zeros(5)
    values = {"a": zero, "b": zero - size * np.array([0.3, 0, -0.1, 1, 0.5])}
    explorer = explorers.Activations(x, values, values, compare=("a", "b"))
    assert explorer.exponent == exponent
    row = numbers(explorer.data).reshape(6, 5)[5]
    assert f"{row[3]:.{len(shown) - 2}f}" == shown
    np.testing.assert_allclose(explorer.difference(), values["a"] - values["b"])


def test_without_a_pair_there_is_no_difference():
    x, values, slopes = curves(7)
    explorer = explorers.Activations(x, values, slopes)
    assert explorer.exponent == 0
    with pytest.raises(ValueError, match="compare names no curves"):
        explorer.difference()


def test_the_page_has_every_stack_to_the_digits_that_it_shows():
    explorer = depth()
    packed = numbers(explorer.data).reshape(2, 2, 3, 5, 2, 8 + 3 + 12)
    for quantity, array in enumerate((stacks(0), stacks(1))):
        where = 0
        for d, layers in enumerate(AXES["depths"]):
            shown = packed[quantity, ..., where : where + layers + 1].ravel()
            given = array[..., d, : layers + 1].ravel()
            for a, b in zip(shown, given, strict=True):
                assert f"{10**a:.2e}" == f"{10**b:.2e}"
            where += layers + 1


def test_the_data_of_chapter_sized_explorers_are_small():
    x, values, slopes = curves(1001)
    assert len(explorers.Activations(x, values, slopes, values["SiLU"]).data) < 45_000
    axes = {
        "kinds": ("a", "b", "c", "d"),
        "gains": (0.5, 1.0, 2.0, 3.0),
        "widths": (16, 64),
        "biases": (True, False),
        "depths": (10, 30, 100),
    }
    big = explorers.Depth(stacks(0, axes), stacks(1, axes), **axes)
    assert len(big.data) < 90_000


def test_a_depth_sweep_goes_straight_into_the_explorer():
    result = sweep(gains=(1.0,), widths=(3,), depths=(2, 5), biases=(True,))
    assert isinstance(result, DepthSweep)
    explorer = explorers.Depth(
        result.log_std,
        result.log_grad,
        kinds=result.kinds,
        gains=result.gains,
        widths=result.widths,
        depths=result.depths,
        biases=result.biases,
        depth=5,
    )
    curve = explorer.curves("gradients")["pre-norm"]
    np.testing.assert_array_equal(curve[1:], result.log_grad[2, 0, 0, 0, 1, 1:6])
    assert np.isnan(curve[0])


def test_all_state_is_in_synchronised_traits(explorer):
    own = explorer.traits().keys() - AnyWidget.class_traits().keys()
    assert "description" in own
    assert own <= explorer.get_state().keys()


def test_its_saved_state_says_what_it_takes(explorer):
    """So that a phrase of the site can be checked without a kernel."""
    saved = explorer.get_state()
    del saved["layout"]
    copy = type(explorer).__new__(type(explorer))
    copy.set_state(saved)
    for name in explorer.traits().keys() - AnyWidget.class_traits().keys():
        value = getattr(explorer, name)
        copy.traits()[name].set(copy, value)  # with the class's own checks
        assert getattr(copy, name) == value


def test_the_position_snaps_to_the_grid():
    explorer = activations(position=0.333)
    assert explorer.position == 0.33
    explorer.position = -17
    assert explorer.position == -2.0


def test_visible_curves_keep_the_order_of_the_arrays():
    explorer = activations(visible=["SiLU", "ReLU"])
    assert explorer.visible == ["ReLU", "SiLU"]
    explorer.visible = []
    assert explorer.visible == []


def test_depth_opens_on_the_first_of_each_and_halfway_down():
    explorer = depth()
    setting = (explorer.gain, explorer.width, explorer.bias, explorer.depth)
    assert setting == (0.5, 3, True, 7)
    assert explorer.layer == 3
    explorer.gain = 3
    np.testing.assert_array_equal(
        explorer.curves("activations")["residual"], stacks(0)[1, 2, 0, 0, 0, :8]
    )


def bad_activations():
    x, values, slopes = curves(7)
    relu = values["ReLU"]

    def given(**changes):
        return {"x": x, "values": values, "slopes": slopes} | changes

    return {
        "no rows": (given(values={}, slopes={}), "1 to 6 different names"),
        "two-dimensional x": (given(x=x[None]), r"one row, got shape \(1, 7\)"),
        "one point": (given(x=x[:1]), r"2 to 4001 numbers"),
        "falling x": (given(x=x.flip(0)), "increase in equal steps"),
        "uneven x": (given(x=x**3), "increase in equal steps"),
        "NaN in x": (given(x=changed(x, np.nan, 2)), "x must hold finite.*at index 2"),
        "other names": (given(slopes={"ReLU": relu}), "slopes must have the names"),
        "short curve": (given(values=values | {"SiLU": relu[1:]}), r"\(7,\), got \(6"),
        "infinity": (
            given(slopes=slopes | {"SiLU": changed(relu, np.inf, 3)}),
            r"slopes\['SiLU'\] must hold finite numbers, got inf at index 3",
        ),
        "words": (given(values=values | {"SiLU": ["a"] * 7}), "must be an array of"),
        "phi": (given(phi=relu[:5]), r"phi must have shape \(7,\), got \(5,\)"),
        "one to compare": (given(compare=["ReLU"]), "two curves"),
        "unknown to compare": (given(compare=["ReLU", "tanh"]), "got 'tanh'"),
        "unknown visible": (given(visible=["tanh"]), "visible must be among"),
        "unknown quantity": (given(quantity="area"), "quantity must be one of"),
        "NaN position": (given(position=float("nan")), "position must hold finite"),
    }


test_activations_errors_say_what_was_expected_and_what_came = refused_settings(
    explorers.Activations, bad_activations()
)


BAD_DEPTHS = [
    ({"log_std": stacks()[1:]}, r"log_std must have shape \(2, 3, 5, 2, 3, 12\)"),
    ({"log_std": stacks().swapaxes(1, 2)}, "log_std must have shape"),
    ({"log_std": changed(stacks(), np.nan, 1, 2, 4, 1, 1, 2)}, "log_std.*got nan"),
    ({"log_grad": changed(stacks(), -np.inf, 1, 2, 4, 1, 2, 11)}, "got -inf"),
    ({"log_grad": changed(stacks(), 1e9, 0, 0, 0, 0, 0, 3)}, "a log10"),
    ({"log_grad": changed(stacks(), np.nan, 0, 0, 0, 0, 0, 0)}, "nan"),
    ({"kinds": ()}, "kinds must be 1 to 6 different names"),
    ({"kinds": ("plain", "plain")}, "different names"),
    ({"gains": (0, 1, 3)}, "gains must be different positive numbers"),
    ({"depths": (7, 2.5, 11)}, "depths must be different positive"),
    ({"widths": ("wide",) * 5}, "widths must be numbers"),
    ({"biases": (True, True)}, "biases must be True and False"),
    ({"gain": 2.0}, "gain must be one of"),
    ({"depth": 12}, "depth must be one of"),
    ({"layer": 12}, "layer must be 0 to 11, got 12"),
    ({"quantity": "loss"}, "quantity must be one of"),
    ({"visible": ["sideways"]}, "visible must be among"),
]


test_depth_errors_say_what_was_expected_and_what_came = refused_settings(
    depth, *BAD_DEPTHS
)


def test_a_thousand_stacks_are_too_many():
    axes = AXES | {"widths": tuple(range(1, 1001))}
    with pytest.raises(ValueError, match="at most 16,384 numbers"):
        explorers.Depth(stacks(0, axes), stacks(0, axes), **axes)


def test_the_reprs_give_the_counts_or_say_what_is_shown():
    x, values, slopes = curves(7, ("SiLU",))
    beside = {"wiring": "post-norm", "depth": 32}
    none = {"triggers": [[]], "promoted": [[]]}
    device = replace(DEVICES["A100"], memory=1)
    model = replace(MODELS["GPT-2 XL"], length=512)
    for explorer, expected in (
        (activations(), "Activations(4 curves, 401 points)"),
        (explorers.Activations(x, values, slopes), "Activations(1 curve, 7 points)"),
        (depth(), "Depth(2 kinds, 3 gains, 5 widths, 3 depths)"),
        (examples.layer_norm(), "LayerNorm(5 channels)"),
        (explorers.LayerNorm([1]), "LayerNorm(1 channel)"),
        (examples.block_walk(), "BlockWalk(3 stages, 3 positions)"),
        (explorers.BlockWalk({"x": [[1.0]]}, ["a"]), "BlockWalk(1 stage, 1 position)"),
        (examples.attention(), "Attention(3 heads, 5 words)"),
        (explorers.Attention([[[0.0]]], ["a"]), "Attention(1 head, 1 word)"),
        (examples.sampling(), "Sampling(7 tokens)"),
        (examples.memory(), "Memory(3 tokens, 5 neurons)"),
        (explorers.Memory([[0.0]], ["a"], **none), "Memory(1 token, 1 neuron)"),
        (examples.tokens(), "Tokens(262 tokens in the vocabulary)"),
        (live(), "LiveModel(31 words, 2 layers, 20 channels, 4 facts)"),
        (live(facts=FACTS[:1]), "LiveModel(31 words, 2 layers, 20 channels, 1 fact)"),
        (explorers.Descent(), "Descent(one weight, plain, rate 0.1)"),
        (examples.descent(), "Descent(a network, adam, rate 0.03)"),
        (examples.train_gpt(size="large"), "TrainGPT(2,280 characters, large)"),
        (explorers.TrainStack(), "TrainStack(residual, 20 blocks)"),
        (
            explorers.TrainStack("plain", depth=1, beside=beside),
            "TrainStack(plain, 1 block beside post-norm, 32 blocks)",
        ),
        (explorers.Shapes("medium"), "Shapes(GPT-2 medium)"),
        (examples.shapes(), "Shapes(V = 50257, T = 1024, C = 1024, H = 16, L = 7)"),
        (examples.scale(), "Scale(GPT-2 XL on 64 × H100, optimizer)"),
        (
            explorers.Scale(model, device, devices=1000, spread="copies"),
            "Scale(a model on 1,000 × a device, copies)",
        ),
    ):
        assert repr(explorer) == expected


def test_a_notebook_gets_the_widget_a_picture_and_the_repr(explorer):
    data, metadata = explorer._repr_mimebundle_()
    assert data["text/plain"] == repr(explorer)
    view = data["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == explorer.model_id
    assert isinstance(metadata, dict)
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(data["image/png"])))
    assert pixels.shape == (504, 979, 4)
    assert pixels[0, 0, 3] == 0, "the still has a background"
    assert (pixels[..., 3] > 0.05).mean() > 0.005, "the still is empty"


def test_a_page_of_its_own_has_all_the_state_and_needs_nothing_else(
    make, explorer, tmp_path
):
    make().write_html(tmp_path / "a.html")
    explorer.write_html(tmp_path / "b.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "b.html").read_text(encoding="utf-8")
    saved = json.loads(re.search("^const saved = (.*);$", page, re.MULTILINE)[1])
    for name, value in explorer.get_state(saved["state"]).items():
        assert saved["state"][name] == value
    binary = {n for n, t in explorer.traits().items() if isinstance(t, traitlets.Bytes)}
    assert {one["path"][0] for one in saved["buffers"]} == binary
    assert {"description"} < set(saved["state"])
    assert "IPY_MODEL" not in page
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_still_is_the_same_in_every_run_and_leaves_the_style_alone(make, explorer):
    with matplotlib.rc_context({"axes.grid": False, "font.size": 7}):
        assert make().still() == explorer.still()
        assert matplotlib.rcParams["font.size"] == 7


def test_the_module_stands_alone(explorer, tmp_path):
    module = explorer._esm
    (last,) = re.findall(r"^(?:import|export)\b.*$", module, re.MULTILINE)
    assert re.fullmatch(r"export default \{ render(: \w+)? \};", last)
    assert module.rstrip().endswith(last)
    forbidden = ["import(", "eval(", "Function(", "fetch(", "://", "console."]
    forbidden += ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"]
    for one in forbidden:  # of the last four: text is never markup
        assert one not in module.replace("http://www.w3.org/2000/svg", "")
    path = tmp_path / "module.mjs"
    path.write_text(module, encoding="utf-8")
    assert in_node("typeof page.render", 0, tmp_path, {"page": path}) == "function"


def selectors(css):
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    found = [one for one in re.findall(r"([^{}]+)\{", css) if one.strip()[0] != "@"]
    return [selector for one in found for selector in re.split(COMMA, one)]


def test_the_stylesheet_reaches_nothing_outside_its_explorer(explorer):
    css = explorer._css
    assert all(".mygpt-" in selector for selector in selectors(css))
    assert "url(" not in css
    assert "@import" not in css


@pytest.mark.parametrize("stem", STEMS)
def test_an_explorers_stylesheet_is_for_it_alone_and_overrides_the_common_one(stem):
    root = rf"\.mygpt-explorer\S*\.mygpt-{stem.replace('_', '-')}\b"
    for selector in selectors((FOLDER / stem / "widget.css").read_text("utf-8")):
        assert re.search(root, selector), selector


def test_no_part_of_an_explorer_has_the_class_of_an_explorer():
    """Or its rules and whoever looks for the explorer would find the part."""
    roots = {f"mygpt-{stem.replace('_', '-')}" for stem in STEMS}
    for path in FOLDER.rglob("*.mjs"):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r'class: "([^"]+)"', text)
        tagged = re.findall(r'"\w+\.([a-z][\w.-]*)"', text)
        parts = [given.split() for given in named]
        parts += [[f"mygpt-{one}" for one in given.split(".")] for given in tagged]
        found = {one for part in parts for one in part} & roots
        assert not found, f"{path.name} names {found}"


def test_every_explorer_has_its_three_files_and_each_other_file_has_its_use():
    own = {f"{stem}/widget.{end}" for stem in STEMS for end in ("py", "mjs", "css")}
    files = {
        path.relative_to(FOLDER).as_posix(): path
        for path in FOLDER.rglob("*.*")
        if path.suffix in (".py", ".mjs", ".css")
    }
    assert own <= files.keys()
    used = {part for stem in STEMS for part in base.parts(stem)}
    used |= {part for one in used for part in base.parts_within(one)}
    folders = {part.parent for part in used}
    for name in files.keys() - own - {"kit/explorer.css", "kit/model.mjs"}:
        stem, _, end = name.partition(".")
        if end == "py":
            module = f"mygpt.explorers.{stem.replace('/', '.')}"
            module = module.removesuffix(".__init__")
            assert module in sys.modules or files[name].parent in folders, name
        else:  # a style sheet is taken with the module of its name
            assert files[name].with_suffix(".mjs") in used, name
    assert base.stylesheet("depth") == depth()._css
