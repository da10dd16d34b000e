"""Which queries a run in half precision cannot carry through, for who declares that it stores what comes between."""

import numpy as np
import pytest

from attnspec.bounds.estimates import exactly
from attnspec.bounds.tolerance import precision_of
from attnspec.families.attention.tolerance.error_bound import attention_tolerance

LARGE, SMALL = 40_000.0, 2.0**-13


def overflows(query, key, dtype, *, fused=False, **settings):
    """Return which queries overflow, of one feature each, in two heads over one of keys."""
    query, key = np.reshape(query, (1, 2, -1, 1)), np.reshape(key, (1, 1, -1, 1))
    precision = precision_of(dtype, fused=fused)
    bound = attention_tolerance(exactly(query), exactly(key), exactly(np.ones_like(key)), precision, {}, **settings)
    return bound.overflows(0).ravel().tolist()


QUERIES = [LARGE, 1.0, -LARGE, 1.0]


@pytest.mark.parametrize(("scale", "expected"), [(1.0, [False] * 4), (2.0, [True, False, True, False])])
def test_a_query_that_cannot_be_stored_once_it_is_scaled(scale, expected):
    assert overflows(QUERIES, [SMALL, SMALL], "float16", scale=scale) == expected


def test_a_key_that_cannot_be_stored_once_it_is_scaled_reaches_every_query():
    small = [SMALL] * 4
    assert overflows(small, [1.0, -LARGE], "float16", scale=1.0) == [False] * 4
    assert overflows(small, [1.0, -LARGE], "float16", scale=-2.0) == [True] * 4


def test_a_product_that_cannot_be_stored_before_it_is_scaled():
    assert overflows([300.0, 1.0, 1.0, 1.0], [1.0, 300.0], "float16", scale=0.01) == [True, False, False, False]


@pytest.mark.parametrize(("dtype", "fused"), [("bfloat16", False), ("float32", False), ("float16", True)])
def test_who_stores_more_carries_all_of_them(dtype, fused):
    assert overflows(QUERIES, [1.0, LARGE], dtype, fused=fused, scale=2.0) == [False] * 4
