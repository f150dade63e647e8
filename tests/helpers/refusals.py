"""Tests of what is refused, each case with its message."""

import pytest


def refused(call, *cases, error=ValueError):
    """Make a test that a call raises an error for each of some arguments.

    cases: the call's arguments, and last a pattern that the message has; or one dict of
    such cases by their names.
    """
    named = isinstance(cases[0], dict)
    names = list(cases[0]) if named else [message for *_, message in cases]

    @pytest.mark.parametrize("case", cases[0].values() if named else cases, ids=names)
    def test(case):
        *given, message = case
        with pytest.raises(error, match=message):
            call(*given)

    return test
