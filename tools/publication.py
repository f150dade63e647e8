"""Where the book is published, as `_config.yml` says; nothing names an address else.

While `published` is false there are no addresses: no page, no notebook and no README
names one, and nothing is installed from one.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tools.release import (
    REPOSITORY,
    ROOT,
    SettingError,
    check_repository,
    check_site,
    revision,
    version,
)

if TYPE_CHECKING:
    from sphinx.config import Config

BRANCH = "notebooks"  # of the repository: the plain edition, and what Binder installs
PACKAGES = "packages"  # of the site: the wheel
PLACES = ("site", "index", "repository")  # where pip takes the package from
EXTRAS = "[notebooks]"  # what chapters import beside the package
NEEDED = f"mygpt{EXTRAS}"

INSTALL = """\
# Installs the book's package where it is missing, which takes about a minute.
try:
    import mygpt
except ModuleNotFoundError:
    %pip install --quiet "{package}"
    try:
        import mygpt
    except ModuleNotFoundError:
        raise ModuleNotFoundError("mygpt was not installed: is there a network? "
                                  "Then run this cell again.") from None
"""
NOT_HERE = """\
# Needs the book's package. Its file is on the book's page "Using the package".
try:
    import mygpt
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "this kernel has no mygpt. In the folder with its file, run: "
        '{line}') from None\
"""
NO_INSTALL = """\
# Needs the book's package. `make lab`, in the book's folder, installs it.
try:
    import mygpt
except ModuleNotFoundError:
    raise ModuleNotFoundError("this kernel has no mygpt: run `make lab` in the book's "
                              "folder, or `pip install .[notebooks]` there") from None
"""
ONE_THREAD = """\
# a second core does not help with tensors this small
torch.set_num_threads(1)"""
OFFER = f"""\

import sys
import torch

{ONE_THREAD}

if torch.cuda.is_available() or torch.backends.mps.is_available():
    print("The chapters use the CPU. Before you train on this machine's GPU, see "
          f'whether it computes right: !"{{sys.executable}}" -m mygpt doctor')\
"""


@dataclass(frozen=True)
class Publication:
    """The addresses; each is empty while nothing is published.

    site: of the book's site, with a slash at its end. package: what pip installs.
    """

    repository: str = ""
    site: str = ""
    revision: str = ""
    package: str = ""
    colab: str = ""
    binder: str = ""

    @property
    def name(self) -> str:
        """The repository's, as "owner/name"."""
        return "/".join(REPOSITORY.fullmatch(self.repository).groups())

    def launch_links(self, notebook: str) -> list[tuple[str, str]]:
        """(name, address) of each place that opens a notebook of the plain edition."""
        if not self.repository:
            return []
        file = f"{notebook}.ipynb"
        colab = f"{self.colab}/github/{self.name}/blob/{BRANCH}/{file}"
        binder = f"{self.binder}/v2/gh/{self.name}/{BRANCH}?urlpath=lab/tree/{file}"
        return [("Colab", colab), ("Binder", binder)]

    def install_line(self) -> str:
        """The command that installs the package beside JupyterLab.

        Unpublished, it takes the wheel from the folder in which it was saved.
        """
        package = self.package or f"./{wheel_name()}{EXTRAS}"
        return f'pip install "{package}" jupyterlab'

    def downloaded_cell(self) -> str:
        """The first cell of a notebook that is outside the book's folder."""
        if self.package:
            return self.first_cell()
        found = NOT_HERE.format(line=self.install_line())
        return f"{found}\n\nimport torch\n\n{ONE_THREAD}"

    def first_cell(self) -> str:
        """The code that finds or installs the package, and offers `mygpt doctor`."""
        found = INSTALL.format(package=self.package) if self.package else NO_INSTALL
        return found + OFFER


def publication(root: Path = ROOT) -> Publication:
    """Read `_config.yml`; a SettingError names a setting that cannot be used."""
    settings = yaml.safe_load((root / "_config.yml").read_text("utf-8")) or {}
    sphinx = (settings.get("sphinx") or {}).get("config") or {}
    return from_settings(
        sphinx, settings.get("repository") or {}, settings.get("launch_buttons") or {}
    )


def of_site(config: "Config") -> Publication:
    """The same from the settings that Sphinx has been given."""
    theme = config.html_theme_options
    repository = {"url": theme.get("repository_url", "")}
    repository["branch"] = theme.get("repository_branch", "")
    names = ("published", "site_url", "package_from")
    sphinx = {name: config[name] for name in names}
    return from_settings(sphinx, repository, theme.get("launch_buttons") or {})


def from_settings(sphinx: dict, repository: dict, launch: dict) -> Publication:
    published = sphinx.get("published", False)
    if not isinstance(published, bool):
        raise SettingError(
            f"_config.yml: published should be true or false; it is {published!r}"
        )
    if not published:
        return Publication()
    address = check_repository(repository.get("url", ""))
    site = site_address(check_site(sphinx.get("site_url", "")), address)
    named = revision(version(), repository.get("branch") or "main")
    return Publication(
        repository=address,
        site=site,
        revision=named,
        package=package(sphinx.get("package_from"), site, address, named),
        colab=str(launch.get("colab_url", "")).rstrip("/"),
        binder=str(launch.get("binderhub_url", "")).rstrip("/"),
    )


def package(source: object, site: str, repository: str, named: str) -> str:
    """What pip installs, by the setting `package_from`."""
    if source == "site" and site:
        return f"{NEEDED} @ {site}{PACKAGES}/{wheel_name()}"
    if source == "index":
        return f"{NEEDED}=={version()}"
    if source == "repository":
        return f"{NEEDED} @ git+{repository}@{named}"
    raise SettingError(
        f"_config.yml: package_from should be one of {', '.join(PLACES)}, and for "
        f"site the setting site_url is needed; it is {source!r}"
    )


def wheel_name() -> str:
    return f"mygpt-{version()}-py3-none-any.whl"


def site_address(setting: str, repository: str) -> str:
    """Where the site is, with a slash at its end; empty when that is not set.

    The setting is an address, or `pages` for the repository's GitHub Pages.
    """
    if setting == "pages":
        found = REPOSITORY.fullmatch(repository)
        if not found:
            return ""
        owner, name = found.groups()
        host = f"{owner.lower()}.github.io"
        own = name.lower() == host
        setting = f"https://{host}" if own else f"https://{host}/{name}"
    return re.sub(r"/*$", "/", setting) if setting else ""
