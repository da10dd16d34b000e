"""Formulas that libraries publish for merging two states, written down by hand: right but for what they leave out."""

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attnspec.cases import load_suite
from attnspec.runner import run_suite
from attnspec.targets import load

FOLDER = Path(__file__).parents[4] / "examples" / "merging"
SUITE = load_suite()
MERGES = replace(SUITE, cases={name: case for name, case in SUITE.cases.items() if case.operation == "merge_states"})


def wrong_cases(adapter):
    """The cases that went wrong; what was graded."""
    results = run_suite(MERGES, load(adapter))
    graded = [result for result in results if result.status != "unsupported"]
    assert len(graded) > 500
    return {result.run.case.id for result in graded if result.status != "pass"}


def without_keys(case):
    """The rows to which neither part has keys."""
    return np.isneginf(case.inputs["logsumexp_a"]) & np.isneginf(case.inputs["logsumexp_b"])


def test_one_state_moved_towards_the_other_by_a_sigmoid_is_right():
    assert wrong_cases(str(FOLDER / "by_sigmoid.py")) == set()


def test_powers_of_two_are_right_but_for_rows_without_keys():
    expected = {case.id for case in MERGES.cases.values() if case.rejects is None and without_keys(case).any()}
    assert wrong_cases(str(FOLDER / "by_powers_of_two.py")) == expected


def test_prefix_and_suffix_are_right_but_for_a_prefix_that_is_left_uncleared():
    """NaN there may spread to the result, by what the formula declares; other numbers may not."""
    expected = set()
    for case in MERGES.cases.values():
        if case.rejects is None:
            left = case.inputs["output_a"][without_keys(case)]
            expected |= {case.id} if (left[np.isfinite(left)] != 0).any() else set()
    assert wrong_cases(str(FOLDER / "of_prefix_and_suffix.py")) == expected


@pytest.mark.parametrize("name", ["by_powers_of_two", "of_prefix_and_suffix"])
def test_zeros_for_rows_without_keys_make_it_right(name):
    published = runpy.run_path(str(FOLDER / f"{name}.py"))

    def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
        output, logsumexp = published["merge_states"](output_a, logsumexp_a, output_b, logsumexp_b)
        neither = np.isneginf(logsumexp_a.astype(np.float64)) & np.isneginf(logsumexp_b.astype(np.float64))
        zeros, empty = np.zeros_like(output), np.full_like(logsumexp, -np.inf)
        return np.where(neither[..., np.newaxis], zeros, output), np.where(neither, empty, logsumexp)

    declared = {key: published[key] for key in ("dtypes", "conventions")}
    assert wrong_cases(SimpleNamespace(merge_states=merge_states, **declared)) == set()
