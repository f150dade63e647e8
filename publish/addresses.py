"""Write the addresses into the files that GitHub and the package index show.

    .venv/bin/python -m publish.addresses            as `_config.yml` says
    .venv/bin/python -m publish.addresses --check    say what differs, and write nothing

README has a place for them; in CITATION.cff and pyproject.toml the lines come and go.
"""

import re
import sys
from pathlib import Path

from tools.publication import Publication, publication

ROOT = Path(__file__).resolve().parents[1]


PLACE = re.compile(r"(<!-- published -->\n)(?:.*\n)*?(<!-- /published -->\n)")
CITED = re.compile(r"^(?:repository-code|url): .*\n", re.MULTILINE)
URLS = re.compile(r"\[project\.urls\]\n(?:.+\n)*\n")


def readme(text: str, found: Publication) -> str:
    line = ""
    if found.site:
        line = (
            f"[Read it]({found.site}): nothing to install, a phone will do. Each "
            "chapter opens its notebook in Colab or on Binder.\n"
        )
    return PLACE.sub(lambda place: f"{place[1]}{line}{place[2]}", text)


def citation(text: str, found: Publication) -> str:
    lines = f"repository-code: {found.repository}\n" if found.repository else ""
    lines += f"url: {found.site}\n" if found.site else ""
    return CITED.sub("", text).replace("keywords:\n", f"{lines}keywords:\n")


def project(text: str, found: Publication) -> str:
    urls = {"Repository": found.repository, "Documentation": found.site}
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items() if url)
    table = f"[project.urls]\n{lines}\n" if lines else ""
    after = "[tool.setuptools.packages.find]\n"
    return URLS.sub("", text).replace(after, table + after)


FILES = {"README.md": readme, "CITATION.cff": citation, "pyproject.toml": project}


def changes(found: Publication, root: Path = ROOT) -> dict[Path, str]:
    """The new text of each file that differs from what the setting says."""
    texts = {root / name: (root / name).read_text("utf-8") for name in FILES}
    made = {path: FILES[path.name](text, found) for path, text in texts.items()}
    return {path: text for path, text in made.items() if text != texts[path]}


def main() -> int:
    changed = changes(publication())
    for path, text in changed.items():
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        print(path.name)
    return int(bool(changed) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
