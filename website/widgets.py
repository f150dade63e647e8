"""Explorers that run in the page without a kernel, and stills where one is needed.

When a chapter has been read, its widget views are replaced:

- a view of an explorer (an anywidget) with an `explorer` node, which carries the
  model's state; its module and its style sheet, as the package has them now, go to
  `_static/explorers/`, named by their content, so that they are cached across pages
  and load from a `file://` address under a strict policy; so does what many of our own
  explorers have in common, once for all of them;
- a view in a cell tagged `live-lab` with the picture that the lab drew and a line that
  says where it runs.
"""

import functools
import hashlib
import json
import os
import posixpath
import re
from collections.abc import Collection
from html import escape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.nodes import NodeMatcher

from mygpt.explorers.kit import base
from tools.live_lab import VIEW, still
from website import security_policy
from website.addresses import address
from website.builders import CELL
from website.launch import launch_links

LOGGER = logging.getLogger(__name__)
HEIGHTS = Path(__file__).with_name("heights.json")  # made by tools/heights.py
HOST = "host.js"  # made of website/host.mjs, what it imports and the explorers' model
DEFAULT_EXPORT = re.compile(r"^export default (.+?);?[ \t]*$", re.M)
OURS = re.compile(r"mygpt\.explorers\.(\w+)\.widget\.\w+")
TRAINS = "mygpt.explorers.train_gpt.widget.TrainGPT"  # in a worker, by WebAssembly
MODULE_LINE = re.compile(r"^(import|export)\b.*$", re.M)
BUNDLE = NodeMatcher(nodes.container, nb_element="mime_bundle")
WITHHELD = (
    "_model_module",
    "_model_module_version",
    "_view_module",
    "_view_module_version",
    "_model_name",
    "_view_name",
    "_view_count",
    "_anywidget_id",
    "_dom_classes",
    "layout",
    "tabbable",
    "tooltip",
    "comm",
)


class explorer(nodes.General, nodes.Element):
    """A widget without a kernel; its child is the image shown where it cannot run."""


class ModuleError(ValueError):
    """An ES module that cannot be turned into a classic script, with the cause."""


def classic_script(module: str, name: str) -> str:
    """The ES module as a script that registers its default export under `name`."""
    exports = DEFAULT_EXPORT.findall(module)
    if len(exports) != 1:
        raise ModuleError(
            f"expected one line 'export default …;', found {len(exports)}"
        )
    body = DEFAULT_EXPORT.sub(lambda found: f"return {found.group(1)};", module)
    if other := MODULE_LINE.search(body):
        raise ModuleError(f"found {other.group()!r}: a classic script has no modules")
    return _registered(f"(window.bookExplorers ??= {{}})[{json.dumps(name)}]", body)


def _registered(place: str, body: str) -> str:
    return f'{place} = (() => {{\n"use strict";\n{body.strip()}\n}})();\n'


@functools.cache
def kit_files() -> dict[str, str]:
    """The script and the styles that all our explorers of a page share, by name."""
    modules = base.common()
    body = base.joined(modules)
    script = _registered(
        "window.bookKit", f"{body}\nreturn {{ {', '.join(base.exports(modules))} }};"
    )
    styles = base.text_of(base.common_sheets())
    return {f"kit-{digest(script)}.js": script, f"kit-{digest(styles)}.css": styles}


@functools.cache
def own_files(stem: str) -> tuple[str, dict[str, str]]:
    """The name that one of our explorers registers, and the files that it needs.

    A notebook need not run again when only its explorer's script has changed.
    """
    modules, sheets, taken = base.beside_common(stem)
    body = f"const {{ {', '.join(taken)} }} = window.bookKit;\n{base.joined(modules)}"
    name, styles = digest(body), base.text_of(sheets)
    files = {**kit_files(), f"{name}.js": classic_script(body, name)}
    if styles:
        files[f"{digest(styles)}.css"] = styles
    return name, files


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def page_model(model: dict) -> tuple[dict, dict[str, str]]:
    """What the page keeps of a model, and the files that it needs, by name."""
    state = {k: v for k, v in model["state"].items() if k not in WITHHELD}
    module, styles = state.pop("_esm"), state.pop("_css", "")
    if ours := OURS.fullmatch(model["state"].get("_anywidget_id", "")):
        name, files = own_files(ours[1])
    else:
        name = digest(module)
        files = {f"{name}.js": classic_script(module, name)}
        if styles:
            files[f"{digest(styles)}.css"] = styles
    kept = {"module": name, "state": state, "buffers": model.get("buffers", [])}
    return kept, files


