"""Shapes in the package's signatures are checked in the tests, and only there."""

from jaxtyping import install_import_hook

install_import_hook("mygpt", "beartype.beartype")
