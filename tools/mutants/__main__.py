"""Make mistakes, one at a time, and see which of them the tests notice.

    make mutants                            all of the sample, as far as not yet tried
    python3 make.py mutants survivors       those that no test caught, again
    python3 make.py mutants norm.py         those of files whose path ends so
    python3 make.py mutants record          record anew which tests execute which lines

Stopped and started again, it goes on. A verdict is kept under _build/mutants while the
changed file stays as it is and, if a test caught it, that test does; a survivor is
tried again when any test has changed. explained.json says of mutants that change
nothing why they do not; last_run.json holds the last whole run.
"""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from mygpt import check
from tools.mutants import of_python, of_scripts
from tools.mutants.copies import BUILD, Copy
from tools.mutants.mutant import ROOT, Mutant, MutantSite, digest, drawn
from tools.mutants.record import Record, record
from tools.processors.settings import processor

SAMPLE = {"Python": 520, "scripts": 180}
COPIES = 2  # one for each core
SECONDS = 120  # for the tests of one mutant
HERE = Path(__file__).parent
VERDICTS, LAST_RUN = BUILD / "verdicts.json", HERE / "last_run.json"
EXPLAINED = HERE / "explained.json"
# Used without a record: what runs in QuickJS, in a process that is ended or in one that
# a test's own processes start, what is read as text, and the tasks of the checker,
# whose results are kept from test to test.
APART = ("tests/check/test_check_supervisor.py", "tests/check/test_check_files.py")
TASKS = (
    "tests/check/test_check.py::test_every_mistake_fails_under_its_own_name",
    "tests/check/test_check.py::test_two_mistakes_never_give_the_same",
    "tests/check/test_check.py::test_a_mistake_stands_in_the_catalogue_once_for_each_form",
    "tests/check/test_check.py::test_the_books_own_program_passes_in_every_form",
    "tests/check/test_check.py::test_the_example_shows_what_the_books_own_program_gives",
    "tests/check/test_check_right_programs.py::test_a_right_program_passes",
    "tests/check/test_check_programs.py::test_the_programs_give_what_is_stored",
)
UNRECORDED = {
    "website/search/search.js": ("tests/site/test_site_search.py",),
    "mygpt/bare.py": ("tests/package/test_bare.py",),
    "mygpt/check/process/supervisor.py": APART,
    "mygpt/check/catalogue.py": APART,
    "mygpt/check/process/child.py": APART,
    "mygpt/check/process/files.py": APART,
    "mygpt/check/workbook/progress.py": APART,
    "mygpt/check/workbook/folder.py": APART,
    "mygpt/cli/check.py": ("tests/check/test_check_files.py",),
    "mygpt/cli/commands.py": ("tests/check/test_check_files.py",),
    "mygpt/cli/verdicts.py": ("tests/check/test_check_files.py",),
    "mygpt/distributed/training.py": ("tests/distributed/test_distributed.py",),
    "mygpt/distributed/launch.py": ("tests/distributed/test_launch.py",),
}
KINDS = {"Python": of_python, "scripts": of_scripts}


@dataclass
class MutantVerdict:
    """What came of a mutant.

    verdict: "caught", "survived", "out of time" (the tests left over are `left`), or
    "not executed" where no test comes there. by: the test or the limit that caught it.
    key: the digest of what the verdict depends on.
    """

    verdict: str
    by: str = ""
    left: int = 0
    seconds: float = 0.0
    key: str = ""


def sample(kind: str, recorded: Record) -> list[Mutant]:
    """The mutants that are made; of scripts, at places that a test executes."""
    module = KINDS[kind]
    places: list[MutantSite] = [
        one for path in module.files() for one in module.places(path)
    ]
    if kind == "scripts":
        places = [one for one in places if tests_of(one, recorded)]
    found = {}
    for place in drawn(places, 2 * SAMPLE[kind]):
        if len(found) < SAMPLE[kind]:
            mutant = module.mutant(place)
            found.setdefault(mutant.name, mutant)
    return list(found.values())


def tests_of(one: MutantSite | Mutant, recorded: Record) -> list[str]:
    """The tests that execute a place, the quickest first."""
    if one.path.endswith(".py"):
        found = recorded.tests(one.path, one.lines)
    else:
        found = recorded.tests_of_script(one.path, one.start)
    files = UNRECORDED.get(one.path, ())
    found |= {test for test in recorded.seconds if test.partition("::")[0] in files}
    for task in tasks_of(one.path):
        found |= {f"{test}[{task}]" for test in TASKS} & recorded.seconds.keys()
    return sorted(found, key=lambda test: (recorded.seconds[test], test))


def tasks_of(path: str) -> list[str]:
    """The tasks of the checker that a file defines."""
    module = path.removesuffix(".py").replace("/", ".")
    return [
        name for name, one in check.TASKS.items() if one.reference.__module__ == module
    ]


