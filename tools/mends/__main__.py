"""Count how many wrong programs the checker catches, names, places and mends.

A name and a mend count only if they are right; false ones are listed.

    make mends                         all sets but the held ones, as far as not judged
    python3 make.py mends open pairs   some sets alone: open, held, pairs, written,
                                       written_held
    python3 make.py mends tenth        a fixed tenth; of some sets, with their names

A program is checked in a file, as a reader does it, two at a time. Stopped and started
again, it goes on: a verdict stands in _build/mends, in a file for each state of
mygpt/check and tools/mends, so a changed checker begins anew. What is held out is for
the end: whoever has looked at it may not change the checker by it. The counts of each
set's last run stand in last_run.json.
"""

import hashlib
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from mygpt.check.catalogue import TASKS
from tools.mends.judge import Verdict, judge
from tools.mends.programs import HELD, ROOT, SETS, Wrong, family, load

BUILD = ROOT / "_build" / "mends"
LAST_RUN = Path(__file__).with_name("last_run.json")
WORKERS = 2
COLUMNS: dict[str, Callable[[Verdict], bool]] = {
    "caught": lambda verdict: verdict.caught,
    "named": lambda verdict: verdict.named is True,
    "line": lambda verdict: verdict.on_it,
    "mended": lambda verdict: verdict.mended is True,
    "either": lambda verdict: bool(verdict.named or verdict.mended),
}
FALSE: dict[str, Callable[[Verdict], bool]] = {
    "falsely named": lambda verdict: verdict.named is False,
    "falsely mended": lambda verdict: verdict.mended is False,
}
# What the stages and the catalogue leave without a right line or name, and in how many
# of these programs the search finds the line or a right mend.
SEARCH: dict[str, Callable[[Verdict], bool]] = {
    "left to the search": lambda verdict: not (verdict.placed or verdict.named),
    "found by it": lambda verdict: (
        SEARCH["left to the search"](verdict)
        and (verdict.on_it or verdict.mended is True)
    ),
}


def chosen(names: list[str]) -> dict[str, list[Wrong]]:
    """The programs of the sets that are named."""
    unknown = [name for name in names if name not in (*SETS, "tenth")]
    if unknown:
        known = ", ".join((*SETS, "tenth"))
        raise ValueError(f"expected some of {known}; got {unknown[0]!r}")
    sets = [name for name in SETS if name in names]
    sets = sets or [name for name in SETS if name not in HELD]
    found = {name: load(name) for name in sets}
    if "tenth" in names:
        found = {name: list(tenth(some)) for name, some in found.items()}
    return {name: some for name, some in found.items() if some}


def tenth(programs: Iterable[Wrong]) -> Iterator[Wrong]:
    """About one in ten, the same ones in every run."""
    return (each for each in programs if int(digest(each.name), 16) % 10 == 0)


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def state() -> str:
    """A name for the checker, and for its judge, as they are now."""
    folders = (ROOT / "mygpt" / "check", ROOT / "tools" / "mends")
    found = [path for folder in folders for path in folder.rglob("*.*")]
    files = sorted(path for path in found if path.suffix in (".py", ".toml"))
    return digest(*(path.read_text("utf-8") for path in files))[:12]


def key(wrong: Wrong) -> str:
    return digest(wrong.name, wrong.text)[:16]


def kept(path: Path) -> dict[str, Verdict]:
    """The verdicts of a file, by key; a last line that was cut off is left out."""
    found = {}
    for line in path.read_text("utf-8").split("\n")[:-1] if path.exists() else ():
        row = json.loads(line)
        found[row["key"]] = Verdict(**row["verdict"])
    return found


