"""A task's cell in a notebook: written, filled in, checked and counted in place."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from mygpt import check
from mygpt.check import TASKS
from mygpt.check.result import Result
from mygpt.check.workbook import notebook

STUB_LINE = "raise NotImplementedError"
BEGIN = 'from mygpt import check\ncheck.write("softmax")'


class Shell:
    """IPython's shell, as far as a cell is written with it."""

    kernel = "any"

    def __init__(self):
        self.cells = []

    def set_next_input(self, text, replace=False):
        self.cells.append((text, replace))


@pytest.fixture
def shell(monkeypatch):
    made = Shell()
    module = ModuleType("IPython")
    module.get_ipython = lambda: made
    monkeypatch.setitem(sys.modules, "IPython", module)
    return made


@pytest.fixture(autouse=True)
def a_new_session(monkeypatch):
    monkeypatch.setattr(notebook, "LATEST", {})


class Notebook(NotebookClient):
    """A notebook that keeps what a cell asks its front end to do."""

    async def _async_poll_for_reply(self, *arguments):
        reply = await super()._async_poll_for_reply(*arguments)
        self.payloads = reply["content"]["payload"]
        return reply

    def run(self, cell):
        """Run a cell; do with it what JupyterLab does; return what it shows."""
        self.execute_cell(cell, 0)
        for one in self.payloads:
            assert (one["source"], one["replace"]) == ("set_next_input", True)
            cell.source = one["text"]
        return shown(cell)


def shown(cell):
    found = cell.outputs[-1]
    return found.text if "text" in found else found.data["text/plain"]


def test_a_cell_is_written_filled_in_and_checked_in_a_notebook():
    cell = nbformat.v4.new_code_cell(BEGIN)
    client = Notebook(
        nbformat.v4.new_notebook(cells=[cell]), timeout=120, kernel_name="python3"
    )
    with client.setup_kernel():
        said = client.run(cell)
        assert said.startswith("softmax, 4 of 28, in “2. Embeddings, positions,")
        assert "def my_softmax(scores):" in cell.source
        assert cell.source.endswith("check.softmax(my_softmax)")
        stub = cell.source

        said = client.run(cell)
        assert said.startswith("softmax: not begun\n")
        assert said.endswith("\n\n0 of 28 right so far")

        cell.source = stub.replace(STUB_LINE, "return torch.softmax(scores, 0)")
        said = client.run(cell)
        assert "the sum runs down each column" in said
        assert said.endswith("\n\n0 of 28 right so far")

        cell.source = stub.replace(STUB_LINE, "return torch.softmax(scores, -1)")
        said = client.run(cell)
        assert said.startswith("softmax: right\n\n1 of 28 right so far\n")
        assert "next: cross_entropy, in “2. Embeddings" in said
        assert said.endswith('check.write("cross_entropy")')

        cell.source = "check.write()"
        assert client.run(cell).startswith("cross_entropy, 5 of 28")


def test_colab_gets_the_cell_below_and_is_told_what_to_do_if_there_is_none(
    shell, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    check.write("gelu")
    assert shell.cells == [(check.cell("gelu"), False)]
    said = capsys.readouterr().out
    assert "Fill in the cell below, and run it.\n" in said
    assert 'Nothing there? Copy what print(check.cell("gelu")) shows.\n' in said


def test_without_a_notebook_the_cell_is_printed_to_copy(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    check.write("gelu")
    said = capsys.readouterr().out
    assert said.startswith(
        "There is no notebook to write in. Copy this:\n\nimport torch"
    )
    assert said.endswith("\n\ncheck.gelu(my_gelu)\n")
    terminal = SimpleNamespace(get_ipython=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    check.write("gelu")
    assert capsys.readouterr().out == said


def test_an_unknown_task_is_named(shell):
    with pytest.raises(ValueError, match="no task 'softmaxx'; did you mean softmax"):
        check.write("softmaxx")
    assert shell.cells == []


def test_every_cell_is_a_program_whose_function_is_not_the_chapters():
    for task in TASKS.values():
        text = check.cell(task.name)
        compile(text, task.name, "exec")
        assert f"def my_{task.name}({', '.join(task.arguments)}):" in text
        assert f" {task.name}(" not in text.split('"""')[2]


def test_the_examples_call_the_function_by_the_cells_name():
    assert ">>> my_softmax(torch.tensor(" in check.cell("softmax")


def test_what_was_right_and_is_no_longer_is_not_counted():
    right = check.gelu(lambda x: x * (1 + (x / 2**0.5).erf()) / 2)
    assert right.passed
    assert notebook.so_far("gelu").startswith("1 of 28 right so far\nnext: gelu_tanh,")
    assert not check.gelu(lambda x: x.relu())
    assert notebook.so_far("gelu") == "0 of 28 right so far"


def test_the_count_stands_where_a_notebook_shows_a_result_and_not_in_print():
    result = check.gelu(lambda x: x.relu())
    written = []
    result._repr_pretty_(SimpleNamespace(text=written.append), False)
    assert written == [f"{result!r}\n\n0 of 28 right so far"]
    assert "so far" not in str(result)


def test_the_page_turns_a_class_into_a_function_that_is_right():
    page = (Path(__file__).parents[2] / "pages" / "using.md").read_text(
        encoding="utf-8"
    )
    section = re.search("^## Write the parts.*?(?=^## )", page, re.M | re.S)[0]
    assert f"is {len(TASKS)} functions" in section
    assert re.findall(r"\{ref}`(\w+) <([\w-]+)>`", section) == [
        (task.name, task.label) for task in TASKS.values()
    ]
    _, both, kept = re.findall("```python\n(.*?)```", section, re.S)
    names = {"nn": torch.nn, "check": check}
    exec(both, names)
    assert check.mlp(names["my_mlp"]).passed
    assert eval(kept, names).passed


def test_no_chapter_asks_for_a_function_under_a_name_that_it_uses():
    """Each box asks for my_…; every task is asked for somewhere."""
    asked = set()
    for path in (Path(__file__).parents[2] / "chapters").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        source = {"code": "", "markdown": ""}
        for cell in cells:
            source[cell["cell_type"]] += "".join(cell["source"]) + "\n"
        for box in re.findall(
            ":class: check-yours\n(.*?)\n:::", source["markdown"], re.S
        ):
            own = set(re.findall(r"\bmy_\w+", box))
            assert own
            assert set(re.findall(r"`(\w+)\(", box)) - own <= {"model", "step"}
            assert not any(re.search(rf"\b{name}\b", source["code"]) for name in own)
            asked |= own
    assert asked == {f"my_{name}" for name in TASKS}


def test_at_the_end_nothing_is_next(shell, capsys):
    for name in TASKS:
        notebook.counted(Result(name, True))
    assert notebook.so_far("ring") == "28 of 28 right so far"
    check.write()
    assert capsys.readouterr().out == "All 28 are right.\n"
    assert shell.cells == []