def groups(tests: list[str], recorded: Record) -> list[list[str]]:
    """Node's tests, then the others in one run, the quickest files first.

    One run, because importing the package takes longer than most files of tests.
    """
    by_file = defaultdict(list)
    for test in tests:
        by_file[test.partition("::")[0]].append(test)
    seconds = recorded.seconds
    files = sorted(by_file.values(), key=lambda some: sum(seconds[t] for t in some))
    node = [some for some in files if some[0].endswith(".mjs")]
    others = [test for some in files if some not in node for test in some]
    return [*node, *filter(None, [others])]


def judge(mutant: Mutant, copy: Copy, recorded: Record) -> MutantVerdict:
    """Run the tests until one fails."""
    start = time.monotonic()
    waiting = groups(tests_of(mutant, recorded), recorded)
    verdict = MutantVerdict("survived" if waiting else "not executed")
    copy.write(mutant.path, mutant.text)
    try:
        for number, tests in enumerate(waiting):
            left = SECONDS - (time.monotonic() - start)
            by = OVER if left < 1 else caught_by(tests, copy, recorded, left)
            if by == OVER:
                skipped = sum(map(len, waiting[number:]))
                verdict = MutantVerdict("out of time", left=skipped)
            elif by:
                verdict = MutantVerdict("caught", by)
            if by:
                break
    finally:
        copy.restore(mutant.path)
    if verdict.verdict == "caught":
        control(verdict.by, copy, recorded, waiting[-1])
    verdict.key = key_of(mutant, verdict, copy.folder)
    verdict.seconds = round(time.monotonic() - start, 1)
    return verdict


OVER = "no time was left"
IMPORT = "import of the package or of "  # what pytest could not collect


