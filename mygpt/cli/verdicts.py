"""What `mygpt check` prints of a file or a workbook, once or at every save."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mygpt.check.catalogue import TASKS, find_task
from mygpt.check.mends.sentences import is_mendable, with_edit
from mygpt.check.mends.tally import count_failed, forget
from mygpt.check.process.files import as_json, as_text, check_file, saves
from mygpt.check.result import Result, labelled
from mygpt.check.workbook.folder import check_workbook
from mygpt.check.workbook.progress import by_chapter, summary

SEARCHING = "searching for a small edit that makes it right; a save ends the search"
WAITING = "waiting for the next save (Ctrl-C ends)"
SAVED = "saved: checking again"


def run(options: argparse.Namespace) -> int:
    """Check, and return the exit status."""
    if options.all is None:
        name_file(options)
    if not options.watch:
        return check_once(options)
    watched = options.file if options.all is None else options.all / "any"
    for changed in saves(watched):
        try:
            check_once(options, changed)
        except ValueError as error:  # a file may be gone for a moment
            print(f"mygpt: {error}", file=sys.stderr)
        print(f"\n{SAVED if changed() else WAITING}", file=sys.stderr)
    return 0


def name_file(options: argparse.Namespace) -> None:
    """Where only a task was given, take its file here; where only a file, its task."""
    if options.file is not None:
        return
    given = Path(options.task)
    if given.suffix == ".py" and given.stem in TASKS:
        options.task, options.file = given.stem, given
        return
    options.file = Path(f"{find_task(options.task).name}.py")
    if not options.file.exists() and not options.file.is_symlink():
        raise ValueError(
            f"there is no {options.file} here; expected a file: "
            f"mygpt check {options.task} FILE"
        )


def check_once(
    options: argparse.Namespace, changed: Callable[[], bool] | None = None
) -> int:
    """Check a file or a workbook, show what comes out, and return the exit status.

    changed: under --watch, whether a file has changed since, which ends the search.
    """
    if options.all is not None:
        return check_all(options)
    early: list[tuple[Result, int]] = []

    def before_search(result: Result) -> None:
        early.append((result, count_try(result, options)))
        if options.watch:
            print(as_text(result, options.traceback), flush=True)
            print(f"\n{SEARCHING}", file=sys.stderr)

    result = check_file(
        options.task,
        options.file,
        options.limit,
        options.gpt2,
        first=None if options.json else before_search,
        over=changed,
    )
    if options.json:
        print(as_json(result), flush=True)
        return 0 if result else 1
    before, tries = early[0] if early else (result, count_try(result, options))
    result = with_edit(result, tries, "--mend", options.mend)
    if not early or not options.watch:
        print(as_text(result, options.traceback), flush=True)
    elif result.only:
        lines = ["", *labelled("wrong", result.only)]
        for hint in result.hints[len(before.hints) :]:
            lines += labelled("also", hint)
        print("\n".join(lines), flush=True)
    return 0 if result else 1


def count_try(result: Result, options: argparse.Namespace) -> int:
    """Count the failed tries up to a wrong result, and forget them at a right one."""
    if result:
        forget(options.task, options.file)
    return count_failed(options.task, options.file) if is_mendable(result) else 0


def check_all(options: argparse.Namespace) -> int:
    """Check a workbook; each chapter is shown as soon as it is checked."""
    results: list[Result] = []
    found = check_workbook(options.all, options.limit, options.chapter)
    if options.json:
        results += found
        print(as_json(results), flush=True)
    else:
        kept = (results.append(result) or result for result in found)
        for text in by_chapter(kept):
            print(text, flush=True)
        print(summary(results, partial(command_for, options.all)), flush=True)
    return 0 if all(results) else 1


def command_for(folder: Path, name: str) -> str:
    """Return the command that checks a task of a workbook."""
    file = "" if folder == Path() else f" {folder / f'{name}.py'}"
    return f"mygpt check {name}{file}"
