"""Count lines of code and tokens by folder: no blanks, comments or docstrings.

    python -m tools.lines     every folder, then the sums

Only files that git knows are counted; what is taken over from others (KaTeX) is not.
Rules and catalogues in data files (TOML, YAML under `mygpt/`) count like code.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {  # and what begins a line of comment, by suffix
    ".py": ("python", ""),
    **dict.fromkeys((".mjs", ".js", ".ts"), ("scripts", "//")),
    ".css": ("styles", "//"),
    **dict.fromkeys((".toml", ".yml", ".yaml"), ("data", "#")),
}
SUMS = {  # the beginning of the folders, and a kind or ""
    "all": ("", ""),
    "mygpt/check": ("mygpt/check", ""),
    "explorers' scripts": ("mygpt/explorers", "scripts"),
    "explorers' styles": ("mygpt/explorers", "styles"),
    "tests": ("tests", ""),
}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
WORD = re.compile(r"[\w$]+|[^\s\w]")


def of_python(text: str) -> tuple[int, int]:
    """Lines and tokens of a Python file."""
    docstrings = set(docstring_lines(ast.parse(text)))
    lines: set[int] = set()
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
            tokens += 1
    return len(lines), tokens


def docstring_lines(tree: ast.Module) -> Iterator[int]:
    kinds = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def of_text(text: str, mark: str) -> tuple[int, int]:
    """Lines and tokens of a script, a style sheet or a data file."""
    lines = [line.strip() for line in COMMENT.sub("", text).splitlines()]
    code = [line for line in lines if line and not line.startswith(mark)]
    return len(code), sum(len(WORD.findall(line)) for line in code)


def show(name: str, kind: str, counts: list[tuple[int, int]]) -> None:
    lines, tokens = map(sum, zip(*counts, strict=True))
    print(f"{name:40}{kind:9}{lines:>8,}{tokens:>10,}")


def main() -> None:
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    found: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for path in map(Path, listed.splitlines()):
        kind, mark = KINDS.get(path.suffix, ("", ""))
        elsewhere = kind == "data" and path.parts[0] != "mygpt"
        if kind and not elsewhere and "katex" not in str(path) and path.is_file():
            text = path.read_text("utf-8")
            counts = of_python(text) if kind == "python" else of_text(text, mark)
            found[str(path.parent), kind].append(counts)
    for place in sorted(found):
        show(*place, found[place])
    for name, (start, kind) in SUMS.items():
        places = [p for p in found if p[0].startswith(start) and kind in ("", p[1])]
        show(name, "", [counts for place in places for counts in found[place]])


if __name__ == "__main__":
    main()