def is_explorer(model: dict | None) -> bool:
    return bool(model) and "_esm" in model.get("state", {})


def links_between(models: dict, shown: Collection[str]) -> list[dict]:
    """The jslinks with both ends on the page: their ends, and whether two-way."""
    links = []
    for model in models.values():
        state = model.get("state", {})
        if state.get("_model_name") not in ("LinkModel", "DirectionalLinkModel"):
            continue
        ends = [
            [ref.removeprefix("IPY_MODEL_"), trait]
            for ref, trait in (state["source"], state["target"])
        ]
        if all(model_id in shown for model_id, _ in ends):
            links.append({"ends": ends, "both": state["_model_name"] == "LinkModel"})
    return links


def replace_views(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the widget views of one document with explorers and stills."""
    metadata = NbMetadataCollector.get_doc_data(app.env)[app.env.docname]
    scripts = metadata.get("js_files", {})
    state = scripts.pop("ipywidgets_state", None)
    for key in [key for key in scripts if key.startswith("ipywidgets_")]:
        del scripts[key]
    models = json.loads(state[1]["body"])["state"] if state else {}
    files: dict[str, str] = {}
    shown: list[str] = []
    heights = json.loads(HEIGHTS.read_text("utf-8")).get(address(app.env.docname), [])
    for cell in list(doctree.findall(CELL)):
        if "live-lab" in cell["cell_metadata"].get("tags", []):
            _replace_lab(app, cell, models)
            continue
        for bundle in list(cell.findall(BUNDLE)):
            if view := _view_of(bundle):
                _replace_view(bundle, view, models, files, shown, heights)
    links = links_between(models, shown)
    if links:
        body = json.dumps(links).replace("<", "\\u003c")
        script = (
            f'<script type="application/json" class="explorer-links">{body}</script>'
        )
        doctree += nodes.raw("", script, format="html")
    metadata["explorers"] = files


def _view_of(bundle: nodes.Element) -> str | None:
    """The model that a bundle shows."""
    for container in bundle.children:
        if container["mime_type"] == VIEW:
            script = container.astext()
            return json.loads(script[script.index(">") + 1 : script.rindex("<")])[
                "model_id"
            ]
    return None


def _image_of(bundle: nodes.Element) -> nodes.image | None:
    return next(iter(bundle.findall(nodes.image)), None)


def _replace_view(
    bundle, model_id: str, models: dict, files: dict, shown: list, heights: list
) -> None:
    image, model = _image_of(bundle), models.get(model_id)
    if not is_explorer(model):
        LOGGER.warning(
            "a widget that needs a kernel: tag its cell live-lab", location=bundle
        )
        return
    if image is None or not image.get("alt"):
        LOGGER.warning("an explorer without a still and its alt text", location=bundle)
        return
    try:
        kept, needed = page_model(model)
    except ModuleError as cause:
        LOGGER.warning("an explorer's module: %s", cause, location=bundle)
        return
    files.update(needed)
    room = heights[len(shown)] if len(shown) < len(heights) else None
    shown.append(model_id)
    node = explorer("", image.deepcopy(), model_id=model_id, model=json.dumps(kept))
    node["room"] = room
    node["kind"] = model["state"].get("_anywidget_id", "")
    bundle.replace_self(node)


def _replace_lab(app: Sphinx, cell: nodes.Element, models: dict) -> None:
    """Replace a live lab's widget with its still and a line that says where it runs."""
    bundles = list(cell.findall(BUNDLE))
    outputs = [
        {"data": {VIEW: {"model_id": view}}} for b in bundles if (view := _view_of(b))
    ]
    picture = still(outputs, models)
    stored = next((image for b in bundles if (image := _image_of(b))), None)
    if picture is None and stored is None:
        LOGGER.warning("a live lab without a picture", location=cell)
        return
    image = nodes.image(uri=_stored(app, picture)) if picture else stored.deepcopy()
    image["alt"] = _alt_of(cell) or "A still of the live lab."
    bundles[0].replace_self(image)
    for bundle in bundles[1:]:
        bundle.parent.remove(bundle)
    cell.children[-1] += nodes.raw(
        "", f'<p class="output-note">{lab_line(app)}</p>', format="html"
    )


def _alt_of(cell: nodes.Element) -> str | None:
    return cell["cell_metadata"].get("mystnb", {}).get("image", {}).get("alt")


def lab_line(app: Sphinx) -> str:
    """The sentence below the still of a live lab."""
    links = " or ".join(
        f'<a href="{escape(url)}">{name}</a>'
        for name, url in launch_links(app.config, app.env.docname)
    )
    where = f"on {links}, or in your own copy" if links else "in your own copy"
    return f"A still: its controls need Python. Move them {where}."


def _stored(app: Sphinx, picture: bytes) -> str:
    """Store a picture with the notebook's own; return its address for an image node."""
    folder = Path(app.env.mystnb_config.output_folder)
    path = folder / f"{hashlib.sha256(picture).hexdigest()}.png"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)
    return "/" + Path(os.path.relpath(path, app.srcdir)).as_posix()


