"""Tests of what is refused, each case with its message."""

import pytest


def refused(call, *cases, error=ValueError):
    """Make a test that a call raises an error for each of some arguments.

    cases: the call's arguments, and last a pattern that the message has; or one dict of
    such cases by their names.
    """
    (named,) = cases if isinstance(cases[0], dict) else [dict(enumerate(cases))]

    @pytest.mark.parametrize("case", named.values(), ids=map(str, named))
    def test(case):
        *given, message = case
        with pytest.raises(error, match=message):
            call(*given)

    return test
