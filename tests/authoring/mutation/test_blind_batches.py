"""Blind batches: a case fails every wrong implementation that was in reach of small fixtures, and no right one."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from attnspec.process.opening import open_target
from attnspec.targets import load
from attnspec.targets.target import Target
from attnspec_authoring.rotation import is_due

BATCHES = Path(__file__).parents[2] / "implementations"
NAMES = tuple(f"batch_{number}" for number in range(7, 19))
QUICK = ("batch_7/", "batch_8/")
RIGHT_IN_ITS_DTYPES = {
    "batch_7/wrong/040_alibi_promotes.py": "wrong in float32, and declares float64 alone",
    "batch_7/wrong/113_softmax_overflow_guard.py": "wrong in float32, and declares float64 alone",
}
"""Those that no case can fail, because they are run only in the dtypes in which they are right."""
LEFT_OPEN = {
    "batch_10/wrong/038_bias_min_instead_of_inf.py": "wrong at the lowest number, which the page leaves open",
    "batch_13/wrong/049_unread_rows_unchecked.py": "wrong for a shape of which the page asks nothing",
    "batch_12/wrong/129_any_dtype_becomes_float64.py": "wrong for whole numbers, and the page has floats alone",
}
"""Those that no case may fail, because the pages leave open what they do otherwise."""
NOT_IMPORTED = {
    "batch_18/wrong/007_first_part_never_empty.py": "needs SciPy; where that is installed, five cases fail it"
}
"""Those that need what is not installed here."""
NOT_AS_RIGHT = {
    "batch_7/right/05_recurrent.py": "gives NaN where the first keys have the score minus infinity",
    "batch_7/right/20_layers.py": "raises where a layer has no keys, which the page wants answered",
    "batch_8/right/14_mha_head_by_head.py": "raises where a layer has no keys, which the page wants answered",
    "batch_8/right/15_mha_joined_projections.py": "raises where a layer has no keys, which the page wants answered",
    "batch_9/right/08_dispatcher.py": "raises for a batch without entries, which the page wants answered",
    "batch_14/right/12_paged_pages_in_any_order.py": "merges by a share near 1, which loses what weighs little",
    "batch_17/right/04_pairs_of_keys.py": "gives the single key the weight 1 where its score is NaN",
    "batch_18/right/04_pages_by_number.py": "gives NaN where a page has one key, of the score minus infinity",
    "batch_14/right/23_quant_half_results.py": "computes float64 in float32, and the page now says that it must not",
}
"""Those that cases fail, and why that is right."""
NOT_GRADED_HERE = {**RIGHT_IN_ITS_DTYPES, **LEFT_OPEN, **NOT_IMPORTED}


@pytest.fixture(autouse=True)
def modules_of_its_own(monkeypatch):
    """Each batch has a module `base`, which its files find on the path."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("base", None)
    yield
    sys.modules.pop("base", None)


@pytest.fixture(autouse=True)
def einsum_that_stays_inside(monkeypatch):
    """NumPy's einsum over an axis of no elements can multiply the number behind an empty array by zero.

    It does where one operand's stride is 0 and the other's is not, which NumPy 2.4 gives to some empty arrays: where
    that memory happens to hold NaN, right implementations answer NaN for a case without keys. Here it holds zeros.
    """
    einsum = np.einsum

    def inside(subscripts, *operands, **options):
        return einsum(
            subscripts, *(np.zeros(each.shape, each.dtype) if each.size == 0 else each for each in operands), **options
        )

    monkeypatch.setattr(np, "einsum", inside)


def wrong():
    return [
        f"{name}/{entry['file']}"
        for name in NAMES
        for entry in json.loads((BATCHES / name / "batch.json").read_text(encoding="utf-8"))
        if entry["in_reach"] and f"{name}/{entry['file']}" not in NOT_GRADED_HERE
    ]


def right():
    found = [path.relative_to(BATCHES).as_posix() for name in NAMES for path in (BATCHES / name / "right").glob("*.py")]
    return [*(path for path in found if path not in NOT_AS_RIGHT), *LEFT_OPEN]


def some_quick(paths, every):
    """Some of the first two batches; the others are a proof, which takes its time."""
    return [
        pytest.param(path, id=path, marks=() if number % every == 0 and path.startswith(QUICK) else pytest.mark.proof)
        for number, path in enumerate(sorted(paths))
    ]


def first_failure(path, examiner):
    implementation = open_target(Target(str(BATCHES / path)))
    return examiner.first_failure(implementation, implementation.declaration.dtypes)


@pytest.mark.parametrize("path", some_quick(wrong(), 15))
def test_a_case_fails_a_wrong_one(path, examiner):
    assert first_failure(path, examiner) is not None


@pytest.mark.parametrize("path", some_quick(filter(is_due, right()), 25))
def test_no_case_fails_a_right_one(path, examiner):
    failure = first_failure(path, examiner)
    assert failure is None, f"{failure.case.id}: {failure.verdict.message}"


def test_einsum_of_nothing_does_not_see_what_lies_behind_an_empty_array():
    behind = np.full(8, np.nan)
    without_stride = np.lib.stride_tricks.as_strided(behind[:0], (3, 0), (0, 0))
    assert np.einsum("qk,k->q", without_stride, behind[:0]).tolist() == [0, 0, 0]


@pytest.mark.parametrize("path", RIGHT_IN_ITS_DTYPES)
def test_what_no_case_can_fail_does_not_offer_the_dtype_in_which_it_is_wrong(path):
    assert load(str(BATCHES / path)).declaration.dtypes == ("float64",)
