"""Which release this is, and where it is published; standard library only."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
REPOSITORY = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
SITE = re.compile(r"(pages|https?://[\w.-]+(:\d+)?(/[^\s?#]*)?)?")


class SettingError(ValueError):
    """A setting of `_config.yml` that cannot be used, in one line."""


def version(root: Path = ROOT) -> str:
    """The version, read from its one place without importing the package."""
    found = VERSION.search((root / "mygpt" / "__init__.py").read_text("utf-8"))
    if not found:
        raise SettingError('mygpt/__init__.py has no line __version__ = "…"')
    return found[1]


def revision(version: str, branch: str) -> str:
    """The tag of a release, or the branch while a `.dev` version is being written.

    Launch links and the notebooks' setup cells name it, so that a notebook always
    meets the package that it was written for.
    """
    return branch if ".dev" in version else f"v{version}"


def check_repository(url: object) -> str:
    """The address of the repository; Colab and Binder open GitHub's alone."""
    if not isinstance(url, str) or not REPOSITORY.fullmatch(url):
        raise SettingError(
            "_config.yml: repository.url should be https://github.com/OWNER/NAME; "
            f"it is {url!r}"
        )
    return url.rstrip("/")


def check_site(url: object) -> str:
    """The setting `site_url`: an address, `pages`, or nothing."""
    if not isinstance(url, str) or not SITE.fullmatch(url):
        raise SettingError(
            '_config.yml: site_url should be https://…, "pages" for GitHub Pages, or '
            f'"" for a site without an address; it is {url!r}'
        )
    return url
