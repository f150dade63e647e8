"""nbval's check of the chapters, with tolerance for numbers, none for missing outputs.

Everything that nbval 0.11 compares it still compares. A chapter is run whole, by the
client that `make chapters` uses, and kept for the book, which need not run it again.
Fresh text that agrees with the stored text (see comparison.py) is handed to nbval as
the stored text; what nbval leaves out is added: a cell that was never run, an output
where none is stored, the number of pictures.

Cell tags: `rtol-2e-2` widens the tolerance of decimals, `varies` skips the comparison
of an output, and of an explorer's state, that may differ by machine; the cell must
still run, and must have an output stored if it gives one. The setup cell offers help
with a GPU, and stores none.
"""

import copy
import os
import re
from decimal import Decimal

import pytest
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams

from tools import states
from tools.agreement import differences
from tools.comparison import difference
from tools.execute import CHAPTERS, execute, first_cell, is_setup, normalise
from tools.executed import keep_for_the_book
from tools.figures import pictures
from tools.processors import settings

RTOL = re.compile(r"rtol-(\d+(?:\.\d+)?(?:e-?\d+)?)")
PICTURES = ("image/png", "image/jpeg")


def pytest_addoption(parser):
    parser.addoption(
        "--rounding-noise",
        type=int,
        metavar="SEED",
        help="compare under rounding noise of this seed (see tools/processors)",
    )


