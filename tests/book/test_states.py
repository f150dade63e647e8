"""The explorers' stored states: what the book takes, and what it makes anew."""

import base64
import copy
import json
import lzma
import os
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import traitlets
from nbformat import v4

from chapters import conftest
from mygpt import explorers
from tools import agreement, executed, states
from tools.agreement import differences, unpacked
from tools.execute import CHAPTERS, execute, normalise, of_page
from tools.live_lab import STATE, VIEW
from tools.states import StateError

TEXTS = [path for path in states.pages() if path.suffix == ".md"]
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
RUN = [CHAPTERS / f"{name}.ipynb" for name in ("07_residual_connections", "10_memory")]


def explorer(**state):
    scripts = {"_esm": "export …", "_css": ""}
    return {"model_name": "AnyModel", "state": scripts | state}


def ran():
    """A notebook with two linked explorers, as a run leaves it."""
    outputs = [
        v4.new_output("stream", name="stdout", text="1\n"),
        v4.new_output("display_data", {VIEW: {"model_id": "c0"}}),
        v4.new_output("display_data", {VIEW: {"model_id": "a7"}, "image/png": PICTURE}),
        v4.new_output("display_data", {VIEW: {"model_id": "b2"}, "image/png": PICTURE}),
    ]
    ends = {"source": ["IPY_MODEL_b2", "head"], "target": ["IPY_MODEL_a7", "head"]}
    models = {
        "c0": {"model_name": "LayoutModel", "state": {}},
        "b2": explorer(head=2, layout="IPY_MODEL_c0"),
        "a7": explorer(head=2, rate=0.5),
        "d1": {"state": {"_model_name": "LinkModel", **ends}},
    }
    code = v4.new_code_cell("show()", id="show", outputs=outputs, execution_count=1)
    cells = [v4.new_markdown_cell("# Title"), code]
    widgets = {STATE: {"state": models}}
    return v4.new_notebook(cells=cells, metadata={"widgets": widgets})


@pytest.fixture
def root(tmp_path):
    """A book of one chapter, with its states stored."""
    (tmp_path / "mygpt").mkdir()
    (tmp_path / "mygpt" / "a.py").write_text('"""A."""\n\nA = 1  # one\n')
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\n")
    states.folder_of(tmp_path).mkdir(parents=True)
    store(tmp_path, ran())
    return tmp_path


def store(root, notebook, modules=("mygpt.a",)):
    path = root / "chapters" / "01_a.ipynb"
    taken = normalise(notebook, "import mygpt")
    nbformat.write(notebook, path)
    states.place_of(path, root).write_bytes(states.packed(taken, [*modules], path))
    keys = {path.stem: states.key_of(path, [*modules], root)}
    (states.folder_of(root) / states.KEYS).write_text(json.dumps(keys))


def chapter(root):
    return root / "chapters" / "01_a.ipynb"


def test_the_book_gets_the_views_and_the_states_back(root):
    notebook = states.fresh(chapter(root), root)
    shown = [one.get("data", {}).get(VIEW) for one in notebook.cells[-1].outputs]
    assert [view and view["model_id"] for view in shown] == [
        *(None, "explorer-1", "explorer-2")
    ]
    models = notebook.metadata["widgets"][STATE]["state"]
    assert models["explorer-1"]["state"]["rate"] == 0.5
    assert "layout" not in models["explorer-2"]["state"]
    link = models["link-1"]["state"]
    assert link["source"] == ["IPY_MODEL_explorer-2", "head"]
    assert executed.fill(root / "cache", root) == ["01_a.ipynb"]


def test_two_runs_with_other_names_store_the_same_bytes(root):
    before = states.place_of(chapter(root), root).read_bytes()
    text = json.dumps(ran()).replace("a7", "f00").replace("b2", "0ff")
    store(root, nbformat.reads(text, as_version=4))
    assert states.place_of(chapter(root), root).read_bytes() == before


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("chapters/01_a.ipynb", "# Title", "# Another title"),
        ("mygpt/a.py", "A.", "Another docstring."),
        ("mygpt/a.py", "# one", "# another comment"),
        ("mygpt/a.py", "\n\nA", "\n\n\nA"),
    ],
)
def test_what_changes_no_output_leaves_the_states_fresh(root, file, old, new):
    change(root / file, old, new)
    (root / "mygpt" / "b.py").write_text("B = 1\n")  # the run did not load it
    assert states.fresh(chapter(root), root)


