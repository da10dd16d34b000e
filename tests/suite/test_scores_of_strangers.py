"""Strangers' implementations against the suite: what a case failed before still fails, and no right one does.

Some of all batches are tried, others with every change of cases or code; ``make strangers`` tries all.
"""

from dataclasses import replace

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec_authoring.mutation import Examiner
from attnspec_authoring.rotation import selection
from attnspec_authoring.strangers import Stranger, read_index, try_stranger

TRIED_WRONG, TRIED_RIGHT = 80, 6
"""As many as take a minute of processor time together; a right one meets every case, in every dtype it declares."""
STRANGERS = {stranger.name: stranger for stranger in read_index().strangers}
MUST_FAIL = selection((name for name, stranger in STRANGERS.items() if stranger.must_fail), TRIED_WRONG)
MUST_PASS = selection((name for name, stranger in STRANGERS.items() if stranger.must_pass), TRIED_RIGHT)


@pytest.fixture(scope="module")
def examiner():
    return Examiner(load_suite())


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(MUST_FAIL | MUST_PASS))
def test_it_comes_out_as_the_index_has_it(name, examiner):
    assert try_stranger(STRANGERS[name], examiner).surprise is None


def one(**fields):
    """The first wrong implementation that must fail, or what else is wanted."""
    return next(
        stranger
        for stranger in STRANGERS.values()
        if all(getattr(stranger, name) == value for name, value in fields.items())
    )


def test_a_wrong_one_is_tried_first_on_the_case_that_failed_it(examiner):
    wrong = one(must_fail=True, operation="softmax")
    trial = try_stranger(wrong, examiner)
    assert (trial.noticed_by, trial.surprise) == (wrong.noticed_by, None)
    assert trial.message


def test_what_shows_by_the_order_of_dtypes_alone_fails(examiner):
    wrong = one(name="batch_33/wrong/011_tables_cache_forgets_precision.py")
    assert try_stranger(wrong, examiner).noticed_by == wrong.noticed_by == "rotary/tables_attention_factor"


def test_a_wrong_one_that_no_case_fails_any_more_is_a_surprise():
    wrong = one(must_fail=True, operation="softmax")
    suite = load_suite(select=("core/plain",))
    trial = try_stranger(wrong, Examiner(suite))
    assert trial.noticed_by is None
    assert f"{wrong.name} is wrong" in trial.surprise
    assert wrong.noticed_by in trial.surprise


def test_a_right_one_that_fails_is_a_surprise(examiner):
    wrong = one(must_fail=True, operation="softmax")
    trial = try_stranger(replace(wrong, noticed_by=None, left_open=True), examiner)
    assert f"{wrong.name} is right, and {trial.noticed_by} fails it: " in trial.surprise


def test_what_cannot_be_imported_is_a_surprise_but_for_a_library_that_it_needs(examiner):
    trial = try_stranger(Stranger("batch_7", "wrong/not_there.py"), examiner)
    assert trial.noticed_by is None
    assert trial.surprise.startswith("batch_7/wrong/not_there.py cannot be validated: ")
    assert trial.surprise.endswith(trial.problem)
    assert replace(trial, stranger=replace(trial.stranger, needs="a library", noticed_by="core/plain")).surprise is None


def test_einsum_of_nothing_does_not_see_what_lies_behind_an_empty_array():
    from attnspec_authoring.strangers.trials import einsum_of_nothing

    behind = np.full(8, np.nan)
    without_stride = np.lib.stride_tricks.as_strided(behind[:0], (3, 0), (0, 0))
    einsum = np.einsum
    with einsum_of_nothing():
        assert np.einsum("qk,k->q", without_stride, behind[:0]).tolist() == [0, 0, 0]
        assert np.einsum("k,k->", np.ones(3), np.ones(3)) == 3
    assert np.einsum is einsum
