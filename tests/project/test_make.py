"""The commands: the cause of a failure comes last, and a good site survives."""

import ast
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import make as commands
from make import ROOT


@pytest.fixture
def make(tmp_path, monkeypatch):
    """make.py, working in a folder of its own and running no command."""
    for name in ("BUILD", "SITE", "STAGING"):
        moved = tmp_path / getattr(commands, name).relative_to(ROOT)
        monkeypatch.setattr(commands, name, moved)
    monkeypatch.setattr(commands, "run", lambda what, command, aside=False: None)
    monkeypatch.setattr(commands, "install_scripts_tools", lambda npm: None)
    return commands


def write_page(folder, text):
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(text)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["OSError: [Errno 28] No space left on device", "done"], "the disk is full"),
        (
            ["WARNING: Retrying: Failed to establish a new connection", "ERROR: no"],
            "the package index cannot be reached (no network?)",
        ),
        (["Error: ensurepip is not available"], "ensurepip is missing: install"),
        (["ok", "page.md:3: WARNING: no such label", "finished"], "page.md:3: WARNING"),
        (["FAILED tests/test_a.py::test_b", "1 failed"], "FAILED tests/test_a.py"),
        (["Found 3 errors.", "[*] 2 fixable with `--fix`."], "Found 3 errors."),
        (["_config.yml: site_url should be x", "RuntimeError:", "="], "_config.yml: "),
        (["neither", "this"], "this"),
        ([], "it printed nothing"),
    ],
)
def test_the_cause_is_found_in_the_output(make, lines, expected):
    assert make.cause(lines).startswith(expected)


GONE = "a.md:3: [broken] https://a.example: 404 Client Error: Not Found"
UNKNOWN = "b.md:5: [broken] https://b.example: Failed to resolve (NameResolutionError)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([UNKNOWN, UNKNOWN], "none of 2 links could be followed (no network?)"),
        ([UNKNOWN, GONE], f"2 links are broken, the first: {UNKNOWN}"),
        (["a.md:1: [redirected with Found] x"], ""),
    ],
    ids=["no network", "one gone", "none"],
)
def test_broken_links_are_one_line(make, tmp_path, lines, expected):
    (tmp_path / "output.txt").write_text("\n".join(lines))
    assert make.broken_links(tmp_path) == expected


def test_a_complete_site_replaces_the_old_one(make):
    write_page(make.SITE, "old")
    write_page(make.STAGING / "_build" / "html", "new")
    make.build_site()
    assert (make.SITE / "index.html").read_text() == "new"
    assert not list(make.BUILD.glob("html.*"))


def test_a_page_whose_source_is_gone_is_not_in_the_site(make):
    built = make.STAGING / "_build" / "html"
    write_page(built / "chapters", "an old chapter's")
    shutil.copy(built / "chapters" / "index.html", built / "chapters" / "old.html")
    for name in ("index", "intro", "once"):
        (built / f"{name}.html").write_text("new")
    make.build_site()
    assert {page.stem for page in make.SITE.rglob("*.html")} == {"index", "intro"}


def test_a_site_that_cannot_be_copied_keeps_the_old_one(make, monkeypatch):
    write_page(make.SITE, "old")

    def half_copy(source, target):
        write_page(target, "half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", half_copy)
    with pytest.raises(OSError, match="No space left"):
        make.build_site()
    assert (make.SITE / "index.html").read_text() == "old"
    assert not list(make.BUILD.glob("html.*"))


def test_a_failed_build_keeps_the_old_site(make, monkeypatch):
    write_page(make.SITE, "old")

    def fail(what, command, aside):
        raise make.Stop(f"{what} failed")

    monkeypatch.setattr(make, "run", fail)
    with pytest.raises(make.Stop):
        make.build_site()
    assert (make.SITE / "index.html").read_text() == "old"


@pytest.fixture
def last_line(make, monkeypatch, capsys):
    """Gives the exit status of a command, and the last line that it shows."""

    def run(command):
        monkeypatch.setattr(sys, "argv", ["make.py", command])
        return make.main(), capsys.readouterr().err.splitlines()[-1]

    return run


@pytest.mark.parametrize("command", ["book", "test", "chapters", "links", "release"])
def test_an_old_python_is_the_last_line(last_line, monkeypatch, command):
    monkeypatch.setattr(sys, "version_info", (3, 8, 18))
    status, cause = last_line(command)
    assert status == 1
    assert cause.startswith("mygpt needs Python 3.11 or newer")
    assert cause.endswith("is 3.8.18")