def host_script() -> str:
    """The classic script that starts a page's explorers."""
    own = [Path(__file__).with_name(name) for name in ("phrases.mjs", "host.mjs")]
    body = base.joined([base.MODEL, *own])
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def write_host(app: Sphinx) -> None:
    """Write the host before the pages, which name it with a checksum."""
    if app.builder.format == "html":
        folder = Path(app.outdir, "_static")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HOST).write_text(host_script(), encoding="utf-8")


def visit_explorer(self, node: explorer) -> None:
    """Write the placeholder: the state, and a still for readers without scripts."""
    image = node.children[0]
    source = posixpath.join(
        self.builder.imgpath, quote(self.builder.images[image["uri"]])
    )
    alt = escape(image["alt"])
    state = node["model"].replace("<", "\\u003c")
    room = zip(("phone", "tablet", "desk"), node["room"] or (), strict=False)
    style = " ".join(f"--room-{name}: {height}px;" for name, height in room)
    self.body.append(
        f'<div class="explorer" style="{style}" data-model="{node["model_id"]}"'
        f"{security_policy.TRAINS if node['kind'] == TRAINS else ''} "
        f'data-still="{source}" data-alt="{alt}">'
        f'<script type="application/json">{state}</script>'
        f'<noscript><img src="{source}" alt="{alt}">'
        '<p class="output-note">A still: the explorer needs JavaScript.</p>'
        "</noscript></div>\n"
    )
    raise nodes.SkipNode


def add_scripts(app: Sphinx, page: str, _, context: dict, doctree) -> None:
    """Add the modules that a page's explorers need, then the host that starts them."""
    files = NbMetadataCollector.get_doc_data(app.env)[page].get("explorers", {})
    for name in files:
        add = app.add_js_file if name.endswith(".js") else app.add_css_file
        options = {"loading_method": "defer"} if name.endswith(".js") else {}
        add(f"explorers/{name}", **options)
    if files:
        app.add_js_file(HOST, loading_method="defer", priority=900)


def write_files(app: Sphinx) -> list:
    """Write every explorer's module and style sheet once, for all pages."""
    folder = Path(app.outdir, "_static", "explorers")
    for metadata in list(getattr(app.env, "nb_metadata", {}).values()):
        for name, text in metadata.get("explorers", {}).items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return []


def setup(app: Sphinx) -> None:
    app.add_node(explorer, html=(visit_explorer, None))
    app.connect("builder-inited", write_host)
    # before images are collected
    app.connect("doctree-read", replace_views, priority=400)
    app.connect("html-page-context", add_scripts)
    app.connect("html-collect-pages", write_files)
