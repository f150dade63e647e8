"""What runs on GitHub: pinned, with few rights, and only what the project has."""

import re

import pytest
import yaml

import make
from make import ROOT
from tools.processors.settings import BY_NAME

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RIGHTS = {
    ("test.yml", "deploy"): {"pages": "write", "id-token": "write"},
    ("release.yml", "publish"): {"contents": "write"},
}
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path):
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def commands(path):
    return "\n".join(step["run"] for step in steps(path) if "run" in step)


@each_workflow
def test_every_action_is_pinned_by_its_hash_with_the_version_beside_it(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    pinned = r"\s*(- )?uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert [line for line in lines if not re.fullmatch(pinned, line)] == []


def test_one_action_has_one_hash_everywhere():
    used = {one["uses"] for path in WORKFLOWS for one in steps(path) if "uses" in one}
    assert len({name.partition("@")[0] for name in used}) == len(used)


@each_workflow
def test_a_workflow_reads_and_only_named_jobs_write(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions", {}) == RIGHTS.get((path.name, name), {}), name
        assert job["timeout-minutes"] <= 90


@each_workflow
def test_a_checkout_leaves_no_credentials_behind(path):
    checkouts = [s for s in steps(path) if "actions/checkout@" in s.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@each_workflow
def test_no_command_is_made_of_what_github_fills_in(path):
    assert "${{" not in commands(path)


@each_workflow
def test_every_command_of_a_workflow_exists(path):
    found = commands(path)
    for name in re.findall(r"\bmake(?:\.py)? (\w+)", found):
        assert name in make.commands()
    for script in re.findall(r"^(?:python3? )?([\w./-]+\.py|\.ci/\w+)", found, re.M):
        assert (ROOT / script).is_file(), script


def test_the_makefile_offers_what_make_py_offers():
    text = (ROOT / "Makefile").read_text("utf-8")
    listed = re.search(r"^COMMANDS = (.*)$", text, re.M)[1].split()
    assert set(listed) == make.commands().keys() - make.CHECKS.keys()


def test_the_site_is_published_from_main_after_every_check():
    job = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["deploy"]
    assert {"linux", "others"} <= set(job["needs"])
    assert "refs/heads/main" in job["if"]
    assert job["environment"]["name"] == "github-pages"
    assert job["concurrency"]["cancel-in-progress"] is False


def test_a_site_that_has_shrunk_is_not_kept():
    ran = steps(ROOT / ".github" / "workflows" / "test.yml")
    checked = [i for i, s in enumerate(ran) if "site_size" in s.get("run", "")]
    paths = [s.get("with", {}).get("path") for s in ran]
    kept = [i for i, path in enumerate(paths) if path == "_build/html"]
    assert checked
    assert checked[0] < min(kept)


def test_every_setting_that_stands_for_a_processor_is_run_weekly():
    job = read(ROOT / ".github" / "workflows" / "weekly.yml")["jobs"]["processors"]
    assert job["strategy"]["matrix"]["setting"] == list(BY_NAME)