def test_an_old_python_can_read_make():
    """Down to 3.6: no newer syntax, and no annotation that it cannot evaluate."""
    tree = ast.parse((ROOT / "make.py").read_text("utf-8"), feature_version=(3, 6))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    written = [part.annotation for one in functions for part in one.args.args]
    written += [one.returns for one in functions]
    assert {type(part) for part in written if part} <= {ast.Name, ast.Constant}


@pytest.mark.parametrize(
    ("raised", "status", "cause"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "the disk is full"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["full disk", "Ctrl-C"],
)
def test_the_cause_is_last(make, last_line, monkeypatch, raised, status, cause):
    def stop():
        print("halfway", file=sys.stderr)
        raise raised

    monkeypatch.setattr(make, "book", stop)
    found, line = last_line("book")
    assert found == status
    assert line.endswith(cause)


def test_a_check_tells_of_a_missing_environment(make, last_line, monkeypatch, tmp_path):
    monkeypatch.setattr(make, "PYTHON", tmp_path / "python")
    status, cause = last_line("style")
    assert status == 1
    assert cause.endswith("run `make test` once")


def test_make_test_runs_every_check_and_names_all_that_failed(make, monkeypatch):
    ran = []

    def fail(what, command, aside=False):
        ran.append(what)
        raise make.Stop(f"{what} failed")

    monkeypatch.setattr(make, "run", fail)
    monkeypatch.setattr(make, "install", lambda requirements: None)
    with pytest.raises(make.Stop) as caught:
        make.test()
    assert {*make.CHECKS, "unit tests", "chapters", "building the book"} <= set(ran)
    assert all(f"{name} failed" in str(caught.value) for name in ran)


def test_the_book_is_built_of_what_is_stored_and_then_opened(make, monkeypatch):
    ran = []
    monkeypatch.setattr(make, "run", lambda what, *_, aside=False: ran.append(what))
    monkeypatch.setattr(make, "install", lambda requirements: None)
    monkeypatch.setattr(make, "BROWSERS", ("python3",))
    write_page(make.STAGING / "_build" / "html", "new")
    make.test()
    of_site = ("building the book", "browser tests", "chapters")
    assert [what for what in ran if what in of_site] == [*of_site]


def test_only_a_book_with_stale_states_installs_all_and_runs(make, monkeypatch):
    done, stale = [], True

    def run(what, *_, aside=False):
        done.append(what)
        if what == "looking at what is stored" and stale:
            raise make.Stop("1 to run")

    monkeypatch.setattr(make, "run", run)
    monkeypatch.setattr(make, "install", done.append)
    make.for_the_book()
    assert done[2:] == ["requirements.txt", "running the chapters"]
    done.clear()
    stale = False
    make.for_the_book()
    assert done == ["requirements/site.txt", "looking at what is stored"]


def test_a_wider_environment_is_not_installed_again(make, monkeypatch, tmp_path):
    monkeypatch.setattr(make, "VENV", tmp_path)
    monkeypatch.setattr(make, "works", lambda python: True)
    done = []
    monkeypatch.setattr(make, "run", lambda what, *_, aside=False: done.append(what))
    make.install("requirements/site.txt")
    make.install("requirements/dev.txt")
    assert done.count("installing") == 2  # the second needs more than the first
    make.install("requirements.txt")
    make.install("requirements/site.txt")
    assert done.count("installing") == 2
    (tmp_path / "installed-requirements-site.txt").unlink()
    make.install("requirements/site.txt")
    assert done.count("installing") == 2


def test_a_chapter_alone_is_tested_by_the_map(make, monkeypatch):
    ran = {}
    steps = lambda what, command=(), aside=False: ran.update({what: command})  # noqa: E731
    monkeypatch.setattr(make, "run", steps)
    monkeypatch.setattr(make, "install", lambda requirements: None)
    monkeypatch.setattr(make, "PYTHON", Path(sys.executable))
    write_page(make.STAGING / "_build" / "html", "new")
    make.test("chapter", "08")
    assert ran["the chapter"][-1] == "chapters/08_layer_norm.ipynb"
    stems = {path.stem for path in ran["its modules and explorers"][len(make.PYTEST) :]}
    explorers = {"test_explorer_layer_norm", "test_explorer_train_stack"}
    assert stems == {"test_norm", *explorers}
    assert "building the book" in ran
    assert "unit tests" not in ran
    for names in [("chapter", "99"), ("chapter",), ("chapters", "08")]:
        with pytest.raises(make.Stop, match="expected chapter and one of tensors, 00_"):
            make.test(*names)


@pytest.mark.parametrize(
    ("command", "required", "status", "said"),
    [
        ("javascript", "", 0, "JAVASCRIPT CHECKS SKIPPED: they need node and npm"),
        ("javascript", "1", 1, "JAVASCRIPT CHECKS SKIPPED: they need node and npm"),
        ("kernels", "", 1, "the kernels need node and npm"),
    ],
)
def test_without_node_no_script_is_checked_and_no_kernel_compiled(
    last_line, monkeypatch, tmp_path, command, required, status, said
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MYGPT_REQUIRE_NODE", required)
    found, cause = last_line(command)
    assert found == status
    assert said in cause


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """make.py with a folder of its own for the scripts' tools, and that folder."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    monkeypatch.setattr(commands, "NODE_MODULES", tmp_path / "node_modules")
    return commands, tmp_path / "node_modules"


def test_the_tools_of_the_scripts_are_installed_once(tools, monkeypatch, tmp_path):
    make, folder = tools
    ran = []

    def install(what, command):
        ran.append(command)
        folder.mkdir(exist_ok=True)

    monkeypatch.setattr(make, "run", install)
    make.install_scripts_tools("npm")
    make.install_scripts_tools("npm")
    assert ran == [["npm", "ci"]]
    (tmp_path / "package-lock.json").write_text("{}")
    make.install_scripts_tools("npm")
    assert len(ran) == 2


def test_a_link_to_the_scripts_tools_is_left_alone(tools, monkeypatch, tmp_path):
    make, linked = tools
    (tmp_path / "elsewhere").mkdir()
    linked.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(make, "run", lambda *_: pytest.fail("npm would empty it"))
    with pytest.raises(make.Stop, match="node_modules is a link"):
        make.install_scripts_tools("npm")


def test_the_kernels_are_written_as_the_compiler_made_them(make, monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", str)
    monkeypatch.setattr(make, "KERNELS", tmp_path / "bytes.mjs")

    def compile_them(what, command, aside=False):
        assert command == ["npm", "run", "--silent", "kernels"]
        (make.BUILD / "kernels.wasm").write_bytes(b"\0asm")
        (make.BUILD / "fused.wasm").write_bytes(b"\0asm\1")

    monkeypatch.setattr(make, "run", compile_them)
    make.kernels()
    text = (tmp_path / "bytes.mjs").read_text("utf-8")
    assert 'export const KERNELS =\n  "AGFzbQ==";\n' in text
    assert text.endswith('export const FUSED =\n  "AGFzbQE=";\n')


def test_no_file_of_the_scripts_tools_names_where_packages_come_from():
    lock = (ROOT / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    assert '"integrity"' in lock


def test_the_hooks_before_a_commit_are_the_quick_checks_of_make(make):
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    (source,) = config["repos"]
    hooks = {hook["id"]: hook for hook in source["hooks"]}
    assert source["repo"] == "local"
    assert hooks.keys() == make.CHECKS.keys() - {"types"} | {"javascript"}
    for name, hook in hooks.items():
        assert hook["entry"] == f"python3 make.py {name}"
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)


def test_continuous_integration_says_what_it_leaves_to_make_slow():
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    (said,) = [line for line in lines if "make slow" in line]
    assert said.startswith('echo "Not run here:')
    assert lines[-1].endswith(" make test")


@pytest.fixture(scope="module")
def gnu_make():
    """Runs make with some arguments: its status, its output and its errors."""
    if os.name == "nt" or not shutil.which("make"):
        pytest.skip("make is not on the PATH, or this is Windows")

    def run(*arguments):
        command = ["make", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def test_make_names_a_python_that_is_missing(gnu_make, tmp_path):
    status, _, errors = gnu_make(f"PYTHON={tmp_path}/python3", "book")
    assert status != 0
    assert f"{tmp_path}/python3: No such file" in errors


@pytest.mark.parametrize("command", ["book", "test", "release"])
def test_make_hands_each_command_to_make_py(gnu_make, command):
    status, output, _ = gnu_make("--dry-run", "--no-print-directory", command)
    assert status == 0
    assert output.splitlines() == [f"python3 make.py {command}"]


def test_make_fails_with_make_py_and_shows_its_cause(gnu_make, tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho the cause >&2\nexit 1\n")
    python.chmod(0o755)
    status, _, errors = gnu_make(f"PYTHON={python}", "book")
    assert status != 0
    first, *rest = errors.splitlines()
    assert first == "the cause"
    assert all(line.startswith("make") for line in rest)


def test_the_settings_of_jupyter_have_a_place_after_make_clean(make):
    assert Path(make.environment()["IPYTHONDIR"]).parent.is_dir()
