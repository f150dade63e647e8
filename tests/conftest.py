"""Shapes in the package's signatures are checked in the tests, and only there."""

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("mygpt", "beartype.beartype")
settings.register_profile("same", derandomize=True)  # the same examples at every run
settings.load_profile("same")


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test begins with one seed, alone or among others."""
    import torch

    torch.manual_seed(0)
