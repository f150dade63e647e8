"""Make `_build/mygpt.epub`, the book for e-readers.

    python -m publish.paper.epub

It needs no network. Where epubcheck is (on the PATH, or Java and the path of its jar in
EPUBCHECK_JAR), the book is checked, and an error or a warning is a failure.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
STAGING = BUILD / "staging"
PAGES = STAGING / "_build" / "epub"
BOOK = BUILD / "mygpt.epub"
UNCHECKED = (
    "The e-book was not checked: neither epubcheck is on the PATH "
    "(Debian: apt-get install epubcheck) nor Java with EPUBCHECK_JAR set"
)


def write_pages() -> None:
    """Write the pages of the book on paper, and the e-book that holds them."""
    from jupyter_book.cli.main import main

    shutil.rmtree(PAGES, ignore_errors=True)  # all that it holds is packed
    builder = ["--builder", "custom", "--custom-builder", "epub"]
    strict = ["-W", "-n", "--keep-going"]
    where = ["--path-output", str(STAGING), str(ROOT)]
    main(["build", *strict, *builder, *where], standalone_mode=False)


def checker() -> list[str] | None:
    """The command that checks an e-book, or None where there is none."""
    found = os.environ.get("EPUBCHECK_JAR") or shutil.which("epubcheck") or ""
    jar = Path(found).resolve()  # Debian's command is a link to the jar
    if jar.suffix != ".jar":
        return [found] if found else None
    return (
        ["java", "-jar", str(jar)] if jar.is_file() and shutil.which("java") else None
    )


def check(book: Path) -> int:
    """What epubcheck says of a book: 0 when it finds no error and no warning."""
    command = checker()
    if command is None:
        print(UNCHECKED)
        return 0
    return subprocess.run([*command, "--failonwarnings", str(book)]).returncode


def main() -> int:
    write_pages()
    code = check(PAGES / BOOK.name)
    if code == 0:
        shutil.copy(PAGES / BOOK.name, BOOK)
    return code


if __name__ == "__main__":
    sys.exit(main())
