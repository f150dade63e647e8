"""The command `mygpt check`: what it is asked for, and the list of the tasks."""

import argparse
import gc
from pathlib import Path

from mygpt.workbook.asked import CHAPTERS, IN_ORDER, asked_in


def run(options: argparse.Namespace) -> int:
    if options.limit is not None and not options.limit > 0:
        raise ValueError(f"--limit must be above 0, got {options.limit:g}")
    if options.chapter and options.task is None and not options.list:
        options.all = options.all or Path()
    whole = options.all is not None
    if options.list + whole + (options.task is not None) != 1:
        raise ValueError("expected TASK, or --all, or --chapter N, or --list")
    if options.list:
        print(task_list(options.chapter))
        return 0
    if not whole and options.chapter:
        raise ValueError("--chapter is for a workbook, not for one task")
    gc.disable()  # it would look through all of PyTorch while that is imported
    from mygpt.cli import verdicts

    gc.freeze()  # and again in each check
    gc.enable()
    return verdicts.run(options)


def task_list(chapter: str | None = None) -> str:
    """The tasks with their chapters, in the book's order."""
    width = max(len(task.signature) for task in IN_ORDER if len(task.arguments) < 6)
    return "\n".join(
        f"{task.signature:{width}}  {CHAPTERS[task.chapter]}"
        for task in asked_in(chapter)
    )
