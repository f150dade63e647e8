"""Tests of what is refused, each case with its message."""

import re
from inspect import signature

import pytest


def refused(call, *cases, error=ValueError, naming=""):
    """Make a test that a call raises an error for each of some arguments.

    call: its keyword-only parameters without a default are fixtures
    cases: the call's arguments, and last a pattern that the message has; or one dict of
        such cases by their names
    naming: a pattern that every message has besides its own
    """
    named = isinstance(cases[0], dict)
    names = list(cases[0]) if named else [message for *_, message in cases]
    own = signature(call).parameters.values()
    needed = [p.name for p in own if p.kind is p.KEYWORD_ONLY and p.default is p.empty]

    @pytest.mark.parametrize("case", cases[0].values() if named else cases, ids=names)
    def test(case, request):
        *given, message = case
        fixtures = {name: request.getfixturevalue(name) for name in needed}
        with pytest.raises(error, match=message) as caught:
            call(*given, **fixtures)
        said = str(caught.value)
        assert re.search(naming, said)
        assert "\n" not in said

    return test


def refused_settings(make, *cases, error=ValueError):
    """`refused` of keyword arguments: each case is a dict of them, and the message."""
    return refused(lambda settings: make(**settings), *cases, error=error)


def refuses(explorer, message, *, error=ValueError, **changes):
    """Check that traits of an explorer cannot be set so, and stay as they were."""
    for trait, value in changes.items():
        before = getattr(explorer, trait)
        with pytest.raises(error, match=message):
            setattr(explorer, trait, value)
        assert getattr(explorer, trait) == before
