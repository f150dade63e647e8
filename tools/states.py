"""The explorers' states: what a page needs and its notebook does not hold.

`make chapters` stores them in chapters/states, a compressed file for each notebook, and
beside them in keys.json a hash of all that each was made with: the notebook's code, the
code of the modules that its run loaded, the package's data and the pinned versions.
Comments, docstrings and the explorers' scripts are no part of it. The book is built of
what is stored while the hash is that of the files; a notebook whose hash is another, or
whose file cannot be read, is run for the book.
"""

import ast
import functools
import hashlib
import io
import json
import lzma
import re
import tokenize
from pathlib import Path

import nbformat

from tools.live_lab import REFERENCE, STATE, VIEW

ROOT = Path(__file__).resolve().parents[1]
KEYS = "keys.json"
VERSION = 2  # of the files' format
CODE = "\n```{code-cell}"
OURS = re.compile(r"mygpt\.explorers\.(\w+)\.widget\.\w+")
LINKS = ("LinkModel", "DirectionalLinkModel")
DATA = ("corpora/*", "models/*.safetensors", "stored/*.json")  # of the package
PINS = ("requirements.txt", "requirements/site.txt")


class StateError(ValueError):
    """A file of states that cannot be used, with the cause in a few words."""


def folder_of(root: Path) -> Path:
    return root / "chapters" / "states"


def place_of(path: Path, root: Path = ROOT) -> Path:
    return folder_of(root) / f"{path.stem}.json.xz"


def pages(root: Path = ROOT) -> list[Path]:
    """The notebooks, and the pages of text that hold cells."""
    texts = [
        path
        for path in (root / "pages").glob("*.md")
        if CODE in path.read_text("utf-8")
    ]
    return [*sorted((root / "chapters").glob("*.ipynb")), *sorted(texts)]


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook, or the cells of a page of text, as the book reads them."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    from myst_nb.core.read import read_myst_markdown_notebook

    notebook = read_myst_markdown_notebook(path.read_text("utf-8"))
    language = {"name": "python", "pygments_lexer": "ipython3"}
    notebook.metadata["language_info"] = language  # as a run has it
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def take(notebook: nbformat.NotebookNode, models: dict) -> dict:
    """Take the views out of a notebook that has run; return the explorers' states.

    `models` are all its widgets by id. Explorers are named in their order, so that the
    names of two runs are the same; an output that held nothing but a view goes.
    """
    views, names = [], {}
    for cell in notebook.cells:
        outputs = []
        for output in cell.get("outputs", []):
            model = output.get("data", {}).pop(VIEW, {}).get("model_id")
            if output.get("data") == {}:
                continue
            if "_esm" in models.get(model, {}).get("state", {}):
                name = names.setdefault(model, f"explorer-{len(names) + 1}")
                views.append([cell.id, len(outputs), name])
            outputs.append(output)
        if cell.cell_type == "code":
            cell.outputs = outputs
    shown = {name: _lean(models[model]) for model, name in names.items()}
    return {"views": views, "models": shown | _links(models, names)}


def _lean(model: dict) -> dict:
    """A model without its layout and, where the package has them, its scripts."""
    state = {name: value for name, value in model["state"].items() if name != "layout"}
    if OURS.fullmatch(state.get("_anywidget_id", "")):
        state |= {"_esm": "", "_css": ""}
    return {**model, "state": state}


def _links(models: dict, names: dict[str, str]) -> dict:
    """The links between two explorers that are shown."""
    found = {}
    for model in models.values():
        state = model.get("state", {})
        if state.get("_model_name") in LINKS:
            ends = [state[end] for end in ("source", "target")]
            known = [names.get(one.removeprefix(REFERENCE)) for one, _ in ends]
            if all(known):
                of_names = [
                    [f"{REFERENCE}{name}", trait]
                    for name, (_, trait) in zip(known, ends, strict=True)
                ]
                linked = dict(zip(("source", "target"), of_names, strict=True))
                found[f"link-{len(found) + 1}"] = {**model, "state": state | linked}
    return found


