"""What the project's files declare: packages, versions, addresses."""

import re

import pytest
import yaml
from helpers.declared import dependencies, imported, pins

import mygpt
from make import ROOT

# Between two releases the citation and the change log name the last one.
RELEASED = None if ".dev" in mygpt.__version__ else mygpt.__version__

OF_THE_KERNEL = {"ipython"}
ONLY_TO_MAKE_THEM = {"nbclient", "nbformat", "nbval", "pytest", "pyyaml"}


@pytest.mark.parametrize(
    ("folders", "declared"),
    [
        (["mygpt"], dependencies("hub")),
        (
            ["mygpt", "website", "chapters", "runs", "publish/plain"],
            OF_THE_KERNEL | set(pins("requirements.txt")),
        ),
        (["chapters"], OF_THE_KERNEL | ONLY_TO_MAKE_THEM | dependencies("notebooks")),
        (["tests", "bench", "publish"], set(pins("requirements/dev.txt"))),
        (["tools"], set(pins("requirements/mutants.txt"))),
    ],
    ids=["package", "book", "chapters", "tests", "tools"],
)
def test_what_is_imported_is_declared(folders, declared):
    found = imported(*folders)
    assert len(found) > 5
    assert {name for name in found if not found[name] & declared} == set()


@pytest.mark.parametrize(
    "name", ["requirements/site.txt", "requirements.txt", "requirements/dev.txt"]
)
def test_every_requirement_is_pinned(name):
    assert [package for package, version in pins(name).items() if not version] == []


def test_the_book_needs_no_tool_of_the_tests():
    assert "pytest-xdist" not in pins("requirements.txt")
    assert {"pytest", "nbval"} <= pins("requirements.txt").keys()
    assert not {"pytest", "transformers"} & pins("requirements/site.txt").keys()


def test_the_citation_gives_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert RELEASED in (None, citation["version"])


def test_the_change_log_has_the_version_below_what_is_unreleased():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[?([\w.]+)", log, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert RELEASED in (None, headings[1])
