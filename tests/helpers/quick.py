"""Of cases that the same code makes, some are tried at each change and all slowly."""

import pytest


def slow_but(quick, cases):
    """The cases as parameters, all but the quick ones marked as slow."""
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else (one,)),
            marks=() if one in quick else pytest.mark.slow,
        )
        for one in cases
    ]