def run(programs: list[Wrong], path: Path) -> dict[str, Verdict]:
    """Judge what is not yet judged, and keep every verdict at once."""
    found = kept(path)
    waiting = [wrong for wrong in programs if key(wrong) not in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(WORKERS) as pool, path.open("a", encoding="utf-8") as file:
        running = {pool.submit(judge, wrong): key(wrong) for wrong in waiting}
        for number, done in enumerate(as_completed(running), start=1):
            verdict = found[running[done]] = done.result()
            row = {"key": running[done], "verdict": asdict(verdict)}
            file.write(json.dumps(row) + "\n")
            file.flush()
            if number % 25 == 0:
                print(f"{number} of {len(waiting)}", flush=True)
    return found


def report(name: str, programs: list[Wrong], verdicts: list[Verdict]) -> Iterator[str]:
    """Write a table of a set, by task and by operator, then what fails."""
    yield f"\n{name:28}" + "".join(f"{column:>18}" for column in COLUMNS)
    yield row("all", verdicts)
    for task in TASKS:
        yield row(task, [each for each in verdicts if each.task == task])
    for one in sorted({family(each) for made in verdicts for each in made.operators}):
        yield row(one, [v for v in verdicts if one in map(family, v.operators)])
    for title, counted in SEARCH.items():
        yield f"{title}: {sum(map(counted, verdicts))}"
    yield f"\nseconds to the verdict: {spread(each.shown for each in verdicts)}"
    yield f"seconds with the search: {spread(each.seconds for each in verdicts)}"
    for wrong, verdict in zip(programs, verdicts, strict=True):
        for name, false in FALSE.items():
            if false(verdict):
                yield f"{name}: {place(wrong)}, {told(verdict)}"
        needed = ("caught", "line", "mended", "either")
        missing = [column for column in needed if not COLUMNS[column](verdict)]
        if missing:
            yield f"not {', '.join(missing)}: {place(wrong)}, {told(verdict)}"


def row(name: str, verdicts: list[Verdict]) -> str:
    """Write how many there are, and of each column how many and how many per cent."""
    if not verdicts:
        return f"{name:24}   -"
    counts = [sum(map(good, verdicts)) for good in COLUMNS.values()]
    shares = [f"{count} ({100 * count / len(verdicts):.1f} %)" for count in counts]
    return f"{name:24}{len(verdicts):4}" + "".join(f"{share:>18}" for share in shares)


def spread(seconds: Iterable[float]) -> str:
    found = list(seconds)
    return f"{statistics.median(found):.2f} in the middle, {max(found):.2f} at most"


def place(wrong: Wrong) -> str:
    lines = wrong.text.splitlines()
    wrongly = " / ".join(f"{n}: {lines[n - 1].strip()}" for n in wrong.lines)
    return f"{wrong.name} {wrong.source or wrong.task}:{wrongly}"


def told(verdict: Verdict) -> str:
    return " ".join(filter(None, [verdict.stage, verdict.mistake])) or "right"


def summary(verdicts: list[Verdict]) -> dict[str, float]:
    """The counts of a set: shares in per cent, numbers of programs, and seconds."""
    count = len(verdicts)
    counted = {**FALSE, **SEARCH}.items()
    return {
        "programs": count,
        **{
            name: round(100 * sum(map(good, verdicts)) / count, 1)
            for name, good in COLUMNS.items()
        },
        **{name: sum(map(good, verdicts)) for name, good in counted},
        **{
            name: round(statistics.median(seconds), 2)
            for name, seconds in (
                ("seconds shown", [each.shown for each in verdicts]),
                ("seconds with the search", [each.seconds for each in verdicts]),
            )
        },
    }


def store(found: dict[str, dict[str, float]]) -> None:
    """Keep the counts of some sets in place of those of their last run."""
    known = json.loads(LAST_RUN.read_text("utf-8")) if LAST_RUN.exists() else {}
    text = json.dumps(known | found, indent=2, sort_keys=True)
    LAST_RUN.write_text(f"{text}\n", encoding="utf-8")


def main(names: list[str]) -> None:
    sets = chosen(names)
    path = BUILD / f"{state()}.jsonl"
    found = run([wrong for some in sets.values() for wrong in some], path)
    part = " tenth" if "tenth" in names else ""
    for name, programs in sets.items():
        verdicts = [found[key(wrong)] for wrong in programs]
        print("\n".join(report(name, programs, verdicts)))
        store({f"{name}{part}": summary(verdicts)})


if __name__ == "__main__":
    main(sys.argv[1:])
