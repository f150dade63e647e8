"""Shapes in the package's signatures are checked in the tests, and only there."""

import random

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("mygpt", "beartype.beartype")
settings.register_profile("same", derandomize=True)  # the same examples in every run
settings.load_profile("same")


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Start every test from the same seed, whether it runs alone or with others.

    Python's own generator too: beartype uses it to choose which items of a list to
    check, and a wrong item that it finds never reaches the package's own check.
    """
    import torch

    random.seed(0)
    torch.manual_seed(0)
