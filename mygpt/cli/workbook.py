"""The command `mygpt workbook`: write the files to fill in."""

import argparse

from mygpt.workbook.asked import IN_ORDER
from mygpt.workbook.files import write_workbook


def run(options: argparse.Namespace) -> None:
    folder, first = write_workbook(options.folder), IN_ORDER[0].name
    print(f"{len(IN_ORDER)} tasks in {folder}; README.md lists them by chapter.\n")
    print(f"Fill in {first}.py, then:\n\n    cd {folder}\n    mygpt check {first}")