def put(notebook: nbformat.NotebookNode, states: dict) -> None:
    """Put the views back where `take` found them; a page of text gets outputs too."""
    cells = {cell.id: cell for cell in notebook.cells}
    for cell, outputs in states.get("outputs", {}).items():
        cells[cell].outputs = nbformat.from_dict(outputs)
        cells[cell].execution_count = 1
    for cell, output, name in states["views"]:
        view = {"model_id": name, "version_major": 2, "version_minor": 0}
        cells[cell].outputs[output].data[VIEW] = view
    content = {"state": states["models"], "version_major": 2, "version_minor": 0}
    notebook.metadata["widgets"] = {STATE: content}


def packed(states: dict, modules: list[str], path: Path) -> bytes:
    """The file of a notebook's states, the same for the same content."""
    content = {"version": VERSION, "notebook": path.stem, "modules": modules, **states}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def load(path: Path, root: Path = ROOT) -> dict:
    """What is stored of the notebook at `path`; raises StateError."""
    try:
        content = json.loads(lzma.decompress(place_of(path, root).read_bytes()))
    except FileNotFoundError:
        raise StateError("no states are stored") from None
    except (OSError, lzma.LZMAError, EOFError, ValueError) as cause:
        raise StateError(f"the stored states cannot be read ({cause})") from None
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise StateError("the stored states are of another version of the format")
    if content.get("notebook") != path.stem:
        raise StateError(f"the stored states are those of {content.get('notebook')}")
    return content


def fresh(path: Path, root: Path = ROOT) -> nbformat.NotebookNode:
    """The notebook as it ran, from what is stored; StateError where that is stale."""
    content = load(path, root)
    if keys(root).get(path.stem) != key_of(path, content["modules"], root):
        raise StateError("the stored states were made with other files")
    notebook = read(path)
    try:
        put(notebook, content)
    except (KeyError, IndexError, AttributeError):
        raise StateError("the stored states are those of other outputs") from None
    return notebook


def keys(root: Path = ROOT) -> dict[str, str]:
    """The stored hashes by notebook; empty where none can be read."""
    try:
        found = json.loads((folder_of(root) / KEYS).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def key_of(path: Path, modules: list[str], root: Path = ROOT) -> str:
    """A hash of what a notebook's outputs depend on.

    A page of text that loads no module may run the whole package in other processes.
    """
    digest = hashlib.sha256()
    package = root / "mygpt"
    if not modules and path.suffix == ".md":
        files = sorted(package.rglob("*.py"))
        modules = [".".join(f.relative_to(root).with_suffix("").parts) for f in files]
    for cell in read(path).cells:
        if cell.cell_type == "code" and "setup" not in cell.metadata.get("tags", []):
            digest.update(cell.source.encode() + b"\0")
    for name in modules:
        digest.update(name.encode() + b"\0" + code_of(module_path(name, root)))
    files = [file for p in DATA for file in sorted(package.glob(f"data/{p}"))]
    for file in [*files, *(root / name for name in PINS)]:
        if file.is_file() and file.suffix != ".py":
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def module_path(name: str, root: Path) -> Path:
    path = root.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def code_of(path: Path) -> bytes:
    """The code of a file, without comments and docstrings; empty if there is none."""
    return bare(path.read_text("utf-8")) if path.is_file() else b""


@functools.cache
def bare(text: str) -> bytes:
    """The lines of a program without comments, docstrings and blanks.

    Python's own reading of it is not taken, which differs by version.
    """
    lines = [line.encode() for line in text.splitlines()]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                for number in range(first.lineno, first.end_lineno + 1):
                    lines[number - 1] = b""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            number, column = token.start
            kept = lines[number - 1].decode()[:column] if lines[number - 1] else ""
            lines[number - 1] = kept.encode()
    return b"\n".join(filter(None, map(bytes.rstrip, lines)))
