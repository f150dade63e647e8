"""The checker runs the book's own programs thousands of times: here it does so fast."""

import pytest
from jaxtyping import config

from mygpt.check import explanation
from mygpt.check.locate.find import Found


@pytest.fixture
def without_lines(monkeypatch):
    """Do not search the line of a mistake, which other tests are about."""
    monkeypatch.setattr(explanation, "find", lambda *given: Found())


@pytest.fixture
def with_shapes():
    """Check the shapes in the signatures of the book's own programs all the same."""


@pytest.fixture(autouse=True)
def fast(request, monkeypatch):
    """Leave out what other tests check, and take the fewest other inputs for a name."""
    config.update("jaxtyping_disable", "with_shapes" not in request.fixturenames)
    monkeypatch.setattr(explanation, "OTHERS_SECONDS", 0)
    yield
    config.update("jaxtyping_disable", False)
