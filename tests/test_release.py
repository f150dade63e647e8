"""The release that pages and notebooks name, and the settings that it needs."""

import execute
import pytest
import release
import site_release
from sphinx.errors import ConfigError

import mygpt


def test_the_version_is_read_without_importing_the_package():
    assert release.version() == mygpt.__version__


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.0", "v1.0.0"),
        ("1.1.0rc2", "v1.1.0rc2"),
        ("1.1.0.dev0", "dev"),
    ],
)
def test_a_release_is_opened_at_its_tag_and_the_rest_at_the_branch(version, expected):
    assert release.revision(version, "dev") == expected


@pytest.fixture
def book(tmp_path):
    """A book's folder with a version; returns what writes its `_config.yml`."""
    (tmp_path / "mygpt").mkdir()
    (tmp_path / "mygpt" / "__init__.py").write_text('__version__ = "2.3.0"\n')

    def configured(text):
        (tmp_path / "_config.yml").write_text(text, encoding="utf-8")
        return tmp_path

    return configured


def test_the_setup_cell_installs_the_release_of_its_notebook(book):
    root = book("repository:\n  url: https://github.com/some/book/\n  branch: dev\n")
    package = "mygpt @ git+https://github.com/some/book"
    assert execute.requirement(root) == f"{package}@v2.3.0"
    (root / "mygpt" / "__init__.py").write_text('__version__ = "2.4.0.dev1"\n')
    assert execute.requirement(root) == f"{package}@dev"


@pytest.mark.parametrize(
    "setting",
    ["", "title: x", "repository:", "repository:\n  url: ''", "repository:\n  url: 7"]
    + [
        f"repository:\n  url: {wrong}"
        for wrong in ("github.com/a/b", "https://github.com/a", "https://a.org/b/c")
    ],
)
def test_a_repository_that_cannot_be_used_is_one_line_that_names_it(book, setting):
    root = book(setting)
    with pytest.raises(execute.ChapterError) as caught:
        execute.requirement(root)
    (line,) = str(caught.value).splitlines()
    assert line.startswith("_config.yml: repository.url should be https://github.com/")


class Config:
    """The part of Sphinx's configuration that is read and written here."""

    def __init__(self, address="https://github.com/some/book", site_url="pages"):
        self.html_theme_options = {"repository_url": address}
        self.site_url = site_url


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (Config(address=""), "repository.url"),
        (Config(address="https://example.org/a/b"), "repository.url"),
        (Config(site_url="page"), "site_url"),
        (Config(site_url="some.github.io/book"), "site_url"),
        (Config(site_url=None), "site_url"),
    ],
)
def test_a_site_with_a_wrong_address_is_not_built(wrong, named):
    with pytest.raises(ConfigError) as caught:
        site_release.set_release(None, wrong)
    assert str(caught.value).startswith(f"_config.yml: {named} should be ")
    assert "\n" not in str(caught.value)


def test_the_site_names_its_version_and_links_to_its_release():
    config = Config(site_url="")
    site_release.set_release(None, config)
    assert config.release == mygpt.__version__
    assert mygpt.__version__ in config.html_theme_options["extra_footer"]
    branch = config.html_theme_options["repository_branch"]
    assert branch == release.revision(mygpt.__version__, "main")
