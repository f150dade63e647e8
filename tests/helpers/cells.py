"""Programs that are defined as in a notebook's cell."""

import linecache


def run_cell(source: str, names: dict, known: bool = True) -> dict:
    """Run a text with some names, and return all; with its text kept, or without."""
    file = f"<cell {known} {hash(source)}>"
    if known:
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = len(source), None, lines, file
    exec(compile(source, file, "exec"), names)
    return names
