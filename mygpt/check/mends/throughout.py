"""Edits at several places of a statement or a function at once."""

import ast
from collections.abc import Iterator, Mapping
from itertools import combinations

from mygpt.check.mends.edit_site import EditSite
from mygpt.check.mends.moves import moved
from mygpt.check.mends.names import called, names_read, strings_in
from mygpt.check.mends.source import Edit
from mygpt.check.mends.tokens import near

SWAPPED = "two arguments in each other's place, from it on"
KEYS = "two keys in each other's place, from it on"
MOVED = {"@kept": "where its result is kept", "@apart": "what it overwrites"}
COUNTED = ("len", "numel", "size")
MOST = 5  # names that are tried
EXCHANGED = 8  # names of a statement that change places
Changes = dict[ast.expr, str]


def several(site: EditSite, changes: Changes, kind: str, cost: float) -> Edit:
    """Return one edit that replaces several nodes."""
    spans = [site.text.span(one) for one in changes]
    start, end = min(spans)[0], max(end for _, end in spans)
    parts = [(*span, new) for span, new in zip(spans, changes.values(), strict=True)]
    line = min(one.lineno for one in changes)
    new = site.text.changed(start, end, parts)
    return Edit(start, end, new, line, kind, cost)


def swaps(words: Mapping[ast.expr, str], most: int | None = None) -> Iterator[Changes]:
    """Yield the changes that put two words in each other's places everywhere."""
    for one, other in combinations(list(dict.fromkeys(words.values()))[:most], 2):
        both = {one: other, other: one}
        yield {node: both[word] for node, word in words.items() if word in both}


# In a statement


def names_exchanged(site: EditSite, node: ast.expr) -> Iterator[Edit]:
    """Yield a statement's value with two of its names in each other's places."""
    found = [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and one.id in site.scope.names
    ]
    words = {one: one.id for one in sorted(found, key=site.text.span)}
    for changes in swaps(words, EXCHANGED):
        yield several(site, changes, "the order of two names in it", 1.9)


def other_names(site: EditSite, value: ast.expr) -> Iterator[Edit]:
    """Yield a statement's value with one name for all of another."""
    found = [one for one in names_read(value) if one.id in site.names.kinds]
    for name in dict.fromkeys(one.id for one in found):
        same = [one for one in found if one.id == name]
        kind = site.names.kinds[name]
        others = site.names.before(site.line, kind)[:MOST] if kind != "int" else []
        for other in others if len(same) > 1 else ():
            if other != name:
                for some in (same, same[1:]):
                    changes: Changes = dict.fromkeys(some, other)
                    yield several(site, changes, "a name that it reads", 1.7)


def all_cut(site: EditSite, node: ast.Subscript) -> Iterator[Edit]:
    """Yield slices of another axis, all those of one name in a statement at once."""
    same = [
        one.slice
        for one in ast.walk(site.statement)
        if isinstance(one, ast.Subscript)
        and isinstance(one.slice, ast.Slice)
        and site.of(one.value) == site.of(node.value)
    ]
    if isinstance(node.value, ast.Name) and same[1:] and same[0] is node.slice:
        for first, cost in ((":, ", 1.4), ("..., ", 1.9)):
            changes: Changes = {one: f"{first}{site.of(one)}" for one in same}
            yield several(site, changes, "the axis that it cuts", cost)


# In a function


def exchanged(site: EditSite) -> Iterator[Edit]:
    """Yield a function with two arguments or keys exchanged wherever they stand."""
    read = [one for part in site.function.body for one in names_read(part)]
    kinds = {name: site.names.kinds[name] for name in site.names.arguments}
    given = {one: one.id for one in read if kinds.get(one.id, "dict") != "dict"}
    found = [
        (changes, SWAPPED)
        for changes in swaps(given)
        if len({kinds[name] for name in changes.values()}) == 1
    ]
    known = {*site.scope.keys, *(key.rpartition("_")[0] for key in site.scope.keys)}
    strings = [one for one in strings_in(site.function) if one.value in known]
    heads = {one: one.value.rpartition("_")[0] or one.value for one in strings}
    for words in ({one: one.value for one in strings}, heads):
        for changes in swaps(words):
            if near(*dict.fromkeys(changes.values())):
                new = {o: o.value.replace(words[o], w, 1) for o, w in changes.items()}
                found.append(({one: f'"{key}"' for one, key in new.items()}, KEYS))
    for changes, kind in found:
        if len({one.lineno for one in changes}) > 1:
            yield several(site, changes, kind, 1.8)


def elsewhere(site: EditSite) -> Iterator[Edit]:
    """Yield a function that keeps elsewhere what a loop or a statement makes."""
    for name, kind in MOVED.items():
        yield from moved(name, site.text, site.function, kind, 1.3)


def restored(site: EditSite, node: ast.Expr) -> Iterator[Edit]:
    """Yield a model's mode kept, and given back before the function ends."""
    function, last = getattr(node.value, "func", None), site.function.body[-1]
    if not isinstance(function, ast.Attribute) or function.attr != "eval":
        return
    if site.parent is not site.function or not isinstance(last, ast.Return):
        return
    model, indent = site.of(function.value), " " * node.col_offset
    start, end = site.text.rows(node)[0], site.text.rows(last)[0]
    lines = site.text.text[start:end].splitlines(keepends=True)
    plain = [one for one in lines if one.strip() != f"{model}.train()"]
    new = f"{indent}mode = {model}.training\n{''.join(plain)}"
    new += f"{indent}{model}.train(mode)\n"
    yield Edit(start, end, new, site.line, "the mode in which the model is left", 1.2)


def counted(site: EditSite, node: ast.Call | ast.Subscript) -> Iterator[Edit]:
    """Yield the entries of a tensor for a number that stands at several places."""
    shape = isinstance(node, ast.Subscript) and called(node.value) == "shape"
    if not site.is_read or not (shape or called(node) in COUNTED):
        return
    same = [
        one
        for one in ast.walk(site.function)
        if isinstance(one, type(node)) and site.of(one) == site.old
    ]
    if len(same) < 2 or min(same, key=site.text.span) is not node:
        return
    for name in site.tensors()[:MOST]:
        for new in (f"{name}.numel()", f"{name}[:, 1:].numel()", f"len({name})"):
            if new != site.old:
                changes = dict.fromkeys(same, new)
                yield several(site, changes, "what is counted, from it on", 1.6)
