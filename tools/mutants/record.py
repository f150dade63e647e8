"""Which tests execute a place, recorded once in a copy of the project."""

import json
import os
import shutil
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

from tools.mutants.copies import BUILD, ENVIRONMENT, Copy
from tools.mutants.mutant import ROOT, digest
from tools.mutants.of_scripts import node_executable

RECORD = BUILD / "record"
SETTINGS = """[run]
parallel = true
patch = subprocess, fork, _exit
source = mygpt, tools, website
data_file = {folder}/lines
context = ${{MUTANTS_CONTEXT-}}
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""
Span = tuple[int, int, int]  # a range of a script, and how often it ran


@dataclass
class Record:
    """What was recorded, for the tests that pass without a mutant.

    seconds: each test's time, by its id; a file of Node's tests counts as one.
    lines: the tests by path and line. spans: for each script the tests, and for each
    the ranges in every process.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]
    spans: dict[str, dict[str, list[list[Span]]]]
    failed: list[str]

    def tests(self, path: str, lines: tuple[int, int]) -> set[str]:
        """The tests that execute one of the lines.

        One that is executed at import may show in whatever uses the file.
        """
        by_line = self.lines.get(path, {})
        span = range(lines[0], lines[1] + 1)
        found = {test for line in span for test in by_line.get(line, ())}
        if AT_IMPORT in found or not found:
            found = {test for tests in by_line.values() for test in tests}
        return found - {AT_IMPORT}

    def tests_of_script(self, path: str, start: int) -> set[str]:
        """The tests that execute the place of a script."""
        return {
            test
            for test, scripts in self.spans.get(path, {}).items()
            if any(runs(spans, start) for spans in scripts)
        }


def files_of_tests(folder: Path = ROOT) -> dict[str, str]:
    """The digest of each file of tests, by its path."""
    in_python = [
        path
        for path in folder.glob("tests/*/test_*.py")
        if path.parent.name != "browser"
    ]
    found = [*in_python, *folder.glob("tests/js/**/*.test.mjs")]
    return {
        path.relative_to(folder).as_posix(): digest(path.read_text("utf-8"))
        for path in sorted(found)
    }


def record(anew: bool) -> Record:
    """Take what was recorded, and record what files of tests have changed since."""
    if anew:
        shutil.rmtree(RECORD, ignore_errors=True)
    known = {}
    for path in sorted(RECORD.glob("*/files.json")):
        known |= json.loads(path.read_text("utf-8"))
    files = files_of_tests()
    if changed := [name for name in files if files[name] != known.get(name)]:
        folder = RECORD / f"{len(list(RECORD.glob('*/'))):03d}"
        folder.mkdir(parents=True)
        make(Copy("recorded"), folder, changed)
        some = {name: files[name] for name in changed}
        (folder / "files.json").write_text(json.dumps(some), encoding="utf-8")
    return load(files)


def make(copy: Copy, folder: Path, files: list[str]) -> None:
    """Run files of unit tests, two at a time, and then Node's, one by one."""
    settings = folder / "settings.ini"
    settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")
    env = {**ENVIRONMENT, "MUTANTS_RECORD": str(folder)}
    if python := [name for name in files if name.endswith(".py")]:
        run = [copy.python, "-m", "coverage", "run", f"--rcfile={settings}"]
        pytest = "-m pytest -q -p no:cacheprovider -p tools.mutants.recorder"
        pytest += " -n 2 --dist loadfile -o faulthandler_timeout=0"
        with (folder / "output.txt").open("wb") as output:
            subprocess.run(
                [*run, *pytest.split(), *python],
                cwd=copy.folder,
                env=env,
                stdout=output,
                stderr=output,
            )
        combine = [copy.python, "-m", "coverage", "combine", f"--rcfile={settings}"]
        subprocess.run([*combine, "--quiet"], cwd=copy.folder, check=True)
    for name in (name for name in files if name.endswith(".mjs")):
        number = Path(name).name
        env["NODE_V8_COVERAGE"] = str(folder / "node" / number)
        start = time.perf_counter()
        command = [node_executable(), "--test", name]
        done = subprocess.run(command, cwd=copy.folder, env=env, capture_output=True)
        row = {
            "test": name,
            "number": number,
            "seconds": time.perf_counter() - start,
            "failed": done.returncode != 0,
            "fixtures": [],
        }
        with (folder / "tests-node.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def load(files: dict[str, str]) -> Record:
    """Read what `make` has left: of each file of tests, its last run."""
    seconds, failed = {}, set()
    lines = defaultdict(lambda: defaultdict(set))
    spans = defaultdict(dict)
    latest = {}
    for path in sorted(RECORD.glob("*/files.json")):
        latest |= dict.fromkeys(json.loads(path.read_text("utf-8")), path.parent)
    for folder in sorted(set(latest.values())):
        rows = [
            json.loads(line)
            for path in sorted(folder.glob("tests-*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]
        users = defaultdict(set)
        for row in rows:
            file = row["test"].partition("::")[0]
            if latest[file] != folder or file not in files:
                continue
            if row["failed"]:
                failed.add(row["test"])
                continue
            seconds[row["test"]] = row["seconds"]
            for number in (row["number"], *row["fixtures"]):
                users[number].add(row["test"])
        for path, by_line in executed_lines(folder, users).items():
            for line, tests in by_line.items():
                lines[path][line] |= tests
        for path, by_test in executed_spans(folder, users).items():
            spans[path] |= by_test
    return Record(seconds, lines, spans, sorted(failed))


AT_IMPORT = ""  # the context of what no test has executed
COPIED = str(BUILD / "recorded") + os.sep


def executed_lines(folder: Path, users: dict) -> dict[str, dict[int, set[str]]]:
    data = CoverageData(str(folder / "lines"))
    data.read()
    found = {}
    for file in data.measured_files():
        if not file.startswith(COPIED):
            continue
        by_line = defaultdict(set)
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                for number in context.split("|"):
                    by_line[line] |= users.get(number, set())
                if not context:
                    by_line[line].add(AT_IMPORT)
        found[file.removeprefix(COPIED)] = dict(by_line)
    return found


def executed_spans(folder: Path, users: dict) -> dict[str, dict[str, list[list[Span]]]]:
    """The ranges in V8's coverage of the scripts, by path and test."""
    found = defaultdict(lambda: defaultdict(list))
    for dump in sorted(folder.glob("node/*/*.json")):
        for script in json.loads(dump.read_text("utf-8"))["result"]:
            path = script["url"].removeprefix("file://")
            if not path.startswith(COPIED):
                continue
            ranges = [each for one in script["functions"] for each in one["ranges"]]
            spans = [
                (one["startOffset"], one["endOffset"], one["count"]) for one in ranges
            ]
            for test in users.get(dump.parent.name, ()):
                found[path.removeprefix(COPIED)][test].append(spans)
    return {path: dict(tests) for path, tests in found.items()}


def runs(spans: list[Span], place: int) -> bool:
    """Whether a script ran at a place: the smallest range around it says so."""
    around = [
        (end - start, count) for start, end, count in spans if start <= place < end
    ]
    return min(around, default=(0, 0))[1] > 0
