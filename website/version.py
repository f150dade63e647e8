"""The site says which release it is; its launch links open that release."""

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util import logging

from tools.publication import of_site
from tools.release import SettingError, version

logger = logging.getLogger(__name__)


def set_release(app: Sphinx, config: Config) -> None:
    """Put the version, and what is published, where pages and links take it from."""
    theme = config.html_theme_options
    try:
        found = of_site(config)
    except SettingError as cause:
        raise ConfigError(str(cause)) from None
    if not found.site:
        logger.info("no site is published: no page names its own address")
    config.version = config.release = version()
    config.site_url, theme["repository_url"] = found.site, found.repository
    theme["use_repository_button"] = bool(found.repository)
    theme["repository_branch"] = found.revision
    if not found.repository:
        theme["launch_buttons"] = {}
    theme["extra_footer"] = f"<p>Version {config.release}</p>"


def setup(app: Sphinx) -> None:
    app.add_config_value("published", False, "html", [bool])
    app.add_config_value("site_url", "", "html", [str])
    app.add_config_value("package_from", "site", "html", [str])
    app.connect("config-inited", set_release, priority=400)  # before what reads it
