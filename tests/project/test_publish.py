"""What is released, and where the notebooks run elsewhere."""

import os
import re
import shutil
import tomllib

import pytest
import yaml
from helpers.declared import dependencies, normal, pins
from helpers.notebooks import code, write
from helpers.programs import run_python

from make import ROOT
from publish import (
    addresses,
    colab_versions,
    distributions,
    elsewhere,
    newest,
    package,
    run_notebooks,
)
from publish.environments import make, status
from tools.publication import Publication, publication

COLAB = ROOT / "publish" / "colab.txt"


def of_binder():
    lines = (ROOT / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def test_binder_has_the_pins_of_the_book():
    known = pins("requirements/dev.txt")
    wrong = {name for name, at in of_binder().items() if known[normal(name)] != at}
    assert wrong == set()


def test_binder_has_what_the_package_and_the_notebooks_import_and_no_site():
    assert dependencies() <= {normal(name) for name in of_binder()}
    assert not {normal(name) for name in of_binder()} & set(elsewhere.SITE_TOOLS)


def test_colabs_list_is_dated_and_meets_what_the_package_asks_for():
    text = COLAB.read_text("utf-8")
    assert re.search(r"on \d{4}-\d\d-\d\d: Python 3\.\d+\.\d+", text)
    listed = colab_versions.versions(text)
    missing = dependencies() - listed.keys()
    assert missing <= {"jaxtyping"}  # which the setup cell adds


FREEZE = """\
# written by a machine
numpy==2.1.3
other==1.0
torch @ https://download.example/whl/cpu/torch-2.11.0%2Bcpu-cp313-cp313-linux.whl
huggingface_hub==1.27.0
"""


def test_colabs_list_follows_a_freeze_and_drops_what_it_has_not():
    old = "# Python 3.11\ntorch==2.6.0\nnumpy==2.0.2\nhuggingface-hub==0.9\ngone==3\n"
    text = colab_versions.updated(old, FREEZE, "X\nPython 3.13.15\n", "2026-08-19")
    _, *lines = text.split("\n#")[-1].splitlines()
    assert lines == ["huggingface-hub==1.27.0", "numpy==2.1.3", "torch==2.11.0"]
    assert "on 2026-08-19: Python 3.13.15" in text


def test_a_setup_cell_that_replaces_a_package_of_colab_is_refused():
    before = {"torch": "2.11.0", "ipywidgets": "7.7.1"}
    elsewhere.leave_alone(before, before | {"mygpt": "1.0.0"})
    with pytest.raises(make.Stop, match=r"ipywidgets 7\.7\.1 became 8\.1\.9"):
        elsewhere.leave_alone(before, before | {"ipywidgets": "8.1.9"})


def test_the_cell_that_installs_the_package_is_tried_alone(tmp_path):
    path = tmp_path / "a.ipynb"
    installs = Publication(package="some.whl").first_cell()
    write(path, code("1 / 0"), code(installs, id="setup"))
    (cell,) = run_notebooks.setup_of(path).cells
    assert '%pip install --quiet "some.whl"' in cell.source
    write(path, code("1 / 0"), code(Publication().first_cell(), id="setup"))
    with pytest.raises(SystemExit, match="no cell installs the package"):
        run_notebooks.setup_of(path)


def test_the_newest_packages_are_those_that_a_reader_installs():
    lines = newest.requirements()
    free = {line for line in lines if "==" not in line}
    assert {"torch", "numpy", "anywidget", "transformers"} <= free
    tools = ("sphinx", "pytest", "jupyter-book")
    assert [line for line in lines if line.startswith(tools)]
    assert not any(re.match(r"(sphinx|pytest|jupyter-book)", line) for line in free)


def test_what_stops_a_run_is_said_in_one_line_and_is_its_status(capsys):
    def stopped():
        raise make.Stop("no network")

    assert (status(stopped), status(lambda: None)) == (1, 0)
    assert capsys.readouterr().err == "\nError: no network\n"


def test_a_tag_of_another_version_is_refused_and_none_is_allowed():
    distributions.check_tag(None)
    distributions.check_tag(f"v{distributions.version()}")
    with pytest.raises(make.Stop, match=r"the tag v0\.0\.9 is not of this version"):
        distributions.check_tag("v0.0.9")


def test_the_notes_of_a_release_are_its_section_of_the_change_log():
    assert "### " in distributions.notes()
    assert "\n## " not in distributions.notes()


def test_the_files_that_others_show_name_what_is_published():
    assert addresses.changes(publication()) == {}


def test_addresses_come_with_the_setting_and_go_with_it(tmp_path):
    here = {name: (ROOT / name).read_text("utf-8") for name in addresses.FILES}
    for name, text in here.items():
        (tmp_path / name).write_text(text, "utf-8")
    site, repository = "https://some.example/book/", "https://github.com/some/book"
    found = Publication(repository=repository, site=site)
    for path, text in addresses.changes(found, tmp_path).items():
        path.write_text(text, "utf-8")
    texts = {name: (tmp_path / name).read_text("utf-8") for name in here}
    assert f"[Read it]({site})" in texts["README.md"]
    assert yaml.safe_load(texts["CITATION.cff"])["repository-code"] == repository
    urls = tomllib.loads(texts["pyproject.toml"])["project"]["urls"]
    assert urls == {"Repository": repository, "Documentation": site}
    assert addresses.changes(found, tmp_path) == {}
    for path, text in addresses.changes(Publication(), tmp_path).items():
        path.write_text(text, "utf-8")
    assert {name: (tmp_path / name).read_text("utf-8") for name in here} == here


def test_unpublished_no_file_names_an_address_of_the_book():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    owner = config["repository"]["url"].split("/")[-2]
    if publication().repository:
        pytest.skip("the book is published")
    kinds = (
        "*.md",
        "docs/*.md",
        "pages/*.md",
        "*.cff",
        "*.toml",
        "chapters/*.ipynb",
        "mygpt/**/*.py",
    )
    files = [path for kind in kinds for path in ROOT.glob(kind)]
    assert [path.name for path in files if owner in path.read_text("utf-8")] == []


PACKAGE = ("__init__.py", "check/locate/find.py", "corpora/text.txt", "kit/page.html")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A small package with a file of a kind that no setting names, and its builds."""
    root = tmp_path_factory.mktemp("planted")
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-prose"):
        shutil.copy(ROOT / name, root)
    for name in (*PACKAGE, "corpora/table.parquet", "__pycache__/old.pyc"):
        path = root / "mygpt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('__version__ = "1"\n', encoding="utf-8")
    return package.build(root / "built", root)


@pytest.mark.parametrize("kind", [0, 1], ids=["sdist", "wheel"])
def test_a_package_that_differs_from_git_is_refused(planted, kind):
    built = planted[kind]
    tracked = {f"mygpt/{name}" for name in PACKAGE}
    package.check_files(built, tracked)
    with pytest.raises(make.Stop, match=r"lacks mygpt/data/corpora/table\.parquet$"):
        package.check_files(built, tracked | {"mygpt/data/corpora/table.parquet"})
    folder = {"mygpt/check/mends/a.py", "mygpt/check/mends/b.py"}
    with pytest.raises(make.Stop, match=r"lacks mygpt/check/mends/a\.py and 1 more$"):
        package.check_files(built, tracked | folder)
    with pytest.raises(make.Stop, match=r"git lacks mygpt/check/locate/find\.py"):
        package.check_files(built, tracked - {"mygpt/check/locate/find.py"})


def test_a_trial_that_sees_the_checkout_fails():
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_python(ROOT / "publish" / "trial.py", "1.0.0", status=1, env=env)
    assert done.stderr == "Error: expected that one mygpt can be seen\n"


@pytest.mark.slow
def test_a_fresh_install_of_wheel_and_sdist_works():
    assert status(distributions.release) == 0
