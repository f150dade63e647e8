import pytest
from helpers.small_gpts import TEXTS

from mygpt.inside.hooks import make_prompts


@pytest.fixture(scope="session")
def prompts():
    """Prompts of several lengths, with answers below 13."""
    return make_prompts(TEXTS, [3, 0, 7, 12])