def test_the_time_of_a_file_decides_nothing(root):
    os.utime(root / "mygpt" / "a.py", (0, 0))
    assert states.fresh(chapter(root), root)
    change(root / "mygpt" / "a.py", "A = 1", "A = 2")
    os.utime(root / "mygpt" / "a.py", (0, 0))
    with pytest.raises(StateError, match="made with other files"):
        states.fresh(chapter(root), root)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("chapters/01_a.ipynb", "show()", "show(2)"),
        ("mygpt/a.py", "A = 1", "A = 2"),
        ("requirements.txt", "2.13.0", "2.14.0"),
        ("chapters/states/keys.json", "01_a", "02_b"),
        ("chapters/states/keys.json", "}", ""),
    ],
)
def test_what_may_change_an_output_makes_the_states_stale(root, file, old, new):
    change(root / file, old, new)
    with pytest.raises(StateError, match="made with other files"):
        states.fresh(chapter(root), root)
    assert executed.fill(root / "cache", root) == []


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda b: b[:-20], "cannot be read"),
        (lambda b: b"", "cannot be read"),
        (lambda b: lzma.compress(b"[]"), "another version"),
        (lambda b: packed_again(b, version=0), "another version"),
        (lambda b: packed_again(b, notebook="02_b"), "those of 02_b"),
        (lambda b: packed_again(b, views=[["no", 0, "explorer-1"]]), "other outputs"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_the_chapter_run(root, spoil, why):
    place = states.place_of(chapter(root), root)
    place.write_bytes(spoil(place.read_bytes()))
    with pytest.raises(StateError, match=why):
        states.fresh(chapter(root), root)
    place.unlink()
    with pytest.raises(StateError, match="no states are stored"):
        states.fresh(chapter(root), root)


def packed_again(content, **changed):
    states_read = json.loads(lzma.decompress(content))
    return lzma.compress(json.dumps(states_read | changed).encode())


def test_every_page_is_stored_as_it_stands_in_at_most_6_mb():
    pages = states.pages()
    assert [path.name for path in pages if not states.fresh(path)] == []
    assert states.keys().keys() == {path.stem for path in pages}
    stored = list(states.folder_of(states.ROOT).glob("*.xz"))
    assert len(stored) == len(pages)
    assert sum(path.stat().st_size for path in stored) < 6e6


@pytest.mark.parametrize("path", TEXTS, ids=[path.stem for path in TEXTS])
def test_a_page_of_text_prints_and_shows_what_is_stored(path):
    notebook = states.read(path)
    execute(notebook, path.parent)
    ran_with = notebook.metadata["language_info"]["pygments_lexer"]
    stored_with = states.fresh(path).metadata["language_info"]["pygments_lexer"]
    assert stored_with == ran_with  # or the page's code has no colours
    assert list(differences(states.load(path), of_page(notebook))) == []
    assert notebook.metadata["loaded"] == states.load(path)["modules"]


def test_another_output_of_a_page_of_text_is_a_difference():
    content = states.load(TEXTS[-1])
    other = copy.deepcopy(content)
    *_, outputs = other["outputs"].values()
    outputs[0]["text"] += "more\n"
    ((_, why),) = differences(content, other)
    assert "printed something else" in why


def stored_model(path, kind):
    content = states.load(path)
    for cell, _, name in content["views"]:
        model = content["models"][name]
        if model["state"]["_anywidget_id"].endswith(f".{kind}"):
            return content, cell, model
    raise AssertionError(kind)


def with_bytes(model, trait, how):
    for one in model["buffers"]:
        if one["path"] == [trait]:
            one["data"] = base64.b64encode(how(base64.b64decode(one["data"]))).decode()


def scaled(kind, factor, place=slice(None)):
    def how(data):
        numbers = np.frombuffer(data, kind).copy()
        numbers[place] = numbers[place] * factor
        return numbers.tobytes()

    return how


def added(place, more=1):
    """Adds to a number of the pairs, which are whole."""

    def how(data):
        numbers = np.frombuffer(data, "<i4").copy()
        numbers[place] += more
        return numbers.tobytes()

    return how


WORST = "number|byte|became"
PLANTED = [
    ("Depth", lambda m: m["state"].update(gain=2.0), "gain 1.0 became 2.0"),
    ("Depth", lambda m: m["state"]["kinds"].reverse(), "kinds"),
    ("Depth", lambda m: m["state"].update(new=1), "new None became 1"),
    ("Depth", lambda m: with_bytes(m, "data", scaled("<f4", 2, 5)), WORST),
    ("Depth", lambda m: with_bytes(m, "data", scaled("<f4", np.nan, 5)), WORST),
    ("Depth", lambda m: with_bytes(m, "data", lambda b: b[:-4]), "bytes became"),
    ("Memory", lambda m: with_bytes(m, "data", scaled("<i4", 2, 7)), WORST),
    ("Memory", lambda m: with_bytes(m, "trigger_data", added(0)), "a text is another"),
    ("Memory", lambda m: with_bytes(m, "trigger_data", added(1, 60)), WORST),
    ("Memory", lambda m: with_bytes(m, "value_data", scaled("<f4", 1.01, 3)), WORST),
    ("Memory", lambda m: m["state"]["norms"].__setitem__(0, 1.1), "norms"),
    ("LiveModel", lambda m: with_bytes(m, "weights", scaled("<f2", 2, 9)), WORST),
]


@pytest.mark.parametrize(("kind", "plant", "why"), PLANTED)
def test_a_planted_change_of_a_state_turns_its_cell_red(kind, plant, why):
    path = RUN[kind != "Depth"]
    content, cell, model = stored_model(path, kind)
    plant(model)
    fresh = nbformat.read(path, as_version=4)
    states.put(fresh, content)
    fresh.metadata |= {"loaded": content["modules"], "figures": content["figures"]}
    item = SimpleNamespace(path=path, nb=nbformat.read(path, as_version=4))
    conftest.Chapter.compare_states(item, fresh)
    assert list(item.wrong_states) == [cell]
    assert any(word in item.wrong_states[cell] for word in why.split("|"))


@pytest.mark.parametrize(
    ("kind", "trait", "how"),
    [
        ("Depth", "data", scaled("<f4", 1 + 1e-5)),
        ("Memory", "trigger_data", added(1)),
        ("Memory", "data", added(1)),
    ],
)
def test_the_rounding_of_another_processor_is_no_difference(kind, trait, how):
    content, _, model = stored_model(RUN[kind != "Depth"], kind)
    stored = copy.deepcopy(content)
    with_bytes(model, trait, how)
    assert content != stored
    assert not list(differences(stored, content))


def test_an_explorer_that_is_new_gone_or_moved_is_a_difference():
    content = states.load(RUN[0])
    (_, _, first), *others = content["views"]
    models = {n: model for n, model in content["models"].items() if n != first}
    fewer = content | {"views": others, "models": models}
    ((cell, why),) = differences(content, fewer)
    assert cell == content["views"][0][0]
    assert "no explorer where one is stored" in why
    ((cell, why),) = differences(fewer, content)
    assert "none is stored" in why


def test_packed_rows_are_read_as_the_explorer_packs_them():
    from mygpt.explorers.memory.widget import _packed

    numbers = np.random.default_rng(0).normal(size=(7, 5))
    data, kept = _packed(numbers)
    read, units = unpacked(data, 7)
    np.testing.assert_array_equal(read, kept)
    assert np.abs(read - numbers).max() <= units.max() / 2


def test_each_array_that_an_explorer_packs_is_compared_by_its_numbers():
    """Bytes that no list names would have to be equal, which no other CPU's are."""
    packed = {
        f"{kind.__name__}.{name}"
        for kind in (getattr(explorers, each) for each in explorers.__all__)
        for name, trait in kind.class_traits().items()
        if isinstance(trait, traitlets.Bytes)
    }
    numbers = {*agreement.FLOATS, *agreement.THOUSANDTHS, *agreement.PAIRS}
    whole = packed - numbers - set(agreement.PACKED_ROWS)
    assert whole == {"Tokens.data"}
