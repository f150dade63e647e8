"""The walk over nested values: dictionaries, lists and tuples of tensors or others."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from torch import Tensor

Path = tuple[Any, ...]  # the keys and indices that lead to a part
Leaf = TypeVar("Leaf")


def parts(value: Any) -> dict[Any, Any] | None:
    """Return the parts of a container by key or index; None for a leaf."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return None


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of a nested value in order, each with its path."""
    inside = parts(value)
    if inside is None:
        yield path, value
        return
    for key, part in inside.items():
        yield from leaves(part, (*path, key))


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return a copy of a nested value with each leaf changed."""
    if isinstance(value, list | tuple):
        return type(value)([mapped(change, part) for part in value])
    if isinstance(value, dict):
        return {key: mapped(change, part) for key, part in value.items()}
    return change(value)


def exchanged(value: Any, old: Any, new: Any) -> Any:
    """Return a copy of a nested value with another leaf in the place of a given one."""
    return mapped(lambda leaf: new if leaf is old else leaf, value)


def is_whole(leaf: Any) -> bool:
    """Whether a leaf is a whole number of Python."""
    return isinstance(leaf, int) and not isinstance(leaf, bool)


def is_decimal(leaf: Any) -> bool:
    """Whether a leaf is a tensor of floating-point numbers."""
    return isinstance(leaf, Tensor) and leaf.is_floating_point()


def parts_of(value: Any, kind: type[Leaf]) -> list[Leaf]:
    """Return the leaves of a kind in a nested value, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in parts_of(part, kind)]
    return parts_of([*value.values()], kind) if isinstance(value, dict) else []


def decimal_tensors(value: Any) -> list[Tensor]:
    """Return the floating-point tensors of a nested value, in order."""
    return [leaf for _, leaf in leaves(value) if is_decimal(leaf)]


def named_tensors(value: Any, name: str) -> dict[str, Tensor]:
    """Return the tensors of a nested value by the expressions that reach them."""
    return {
        name + "".join(f"[{key!r}]" for key in path): leaf
        for path, leaf in leaves(value)
        if isinstance(leaf, Tensor)
    }
