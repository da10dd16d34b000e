"""Blind batches: a case fails every wrong implementation that was in reach of small fixtures, and no right one."""

import json
import sys
from pathlib import Path

import pytest

from attnspec.adapters import load

BATCHES = Path(__file__).parents[2] / "implementations"
NAMES = ("batch_7", "batch_8", "batch_9", "batch_10", "batch_11", "batch_12")
QUICK = ("batch_7/", "batch_8/")
RIGHT_IN_ITS_DTYPES = {
    "batch_7/wrong/040_alibi_promotes.py": "wrong in float32, and declares float64 alone",
    "batch_7/wrong/113_softmax_overflow_guard.py": "wrong in float32, and declares float64 alone",
}
"""Those that no case can fail, because they are run only in the dtypes in which they are right."""
LEFT_OPEN = {
    "batch_10/wrong/038_bias_min_instead_of_inf.py": "wrong at the lowest number, which the page leaves open",
    "batch_12/wrong/129_any_dtype_becomes_float64.py": "wrong for whole numbers, and the page has floats alone",
}
"""Those that no case may fail, because the pages leave open what they do otherwise."""


@pytest.fixture(autouse=True)
def modules_of_its_own(monkeypatch):
    """Each batch has a module `base`, which its files find on the path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("base", None)
    yield
    sys.modules.pop("base", None)


def wrong():
    return [
        f"{name}/{entry['file']}"
        for name in NAMES
        for entry in json.loads((BATCHES / name / "batch.json").read_text(encoding="utf-8"))
        if entry["in_reach"] and f"{name}/{entry['file']}" not in {**RIGHT_IN_ITS_DTYPES, **LEFT_OPEN}
    ]


def right():
    found = [path.relative_to(BATCHES).as_posix() for name in NAMES for path in (BATCHES / name / "right").glob("*.py")]
    return [*found, *LEFT_OPEN]


def some_quick(paths, every):
    """Some of the first two batches; the others are a proof, which takes its time."""
    return [
        pytest.param(path, id=path, marks=() if number % every == 0 and path.startswith(QUICK) else pytest.mark.proof)
        for number, path in enumerate(sorted(paths))
    ]


def first_failure(path, examiner):
    implementation = load(str(BATCHES / path))
    return examiner.first_failure(implementation, implementation.declaration.dtypes)


@pytest.mark.parametrize("path", some_quick(wrong(), 15))
def test_a_case_fails_a_wrong_one(path, examiner):
    assert first_failure(path, examiner) is not None


@pytest.mark.parametrize("path", some_quick(right(), 25))
def test_no_case_fails_a_right_one(path, examiner):
    failure = first_failure(path, examiner)
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"


@pytest.mark.parametrize("path", RIGHT_IN_ITS_DTYPES)
def test_what_no_case_can_fail_does_not_offer_the_dtype_in_which_it_is_wrong(path):
    assert load(str(BATCHES / path)).declaration.dtypes == ("float64",)
