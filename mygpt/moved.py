"""Names that have moved are still found in their old place, for one release."""

import warnings
from collections.abc import Callable
from importlib import import_module


def moved(old: str, names: dict[str, str]) -> Callable[[str], object]:
    """Make the `__getattr__` of a module: `names` gives each moved name its new module.

    The name "*" stands for every other name. Each use is a DeprecationWarning.
    """

    def find(name: str) -> object:
        new = names.get(name) or names.get("*")
        if new is None or name.startswith("__"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        found = getattr(import_module(new), name)
        message = f"{old}.{name} is now {new}.{name}; the old name goes with 0.3"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return found

    return find
