"""Shapes in the package's signatures are checked in the tests, and only there."""

import random

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("mygpt", "beartype.beartype")
settings.register_profile("same", derandomize=True)  # the same examples at every run
settings.load_profile("same")


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test begins with one seed, alone or among others.

    Python's own numbers too: with them beartype chooses the items of a list that it
    checks, and a wrong item met by it never reaches the package's own check.
    """
    import torch

    random.seed(0)
    torch.manual_seed(0)
