"""What all explorers share: module and stylesheet, still picture, page."""

import base64
import functools
import html
import io
import json
import re
from collections import Counter
from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path
from string import Template

import anywidget
import matplotlib as mpl
import traitlets
from matplotlib.figure import Figure
from PIL import Image

from mygpt import plots

_KIT = Path(__file__).resolve().parent
MODEL = _KIT / "model.mjs"  # what a page has in the place of a kernel
SHARED = 4  # explorers that use a module, for it to be loaded on its own
_IMPORT = re.compile(r'^import\b[^;]*? from "(\.\.?/[\w/]+\.mjs)";\n', re.MULTILINE)
_DATA = re.compile(
    r'^import (\w+) from "([\w/.]+\.json)" with \{ type: "json" \};$', re.MULTILINE
)
_NAMES = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export (?=(?:const|(?:async )?function\*?) (\w+))", re.MULTILINE
)
_WITHIN = re.compile(r'/\* joined: ([\w/.]+) \*/ ""')
_DEFAULT = re.compile(r"^export default .*\n", re.MULTILINE)
_UNREAD = re.compile(r"/\*.*?\*/\s*|^\s+", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(
    r"^ */\*\*(?:(?!\*/).)*\*/\n|^ *// [^\n]*\n|/\*\* @\w+ [^\n]*?\*/ ?",
    re.MULTILINE | re.DOTALL,
)


def module(name: str) -> str:
    """Join NAME/widget.mjs and all that it imports into one module without imports."""
    return joined(parts(name))


def joined(files: Iterable[Path]) -> str:
    """Some modules as one scope, without what only other modules and readers need.

    Taken away are imports, the word export, comments on lines of their own, and
    the types; of an explorer that another one shows, the default export. Where a module
    has the text of others, `/* joined: NAME.mjs */ ""`, that is put in, and so are
    imported data.
    """
    *others, last = map(_bare, files)
    return "\n".join([*(_DEFAULT.sub("", one) for one in others), last])


def _bare(file: Path) -> str:
    """A module's text for `joined`."""
    text = file.read_text("utf-8")
    for what in (_COMMENT, _IMPORT, _EXPORT):
        text = what.sub("", text)
    text = _DATA.sub(lambda found: _constant(file.parent / found[2], found[1]), text)
    return _WITHIN.sub(lambda _: json.dumps(joined(parts_within(file))), text)


def _constant(data: Path, name: str) -> str:
    """Declare the content of a JSON file under a name."""
    content = json.loads(data.read_text("utf-8"))
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return f"const {name} = {text};"


def parts_within(file: Path) -> tuple[Path, ...]:
    """The modules whose text a module holds, for a worker, each after its own."""
    named = _WITHIN.findall(file.read_text("utf-8"))
    return _in_order(file.parent / one for one in named)


def stylesheet(name: str) -> str:
    """Join the common stylesheet with those that stand beside the module's parts."""
    return text_of(_sheets(parts(name)))


def text_of(sheets: Iterable[Path]) -> str:
    """Join some style sheets, without comments and indents."""
    return "\n".join(_UNREAD.sub("", one.read_text("utf-8")) for one in sheets)


def _sheets(modules: Iterable[Path]) -> list[Path]:
    return [_KIT / "explorer.css", *_beside(modules)]


def _beside(modules: Iterable[Path]) -> list[Path]:
    sheets = (part.with_suffix(".css") for part in modules)
    return [one for one in sheets if one.is_file()]


def parts(name: str) -> tuple[Path, ...]:
    """The files of NAME/widget.mjs and of all that it imports, each after its own."""
    return _in_order([_KIT.parent / name / "widget.mjs"])


@functools.cache
def common() -> tuple[Path, ...]:
    """The modules that at least four explorers use, each after its own."""
    users = Counter(
        part
        for widget in sorted(_KIT.parent.glob("*/widget.mjs"))
        for part in parts(widget.parent.name)
    )
    return _in_order(part for part, number in users.items() if number >= SHARED)


def common_sheets() -> list[Path]:
    """The style sheets of all explorers and of the common modules."""
    return _sheets(common())


def beside_common(name: str) -> tuple[list[Path], list[Path], list[str]]:
    """An explorer's other modules and style sheets, and what they take of the common.

    That is the names, in the order of the alphabet.
    """
    modules = [part for part in parts(name) if part not in common()]
    taken = {
        one.strip()
        for part in modules
        for names, source in _NAMES.findall(part.read_text("utf-8"))
        if (part.parent / source).resolve() in common()
        for one in names.split(",")
    }
    return modules, _beside(modules), sorted(taken - {""})


def exports(files: Iterable[Path]) -> list[str]:
    """The names that some modules export."""
    return [name for file in files for name in _EXPORT.findall(file.read_text("utf-8"))]


def _in_order(first: Iterable[Path]) -> tuple[Path, ...]:
    """Some modules and all that they import, each after its own."""
    imports: dict[Path, list[Path]] = {}
    waiting = list(first)
    while waiting:
        part = waiting.pop()
        if part not in imports:
            named = _IMPORT.findall(part.read_text("utf-8"))
            imports[part] = [(part.parent / one).resolve() for one in named]
            waiting += imports[part]
    return tuple(TopologicalSorter(imports).static_order())


class Explorer(anywidget.AnyWidget):
    """An anywidget with a stable repr and a still for readers without JavaScript.

    Its module and its stylesheet are those of the folder that its class is in, and the
    page has all of its traits.
    """

    def __init_subclass__(cls, **kwargs) -> None:
        if not hasattr(cls, "_esm"):  # traitlets makes classes of its own from this one
            name = cls.__module__.split(".")[-2]
            cls._esm, cls._css = module(name), stylesheet(name)
            for own in vars(cls).values():
                if isinstance(own, traitlets.TraitType):
                    own.tag(sync=True)
        super().__init_subclass__(**kwargs)

    description = traitlets.Unicode().tag(sync=True)

    def draw(self, figure: Figure) -> None:
        """Draw the arrays, at the current setting, on a matplotlib figure."""
        raise NotImplementedError

    def still(self) -> bytes:
        """The figure as a small PNG, 128 colours on a transparent background."""
        with mpl.rc_context():
            plots.use_style()
            figure = Figure(figsize=(6.8, 3.5))
            self.draw(figure)
            buffer = io.BytesIO()
            figure.savefig(buffer, dpi=144, transparent=True)
        picture = Image.open(buffer).quantize(128, method=Image.Quantize.FASTOCTREE)
        buffer = io.BytesIO()
        picture.save(buffer, "PNG", optimize=True)
        return buffer.getvalue()

    def write_html(self, path: str | Path) -> None:
        """Write a page that holds this explorer, as it stands, and needs nothing else.

        It works from the disk, in a frame of another page, and without a network.
        """
        every = anywidget.AnyWidget.class_trait_names()
        state = self.get_state(sorted(set(self.class_trait_names()) - set(every)))
        binary = {name: one for name, one in state.items() if isinstance(one, bytes)}
        plain = {name: one for name, one in state.items() if name not in binary}
        buffers = [
            {"path": [name], "data": base64.b64encode(one).decode("ascii")}
            for name, one in binary.items()
        ]
        page = Template((_KIT / "page.html").read_text("utf-8")).substitute(
            title=html.escape(self.description),
            style=self._css,
            still=base64.b64encode(self.still()).decode("ascii"),
            state=_script({"state": plain, "buffers": buffers}),
            model=joined([MODEL]),
            module=_script(self._esm),
        )
        Path(path).write_text(page, encoding="utf-8")

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        picture = base64.b64encode(self.still()).decode("ascii")
        return {**data, "text/plain": repr(self), "image/png": picture}, metadata


def _script(value) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value).replace("<", "\\u003c")