def caught_by(tests: list[str], copy: Copy, recorded: Record, left: float) -> str:
    """The test that fails, or the limit that is passed; empty if all pass."""
    if tests[0].endswith(".mjs"):
        return caught_by_node(tests, copy, min(60, left))
    usual = {test: recorded.seconds[test] for test in tests}
    answer = copy.ask(tests, usual, left)
    if answer["why"]:
        return f"limit: {answer['why']}"
    if answer["over"]:
        return OVER
    if answer["status"] == 0:
        return ""
    failed = [
        line.split(maxsplit=1)[1].split(" - ")[0]
        for line in answer["output"].splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    return failed[0] if failed else f"{IMPORT}{tests[0]}"


def caught_by_node(tests: list[str], copy: Copy, seconds: float) -> str:
    command = [of_scripts.node_executable(), "--test", *tests]
    process = subprocess.Popen(
        command,
        cwd=copy.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return tests[0] if process.wait(seconds) else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # and the process of each file
        process.wait()
        return f"limit: {tests[0]} took more than {seconds:.0f} s"


PASSING: set[str] = set()  # tests that have caught a mutant, and pass without one


def control(by: str, copy: Copy, recorded: Record, together: list[str]) -> None:
    """A test that has caught a mutant must pass without it.

    If it is not known which, all `together` must.
    """
    test = by.removeprefix("limit: ").partition(" took")[0]
    of_file = [one for one in recorded.seconds if one.startswith(f"{test}::")]
    if test in recorded.seconds:
        of_file = [test]
    tests = of_file[:1] or together  # no name: no test began
    if PASSING.issuperset(tests):
        return
    if by := caught_by(tests, copy, recorded, SECONDS):
        raise RuntimeError(f"expected the test to pass without a mutant; got {by}")
    PASSING.update(tests)


def key_of(mutant: Mutant, verdict: MutantVerdict, folder: Path = ROOT) -> str:
    """What a verdict depends on, digested, as it stands in the project or a copy."""
    texts = [(folder / mutant.path).read_text("utf-8")]
    if verdict.verdict == "caught":
        texts.append(text_of_test(verdict.by, folder))
    else:
        tests = [*folder.glob("tests/**/*.py"), *folder.glob("tests/js/**/*.mjs")]
        texts += [path.read_text("utf-8") for path in sorted(tests)]
    return digest(*texts)


def text_of_test(by: str, folder: Path) -> str:
    """The function of the test that caught a mutant; of Node's tests the file."""
    by = by.removeprefix(IMPORT).removeprefix("limit: ")
    name, _, function = by.partition("[")[0].partition(" took")[0].partition("::")
    file = folder / name
    if not file.is_file():
        return ""
    text = file.read_text("utf-8")
    for node in ast.parse(text).body if file.suffix == ".py" else ():
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.unparse(node)
    return text


class Verdicts:
    """Those that are kept, by the mutants' names."""

    def __init__(self):
        kept = json.loads(VERDICTS.read_text("utf-8")) if VERDICTS.exists() else {}
        self.kept = {name: MutantVerdict(**one) for name, one in kept.items()}

    def valid(self, mutant: Mutant) -> MutantVerdict | None:
        verdict = self.kept.get(mutant.name)
        return verdict if verdict and verdict.key == key_of(mutant, verdict) else None

    def keep(self, mutant: Mutant, verdict: MutantVerdict) -> None:
        self.kept[mutant.name] = verdict
        half = VERDICTS.with_suffix(".half")
        rows = {name: asdict(one) for name, one in self.kept.items()}
        half.write_text(json.dumps(rows, indent=1), encoding="utf-8")
        half.replace(VERDICTS)


def explained() -> dict[str, str]:
    """Why a mutant that survives changes nothing, by its name."""
    rows = json.loads(EXPLAINED.read_text("utf-8"))
    return {row["name"]: row["because"] for row in rows}


def chosen(mutants: list[Mutant], names: list[str], verdicts: Verdicts) -> list[Mutant]:
    """Which of the sample are to be tried."""
    if "survivors" in names:
        kept = verdicts.kept.items()
        left = {name for name, verdict in kept if verdict.verdict != "caught"}
        left -= explained().keys()
        return [one for one in mutants if one.name in left]
    if names:
        found = [one for one in mutants if one.path.endswith(tuple(names))]
        if not found:
            raise ValueError(
                "expected 'survivors', 'record' or the end of a path with mutants; "
                f"got {' '.join(names)!r}"
            )
        return found
    return [one for one in mutants if verdicts.valid(one) is None]


def run(mutants: list[Mutant], recorded: Record, verdicts: Verdicts) -> None:
    """Judge them, two at a time, and keep every verdict at once."""
    copies: Queue[Copy] = Queue()
    for number in range(min(COPIES, len(mutants))):
        copies.put(Copy(f"copy-{number}"))
    done = 0

    def one(mutant: Mutant) -> tuple[Mutant, MutantVerdict | RuntimeError]:
        copy = copies.get()
        try:
            return mutant, judge(mutant, copy, recorded)
        except RuntimeError as error:  # no verdict, and the next time another try
            return mutant, error
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(COPIES) as pool:
        for mutant, verdict in pool.map(one, mutants):
            done += 1
            if isinstance(verdict, RuntimeError):
                print(f"{done}/{len(mutants)} {mutant.name} no verdict: {verdict}")
                continue
            verdicts.keep(mutant, verdict)
            print(
                f"{done}/{len(mutants)} {mutant.name} {mutant.path}:{mutant.lines[0]} "
                f"{verdict.verdict} {verdict.by} ({verdict.seconds:.0f} s)",
                flush=True,
            )
    while not copies.empty():
        copies.get().close()


def report(samples: dict[str, list[Mutant]], verdicts: Verdicts) -> dict:
    """Count, and list what no test noticed."""
    known, rows = explained(), {"processor": processor(), "survivors": []}
    for kind, mutants in samples.items():
        tried = {one: verdicts.kept.get(one.name) for one in mutants}
        tried = {one: verdict for one, verdict in tried.items() if verdict}
        caught = [v for v in tried.values() if v.verdict == "caught"]
        rest = {one: v for one, v in tried.items() if v not in caught}
        counted = len(tried) - len(known.keys() & {one.name for one in rest})
        rows[kind] = {
            "tried": len(tried),
            "caught": len(caught),
            "by a limit": sum(v.by.startswith("limit") for v in caught),
            "change nothing": len(tried) - counted,
            "percent": round(100 * len(caught) / max(1, counted), 1),
        }
        print(
            f"\n{kind}: {len(caught)} of {counted} caught, {rows[kind]['percent']} %; "
            f"{len(tried) - counted} more change nothing; "
            f"{len(mutants) - len(tried)} not tried"
        )
        for one, verdict in rest.items():
            shown = ("name", "path", "operator", "before", "after")
            row = {name: getattr(one, name) for name in shown}
            row["verdict"] = verdict.verdict
            if one.name in known:
                row["because"] = known[one.name]
            else:
                where = f"{one.path}:{one.lines[0]}"
                print(f"  {one.name} {where} {one.operator} ({verdict.verdict})")
                print(f"    - {one.before}\n    + {one.after}")
            rows["survivors"].append(row)
    return rows


def main() -> int:
    names = sys.argv[1:]
    BUILD.mkdir(parents=True, exist_ok=True)
    recorded = record("record" in names)
    if recorded.failed:
        print(f"{len(recorded.failed)} tests fail in a copy and are not used:")
        print(*recorded.failed, sep="\n")
    samples = {kind: sample(kind, recorded) for kind in KINDS}
    verdicts = Verdicts()
    mutants = [one for some in samples.values() for one in some]
    if names != ["record"]:
        names = [name for name in names if name != "record"]
        try:
            run(chosen(mutants, names, verdicts), recorded, verdicts)
        except ValueError as error:
            print(error)
            return 2
    found = report(samples, verdicts)
    if all(one.name in verdicts.kept for one in mutants):
        LAST_RUN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
