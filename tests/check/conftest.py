"""The checker runs the book's own programs thousands of times: here it does so fast."""

import pytest
from jaxtyping import config

from mygpt.check import engine


@pytest.fixture
def with_shapes():
    """Check the shapes in the signatures of the book's own programs all the same."""


@pytest.fixture(autouse=True)
def fast(request, monkeypatch):
    """Leave out what other tests check, and take the fewest fresh inputs for a name."""
    config.update("jaxtyping_disable", "with_shapes" not in request.fixturenames)
    monkeypatch.setattr(engine, "FRESH_SECONDS", 0)
    yield
    config.update("jaxtyping_disable", False)
