"""What the chapters say of runs that are stored, on the stored runs and on new ones."""

import copy
import importlib
import json
import math
import random

import pytest
import torch
from helpers.programs import run_python

from make import ROOT
from mygpt.support.stored_runs import load_runs

TOPICS = [
    path.stem
    for path in sorted((ROOT / "runs").glob("[a-z]*.py"))
    if path.stem != "memory"  # in test_experiments.py
]
SETTINGS = {"seed", "rate", "gain", "eps", "layers", "wiring"}


@pytest.fixture(params=TOPICS)
def topic(request):
    return request.param


def script(topic):
    return importlib.import_module(f"runs.{topic}")


def numbers(found, path=()):
    """The numbers of a result with the way to each; what was not a number is None."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from numbers(value, (*path, name))
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from numbers(value, (*path, i))
    elif found is None or isinstance(found, int | float):
        yield path, found


def test_the_stored_runs_say_how_they_were_made(topic):
    stored = load_runs(topic)
    assert stored["command"] == f"python -m runs.{topic}"
    assert {"cpu", "log", "versions"} < set(stored)
    assert [run["seed"] for run in stored["runs"]]
    assert {run["seed"] for run in stored["runs"]} == set(script(topic).SEEDS)


def test_what_the_chapter_says_holds_of_the_stored_runs(topic):
    claims = script(topic).claims(load_runs(topic)["runs"])
    assert claims
    assert [claim for claim, holds in claims.items() if holds is not True] == []


def test_each_claim_can_fail(topic):
    """Runs with other results in them break every claim, one way or another."""
    runs, claims = load_runs(topic)["runs"], script(topic).claims
    broken = set()
    for change in (zero, negative, opposite, found, lost, *map(shuffled, range(1, 6))):
        other = claims(changed(runs, change))
        broken |= {name for name, holds in other.items() if not holds}
    assert [name for name in claims(runs) if name not in broken] == []


@pytest.mark.parametrize(
    ("loss", "bits"), [(0.0, 6), (math.log(64), 0), (2 * math.log(64), -6)]
)
def test_a_model_keeps_of_a_string_what_it_saves(loss, bits):
    """Of each of 32 symbols of 64 kinds: all if it is sure, none if it guesses."""
    strings = torch.zeros(3, 33, dtype=torch.long)
    kept = script("capacity").kept(lambda *_: (None, torch.tensor(loss)), strings)
    assert kept == pytest.approx(3 * 32 * bits, abs=1e-3)


def changed(runs, change):
    """The runs with every result changed and every setting kept."""

    def walk(one, name=""):
        if isinstance(one, dict):
            return {key: walk(value, key) for key, value in one.items()}
        if isinstance(one, list):
            return [walk(value, name) for value in one]
        if name in SETTINGS or isinstance(one, str):
            return one
        return change(one, name)

    return walk(copy.deepcopy(runs))


def zero(number, name):
    return 0.0


def negative(number, name):
    return number and -number


def opposite(number, name):
    return not number if isinstance(number, bool) else number


def found(number, name):
    """A loss where there was none."""
    return 1.0 if number is None else number


def lost(number, name):
    """No loss where there was one."""
    return None if name == "loss" else number


def shuffled(seed):
    """Another size for each number, the same at each call."""
    draw = random.Random(seed)
    return lambda number, name: number and number * math.exp(draw.uniform(-4, 4))


@pytest.mark.slow
def test_the_runs_of_a_seed_come_out_again(topic, tmp_path):
    """Of one seed, with which the claims about all seeds hold again."""
    module = script(topic)
    seed = module.SEEDS[0]
    new = again(module, tmp_path / "again.json", "--seeds", str(seed))
    stored = load_runs(topic)["runs"]
    old = [run for run in stored if run["seed"] == seed]
    assert len(new) == len(old)
    rest = iter(new)
    mixed = [next(rest) if run["seed"] == seed else run for run in stored]
    assert [claim for claim, holds in module.claims(mixed).items() if not holds] == []
    olds, news = dict(numbers(old)), dict(numbers(new))
    assert olds.keys() == news.keys()
    if module.RTOL is None:  # of these only the claims come out again
        return
    far = {
        path: (value, news[path])
        for path, value in olds.items()
        if not close(value, news[path], module.RTOL)
    }
    assert far == {}


def close(old, new, rtol):
    if old is None or new is None:
        return old is new
    return math.isclose(old, new, rel_tol=rtol, abs_tol=1e-9)


def again(module, out, *options):
    run_python("-m", module.__name__, "--out", out, *options, cwd=ROOT)
    return json.loads(out.read_text(encoding="utf-8"))["runs"]
