"""The release that pages and notebooks name, and the settings that it needs."""

import re
import sys

import pytest
from helpers.refusals import refused
from sphinx.errors import ConfigError

import mygpt
import website
from tools import execute, release
from tools.publication import Publication, publication, site_address

VERSION = mygpt.__version__


def test_the_version_is_read_without_importing_the_package():
    assert release.version() == mygpt.__version__


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.0.0", "v1.0.0"), ("1.1.0rc2", "v1.1.0rc2"), ("1.1.0.dev0", "dev")],
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


def settings(published="true", url="https://github.com/some/book/", **others):
    lines = {"published": published, "site_url": "pages", "package_from": "site"}
    lines |= others
    config = "".join(f"    {key}: {value}\n" for key, value in lines.items())
    return (
        f"repository:\n  url: {url}\n  branch: dev\n"
        "launch_buttons:\n  colab_url: https://colab.example/\n"
        "  binderhub_url: https://binder.example\n"
        f"sphinx:\n  config:\n{config}"
    )


@pytest.mark.parametrize("text", ["", "a: b", settings("false"), settings("false", 7)])
def test_what_is_not_published_has_no_address(book, text):
    found = publication(book(text))
    assert found == Publication()
    assert found.launch_links("05_x") == []
    assert "http" not in found.first_cell()
    assert "run `make lab`" in found.first_cell()


def test_what_is_published_follows_the_repository(book):
    found = publication(book(settings()))
    assert found.repository == "https://github.com/some/book"
    assert found.site == "https://some.github.io/book/"
    assert found.launch_links("05_x") == [
        ("Colab", "https://colab.example/github/some/book/blob/notebooks/05_x.ipynb"),
        (
            "Binder",
            "https://binder.example/v2/gh/some/book/notebooks"
            "?urlpath=lab/tree/05_x.ipynb",
        ),
    ]


@pytest.mark.parametrize("device", ["cuda", "backends.mps", None])
def test_the_first_cell_offers_the_doctor_where_a_gpu_is(device, capsys, monkeypatch):
    for name in ("cuda", "backends.mps"):
        there = name == device
        monkeypatch.setattr(f"torch.{name}.is_available", lambda there=there: there)
    exec(Publication().first_cell(), {})
    told = capsys.readouterr().out
    assert told.endswith(f'!"{sys.executable}" -m mygpt doctor\n') or not device
    assert bool(told) == bool(device)


@pytest.mark.parametrize(
    ("place", "installed"),
    [
        (
            "site",
            f"mygpt[notebooks] @ https://some.github.io/book/packages/mygpt-{VERSION}-py3-",
        ),
        ("index", f"mygpt[notebooks]=={VERSION}"),
        ("repository", "mygpt[notebooks] @ git+https://github.com/some/book@"),
    ],
)
def test_the_first_cell_installs_from_the_place_that_is_set(book, place, installed):
    found = publication(book(settings(package_from=place)))
    assert f'%pip install --quiet "{installed}' in found.first_cell()
    assert found.downloaded_cell() == found.first_cell()
    assert found.install_line().startswith(f'pip install "{installed}')


def test_unpublished_a_notebook_names_the_line_that_installs_the_file(book):
    found = publication(book(settings("false")))
    file = f"./mygpt-{VERSION}-py3-none-any.whl[notebooks]"
    assert found.install_line() == f'pip install "{file}" jupyterlab'
    cell = found.downloaded_cell()
    with pytest.raises(ModuleNotFoundError, match=re.escape(found.install_line())):
        exec(cell.replace("import mygpt", "import no_such_mygpt"))


test_a_setting_that_cannot_be_used_is_one_line_that_names_it = refused(
    lambda text, *, book: execute.first_cell(book(text)),
    (settings("maybe"), "published should be true or false"),
    (settings(url="''"), "repository.url should be https://github.com/"),
    (settings(url="7"), "repository.url should be https://github.com/"),
    (settings(url="github.com/a/b"), "repository.url should be"),
    (settings(url="https://github.com/a"), "repository.url should be"),
    (settings(url="https://a.org/b/c"), "repository.url should be"),
    (settings(site_url="page"), "site_url should be"),
    (settings(site_url="some.github.io/book"), "site_url should be"),
    (settings(package_from="moon"), "package_from should be one of site, index"),
    (settings(site_url='""'), "package_from should be one of"),
    error=execute.ChapterError,
    naming=r"^_config\.yml: (published|repository\.url|site_url|package_from) should",
)


@pytest.mark.parametrize(
    ("setting", "repository", "expected"),
    [
        ("", "https://github.com/some/book", ""),
        ("https://a.example/b", "", "https://a.example/b/"),
        ("pages", "https://github.com/Some/book/", "https://some.github.io/book/"),
        ("pages", "https://github.com/a/b.git", "https://a.github.io/b/"),
        ("pages", "https://github.com/a/a.github.io", "https://a.github.io/"),
        ("pages", "https://gitlab.com/some/book", ""),
    ],
)
def test_the_sites_address_is_given_or_the_repositorys(setting, repository, expected):
    assert site_address(setting, repository) == expected


class Config(dict):
    """The part of Sphinx's configuration that is read and written here."""

    def __init__(self, published=True, url="https://github.com/a/b", site="pages"):
        super().__init__(published=published, site_url=site, package_from="site")
        launch = {"colab_url": "https://colab.example"}
        self.html_theme_options = {"repository_url": url, "launch_buttons": launch}


@pytest.mark.parametrize(
    "wrong", [Config(published="yes"), Config(url=""), Config(site="x")]
)
def test_a_site_with_a_wrong_setting_is_not_built(wrong):
    with pytest.raises(ConfigError) as caught:
        website.version.set_release(None, wrong)
    assert str(caught.value).startswith("_config.yml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("published", [True, False])
def test_the_site_names_its_version_and_its_addresses_if_there_are_any(published):
    config = Config(published)
    website.version.set_release(None, config)
    theme = config.html_theme_options
    assert config.release == mygpt.__version__
    assert mygpt.__version__ in theme["extra_footer"]
    assert bool(config.site_url) == bool(theme["repository_url"]) == published
    assert theme["use_repository_button"] == bool(theme["launch_buttons"]) == published
