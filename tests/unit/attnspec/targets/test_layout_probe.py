"""Layouts with fewer axes, found where a function whose operation is guessed cannot be called with all of them."""

import numpy as np
import pytest

import attnspec
from attnspec.targets.loading import load


def normalized(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def of_rank_2(q, k, v):
    return normalized(q @ k.T / np.sqrt(q.shape[-1])) @ v


def of_rank_3(q, k, v):
    return normalized(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])) @ v


def of_any_rank(q, k, v):
    return normalized(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def of_no_rank(q, k, v):
    raise ValueError("nothing fits")


@pytest.mark.parametrize(
    ("function", "layout"), [(of_rank_2, "se"), (of_rank_3, "hse"), (of_any_rank, None), (of_no_rank, None)]
)
def test_a_layout_is_found_where_the_contracts_own_is_not_taken(function, layout):
    declaration = load(function).declaration
    assert declaration.layout == layout
    assert (f"called in the layout {layout}" in declaration.guessed) == (layout is not None)


def test_a_layout_that_is_said_is_not_looked_for():
    assert load(of_rank_2, layout="hse").declaration.layout is None
    assert load(of_rank_2, bare_operation="scaled_dot_product_attention").declaration.layout is None


def test_a_right_function_of_two_axes_passes_all_that_it_takes():
    report = attnspec.validate(of_rank_2, profile=("core", "documents", "stress"), probes=False)
    assert not [result for result in report.wrong if result.case.rejects is None]
    assert report.summary.counts["pass"] >= 10
