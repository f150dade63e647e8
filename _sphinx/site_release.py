"""The site says which release it is; its launch links open that release."""

from release import SettingError, check_repository, check_site, revision, version
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util import logging

logger = logging.getLogger(__name__)


def set_release(app: Sphinx, config: Config) -> None:
    """Check both addresses, and put the version where pages and links take it from."""
    theme = config.html_theme_options
    try:
        check_repository(theme.get("repository_url", ""))
        address = check_site(config.site_url)
    except SettingError as cause:
        raise ConfigError(str(cause)) from None
    if not address:
        logger.info('site_url is "" in _config.yml: no page names its own address')
    config.version = config.release = version()
    theme["repository_branch"] = revision(
        config.release, theme.get("repository_branch") or "main"
    )
    theme["extra_footer"] = f"<p>Version {config.release}</p>"


def setup(app: Sphinx) -> None:
    app.connect("config-inited", set_release)