def pytest_configure(config):
    seed = config.getoption("--rounding-noise", default=None)
    if seed is not None:
        os.environ.update(settings.noise(seed).environment())


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Put a Chapter in the place of each notebook that nbval collects."""
    found = yield
    return [
        Chapter.from_parent(parent, path=node.path) if type(node) is IPyNbFile else node
        for node in found
    ]


class Chapter(IPyNbFile):
    """A notebook that is run whole, and whose cells are compared with tolerance."""

    stopped = ""  # why the run ended before the last cell

    def setup(self):
        under_setting = settings.active() and self.path.parent == CHAPTERS
        fresh = self.kept_run() if under_setting else self.fresh_run()
        self.codes = [cell for cell in fresh.cells if cell.cell_type == "code"]
        if not settings.active() and not self.stopped:
            keep_for_the_book(fresh, self.path)
        self.wrong_states = {}
        if self.path.parent == CHAPTERS and not self.stopped:
            self.compare_states(copy.deepcopy(fresh))
        self.setup_sanitize_files()

    def compare_states(self, fresh):
        """Note the cells whose explorers are others than those that are stored.

        What concerns no cell is noted for the setup cell: a file that is stale.
        """
        loaded = fresh.metadata.get("loaded", [])
        taken = normalise(fresh, first_cell())
        setup = next(cell.id for cell in fresh.cells if is_setup(cell))
        try:
            stored = states.fresh(self.path) and states.load(self.path)
            if missing := set(loaded) - set(stored["modules"]):
                raise states.StateError(f"they were made without {min(missing)}")
            self.wrong_states = dict(differences(stored, taken))
            kept, here = stored["pictures"], pictures(self.nb)
            for name in (
                n for n in kept.keys() | here.keys() if kept.get(n) != here.get(n)
            ):
                self.wrong_states[name] = (
                    "stores a picture that `make chapters` did not"
                )
        except states.StateError as cause:
            self.wrong_states = {setup: f"{cause}: run `make chapters`"}

    def fresh_run(self):
        """The notebook with its new outputs, up to the cell at which the run ended."""
        fresh = copy.deepcopy(self.nb)
        for cell in fresh.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        begun = []
        try:
            execute(
                fresh,
                self.path.parent,
                allow_errors=True,
                begin=lambda cell, cell_index: begun.append(cell),
            )
        except (CellTimeoutError, DeadKernelError) as cause:
            self.stopped = str(cause).strip()
            if begun:
                begun[-1].execution_count = None  # it did not end
        return fresh

    def kept_run(self):
        """The run under the active setting: from its own place, or a new one."""
        kept = settings.Kept(self.path)
        fresh = kept.load()
        if fresh is None:
            kept.begin()
            fresh = self.fresh_run()
            if not self.stopped:
                kept.save(fresh)
        return fresh

    def teardown(self):
        """The kernel has ended with the run."""

    def collect(self):
        for cell in super().collect():
            yield ChapterCell.from_parent(
                self,
                name=cell.name,
                cell_num=cell.cell_num,
                cell=cell.cell,
                options=cell.options,
            )


class ChapterCell(IPyNbCell):
    """A code cell whose text outputs are compared with tolerance."""

    def runtest(self):
        self.rtol, self.varies = self.read_tags()
        if self.cell.source.strip() and self.cell.execution_count is None:
            self.fail("was never run: run `make chapters`")
        if self.options["skip"]:
            pytest.skip()
        fresh = self.parent.codes[self.cell_num]
        if fresh.source.strip() and fresh.execution_count is None:
            self.fail(f"did not run to its end: {self.parent.stopped}")
        outputs = coalesce_streams(copy.deepcopy(fresh.outputs))
        for output in outputs:
            if output.output_type == "error" and not self.options["check_exception"]:
                told = "\n" + "\n".join(output.traceback)
                self.raise_cell_error("Cell execution caused an exception", told)
        stored = coalesce_streams(self.cell.outputs)
        if is_setup(self.cell):
            outputs = []
        why = self.parent.wrong_states.get(self.cell.get("id"))
        if why and not (self.varies and "state differs" in why):
            self.fail(why)
        if self.options["check"] and not self.compare_outputs(outputs, stored):
            self.raise_cell_error(
                "Cell outputs differ", "\n".join(self.comparison_traceback)
            )

    def fail(self, why: str):
        self.raise_cell_error(f"cell {self.cell.get('id', self.cell_num)!r} {why}")

    def read_tags(self) -> tuple[Decimal, bool]:
        """The relative tolerance, and whether the output may vary, from the tags."""
        tags = self.cell.metadata.get("tags", [])
        wide = [tag for tag in tags if tag.startswith("rtol")]
        values = [Decimal(match[1]) for tag in wide if (match := RTOL.fullmatch(tag))]
        if len(values) != len(wide) or not all(0 < value < 1 for value in values):
            self.fail(
                f"has a malformed tag among {wide}: a tolerance is written rtol-2e-2"
            )
        if len(values) + ("varies" in tags) > 1:
            self.fail(f"has more than one of the tags rtol-… and varies: {tags}")
        return (values or [Decimal(0)])[0], "varies" in tags

    def compare_outputs(self, test, ref, skip_compare=None):
        if test and not ref:
            return self.differ(
                "gives an output and none is stored: run `make chapters`"
            )
        if self.varies:
            empty = test and not any(map(said, test)) and any(map(said, ref))
            if empty or (ref and not test):
                return self.differ("gives no output")
            now, then = (", ".join(kinds(each)).split(", ") for each in (test, ref))
            if ref and not {*now} & {*then}:
                return self.differ(f"gives {now}, stored is {then}")
            return True
        if count(test) != count(ref):
            return self.differ(f"stores {count(ref)} pictures and drew {count(test)}")
        now, then = kinds(test), kinds(ref)
        if now != then and sorted(now) == sorted(then):
            return self.differ(f"gives {'; '.join(now)}, stored is {'; '.join(then)}")
        skip = skip_compare or self.parent.skip_compare
        fresh = texts(test, skip)
        for key, places in texts(ref, skip).items():
            for (old, name), (new, _) in zip(places, fresh.get(key, []), strict=False):
                why = difference(old[name], new[name], self.rtol)
                if why:
                    return self.differ(f"printed something else: {key}, {why}")
                new[name] = old[name]
        return super().compare_outputs(test, ref, skip_compare)

    def differ(self, why: str) -> bool:
        self.comparison_traceback = [
            f"cell {self.cell.get('id', self.cell_num)!r} {why}"
        ]
        return False


def count(outputs) -> int:
    return sum(
        kind in output.get("data", {}) for output in outputs for kind in PICTURES
    )


def said(output) -> bool:
    """Whether an output says something."""
    return bool(output.get("text", "x").strip())


def kinds(outputs) -> list[str]:
    """The kinds of some outputs, in their order."""
    named = (
        one.get("name") or ", ".join(sorted(one.get("data", ()))) for one in outputs
    )
    return [*filter(None, named)]


def texts(outputs, skip) -> dict[str, list[tuple[dict, str]]]:
    """Where the texts of the outputs stand, by stream name or media type."""
    found = {}
    for output in outputs:
        if output.output_type == "stream":
            found.setdefault(output.name, []).append((output, "text"))
        for kind, content in output.get("data", {}).items():
            if isinstance(content, str) and kind not in skip:
                found.setdefault(kind, []).append((output["data"], kind))
    return found
